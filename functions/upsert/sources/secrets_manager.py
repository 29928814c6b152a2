"""Values from AWS Secrets Manager, read in batches."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import batched
from typing import Any, NamedTuple

from upsert.core.aws_errors import as_error
from upsert.core.grammars import SECRET_ID, SECRET_STAGE, SECRET_VERSION
from upsert.core.objects import Ref
from upsert.core.sensitive import Sensitive
from upsert.errors import AwsError, SourceEmpty, SourceFailed
from upsert.sources import values
from upsert.sources.source import AwsApi, Reading
from upsert.sources.values import Found, Held, Place

_WORD = "secret"
_CHOICES = {"stage": SECRET_STAGE, "version": SECRET_VERSION}
CURRENT = "AWSCURRENT"

# https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_BatchGetSecretValue.html
_MOST_IDS = 20
# An answer in more parts than that has no end.
_MOST_PAGES = 2 * _MOST_IDS
# An ARN ends in a hyphen and six characters that the name does not have.
_SUFFIX = 7
_BATCH_ACTION = "secretsmanager:BatchGetSecretValue"
# What a call may be refused with for the sake of one of its secrets. A VPC endpoint whose policy denies one gives none.
_FOR_THE_SAKE_OF_ONE = frozenset(
    {
        "AccessDeniedException", "DecryptionFailure", "InvalidParameterException", "InvalidRequestException",
        "ResourceNotFoundException", "ValidationException",
    }
)  # fmt: skip


class _Wanted(NamedTuple):
    """A secret's value: the current one, unless a stage or a version is named."""

    secret: str
    role_arn: str
    stage: str
    version: str

    @classmethod
    def by(cls, ref: Ref) -> "_Wanted":
        stage = ref.get("stage", CURRENT)
        return cls(ref.get(_WORD), ref.get("role_arn"), "" if stage == CURRENT else stage, ref.get("version"))

    @property
    def is_current(self) -> bool:
        return not (self.stage or self.version)


def _read(refs: Collection[Ref], aws: AwsApi) -> Reading:
    """Return what each ref wants of its secret. Each secret is read once, twenty of a region and a role in one call.

    A batch gives current values alone, so any other stage or version is a call of its own.
    """

    def place(wanted: _Wanted) -> Place:
        return values.place_of(wanted.secret, wanted.role_arn, aws)

    def read(place: Place, wanted: Sequence[_Wanted]) -> Mapping[_Wanted, Found]:
        found: dict[_Wanted, Found] = {}
        for batch in batched((one for one in wanted if one.is_current), _MOST_IDS, strict=False):
            found |= _batch(batch, place, aws)
        return found | {one: _version(one, place, aws) for one in wanted if not one.is_current}

    found = values.by_place(map(_Wanted.by, refs), place, read)
    return values.materials({ref: found[_Wanted.by(ref)] for ref in refs}, lambda ref: f"secret {ref.get(_WORD)}")


def _batch(wanted: Sequence[_Wanted], place: Place, aws: AwsApi) -> Mapping[_Wanted, Found]:
    """Return what a batch gives of each secret, or why it gives nothing.

    A call that is refused as a whole, maybe for one of them, is tried again for each by itself.
    """
    entries, errors, refused = _asked(wanted, place, aws)
    found: dict[_Wanted, Found] = {}
    for one in wanted:
        if what := _found(one, entries, errors):
            found[one] = what
        elif refused and len(wanted) > 1 and _may_be_for_one(refused):
            found |= _batch([one], place, aws)
        else:
            found[one] = _failed(one, refused) if refused else _unanswered(one)
    return found


type _Objects = list[Mapping[str, Any]]


def _asked(wanted: Sequence[_Wanted], place: Place, aws: AwsApi) -> tuple[_Objects, _Objects, AwsError | None]:
    """Return the values and the errors that all parts of an answer have, and why there are no more parts, if so."""
    region, role_arn = place
    ids = [one.secret for one in wanted]
    entries: _Objects = []
    errors: _Objects = []
    token: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        try:
            answer = aws.call(
                "secretsmanager", "batch_get_secret_value", region=region, role_arn=role_arn, SecretIdList=ids, **token
            )
        except AwsError as error:
            return entries, errors, error
        entries.extend(_objects(answer.get("SecretValues")))
        errors.extend(_objects(answer.get("Errors")))
        next_token = answer.get("NextToken")
        if not next_token or next_token == token.get("NextToken"):
            break
        token = {"NextToken": next_token}
    return entries, errors, None


def _may_be_for_one(error: AwsError) -> bool:
    return error.code in _FOR_THE_SAKE_OF_ONE and error.denied != _BATCH_ACTION and not error.while_assuming


def _objects(value: object) -> Iterable[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else ()


def _found(wanted: _Wanted, entries: _Objects, errors: _Objects) -> Found | None:
    """Return what an answer says of a secret, found by what it is called: answers keep no order."""
    for is_it in (_is_exactly, _is_part_of):
        for entry in entries:
            if is_it(wanted.secret, entry.get("ARN"), entry.get("Name")):
                return _held(wanted, entry)
        for entry in errors:
            said = entry.get("SecretId")
            if is_it(wanted.secret, said, said):
                return _failed(wanted, as_error(entry.get("ErrorCode"), entry.get("Message")))
    return None


def _is_exactly(secret: str, arn: object, name: object) -> bool:
    return secret in (arn, name)


def _is_part_of(secret: str, arn: object, _: object) -> bool:
    """Return whether it is the ARN without its last characters, which Secrets Manager takes too."""
    return isinstance(arn, str) and secret.startswith("arn:") and secret == arn[:-_SUFFIX]


def _version(wanted: _Wanted, place: Place, aws: AwsApi) -> Found:
    region, role_arn = place
    which = {"VersionId": wanted.version} if wanted.version else {"VersionStage": wanted.stage}
    try:
        answer = aws.call(
            "secretsmanager", "get_secret_value", region=region, role_arn=role_arn, SecretId=wanted.secret, **which
        )
    except AwsError as error:
        return _failed(wanted, error)
    return _held(wanted, answer)


def _held(wanted: _Wanted, answer: Mapping[str, Any]) -> Found:
    text, binary = answer.get("SecretString"), answer.get("SecretBinary")
    if isinstance(binary, bytes) and binary:
        return Held.since(Sensitive(binary), answer.get("CreatedDate"))
    if isinstance(text, str) and text:
        return Held.since(Sensitive(text), answer.get("CreatedDate"))
    if answer.get("ARN") and text in (None, ""):
        # The emulator answers so for a secret without a value.
        return _empty(wanted)
    return _unanswered(wanted)


def _empty(wanted: _Wanted) -> SourceEmpty:
    return SourceEmpty(f"secret {wanted.secret} holds no value yet; put one there")


def _unanswered(wanted: _Wanted) -> SourceFailed:
    # A page that a proxy answers with 200 must not become an empty value.
    return SourceFailed(
        f"{vouched_for(wanted.secret)}: what answered gave no value; look for a proxy before the Secrets Manager API"
    )


def _failed(wanted: _Wanted, error: AwsError) -> SourceFailed:
    """Return why there is no value of a secret, and what helps."""
    if error.while_assuming:
        return values.not_assumed(wanted.role_arn, vouched_for(wanted.secret), error)
    is_there = error.is_about_a_stage or error.code in ("InvalidRequestException", "DecryptionFailure")
    if error.code == "ResourceNotFoundException" and error.is_about_a_stage and wanted.is_current:
        # The secret is there. Its code does not tell that from a secret that is not.
        return _empty(wanted)
    named = f"secret {wanted.secret}" if is_there else vouched_for(wanted.secret)
    return SourceFailed(f"cannot read {named}: {error.code}; {error.remedy or _help(wanted, error)}")


def _help(wanted: _Wanted, error: AwsError) -> str:
    if error.denied == _BATCH_ACTION:
        whose = f"the role {wanted.role_arn}" if wanted.role_arn else "the function's role"
        return f"{whose} needs {_BATCH_ACTION} on *, since it cannot be narrower, and GetSecretValue on each secret"
    if error.is_about_a_key or error.code == "DecryptionFailure":
        return values.needs_key(wanted.role_arn)
    if error.code == "AccessDeniedException":
        needs = values.needs(wanted.role_arn, "secretsmanager:GetSecretValue", "ReadableArns")
        return f"{needs}, and neither the secret's own policy nor that of a VPC endpoint may deny it"
    if error.code == "InvalidRequestException":
        return "it is marked for deletion: restore it with `aws secretsmanager restore-secret`"
    if error.code == "ResourceNotFoundException":
        which = "" if wanted.is_current else ", or it has no version of that stage or id"
        return f"there is none of that name or ARN in that account and region{which}"
    return "look for a way to the Secrets Manager API (NAT gateway or VPC endpoint secretsmanager)"


def vouched_for(secret: str) -> str:
    """Return what may be said of a secret that nobody has found yet: somebody may have put its value in its place."""
    return f"secret {secret}" if secret.startswith("arn:") else "the secret that the file of objects names here"


SECRET = values.row(_WORD, SECRET_ID, _CHOICES, _read)
