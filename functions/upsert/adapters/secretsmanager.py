"""The AWS Secrets Manager secret with the entries for other registries."""

import boto3

from upsert.adapters import aws
from upsert.core.sensitive import Sensitive
from upsert.errors import ExtraRegistriesError


class KeptSecret:
    """One secret, by its ARN."""

    def __init__(self, session: boto3.Session, arn: str) -> None:
        self._arn = arn
        # arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME
        self._client = session.client("secretsmanager", region_name=arn.split(":")[3], config=aws.CONFIG)

    def read(self) -> Sensitive[str] | None:
        """Return the current value, or None if the secret holds none yet. Raises `ExtraRegistriesError`."""
        try:
            answer = self._client.get_secret_value(SecretId=self._arn)
        except aws.FAILURES as error:
            if aws.code_of(error) == "ResourceNotFoundException" and "staging label" in str(error):
                # The secret is there. Its code does not tell that from a secret that is not.
                return None
            raise self._error("read", error) from None
        if answer.get("SecretBinary"):
            # Somebody's value, though no docker config: it must not be taken for none, and be written over.
            raise ExtraRegistriesError(
                f"EXTRA_REGISTRIES_SECRET {self._arn} holds a binary value; put its docker config there as text. "
                "No namespace was touched"
            )
        return Sensitive(answer.get("SecretString") or "")

    def write(self, value: Sensitive[str]) -> None:
        """Make `value` the current one; the one before stays as AWSPREVIOUS. Raises `ExtraRegistriesError`."""
        try:
            self._client.put_secret_value(SecretId=self._arn, SecretString=value.reveal())
        except aws.FAILURES as error:
            raise self._error("write", error) from None

    def _error(self, verb: str, error: aws.Failure) -> ExtraRegistriesError:
        action = {"read": "GetSecretValue", "write": "PutSecretValue"}[verb]
        return ExtraRegistriesError(
            f"cannot {verb} EXTRA_REGISTRIES_SECRET {self._arn}: {aws.code_of(error)}. The secret must exist, the "
            f"function's role needs secretsmanager:{action} on it (and kms:Decrypt if its key is not the default), and "
            "a way to the Secrets Manager API (NAT gateway or VPC endpoint secretsmanager). No namespace was touched"
        )
