"""Which objects are written in which namespaces."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from upsert.core import namespaces
from upsert.core.fields import shown
from upsert.core.objects import Object
from upsert.errors import NoNamespaceMatches

type _Pair = tuple[Object, str]


class Plan(NamedTuple):
    """What a run will do.

    `writes` are objects with a namespace each. `overlaps` are titles and namespaces that two objects of the file are
    for, which are not written. `unplaced` are objects that select no namespace at all.
    """

    writes: tuple[tuple[Object, str], ...]
    overlaps: tuple[tuple[str, str], ...] = ()
    unplaced: tuple[Object, ...] = ()


def plan(
    objects: Sequence[Object],
    existing: Mapping[str, Collection[str]],
    *,
    rivals: Sequence[Object] = (),
    requested: Sequence[str] = (),
    may_be_nowhere: bool = False,
) -> Plan:
    """Return what to write of these objects, given the namespaces that exist for each selector.

    `rivals` are others of their titles, which are not to be written: where one of them goes too, nothing is written.
    `requested` are the names and globs of an event, empty for all. Raises `NoNamespaceMatches` if that leaves nothing,
    unless it `may_be_nowhere`, or if one of `requested` leaves nothing: a typo by hand must not pass for success.
    """
    scopes = [(one, _allowed(one, existing[one.scope.selector])) for one in objects]
    chosen = {name for _, names in scopes for name in names}
    if missing := namespaces.unmatched(requested, chosen):
        everything = {name for names in existing.values() for name in names}
        raise NoNamespaceMatches("; ".join(_why_missing(pattern, everything) for pattern in missing))
    if not chosen and not may_be_nowhere:
        raise NoNamespaceMatches(
            f"none of the cluster's namespaces is in the scope of {', '.join(sorted({one.title for one in objects}))}; "
            "check include, exclude and selector in the file of objects"
        )
    is_requested = namespaces.matcher(requested or ("*",))
    pairs = [(one, name) for one, names in scopes for name in names if is_requested(name)]
    others = [(one, name) for one in rivals for name in _allowed(one, existing[one.scope.selector])]
    # Of a run for named namespaces, the others were perhaps not even listed.
    unplaced = () if requested else tuple(one for one, names in scopes if not names)
    return _without_overlaps(pairs, others, unplaced=unplaced)


def plan_gaps(
    objects: Sequence[Object],
    existing: Mapping[str, Collection[str]],
    wanted: Mapping[Object, Collection[str]],
    *,
    rivals: Sequence[Object] = (),
) -> Plan:
    """Return what to write where the audit log says that something is missing: `wanted` has namespaces by object.

    `rivals` are as for `plan`.
    """

    def placed(some: Sequence[Object]) -> list[_Pair]:
        found = ((one, set(existing[one.scope.selector]) & set(wanted[one])) for one in some)
        return [(one, name) for one, names in found for name in _allowed(one, names)]

    return _without_overlaps(placed(objects), placed(rivals))


def _allowed(one: Object, names: Iterable[str]) -> tuple[str, ...]:
    return namespaces.allowed(names, include=one.scope.include, exclude=one.scope.exclude)


def _without_overlaps(pairs: Sequence[_Pair], others: Sequence[_Pair], *, unplaced: tuple[Object, ...] = ()) -> Plan:
    wanted = Counter((one.title, name) for one, name in pairs)
    held = {(one.title, name) for one, name in others}
    return Plan(
        writes=tuple(
            (one, name) for one, name in pairs if wanted[one.title, name] == 1 and (one.title, name) not in held
        ),
        overlaps=tuple(sorted(pair for pair, count in wanted.items() if count > 1 or pair in held)),
        unplaced=unplaced,
    )


def _why_missing(pattern: str, existing: Collection[str]) -> str:
    left_out = sorted(namespaces.allowed(existing, include=(pattern,), exclude=()))
    if not left_out:
        return (
            f"event.namespaces: {pattern!r} matches no namespace of the cluster (within the selectors of the objects); "
            "expected an existing name or a glob that matches one"
        )
    return (
        f"event.namespaces: {pattern!r} matches only namespaces that the objects leave out "
        f"({shown(', '.join(left_out))}); change include or exclude in the file of objects to refresh them"
    )
