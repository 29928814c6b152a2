"""The use case of the adopter: check every object in every namespace, and adopt what loses nothing."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from upsert import check
from upsert.check import AdoptReader, AdoptWriter, Sources
from upsert.core import checks, document, namespaces, outcomes, planning
from upsert.core.adoptions import Adopted, Refused, Result, ending
from upsert.core.answers import Answer, Written
from upsert.core.checks import Check
from upsert.core.live import LiveObject
from upsert.core.objects import Desired, Object
from upsert.core.outcomes import Failed
from upsert.core.planning import Plan
from upsert.core.remedies import Asked
from upsert.core.reports import sources_failed
from upsert.errors import ObjectsFailed, SourceFailed, UpsertError
from upsert.parallel import in_parallel
from upsert.request import Action, AdoptRequest

_NAMED_IN_ERROR = 5


@dataclass(frozen=True, slots=True)
class AdoptReport:
    """What a run came to; `results` are in the order of their namespaces.

    `not_made` are the objects whose source failed, with why; `unplaced` those that select no namespace.
    """

    action: Action
    results: tuple[Result, ...]
    api_requests: int
    saw_external_secrets: bool
    not_made: tuple[tuple[str, SourceFailed], ...] = ()
    unplaced: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Return how many ended how."""
        return dict(Counter(ending(result) for result in self.results))

    def error(self) -> UpsertError | None:
        """Return the error that a run has to end with: something was not adopted, or nothing could be checked."""
        left = [result for result in self.results if isinstance(result, (Refused, Failed))]
        is_checked = self.action is Action.CHECK and len(left) < len(self.results)
        if is_checked or not (left or self.not_made):
            return None
        if not left:
            return sources_failed(self.not_made)
        named = "; ".join(f"{one.namespace}/{one.title}: {one.reason}" for one in left[:_NAMED_IN_ERROR])
        more = f"; and {len(left) - _NAMED_IN_ERROR} more" if len(left) > _NAMED_IN_ERROR else ""
        also = f"; {sources_failed(self.not_made)}" if self.not_made else ""
        done = "adopted" if self.action is Action.ADOPT else "checked"
        return ObjectsFailed(
            f"{len(left)} of {len(self.results)} objects were not {done}: {named}{more}{also}. The log has every line"
        )


@dataclass(frozen=True, slots=True)
class AdoptParts:
    """What a run of the adopter is made of.

    `record` gets each result as it comes, `source_failed` each object of which nothing can be said, and `unplaced` each
    that selects no namespace.
    """

    sources: Sources
    connect: Callable[[], tuple[AdoptWriter, AdoptReader]]
    record: Callable[[Result], None]
    source_failed: Callable[[Object, SourceFailed], None]
    unplaced: Callable[[Object], None]


def adopt(request: AdoptRequest, parts: AdoptParts) -> AdoptReport:
    """Check, or check and adopt, the objects of the request in their namespaces, and return the report.

    Raises an `UpsertError` if the run cannot go on; then nothing has been written. A source that fails, fails its
    objects.
    """
    made = check.desired(request.objects, parts.sources, may_be_empty=request.action is Action.CHECK)
    desired = {one: new for one, new in made.items() if isinstance(new, Desired)}
    not_made = [(one, why) for one, why in made.items() if isinstance(why, SourceFailed)]
    for one, why in not_made:
        parts.source_failed(one, why)
    if not desired:
        raise sources_failed(not_made)
    writer, reader = parts.connect()
    plan = _plan(writer, tuple(desired), request.namespaces)
    for one in plan.unplaced:
        parts.unplaced(one)
    results: list[Result] = []
    one_write = partial(_one, writer, reader, parts.sources, desired, request.action)
    overlaps = (outcomes.overlap(title, namespace) for title, namespace in plan.overlaps)
    for result in chain(overlaps, in_parallel(one_write, plan.writes, workers=writer.concurrency, broken=_broken)):
        parts.record(result)
        results.append(result)
    return AdoptReport(
        request.action,
        tuple(sorted(results, key=lambda result: (result.namespace, result.title))),
        writer.requests,
        reader.may_see_external_secrets,
        not_made=tuple((one.title, why) for one, why in not_made),
        unplaced=tuple(one.title for one in plan.unplaced),
    )


def _plan(writer: AdoptWriter, objects: Sequence[Object], requested: Sequence[str]) -> Plan:
    names = namespaces.exact(requested)
    existing = {
        selector: writer.namespaces(selector, names)
        for selector in dict.fromkeys(one.scope.selector for one in objects)
    }
    return planning.plan(objects, existing, requested=requested)


def _broken(item: tuple[Object, str], fault: str) -> Failed:
    one, namespace = item
    return outcomes.broken(one.title, namespace, fault)


def _one(
    writer: AdoptWriter,
    reader: AdoptReader,
    sources: Sources,
    desired: Mapping[Object, Desired],
    action: Action,
    item: tuple[Object, str],
) -> Result:
    """Return what became of one object in one namespace: its check, and then, if that is clean, its adoption."""
    one, namespace = item
    if not writer.may_start():
        return outcomes.deadline(one.title, namespace)
    found = check.check(writer, reader, sources, one, desired[one], namespace)
    if action is Action.CHECK or not isinstance(found, Check) or found.live is None:
        return found
    if not found.adoptable:
        return Refused(one.title, namespace, found.conclusion, found)
    return _adopt(writer, reader, sources, one, desired[one], found.live, namespace)


def _adopt(
    writer: AdoptWriter,
    reader: AdoptReader,
    sources: Sources,
    one: Object,
    new: Desired,
    live: LiveObject,
    namespace: str,
) -> Result:
    """Return what became of an object whose check is clean.

    Whether it is ours now is read back and not concluded from the answers to the writes: the answer to a write that
    did happen may be lost.
    """
    path = new.resource.path(namespace, one.name)
    trouble = _claim(writer, path, new, live)
    answer = reader.live(path)
    now = answer.value
    if now and now.is_ours(new) and not now.marks.last_applied and now.same_content(live):
        if reason := _changed(live, now):
            return Refused(one.title, namespace, f"{reason} while it was adopted; check again")
        return Adopted(
            one.title,
            namespace,
            uid=now.uid,
            resource_version=now.resource_version,
            verdicts=checks.masked(
                sources.compare(one, now.data, replace(new, data=live.data, rotating=frozenset())), now.data
            ),
            written=now.resource_version != live.resource_version,
            removed_last_applied=bool(live.marks.last_applied),
        )
    if trouble and not (trouble.is_precondition_failed or trouble.is_conflict_of_managers):
        return check.not_done(Asked(one.title, namespace, writer.identity, verb="adopt"), trouble)
    if not (now or answer.is_not_found):
        return check.not_done(Asked(one.title, namespace, writer.identity, verb="read"), answer)
    return Refused(one.title, namespace, "changed since the check; check again")


def _changed(live: LiveObject, now: LiveObject) -> str:
    """Return what changed about an object whose content is the same, if anything that matters."""
    if now.is_being_deleted:
        return "being-deleted: somebody deleted it"
    return "ownerReferences or finalizers changed" if now.ownership != live.ownership else ""


def _claim(writer: AdoptWriter, path: str, new: Desired, live: LiveObject) -> Answer[Written] | None:
    """Claim the live values and remove kubectl's copy; return the first answer that is no success, or None."""
    written = Written(live.uid, live.resource_version)
    if not live.is_ours(new):
        configuration = document.claim(
            new, live.data, binary_keys=live.binary_keys, uid=live.uid, resource_version=live.resource_version
        )
        answer = writer.claim(path, configuration)
        if answer.value is None:
            return answer
        written = answer.value
    if live.marks.last_applied:
        answer = writer.remove_last_applied(path, written)
        if answer.value is None:
            return answer
    return None
