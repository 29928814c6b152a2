"""Which values of a live object go where they are kept, and what is kept there then. Nothing kept is changed."""

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upsert.core import members
from upsert.core.members import NotUsable
from upsert.core.objects import Object, Part, Ref
from upsert.core.sensitive import Sensitive, is_text

SECRET, PARAMETER = "secret", "parameter"
# https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
# https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
MOST_BYTES = {SECRET: 65_536, PARAMETER: 4_096}
_CHOSEN = ("stage", "version", "label", "role_arn")
# What YAML reads as a text without quotes, whoever reads it.
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_][A-Za-z0-9_./-]*", re.IGNORECASE)


class NotKept(Exception):
    """Values cannot be kept as they are. The text names keys and says why, and quotes no value."""


@dataclass(frozen=True, slots=True)
class Store:
    """One secret or one parameter, where one value is kept, or several as members of a JSON text."""

    source: str
    name: str

    @classmethod
    def of(cls, ref: Ref) -> "Store":
        """Return the one that a ref is about."""
        return cls(ref.source, ref.get(ref.source))


@dataclass(frozen=True, slots=True)
class Version:
    """A value that is kept outside of the cluster, with the id of its version."""

    value: Sensitive[str]
    id: str


@dataclass(frozen=True, slots=True)
class Split:
    """The keys of a live object: what is to be kept, and where; and what is left out, with why.

    `added` are those of the parts that the file does not have.
    """

    parts: tuple[Part, ...]
    added: tuple[Part, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of what is kept in one place: keys that are `added`, those that are `present`, and the new whole."""

    added: tuple[str, ...]
    present: tuple[str, ...]
    text: Sensitive[str]


def split(one: Object, live: Mapping[str, Sensitive[bytes]], unprintable: Collection[str]) -> Split:
    """Return where each key of a live object is to be kept. Raises `NotKept`.

    What the file does not name goes to the object's one secret of members, under its own name, unless that cannot be
    printed.
    """
    places = {part.place: part for part in one.parts}
    home = _home(one)
    parts: list[Part] = []
    added: list[Part] = []
    left_out: dict[str, str] = {}
    for key, value in live.items():
        if key in places:
            part = places[key]
            if part.ref.source not in MOST_BYTES:
                left_out[key] = "the file has its value"
                continue
            if chosen := [name for name in _CHOSEN if part.ref.get(name)]:
                raise NotKept(f"{key}: its entry names a {chosen[0]}; an import writes the current value, as this role")
        elif home is None:
            left_out[key] = "the file does not name it, nor one secret of members for all keys; add it to data"
            continue
        elif key in unprintable:
            left_out[key] = "the file does not name it, and its name cannot be printed"
            continue
        else:
            decode = () if is_text(value) else (("decode", "base64"),)
            part = Part(key, Ref(SECRET, (*decode, ("member", key), (SECRET, home))))
            added.append(part)
        parts.append(part)
    return Split(tuple(parts), tuple(added), left_out)


def change(
    store: Store, parts: Sequence[Part], live: Mapping[str, Sensitive[bytes]], kept: Sensitive[str] | None
) -> Change:
    """Return how live values go into what one place keeps, of which `kept` is the text, if any. Raises `NotKept`."""
    texts = {part.place: _text(part, live[part.place]) for part in parts}
    whole = [part.place for part in parts if not part.ref.get("member")]
    if whole and len(parts) > 1:
        raise NotKept(f"{', '.join(sorted(whole))}: is all of what others are a part of; give each key a member")
    there = Sensitive("") if kept is None else kept
    made = _whole(whole[0], texts[whole[0]], there) if whole else _members(parts, texts, there)
    if made.added and kept is not None and store.source == PARAMETER:
        raise NotKept(f"{', '.join(made.added)}: the parameter is there without it; an import only creates parameters")
    size, most = len(made.text.reveal().encode()), MOST_BYTES[store.source]
    if made.added and size > most:
        raise NotKept(
            f"{', '.join(made.added)}: the {store.source} would have {size} bytes; {most} are the most that it holds"
        )
    return made


def entry_lines(parts: Sequence[Part]) -> Iterator[str]:
    """Give the lines of YAML that describe the parts, to be put under an object's entry. Names only."""
    yield "data:"
    for part in parts:
        fields = {part.ref.source: part.ref.get(part.ref.source), **dict(part.ref.fields)}
        inner = ", ".join(f"{name}: {_yaml(value)}" for name, value in fields.items())
        yield f"  {_yaml(part.place)}: {{{inner}}}"


def _home(one: Object) -> str | None:
    """Return the one secret that all members of an object are kept in, or None if there is no such one."""
    named = {part.ref.get(SECRET) for part in one.parts if part.ref.source == SECRET and part.ref.get("member")}
    return named.pop() if len(named) == 1 else None


def _text(part: Part, value: Sensitive[bytes]) -> Sensitive[str]:
    if part.ref.get("decode"):
        return Sensitive(base64.b64encode(value.reveal()).decode())
    if not is_text(value):
        raise NotKept(f"{part.place}: is no UTF-8; say `decode: base64` in its entry, and it is kept as that")
    return Sensitive(value.reveal().decode())


def _whole(key: str, text: Sensitive[str], kept: Sensitive[str]) -> Change:
    if kept.reveal():
        if kept != text:
            raise NotKept(f"another value is kept for {key}")
        return Change((), (key,), kept)
    if not text.reveal():
        raise NotKept(f"{key}: is empty, which can be kept as a member alone")
    return Change((key,), (), text)


def _members(parts: Sequence[Part], texts: Mapping[str, Sensitive[str]], kept: Sensitive[str]) -> Change:
    kept = kept if kept.reveal().strip() else Sensitive("{}")
    there = _names(kept)
    new: dict[str, str] = {}
    added: list[str] = []
    present: list[str] = []
    contradicted: list[str] = []
    for part in parts:
        name, text = part.ref.get("member"), texts[part.place]
        if name in there:
            (present if _is_member(kept, name, text) else contradicted).append(part.place)
        elif new.setdefault(name, text.reveal()) == text.reveal():
            added.append(part.place)
        else:
            contradicted.append(part.place)
    if contradicted:
        raise NotKept(f"another value is kept for {', '.join(sorted(contradicted))}")
    return Change(tuple(added), tuple(present), _with(kept, new))


def _names(kept: Sensitive[str]) -> Collection[str]:
    """Return the names of a JSON text's members. Raises `NotKept` if a refresh could read none that is put there."""
    try:
        return members.names(kept)
    except NotUsable as wrong:
        raise NotKept(f"no member can be put into what is kept there: a member {wrong}") from None


def _is_member(kept: Sensitive[str], name: str, text: Sensitive[str]) -> bool:
    """Return whether that is what a refresh would read as the member of that name."""
    try:
        return members.member(kept, name) == text
    except NotUsable:
        return False


def _with(kept: Sensitive[str], new: Mapping[str, str]) -> Sensitive[str]:
    """Return the JSON object with further members. What was there stays as it is written: 1.50 is not 1.5."""
    if not new:
        return kept
    head = kept.reveal().rstrip().removesuffix("}").rstrip()
    comma = "" if head.endswith("{") else ","
    more = json.dumps(dict(new), ensure_ascii=False, separators=(",", ":")).removeprefix("{")
    return Sensitive(f"{head}{comma}{more}")


def _yaml(value: Any) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
