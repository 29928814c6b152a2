"""Finds registries that an object names twice, in whatever spelling, as far as a file alone can tell."""

from collections.abc import Iterator

from upsert import sources
from upsert.core.docker_config import bare
from upsert.core.objects import Object, Part, Ref
from upsert.core.registries import PUBLIC_HOST, private_host

_HTTPS = ":443"


def repeated(one: Object) -> Iterator[tuple[Part, Part, str]]:
    """Give each registry that is there already, with the first of its spellings and what they have in common."""
    first: dict[str, Part] = {}
    for part in one.parts:
        source = sources.TABLE.get(part.ref.source)
        host = host_of(part.ref) if source and source.gives_login else ""
        if host and first.setdefault(host, part).ref != part.ref:
            yield first[host], part, host


def host_of(ref: Ref) -> str:
    """Return the host of a registry, with words for what only a deployment knows, or nothing if it tells none."""
    if host := ref.get("host"):
        return bare(host).removesuffix(_HTTPS)
    match ref.source:
        case "ecr_public":
            return PUBLIC_HOST
        case "ecr":
            role = ref.get("role_arn").split(":")
            account = ref.get("account") or (role[4] if len(role) > 4 else "THIS-ACCOUNT")
            return private_host(account, ref.get("region", "THIS-REGION"))
    return ""
