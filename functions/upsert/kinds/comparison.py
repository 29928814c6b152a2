"""How a live object is compared with what is to be there: key by key, unless its kind has a way of its own."""

from collections.abc import Callable, Mapping
from typing import Any

from upsert import kinds
from upsert.core import docker_comparison, verdicts
from upsert.core.objects import Desired, Object
from upsert.core.resources import MANIFESTS
from upsert.core.verdicts import Verdict
from upsert.kinds import docker_registry, manifest_comparison
from upsert.kinds.kind import Kind

type Compare = Callable[[Mapping[str, Any], Desired], tuple[Verdict, ...]]

_OWN: dict[str, Compare] = {
    docker_registry.KIND.word: docker_comparison.compare,
    **{resource.kind: manifest_comparison.compare for resource in MANIFESTS},
}


def compare(one: Object, live: Mapping[str, Any], desired: Desired) -> tuple[Verdict, ...]:
    """Return a verdict for each part of live contents and of what is desired, as the object's kind has it."""
    return of(kinds.of(one))(live, desired)


def of(kind: Kind) -> Compare:
    """Return how objects of a kind are compared."""
    return _OWN.get(kind.word, verdicts.of_keys)
