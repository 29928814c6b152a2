"""The use case: gather, plan, apply, report."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from upsert.core import namespaces, outcomes, planning
from upsert.core.objects import BadMaterial, Desired, Material, Object, Ref
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.planning import Plan
from upsert.core.reports import AccountCounts, ObjectCounts, RefreshReport, sources_failed
from upsert.errors import InputError, SourceFailed
from upsert.request import Request
from upsert.writing import Writer, write_all


class Accounts(Protocol):
    """Has ServiceAccounts name the pull Secrets that are in place."""

    def __call__(self, applied: Mapping[Object, Sequence[Applied]], *, dry_run: bool) -> AccountCounts: ...


class Parts[W: Writer](NamedTuple):
    """What a refresh is made of.

    `read` gives what the sources give, or why not; `build` makes an object of it. `connect` gives the cluster, and
    `accounts` what deals with ServiceAccounts there, or None if no object names any. `record` gets each outcome as it
    comes, `source_failed` each object that could not be made.
    """

    read: Callable[[Collection[Ref]], Mapping[Ref, Material | SourceFailed]]
    build: Callable[[Object, Mapping[str, Material]], Desired]
    connect: Callable[[], W]
    record: Callable[[Outcome], None]
    source_failed: Callable[[Object, SourceFailed], None]
    unplaced: Callable[[Object], None]
    accounts: Callable[[W], Accounts] | None = None


def refresh[W: Writer](request: Request, parts: Parts[W]) -> RefreshReport:
    """Refresh the objects of the request in their namespaces, give each outcome to the parts, and return the report.

    All that is to be written is fetched, and the namespaces are planned, before the first PATCH, so a run that cannot
    go on has changed nothing: then an `UpsertError` says why. A source that fails, fails its objects; an object that
    fails in a namespace does not stop the others.
    """
    started = time.monotonic()
    wanted = _wanted(request)
    # What the audit log misses nowhere is not even read.
    objects = tuple(one for one in request.objects if request.gaps is None or wanted[one])
    if not objects:
        return RefreshReport(is_whole=False, dry_run=request.dry_run)
    desired, not_made = _make(objects, parts)
    if not desired:
        raise sources_failed(not_made)
    writer = parts.connect()
    existing, misread = _existing(writer, (*objects, *request.rivals), request, wanted)
    for one in objects:
        if why := misread.get(one.scope.selector):
            parts.source_failed(one, why)
            not_made.append((one, why))
    # With those that could not be made: where another object overlaps with one of them, it is not written either.
    plan = _plan(objects, existing, request, wanted)
    for one in plan.unplaced:
        parts.unplaced(one)
    results: list[Outcome] = [outcomes.overlap(title, namespace) for title, namespace in plan.overlaps]
    for outcome in results:
        parts.record(outcome)
    applied: dict[Object, list[Applied]] = {}
    for one, outcome in write_all(writer, desired, plan, dry_run=request.dry_run):
        parts.record(outcome)
        results.append(outcome)
        if isinstance(outcome, Applied):
            applied.setdefault(one, []).append(outcome)
    named = parts.accounts(writer)(applied, dry_run=request.dry_run) if parts.accounts else None
    counts = Counter(type(outcome) for outcome in results)
    everywhere = [outcome for there in applied.values() for outcome in there]
    return RefreshReport(
        is_whole=request.is_whole,
        dry_run=request.dry_run,
        applied=counts[Applied],
        created=sum(outcome.change == "created" for outcome in everywhere),
        unchanged=sum(outcome.change == "unchanged" for outcome in everywhere),
        took_over=sum(bool(outcome.took_over_from) for outcome in everywhere),
        altered=sum(bool(outcome.altered) for outcome in everywhere),
        skipped=counts[Skipped],
        failures=tuple(
            sorted((one for one in results if isinstance(one, Failed)), key=lambda one: (one.namespace, one.title))
        ),
        not_made=tuple((one.title, why) for one, why in not_made),
        objects=len(objects),
        expires_at=min((one.expires_at for one in desired.values() if one.expires_at), default=None),
        api_requests=writer.requests,
        duration_ms=_milliseconds_since(started),
        accounts=named,
        by_object=_by_object(objects, desired, results),
    )


def _by_object(
    objects: Sequence[Object], desired: Mapping[Object, Desired], results: Sequence[Outcome]
) -> dict[str, ObjectCounts]:
    """Return what became of each object, by its title: more than one of the file may have the same."""
    applied = Counter(one.title for one in results if isinstance(one, Applied))
    unchanged = Counter(one.title for one in results if isinstance(one, Applied) and one.change == "unchanged")
    failed = Counter(one.title for one in results if isinstance(one, Failed))
    made: dict[str, list[Desired]] = {one.title: [] for one in objects}
    for one, new in desired.items():
        made[one.title].append(new)
    return {
        title: ObjectCounts(
            applied[title],
            unchanged[title],
            failed[title],
            changed_at=min((new.changed_at for new in there if new.changed_at), default=None),
            expires_at=min((new.expires_at for new in there if new.expires_at), default=None),
        )
        for title, there in made.items()
    }


type _NotMade = list[tuple[Object, SourceFailed]]


def _make[W: Writer](objects: Sequence[Object], parts: Parts[W]) -> tuple[dict[Object, Desired], _NotMade]:
    """Return what is to be written of each object, and the objects whose sources give nothing that it could be."""
    readings = parts.read(dict.fromkeys(part.ref for one in objects for part in one.parts))
    desired: dict[Object, Desired] = {}
    not_made: _NotMade = []
    for one in objects:
        made = _make_one(one, readings, parts.build)
        if isinstance(made, SourceFailed):
            parts.source_failed(one, made)
            not_made.append((one, made))
        else:
            desired[one] = made
    return desired, not_made


def _make_one(
    one: Object,
    readings: Mapping[Ref, Material | SourceFailed],
    build: Callable[[Object, Mapping[str, Material]], Desired],
) -> Desired | SourceFailed:
    materials: dict[str, Material] = {}
    for part in one.parts:
        reading = readings[part.ref]
        if isinstance(reading, SourceFailed):
            return reading.at(part.place)
        materials[part.place] = reading
    try:
        return build(one, materials)
    except BadMaterial as wrong:
        return SourceFailed(f"{one.title}: {wrong}")


def _wanted(request: Request) -> dict[Object, set[str]]:
    """Return, for each object, the namespaces in its scope where the audit log says that it may be missing."""
    return {
        one: set(
            namespaces.allowed(
                {gap.namespace for gap in request.gaps or () if gap.concerns(one.title)},
                include=one.scope.include,
                exclude=one.scope.exclude,
            )
        )
        for one in (*request.objects, *request.rivals)
    }


type _Existing = dict[str, Sequence[str]]


def _existing(
    writer: Writer, objects: Sequence[Object], request: Request, wanted: Mapping[Object, Collection[str]]
) -> tuple[_Existing, Mapping[str, SourceFailed]]:
    """Return the namespaces that exist for each selector, and the selectors that the API server does not understand.

    Such a one is the trouble of its own objects. Raises it as an `InputError` if there is no other.
    """
    missed = sorted({name for one in objects for name in wanted[one]})
    names = namespaces.exact(missed if request.gaps is not None else request.namespaces)
    existing: _Existing = {}
    misread: dict[str, SourceFailed] = {}
    for selector in dict.fromkeys(one.scope.selector for one in objects):
        try:
            existing[selector] = writer.namespaces(selector, names)
        except InputError as error:
            misread[selector] = SourceFailed(str(error))
    if not existing:
        raise InputError([str(why) for why in misread.values()])
    return existing, misread


def _plan(
    objects: Sequence[Object], existing: _Existing, request: Request, wanted: Mapping[Object, Collection[str]]
) -> Plan:
    placed = tuple(one for one in objects if one.scope.selector in existing)
    rivals = tuple(one for one in request.rivals if one.scope.selector in existing)
    if request.gaps is not None:
        return planning.plan_gaps(placed, existing, wanted, rivals=rivals)
    # Nobody named what a source wakes, and a run that stopped for want of a namespace would raise an alarm.
    may_be_nowhere = request.is_woken
    return planning.plan(placed, existing, rivals=rivals, requested=request.namespaces, may_be_nowhere=may_be_nowhere)


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
