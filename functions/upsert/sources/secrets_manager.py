"""Values from AWS Secrets Manager."""

from collections.abc import Collection, Mapping
from functools import partial

from upsert.core import members
from upsert.core.fields import Fields
from upsert.core.grammars import MEMBER, SECRET_ID
from upsert.core.identity import FIELD_MANAGER
from upsert.core.objects import Material, Ref
from upsert.core.secrecy import secrets_in
from upsert.core.sensitive import Sensitive
from upsert.errors import AwsError, SourceEmpty, SourceFailed
from upsert.sources.source import AwsApi, Folder, Reading, Source

_CURRENT, _OUR_STAGE = "AWSCURRENT", f"{FIELD_MANAGER}-import"


def _form(at: Fields, _: Folder) -> Mapping[str, str]:
    at.closed(("secret", "member"))
    secret = at.text("secret", SECRET_ID, is_secret=True)
    member = {"member": at.text("member", MEMBER, is_secret=True)} if "member" in at else {}
    return {"secret": secret, **member}


def _read(refs: Collection[Ref], aws: AwsApi) -> Reading:
    """Return the value of each secret, or of one member of the JSON text in it. Each secret is read once."""
    values = {secret: _value(secret, aws) for secret in dict.fromkeys(ref.get("secret") for ref in refs)}
    return {ref: _material(ref, values[ref.get("secret")]) for ref in refs}


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
        raise failed(_vouched_for(secret), "read", error) from None
    # The emulator answers so for a secret without a value.
    value, version = answer.get("SecretString", "" if answer.get("ARN") else None), answer.get("VersionId")
    if answer.get("SecretBinary"):
        # Somebody's value, though no text: it must not be taken for none, and be written over.
        raise SourceFailed(f"secret {secret} holds a binary value; expected text")
    if not (isinstance(value, str) and version and isinstance(version, str)):
        # A page that a proxy answers with 200 must not become an empty value.
        raise SourceFailed(
            f"{_vouched_for(secret)}: what answered gave no value; look for a proxy before the Secrets Manager API"
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
        raise failed(f"secret {secret}", "write", error) from None
    if _CURRENT in answer.get("VersionStages", ()):
        # The first version that a secret gets is the current one at once.
        return True
    new = str(answer.get("VersionId", ""))
    old = {"RemoveFromVersionId": over} if over else {}
    try:
        call("update_secret_version_stage", VersionStage=_CURRENT, MoveToVersionId=new, **old)
    except AwsError as error:
        # Or it did move, and the answer was lost: then the SDK's second try met what the first one did.
        found = fetch(secret, aws)
        current = found[1] if found else ""
        if current == over:
            raise failed(f"secret {secret}", "move", error) from None
        return current == new
    return True


def region_of(secret: str) -> str:
    """Return the region that an ARN names, or nothing for a name: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME."""
    return secret.split(":")[3] if secret.startswith("arn:") else ""


def failed(secret: str, verb: str, error: AwsError) -> SourceFailed:
    """Return why a secret could not be read, written, or its current version moved, and what that needs."""
    word, action = _NEEDS[verb]
    remedy = error.remedy or (
        f"the secret must exist, the function's role needs secretsmanager:{action} on it (parameter ReadableArns; and "
        "DecryptableKeyArns if its key is not the default), and a way to the Secrets Manager API (NAT gateway or VPC "
        "endpoint secretsmanager)"
    )
    return SourceFailed(f"cannot {word} {secret}: {error.code}; {remedy}")


def _vouched_for(secret: str) -> str:
    """Return what may be said of a secret that nobody has found yet: somebody may have put its value in its place."""
    return f"secret {secret}" if secret.startswith("arn:") else "the secret that the file of objects names here"


_NEEDS = {
    "read": ("read", "GetSecretValue"),
    "write": ("write", "PutSecretValue"),
    "move": ("write", "UpdateSecretVersionStage"),
}


def _value(secret: str, aws: AwsApi) -> Sensitive[str] | SourceFailed:
    try:
        found = fetch(secret, aws)
    except SourceFailed as error:
        return error
    if found and found[0].reveal():
        return found[0]
    return SourceEmpty(f"secret {secret} holds no value yet; put one there")


def _material(ref: Ref, value: Sensitive[str] | SourceFailed) -> Material | SourceFailed:
    if isinstance(value, SourceFailed):
        return value
    member = ref.get("member")
    if member:
        try:
            value = members.member(value, member)
        except members.NoMember as wrong:
            # It may be a value as well, and is not quoted.
            return SourceFailed(f"secret {ref.get('secret')}: the member that the file of objects names {wrong}")
    return Material({"value": Sensitive(value.reveal().encode(errors="surrogatepass"))}, secrets=secrets_in(value))


SECRET = Source("secret", form=_form, read=_read)
