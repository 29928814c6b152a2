"""What the kinds share whose parts are the keys of their data, each with one value."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from upsert.core.fields import Fields, Problem, shown
from upsert.core.grammars import DATA_KEY
from upsert.core.objects import BadMaterial, Desired, Material, Object, Part
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.kinds.kind import Data, Kind, PartReader

FIELDS = ("data", "data_from")

# https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size
_MOST_BYTES = 1024 * 1024
_TOO_LARGE = f"its values have {{size}} bytes; expected at most {_MOST_BYTES}"

# Gives when the values stop being useful, if they tell. Raises `BadMaterial` if they make no object of the kind.
type ValueCheck = Callable[[Data], datetime | None]


def _any_values(_: Data) -> None:
    """Any bytes will do."""


def secret(
    word: str,
    kind_type: str,
    *,
    needs_all: Sequence[str] = (),
    needs_any: Sequence[str] = (),
    check: ValueCheck = _any_values,
) -> Kind:
    """Return a kind of Secret with a value for each key of ``data``.

    It must have each of the keys `needs_all`, and one of `needs_any`, which the API server would refuse to be without.
    """

    def read(fields: Fields, reader: PartReader) -> Sequence[Part]:
        found = parts(fields, reader)
        keys = {part.place for part in found}
        # Where no key is to be known, that has been noted.
        is_known = bool(found) or fields.value.get("data") == {}
        if is_known and (missing := [key for key in needs_all if key not in keys]):
            fields.wrong("data", f"lacks {' and '.join(missing)}; expected {' and '.join(needs_all)}")
        if is_known and needs_any and keys.isdisjoint(needs_any):
            fields.wrong("data", f"has none of the keys {' and '.join(needs_any)}; expected one of them at least")
        return found

    def build(wanted: Object, materials: Mapping[str, Material]) -> Desired:
        data = values(materials)
        # A check of what is not kept yet, or an import of what is not there, comes without a key that is needed.
        is_whole = data.keys() >= set(needs_all)
        return Desired(SECRETS, wanted.name, kind_type, data, expires_at=check(data) if is_whole else None)

    return Kind(word, SECRETS, kind_type, FIELDS, read, build)


def parts(fields: Fields, reader: PartReader, *, may_be_plain: bool = False) -> Sequence[Part]:
    """Return the parts that ``data`` names key by key, and ``data_from`` many at once. Notes what is wrong with them.

    `may_be_plain` is whether a value may stand in the file itself, or in one beside it.
    """
    found: list[Part] = []
    keys: set[str] = set()
    if "data" in fields or "data_from" not in fields:
        data = fields.child("data", "an object of keys, each with a source, such as {secret: NAME}")
        found += [_part(data, key, reader, may_be_plain=may_be_plain) for key in data.value if _is_key(data, key)]
        keys.update(data.value)
    if "data_from" in fields:
        for at in fields.children("data_from", "sources of many keys, such as {secret: NAME, members: [KEY]}"):
            for part in reader.parts(at, may_be_plain=may_be_plain):
                if not _is_key(at, part.place):
                    continue
                if part.place in keys:
                    at.wrong(None, f"gives the key {shown(part.place)}, which is there already; expected each key once")
                keys.add(part.place)
                found.append(part)
    size = sum(len(reader.given(part.ref)) for part in found)
    if size > _MOST_BYTES:
        fields.wrong("data", _TOO_LARGE.format(size=size))
    return found


def values(materials: Mapping[str, Material]) -> dict[str, Sensitive[bytes]]:
    """Return the value of each key. Raises `BadMaterial` if they are more than the API server takes."""
    data = {key: material.data["value"] for key, material in materials.items()}
    size = sum(len(value.reveal()) for value in data.values())
    if size > _MOST_BYTES:
        raise BadMaterial(_TOO_LARGE.format(size=size))
    return data


def _part(data: Fields, key: str, reader: PartReader, *, may_be_plain: bool) -> Part:
    at = data.child(key, "a source, such as {secret: NAME}")
    return reader.part(key, at, login=False, may_be_plain=may_be_plain)


def _is_key(at: Fields, key: str) -> bool:
    """Return whether it can be a key, and note if not: {PASSWORD:hunter2} is YAML for a key without a value."""
    if DATA_KEY.fits(key):
        return True
    text = f"has a key of {len(key)} characters that is none; expected {DATA_KEY.expected}"
    at.problems.append(Problem(at.path, text, place=(*at.path, key)))
    return False
