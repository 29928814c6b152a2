"""What a manifest says, of the few kinds that belong into namespaces beside Secrets and run nothing.

The build makes JSON of it, so that there is no YAML here.
"""

import json
from collections.abc import Mapping, Sequence

from upsert.core.fields import Fields
from upsert.core.objects import Desired, Material, Object, Part
from upsert.core.resources import DISRUPTION_BUDGETS, LIMIT_RANGES, MANIFESTS, NETWORK_POLICIES, RESOURCE_QUOTAS
from upsert.kinds.kind import Kind, PartReader

PLACE = "manifest"


def _parts(_fields: Fields, _reader: PartReader) -> Sequence[Part]:
    """Return none: what is in the file of the manifest, the compiler alone can read."""
    return ()


def _build(wanted: Object, materials: Mapping[str, Material]) -> Desired:
    (resource,) = (one for one in MANIFESTS if one.kind == wanted.kind)
    rest = json.loads(materials[PLACE].data["value"].reveal())
    return Desired(resource, wanted.name, "", data={}, rest=rest)


RESOURCE_QUOTA, LIMIT_RANGE, NETWORK_POLICY, DISRUPTION_BUDGET = (
    Kind(resource.kind, resource, "", (PLACE,), _parts, _build)
    for resource in (RESOURCE_QUOTAS, LIMIT_RANGES, NETWORK_POLICIES, DISRUPTION_BUDGETS)
)
