"""Where an import keeps values: one secret of AWS Secrets Manager, or one parameter of Parameter Store."""

from dataclasses import dataclass

from upsert.core.sensitive import Sensitive
from upsert.core.value_plan import Version
from upsert.errors import AwsError, SourceFailed
from upsert.sources import secret_versions
from upsert.sources.source import AwsApi


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """A secret, by its name or ARN."""

    name: str
    aws: AwsApi

    def fetch(self) -> Version | None:
        """Return the current value and the id of its version, or None if there is none yet. Raises `SourceFailed`."""
        found = secret_versions.fetch(self.name, self.aws)
        return Version(*found) if found else None

    def put(self, value: Sensitive[str], *, over: str) -> bool:
        """Make `value` the current one if the version `over` still is, and return whether. Raises `SourceFailed`."""
        return secret_versions.put(self.name, value, self.aws, over=over)


@dataclass(frozen=True, slots=True)
class KeptParameter:
    """A parameter, by its name; one that is there is never written over.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
    """

    name: str
    aws: AwsApi

    def fetch(self) -> Version | None:
        """Return its value and the number of its version, or None if there is none yet. Raises `SourceFailed`."""
        try:
            answer = self.aws.call("ssm", "get_parameters", Names=[self.name], WithDecryption=True)
        except AwsError as error:
            raise self._failed("read", "GetParameters", error) from None
        found = answer.get("Parameters") or [{}]
        value, version = found[0].get("Value"), found[0].get("Version")
        if isinstance(value, str) and isinstance(version, int):
            return Version(Sensitive(value), str(version))
        if answer.get("InvalidParameters") == [self.name]:
            return None
        raise SourceFailed(f"{_WHOSE}: what answered gave no value; look for a proxy before the Systems Manager API")

    def put(self, value: Sensitive[str], *, over: str) -> bool:
        """Create it, and return whether that was done: false if it is there. Raises `SourceFailed`."""
        if over:
            return False
        try:
            # Without a key of one's own it is encrypted with alias/aws/ssm.
            self.aws.call("ssm", "put_parameter", Name=self.name, Value=value.reveal(), Type="SecureString")
        except AwsError as error:
            if error.code == "ParameterAlreadyExists":
                return False
            raise self._failed("create", "PutParameter", error) from None
        return True

    def _failed(self, word: str, action: str, error: AwsError) -> SourceFailed:
        remedy = error.remedy or (
            f"the function's role needs ssm:{action} on it (parameter ReadableArns), and a way to the Systems Manager "
            "API (NAT gateway or VPC endpoint ssm)"
        )
        return SourceFailed(f"cannot {word} {_WHOSE}: {error.code}; {remedy}")


# Somebody may have put the value in the place of the name.
_WHOSE = "the parameter that the file of objects names here"
