"""The use case of the adopter: check every object in every namespace, and adopt what loses nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from upsert import check
from upsert.adopt_request import Action, AdoptRequest
from upsert.adopting import Adopter, Work
from upsert.check import AdoptReader, AdoptWriter, Sources
from upsert.core import namespaces, outcomes, planning
from upsert.core.adoptions import Refused, Result, ending
from upsert.core.checks import Check
from upsert.core.objects import Desired, Object
from upsert.core.outcomes import Failed
from upsert.core.planning import Plan
from upsert.core.reports import sources_failed
from upsert.errors import ObjectsFailed, SourceFailed, UpsertError
from upsert.rounds import Again, in_rounds

_NAMED_IN_ERROR = 5
_DONE = {Action.ADOPT: "adopted", Action.RELEASE: "released"}


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

    def error(self, *, has_page: bool = False) -> UpsertError | None:
        """Return the error that a run has to end with: something was not adopted, or nothing could be checked.

        `has_page` is whether the log has the report as a page, too.
        """
        left = [result for result in self.results if isinstance(result, (Refused, Failed))]
        is_checked = self.action is Action.CHECK and len(left) < len(self.results)
        if is_checked or not (left or self.not_made):
            return None
        if not left:
            return sources_failed(self.not_made)
        named = "; ".join(f"{one.namespace}/{one.title}: {one.reason}" for one in left[:_NAMED_IN_ERROR])
        more = f"; and {len(left) - _NAMED_IN_ERROR} more" if len(left) > _NAMED_IN_ERROR else ""
        also = f"; {sources_failed(self.not_made)}" if self.not_made else ""
        done = _DONE.get(self.action, "checked")
        page = ", and the report as the record adopt.report" if has_page else ""
        return ObjectsFailed(
            f"{len(left)} of {len(self.results)} objects were not {done}: {named}{more}{also}. "
            f"The log has every line{page}"
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
    plan = planned(writer, tuple(made if request.all_or_nothing else desired), request.namespaces)
    for one in plan.unplaced:
        parts.unplaced(one)
    adopter = Adopter(writer, reader, parts.sources, desired)
    works = (Work(one, namespace) for one, namespace in plan.writes if one in desired)
    if request.all_or_nothing:
        found = _all_or_nothing(adopter, works, plan, not_made)
    else:
        attempt = adopter.check if request.action is Action.CHECK else adopter.adopt
        found = (result for _, result in rounds(writer, attempt, works))
    results: list[Result] = []
    for result in chain((outcomes.overlap(title, namespace) for title, namespace in plan.overlaps), found):
        parts.record(result)
        results.append(_without_values(result))
    return AdoptReport(
        request.action,
        tuple(sorted(results, key=lambda result: (result.namespace, result.title))),
        writer.requests,
        reader.may_see_external_secrets,
        not_made=tuple((one.title, why) for one, why in not_made),
        unplaced=tuple(one.title for one in plan.unplaced),
    )


def _without_values(result: Result) -> Result:
    """Return what remains to be told. The live values of many objects would fill memory."""
    match result:
        case Check():
            return result.without_values()
        case Refused(check=Check() as found):
            return replace(result, check=found.without_values())
    return result


def planned(writer: AdoptWriter, objects: Sequence[Object], requested: Sequence[str]) -> Plan:
    """Return which of the objects are for which of the namespaces."""
    names = namespaces.exact(requested)
    existing = {
        selector: writer.namespaces(selector, names)
        for selector in dict.fromkeys(one.scope.selector for one in objects)
    }
    return planning.plan(objects, existing, requested=requested)


def rounds(
    writer: AdoptWriter, attempt: Callable[[Work], Result | Again[Result]], works: Iterable[Work]
) -> Iterator[tuple[Work, Result]]:
    """Give what each object came to in each namespace, as it comes. What was never tried ran out of time."""

    def with_work(work: Work) -> tuple[Work, Result] | Again[tuple[Work, Result]]:
        found = attempt(work)
        if isinstance(found, Again):
            return Again((work, found.result), found.wait, found.is_outage, found.is_throttled)
        return work, found

    return in_rounds(
        with_work,
        works,
        pace=writer.pace,
        time_left=writer.time_left,
        late=lambda work: (work, outcomes.deadline(work.one.title, work.namespace)),
        broken=lambda work, fault: (work, outcomes.broken(work.one.title, work.namespace, fault)),
    )


def _all_or_nothing(
    adopter: Adopter, works: Iterable[Work], plan: Plan, not_made: Sequence[tuple[Object, SourceFailed]]
) -> Iterator[Result]:
    """Give what became of each, once all objects of its namespace were checked: one that is not clean stops them all.

    No transaction spans several objects: between its check and its claim one may change, and is then refused although
    others of its namespace were adopted.
    """
    unclean: dict[str, set[str]] = {}
    for title, namespace in plan.overlaps:
        unclean.setdefault(namespace, set()).add(title)
    titles = {one for one, _ in not_made}
    for one, namespace in plan.writes:
        if one in titles:
            unclean.setdefault(namespace, set()).add(one.title)
    clean: list[Work] = []
    others: list[Result] = []
    for work, result in rounds(adopter.writer, adopter.check, works):
        if isinstance(result, Check) and result.adoptable:
            clean.append(work)
        else:
            others.append(result)
            unclean.setdefault(work.namespace, set()).add(work.one.title)
    yield from map(_refused, others)
    for work in clean:
        if titles_of := unclean.get(work.namespace):
            names = ", ".join(sorted(titles_of))
            yield Refused(work.one.title, work.namespace, f"all_or_nothing, and not clean here: {names}", work.found)
    whole = [work for work in clean if work.namespace not in unclean]
    yield from (result for _, result in rounds(adopter.writer, adopter.adopt, whole))


def _refused(result: Result) -> Result:
    if isinstance(result, Check) and result.live:
        return Refused(result.title, result.namespace, result.conclusion, result)
    return result
