"""What the sources of kept values share: which part of a value an entry wants, and what is made of it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import MAXYEAR, UTC, datetime
from functools import cache
from typing import NamedTuple

from upsert.core import members
from upsert.core.fields import Fields, Grammar, shown
from upsert.core.grammars import MEMBER, ROLE_ARN
from upsert.core.members import NotUsable
from upsert.core.objects import Material, Part, Ref
from upsert.core.secrecy import secrets_in, secrets_in_bytes
from upsert.core.sensitive import Sensitive
from upsert.errors import AwsError, SourceFailed
from upsert.sources.source import AwsApi, Reading, Source

_BASE64 = Grammar("base64", "base64")
_MOST_PLACES_AT_ONCE = 8


class Held(NamedTuple):
    """A value that a source holds, text or bytes, and when it was put there."""

    value: Sensitive[str] | Sensitive[bytes]
    changed_at: datetime | None = None

    @classmethod
    def since(cls, value: Sensitive[str] | Sensitive[bytes], changed_at: object) -> "Held":
        """Return a value with its time, if what was answered is one."""
        if isinstance(changed_at, datetime) and changed_at.tzinfo and 1 < changed_at.year < MAXYEAR:
            return cls(value, changed_at.astimezone(UTC))
        return cls(value)


type Found = Held | SourceFailed


def row(
    word: str, id_form: Grammar, choices: Mapping[str, Grammar], read: Callable[[Collection[Ref], AwsApi], Reading]
) -> Source:
    """Return the row of a source of kept values. Of the `choices`, which are its own, an entry has one at most."""
    return Source(
        word,
        form=lambda at, _: form(at, word, id_form, choices),
        many=lambda at, _: parts(at, word, id_form, choices),
        read=read,
    )


def form(at: Fields, word: str, id_form: Grammar, choices: Mapping[str, Grammar]) -> Mapping[str, str]:
    """Return the fields of an entry that wants one value. Of the `choices`, which are of the source, it has one."""
    known = (word, "member", "decode", *choices, "role_arn")
    if "members" in at:
        at.wrong("members", "is for many keys at once; expected member, or this entry in data_from")
        known = (*known, "members")
    at.closed(known)
    member = {"member": at.text("member", MEMBER, is_secret=True)} if "member" in at else {}
    return {**_fields(at, word, id_form, choices), **member}


def parts(at: Fields, word: str, id_form: Grammar, choices: Mapping[str, Grammar]) -> Sequence[Part]:
    """Return a part for each of the ``members`` that an entry names, which are the keys too."""
    at.closed((word, "members", "decode", *choices, "role_arn"))
    fields = _fields(at, word, id_form, choices)
    if "members" not in at:
        at.wrong("members", f"is missing; expected a list, each of it {MEMBER.expected}")
    names = at.texts("members", MEMBER, is_secret=True)
    if len(set(names)) != len(names):
        at.wrong("members", "names a member twice; expected each once")
    return [Part(name, Ref(word, tuple(sorted({**fields, "member": name}.items())))) for name in dict.fromkeys(names)]


def _fields(at: Fields, word: str, id_form: Grammar, choices: Mapping[str, Grammar]) -> dict[str, str]:
    # Somebody may put the value itself where its name belongs, or anything that says which part of it.
    found = {word: at.text(word, id_form, is_secret=True)}
    if "decode" in at:
        found["decode"] = at.text("decode", _BASE64, is_secret=True)
    if "role_arn" in at:
        found["role_arn"] = at.text("role_arn", ROLE_ARN)
    chosen = [name for name in choices if name in at]
    if len(chosen) > 1:
        at.wrong(None, f"names {' and '.join(chosen)}; expected one of them at most")
    return found | {name: at.text(name, choices[name], is_secret=True) for name in chosen}


def materials(found: Mapping[Ref, Found], whose: Callable[[Ref], str]) -> Reading:
    """Return what each ref wants of the value that was found for it. `whose` gives how errors call that."""
    # Of this call alone: nothing of a value outlives its run.
    reader = cache(members.reader)
    return {ref: _material(ref, one, whose(ref), reader) for ref, one in found.items()}


type _Reader = Callable[[Sensitive[str]], Callable[[str], Sensitive[str]]]


def _material(ref: Ref, found: Found, whose: str, reader: _Reader) -> Material | SourceFailed:
    """Return what a ref wants of a value: all of it or a member, as it is or decoded."""
    if isinstance(found, SourceFailed):
        return found
    member, decode = ref.get("member"), ref.get("decode")
    plain = found.value.reveal()
    if isinstance(plain, bytes):
        if member or decode:
            return SourceFailed(f"{whose} holds a binary value; expected text, to take a member of it or to decode it")
        return _made(found, Sensitive(plain), secrets_in_bytes(Sensitive(plain)))
    try:
        text = reader(Sensitive(plain))(member) if member else Sensitive(plain)
        data = members.to_bytes(text, decode=bool(decode))
    except NotUsable as wrong:
        return SourceFailed(f"{whose}: {_of(member, is_there=wrong.is_there)} {wrong}")
    return _made(found, data, secrets_in(text) + (secrets_in_bytes(data) if decode else ()))


def _made(found: Held, data: Sensitive[bytes], secrets: tuple[Sensitive[str], ...]) -> Material:
    return Material({"value": data}, changed_at=found.changed_at, secrets=secrets)


def _of(member: str, *, is_there: bool) -> str:
    if not member:
        return "its value"
    # Where it is not found it may be a value as well, and is not quoted.
    return f"member {shown(member)}" if is_there else "the member that the file of objects names"


def region_of(name: str) -> str:
    """Return the region that an ARN names, or nothing for a name: arn:aws:SERVICE:REGION:ACCOUNT:…."""
    return name.split(":")[3] if name.startswith("arn:") else ""


type Place = tuple[str, str]


def place_of(name: str, role_arn: str, aws: AwsApi) -> Place:
    """Return where something is read: a region, which is empty for the function's own, and a role."""
    region = region_of(name)
    return "" if region == aws.region else region, role_arn


def by_place[W](
    wanted: Iterable[W], place: Callable[[W], Place], read: Callable[[Place, Sequence[W]], Mapping[W, Found]]
) -> dict[W, Found]:
    """Return what `read` finds of all that is wanted, each once.

    What is in one place is asked for one after the other, since a limit of calls is for a place; different ones are
    asked at the same time, so that one of them that hangs holds up no other.
    """
    places: dict[Place, list[W]] = {}
    for one in dict.fromkeys(wanted):
        places.setdefault(place(one), []).append(one)
    if not places:
        return {}
    with ThreadPoolExecutor(min(len(places), _MOST_PLACES_AT_ONCE), thread_name_prefix="place") as pool:
        readings = pool.map(lambda item: read(*item), places.items())
        return {one: found for reading in readings for one, found in reading.items()}


def needs(role_arn: str, action: str, parameter: str) -> str:
    """Return what whoever reads it must be allowed, and the template's parameter that allows it to the function."""
    if role_arn:
        return f"the role {role_arn} needs {action} on it"
    return f"the function's role needs {action} on it (parameter {parameter})"


def needs_key(role_arn: str) -> str:
    """Return what helps if a value could not be decrypted."""
    return f"its KMS key must be enabled, and {needs(role_arn, 'kms:Decrypt', 'DecryptableKeyArns')}"


def not_assumed(role_arn: str, what: str, error: AwsError) -> SourceFailed:
    """Return that the role to read something as could not be assumed."""
    help_ = error.remedy or (
        "its trust policy must name the function's role, and the parameter AssumableRoleArns must name it"
    )
    return SourceFailed(f"cannot assume {role_arn} to read {what}: {error.code}; {help_}")
