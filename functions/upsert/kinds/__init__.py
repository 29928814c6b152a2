"""How bytes become an API object: one module per kind, one row in the table."""

from collections.abc import Mapping
from copy import replace

from upsert.core.objects import Desired, Material, Object
from upsert.core.rows import Rows
from upsert.kinds import docker_registry
from upsert.kinds.kind import Kind

# By the word that the file of objects has for a kind: the `type` of a Secret, else the `kind`. That of pull Secrets is
# there from the start: nearly every function needs it, and Lambda gives it more of a processor then than ever after.
TABLE = Rows[Kind](
    __name__,
    {
        "docker-registry": docker_registry.KIND,
        "generic": "generic.KIND",
        "tls": "tls.KIND",
        "basic-auth": "basic_auth.KIND",
        "ssh-auth": "ssh_auth.KIND",
        "ConfigMap": "config_map.KIND",
        "ResourceQuota": "manifest.RESOURCE_QUOTA",
        "LimitRange": "manifest.LIMIT_RANGE",
        "NetworkPolicy": "manifest.NETWORK_POLICY",
        "PodDisruptionBudget": "manifest.DISRUPTION_BUDGET",
    },
)
# By what the API server calls them: they have no word of their own. A docker config from one value is written as it is,
# so it is another kind than one that is made of logins.
_BY_TYPE = Rows[Kind](
    __name__,
    {
        "kubernetes.io/dockerconfigjson": "docker_file.CONFIG",
        "kubernetes.io/dockercfg": "docker_file.LEGACY",
        "kubernetes.io/service-account-token": "generic.SERVICE_ACCOUNT_TOKEN",
    },
)

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
    if found := _BY_TYPE.get(secret_type):
        return found
    if found := next((row for row in TABLE.values() if row.type == secret_type), None):
        return found
    if "/" not in secret_type:
        return None
    # As the rows are: imported by whoever needs it.
    from upsert.kinds import generic  # noqa: PLC0415

    return generic.of_type(secret_type)


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
