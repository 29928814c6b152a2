"""The versions of one secret of AWS Secrets Manager: for an import, which moves the current one on."""

from functools import partial

from upsert.core.identity import FIELD_MANAGER
from upsert.core.sensitive import Sensitive
from upsert.errors import AwsError, SourceFailed
from upsert.sources.secrets_manager import CURRENT, vouched_for
from upsert.sources.source import AwsApi
from upsert.sources.values import region_of

_OUR_STAGE = f"{FIELD_MANAGER}-import"


def fetch(secret: str, aws: AwsApi) -> tuple[Sensitive[str], str] | None:
    """Return the current value as text and its version, or None if the secret holds none yet.

    Raises `SourceFailed`.
    https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
    """
    try:
        answer = aws.call("secretsmanager", "get_secret_value", region=region_of(secret), SecretId=secret)
    except AwsError as error:
        if error.code == "ResourceNotFoundException" and error.is_about_a_stage:
            # The secret is there. Its code does not tell that from a secret that is not.
            return None
        raise _failed(vouched_for(secret), "read", error) from None
    # The emulator answers so for a secret without a value.
    value, version = answer.get("SecretString", "" if answer.get("ARN") else None), answer.get("VersionId")
    if answer.get("SecretBinary"):
        # Somebody's value, though no text: it must not be taken for none, and be written over.
        raise SourceFailed(f"secret {secret} holds a binary value; expected text")
    if not (isinstance(value, str) and version and isinstance(version, str)):
        # A page that a proxy answers with 200 must not become an empty value.
        raise SourceFailed(
            f"{vouched_for(secret)}: what answered gave no value; look for a proxy before the Secrets Manager API"
        )
    return Sensitive(value), version


def put(secret: str, value: Sensitive[str], aws: AwsApi, *, over: str) -> bool:
    """Make `value` the current one if the version `over` still is, or there still is none, and return whether.

    The one before stays as AWSPREVIOUS. A new version under a label of our own, and then a compare-and-swap: the label
    AWSCURRENT moves only from the version that it is said to be on. Raises `SourceFailed`.
    https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_UpdateSecretVersionStage.html
    """
    call = partial(aws.call, "secretsmanager", region=region_of(secret), SecretId=secret)
    try:
        answer = call("put_secret_value", SecretString=value.reveal(), VersionStages=[_OUR_STAGE])
    except AwsError as error:
        raise _failed(f"secret {secret}", "write", error) from None
    if CURRENT in answer.get("VersionStages", ()):
        # The first version that a secret gets is the current one at once.
        return True
    new = str(answer.get("VersionId", ""))
    old = {"RemoveFromVersionId": over} if over else {}
    try:
        call("update_secret_version_stage", VersionStage=CURRENT, MoveToVersionId=new, **old)
    except AwsError as error:
        # Or it did move, and the answer was lost: then the SDK's second try met what the first one did.
        found = fetch(secret, aws)
        current = found[1] if found else ""
        if current == over:
            raise _failed(f"secret {secret}", "move", error) from None
        return current == new
    return True


def _failed(secret: str, verb: str, error: AwsError) -> SourceFailed:
    """Return why a secret could not be read, written, or its current version moved, and what that needs."""
    word, action = _NEEDS[verb]
    remedy = error.remedy or (
        f"the secret must exist, the function's role needs secretsmanager:{action} on it (parameter ReadableArns; and "
        "DecryptableKeyArns if its key is not the default), and a way to the Secrets Manager API (NAT gateway or VPC "
        "endpoint secretsmanager)"
    )
    return SourceFailed(f"cannot {word} {secret}: {error.code}; {remedy}")


_NEEDS = {
    "read": ("read", "GetSecretValue"),
    "write": ("write", "PutSecretValue"),
    "move": ("write", "UpdateSecretVersionStage"),
}
