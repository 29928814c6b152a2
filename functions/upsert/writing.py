"""What a refresh does with its plan: one PATCH for each object and namespace, and rarely a second and a third one."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from upsert.core import document, outcomes
from upsert.core.answers import Answer, Written
from upsert.core.identity import Identity
from upsert.core.objects import Desired, Object, OnConflict
from upsert.core.outcomes import Outcome
from upsert.core.planning import Plan
from upsert.core.remedies import Asked
from upsert.core.sensitive import Sensitive
from upsert.rounds import Again, Pacing, in_rounds


class Writer(Protocol):
    """The API server, as far as a refresh needs it."""

    @property
    def identity(self) -> Identity: ...
    @property
    def pace(self) -> Pacing: ...
    @property
    def requests(self) -> int: ...
    def namespaces(self, selector: str, names: Sequence[str] = ()) -> Sequence[str]: ...
    def apply(self, path: str, configuration: Sensitive[bytes], *, force: bool, dry_run: bool) -> Answer[Written]: ...
    def remove_last_applied(self, path: str, written: Written, *, dry_run: bool) -> Answer[Written]: ...
    def time_left(self) -> float: ...


# The bytes that are sent, the keys of their data, and what their annotation says of when they expire.
type _Made = tuple[Sensitive[bytes], frozenset[str], str]


class _Write:
    """One object in one namespace; since when it is tried, and from whom an earlier try took it over."""

    __slots__ = ("asked", "document", "expires_at", "keys", "one", "path", "started", "took_over_from")

    def __init__(self, one: Object, asked: Asked, path: str, made: _Made) -> None:
        self.one = one
        self.asked = asked
        self.path = path
        self.document, self.keys, self.expires_at = made
        self.took_over_from: tuple[str, ...] = ()
        self.started = 0.0


def write_all(
    writer: Writer, desired: Mapping[Object, Desired], plan: Plan, *, dry_run: bool
) -> Iterator[tuple[Object, Outcome]]:
    """Give what became of each write, as it comes."""
    made = {
        one: (new.resource, (document.desired(new), frozenset(new.data), document.expiry(new)))
        for one, new in desired.items()
    }
    writes: list[_Write] = []
    for one, namespace in plan.writes:
        if prepared := made.get(one):
            resource, new = prepared
            asked = Asked(one.title, namespace, writer.identity)
            writes.append(_Write(one, asked, resource.path(namespace, one.name), new))
    return in_rounds(
        partial(_write, writer, dry_run=dry_run),
        # In another order at each run: should there be no time for all, then the ones that are left over are not the
        # same every time.
        random.sample(writes, len(writes)),
        pace=writer.pace,
        time_left=writer.time_left,
        late=lambda write: (write.one, outcomes.deadline(write.asked.title, write.asked.namespace)),
        broken=lambda write, fault: (write.one, outcomes.broken(write.asked.title, write.asked.namespace, fault)),
    )


type _Result = tuple[Object, Outcome]


def _write(writer: Writer, write: _Write, *, dry_run: bool) -> _Result | Again[_Result]:
    """Return what one try came to: one PATCH, and rarely a second and a third one."""
    # An earlier try may have done its work although its answer was lost.
    write.started = write.started or time.monotonic()
    answer = writer.apply(write.path, write.document, force=False, dry_run=dry_run)
    if answer.is_conflict_of_managers and write.one.on_conflict is OnConflict.TAKE_OVER:
        write.took_over_from = answer.refusal.managers
        answer = writer.apply(write.path, write.document, force=True, dry_run=dry_run)
    if answer.value is None:
        return _not_done(write, answer, outcomes.not_done(write.asked, answer))
    if answer.value.is_being_deleted:
        # Finalizers are as a rule done in seconds; what was written is gone then, and a later try creates it anew.
        return Again((write.one, outcomes.being_deleted(write.asked, answer.status)))
    if blind := answer.value.blind_managers(write.keys):
        if write.one.on_conflict is OnConflict.REFUSE:
            return write.one, outcomes.blindly_contested(write.asked, answer.status, blind)
        write.took_over_from = tuple(dict.fromkeys((*write.took_over_from, *blind)))
    seconds = time.monotonic() - write.started
    done = outcomes.applied(
        write.asked,
        answer,
        answer.value,
        expires_at=write.expires_at,
        took_over_from=write.took_over_from,
        seconds=seconds,
    )
    if answer.value.holds_last_applied:
        removed = writer.remove_last_applied(write.path, answer.value, dry_run=dry_run)
        if removed.is_not_found:
            # Somebody deleted it since, and no copy is left; a later try creates it anew.
            return Again((write.one, done))
        # Or somebody changed the object since: the next refresh looks again.
        if removed.value is None and not removed.is_precondition_failed:
            return _not_done(write, removed, outcomes.stale_copy(write.asked, removed))
    return write.one, done


def _not_done(write: _Write, answer: Answer[Written], outcome: Outcome) -> _Result | Again[_Result]:
    result = (write.one, outcome)
    if not answer.is_worth_retrying:
        return result
    return Again(result, answer.retry_after, answer.is_outage, answer.is_throttled)
