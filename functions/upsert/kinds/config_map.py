"""ConfigMaps: texts under ``data``, bytes that are no text under ``binaryData``, as `kubectl create configmap` has it.

https://kubernetes.io/docs/concepts/configuration/configmap/
"""

from collections.abc import Mapping, Sequence

from upsert.core.fields import Fields
from upsert.core.objects import Desired, Material, Object, Part
from upsert.core.resources import CONFIG_MAPS
from upsert.core.sensitive import is_text
from upsert.kinds import keyed
from upsert.kinds.kind import Kind, PartReader


def _parts(fields: Fields, reader: PartReader) -> Sequence[Part]:
    return keyed.parts(fields, reader, may_be_plain=True)


def _build(wanted: Object, materials: Mapping[str, Material]) -> Desired:
    data = keyed.values(materials)
    binary = frozenset(key for key, value in data.items() if not is_text(value))
    return Desired(CONFIG_MAPS, wanted.name, "", data, binary_keys=binary)


KIND = Kind(
    word="ConfigMap",
    resource=CONFIG_MAPS,
    type="",
    own_fields=keyed.FIELDS,
    parts=_parts,
    build=_build,
)
