"""How bytes become an API object, and how a live one is compared: one module per kind, one row in the table."""

from upsert.kinds import basic_auth, docker_registry
from upsert.kinds.kind import Kind

TABLE: dict[str, Kind] = {
    kind.word: kind for kind in (docker_registry.KIND, basic_auth.KIND)
}  # fmt: skip
