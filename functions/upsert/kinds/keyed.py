"""What the kinds share whose parts are the keys of their data, each with one value."""

from collections.abc import Callable, Mapping, Sequence

from upsert.core import verdicts
from upsert.core.fields import Fields, shown
from upsert.core.grammars import DATA_KEY
from upsert.core.objects import BadMaterial, Desired, Material, Object, Part
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.kinds.kind import Data, Kind, PartReader

# https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size
_MOST_BYTES = 1024 * 1024

# Notes what is wrong with the keys of an object of the file.
type KeyCheck = Callable[[Fields], None]
# Raises `BadMaterial` if the values make no object of the kind.
type ValueCheck = Callable[[Data], None]


def secret(word: str, kind_type: str, check_keys: KeyCheck, check_values: ValueCheck) -> Kind:
    """Return a kind of Secret with a value for each key of ``data``."""

    def parts(fields: Fields, part: PartReader) -> Sequence[Part]:
        data = fields.child("data", "an object of keys, each with a source, such as {secret: NAME}")
        found = [_part(data, key, part) for key in data.value]
        if data.value:
            check_keys(data)
        elif "data" in fields:
            data.wrong(None, "has no key; expected at least one")
        return found

    def build(wanted: Object, materials: Mapping[str, Material]) -> Desired:
        data = {key: material.data["value"] for key, material in materials.items()}
        _check_size(data)
        check_values(data)
        return Desired(SECRETS, wanted.name, kind_type, data)

    return Kind(word, SECRETS, kind_type, ("data",), parts, build, verdicts.of_keys)


def _part(data: Fields, key: str, part: PartReader) -> Part:
    if not DATA_KEY.pattern.fullmatch(key):
        data.wrong(None, f"has the key {shown(key)}; expected {DATA_KEY.expected}")
    return part(key, data.child(key, "a source, such as {secret: NAME}"), login=False)


def _check_size(data: Mapping[str, Sensitive[bytes]]) -> None:
    size = sum(len(value.reveal()) for value in data.values())
    if size > _MOST_BYTES:
        raise BadMaterial(f"its values have {size} bytes; expected at most {_MOST_BYTES}")
