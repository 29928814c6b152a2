"""Finds objects of one name that go to the same namespace, as far as a file alone can tell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from upsert.core.namespaces import is_any, is_name, start_of
from upsert.core.objects import Object, Scope, Target

# What stands for * and ? in a namespace that a glob is tried with.
_SAMPLES = str.maketrans({"*": "zq0x", "?": "z"})


@dataclass(frozen=True, slots=True)
class Overlap:
    """The indices of two objects, and a namespace or glob that both hold."""

    first: int
    second: int
    pattern: str


def overlaps(objects: Sequence[Object], clusters: Sequence[Target]) -> Iterator[Overlap]:
    """Give each object that overlaps one before it. What depends on labels is known only to the cluster."""
    alike: dict[tuple[str, str], list[tuple[int, _Held]]] = {}
    for index, one in enumerate(objects):
        if one.name:
            names = frozenset(cluster.name for cluster in clusters if one.is_for(cluster.name)) if clusters else None
            alike.setdefault((one.title, one.scope.selector), []).append((index, _Held(one.scope, names)))
    for same in alike.values():
        near = _near([held for _, held in same])
        for position, (second, theirs) in enumerate(same):
            for first, mine in (same[earlier] for earlier in sorted(near[position])):
                if pattern := _common(mine, theirs):
                    yield Overlap(first, second, pattern)
                    break


@dataclass(frozen=True)
class _Held:
    """The namespaces and clusters that an object goes to; no clusters are the one of the stack."""

    scope: Scope
    clusters: frozenset[str] | None

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(filter(is_name, self.scope.include))

    @cached_property
    def globs(self) -> tuple[str, ...]:
        return tuple(pattern for pattern in self.scope.include if not is_name(pattern))

    def holds(self, namespace: str) -> bool:
        return (namespace in self.names or is_any(namespace, self.globs)) and not is_any(namespace, self.scope.exclude)


def _near(helds: Sequence[_Held]) -> list[set[int]]:
    """Return, for each, the places of those before it that may hold one of its patterns, or it one of theirs."""
    by_start: dict[str, set[int]] = {}
    for place, held in enumerate(helds):
        for pattern in held.scope.include:
            by_start.setdefault(start_of(pattern), set()).add(place)
    lengths = {len(start) for start in by_start}
    found: list[set[int]] = [set() for _ in helds]
    for place, held in enumerate(helds):
        for sample in map(_sample, held.scope.include):
            for other in (one for length in lengths for one in by_start.get(sample[:length], ()) if one != place):
                found[max(place, other)].add(min(place, other))
    return found


def _common(mine: _Held, theirs: _Held) -> str:
    """Return a name or glob of which both, whose selector is the same, hold a namespace for sure, or nothing."""
    if mine.clusters is not None and theirs.clusters is not None and mine.clusters.isdisjoint(theirs.clusters):
        return ""
    candidates = mine.names & theirs.names
    if theirs.globs:
        candidates |= mine.names
    if mine.globs:
        candidates |= theirs.names
    if mine.globs and theirs.globs:
        candidates |= {*mine.globs, *theirs.globs}
    return next((one for one in sorted(candidates) if all(held.holds(_sample(one)) for held in (mine, theirs))), "")


def _sample(pattern: str) -> str:
    """Return a namespace that a pattern matches."""
    return pattern.translate(_SAMPLES)
