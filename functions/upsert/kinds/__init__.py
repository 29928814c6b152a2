"""How bytes become an API object, and how a live one is compared: one module per kind, one row in the table."""

from collections.abc import Mapping
from copy import replace

from upsert.core.objects import Desired, Material, Object
from upsert.kinds import basic_auth, config_map, docker_file, docker_registry, generic, manifest, ssh_auth, tls
from upsert.kinds.kind import Kind

# By the word that the file of objects has for a kind: the `type` of a Secret, else the `kind`.
TABLE: dict[str, Kind] = {
    kind.word: kind
    for kind in (
        *(docker_registry.KIND, generic.KIND, tls.KIND, basic_auth.KIND, ssh_auth.KIND),
        *(config_map.KIND, *manifest.KINDS),
    )
}
# By what the API server calls them: they have no word of their own. A docker config from one value is written as it is,
# so it is another kind than one that is made of logins.
_BY_TYPE: dict[str, Kind] = {
    kind.type: kind for kind in (docker_file.CONFIG, docker_file.LEGACY, generic.SERVICE_ACCOUNT_TOKEN)
}

_SECRET = "Secret"  # noqa: S105 - the name of a kind


def find(kind: str, secret_type: str) -> Kind | None:
    """Return the row for a Kubernetes kind, and for what sort of Secret if it is one; None if there is none.

    A Secret's type is a word of the table, or a type as the API server calls it.
    """
    if kind != _SECRET:
        found = TABLE.get(kind)
        return found if found and found.resource.kind == kind else None
    if found := TABLE.get(secret_type):
        return found if found.resource.kind == _SECRET else None
    rows = (row for row in (*_BY_TYPE.values(), *TABLE.values()) if row.type == secret_type)
    return next(rows, generic.of_type(secret_type) if "/" in secret_type else None)


def build(one: Object, materials: Mapping[str, Material]) -> Desired:
    """Return the API object of what the sources gave, by place. Raises `BadMaterial`."""
    made = of(one).build(one, materials)
    ends = (made.expires_at, *(material.expires_at for material in materials.values()))
    changes = (material.changed_at for material in materials.values())
    return replace(
        made,
        expires_at=min((end for end in ends if end), default=None),
        changed_at=min((change for change in changes if change), default=None),
    )


def of(one: Object) -> Kind:
    """Return the row of an object, which the build found to be there."""
    found = find(one.kind, one.type)
    if found is None:
        raise LookupError(f"no kind for {one.title}")
    return found
