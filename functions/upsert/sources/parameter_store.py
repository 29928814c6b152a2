"""Values from AWS Systems Manager Parameter Store, read in batches and decrypted."""

from collections.abc import Collection, Mapping, Sequence
from itertools import batched
from typing import Any, NamedTuple

from upsert.core.grammars import PARAMETER, PARAMETER_LABEL, PARAMETER_VERSION
from upsert.core.objects import Ref
from upsert.core.sensitive import Sensitive
from upsert.errors import AwsError, SourceFailed
from upsert.sources import values
from upsert.sources.source import AwsApi, Reading
from upsert.sources.values import Found, Held, Place

_WORD = "parameter"
_CHOICES = {"version": PARAMETER_VERSION, "label": PARAMETER_LABEL}

# https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html
_MOST_NAMES = 10
# What a call is refused with for the sake of one of its names: each of them is authorised, and its key is used.
# https://docs.aws.amazon.com/systems-manager/latest/userguide/ps-retrieval-authorization.html
_FOR_THE_SAKE_OF_ONE = frozenset(
    {"AccessDeniedException", "InvalidKeyId", "ParameterNotFound", "ParameterVersionNotFound", "ValidationException"}
)


class _Wanted(NamedTuple):
    """A parameter's value: the latest one, unless a version or a label is named, which is the selector."""

    name: str
    role_arn: str
    selector: str

    @classmethod
    def by(cls, ref: Ref) -> "_Wanted":
        return cls(ref.get(_WORD), ref.get("role_arn"), ref.get("version") or ref.get("label"))

    @property
    def asked(self) -> str:
        return f"{self.name}:{self.selector}" if self.selector else self.name


def _read(refs: Collection[Ref], aws: AwsApi) -> Reading:
    """Return what each ref wants of its parameter. Each is read once, ten of a region and a role in one call.

    Any other version than the latest is a call of its own: no name may be in a call twice.
    """

    def place(wanted: _Wanted) -> Place:
        return values.place_of(wanted.name, wanted.role_arn, aws)

    def read(place: Place, wanted: Sequence[_Wanted]) -> Mapping[_Wanted, Found]:
        latest = batched((one for one in wanted if not one.selector), _MOST_NAMES, strict=False)
        found: dict[_Wanted, Found] = {}
        for batch in (*latest, *((one,) for one in wanted if one.selector)):
            found |= _batch(batch, place, aws)
        return found

    found = values.by_place(map(_Wanted.by, refs), place, read)
    return values.materials({ref: found[_Wanted.by(ref)] for ref in refs}, lambda ref: f"parameter {ref.get(_WORD)}")


def _batch(wanted: Sequence[_Wanted], place: Place, aws: AwsApi) -> Mapping[_Wanted, Found]:
    """Return what a call gives for each name, or why it gives nothing.

    One that is refused as a whole, maybe for one of the names, is tried again for each by itself.
    """
    region, role_arn = place
    names = [one.asked for one in wanted]
    try:
        answer = aws.call("ssm", "get_parameters", region=region, role_arn=role_arn, Names=names, WithDecryption=True)
    except AwsError as error:
        if len(wanted) > 1 and error.code in _FOR_THE_SAKE_OF_ONE and not error.while_assuming:
            return {one: _batch([one], place, aws)[one] for one in wanted}
        return {one: _failed(one, error) for one in wanted}
    return {one: _found(one, answer) for one in wanted}


def _found(wanted: _Wanted, answer: Mapping[str, Any]) -> Found:
    """Return what an answer says of a name, found by what it is called: answers keep no order."""
    given, invalid = answer.get("Parameters"), answer.get("InvalidParameters")
    for one in given if isinstance(given, list) else ():
        if isinstance(one, Mapping) and wanted.name in (one.get("Name"), one.get("ARN")):
            value = one.get("Value")
            if isinstance(value, str) and value:
                return Held.since(Sensitive(value), one.get("LastModifiedDate"))
    if isinstance(invalid, list) and wanted.asked in invalid:
        which = "version or label" if wanted.selector else "parameter"
        return SourceFailed(
            f"cannot read {_vouched_for(wanted.name)}: there is no such {which} in that account and region; names are "
            "whole paths, and upper and lower case differ"
        )
    # A page that a proxy answers with 200 must not become an empty value.
    return SourceFailed(
        f"{_vouched_for(wanted.name)}: what answered gave no value; look for a proxy before the Systems Manager API"
    )


def _failed(wanted: _Wanted, error: AwsError) -> SourceFailed:
    """Return why there is no value of a parameter, and what helps."""
    if error.while_assuming:
        return values.not_assumed(wanted.role_arn, _vouched_for(wanted.name), error)
    return SourceFailed(
        f"cannot read {_vouched_for(wanted.name)}: {error.code}; {error.remedy or _help(wanted, error)}"
    )


def _help(wanted: _Wanted, error: AwsError) -> str:
    if error.is_about_a_key or error.code == "InvalidKeyId":
        return values.needs_key(wanted.role_arn)
    if error.code == "AccessDeniedException":
        needs = values.needs(wanted.role_arn, "ssm:GetParameters", "ReadableArns")
        return f"{needs}, and the policy of a VPC endpoint may not deny it"
    return "look for a way to the Systems Manager API (NAT gateway or VPC endpoint ssm)"


def _vouched_for(name: str) -> str:
    """Return what may be said of a parameter that nobody has found yet: somebody may have put its value there."""
    return f"parameter {name}" if name.startswith("arn:") else "the parameter that the file of objects names here"


PARAMETER_STORE = values.row(_WORD, PARAMETER, _CHOICES, _read)
