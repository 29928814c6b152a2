"""Gathers what the verdict rests on: the function's log, the readers' sights, and the API server's audit log."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tests.demo.cast import Part
from tests.demo.readers import Readers, fingerprint
from tests.demo.verdict import Evidence, Namespace, Report, Sight
from tests.support.audit import AuditLog
from tests.support.world import Run, World

_OUTCOMES = ("applied", "skipped", "failed")


def scheduled(runs: Iterable[Run], *, by_hand: Collection[str]) -> list[Run]:
    """Return the runs that the schedule fired: all but those whose request id is in `by_hand`.

    The emulator does not repeat a scheduled run that failed, so each is a firing of its own.
    """
    return [run for run in runs if run.request_id not in by_hand]


def reports(runs: Iterable[Run]) -> dict[str, list[Report]]:
    """Return what the runs logged about each namespace, oldest first."""
    found: dict[str, list[Report]] = {}
    for run in runs:
        for record in run.records:
            kind, _, outcome = str(record.get("message", "")).partition(".")
            if kind == "object" and outcome in _OUTCOMES:
                found.setdefault(record["namespace"], []).append(_report(outcome, record))
    return found


def gather(
    world: World,
    parts: Sequence[Part],
    *,
    before: Mapping[str, Sight | None],
    after: Mapping[str, Sight | None],
    readers: Readers,
    audit: AuditLog,
    by_hand: Collection[str],
) -> Evidence:
    """Return all evidence; `by_hand` holds the request ids of the runs by hand."""
    runs = world.runs()
    said = reports(runs)
    return Evidence(
        namespaces=tuple(
            Namespace(
                name=part.namespace,
                state=part.state,
                ending=part.ending,
                reason=part.reason,
                before=before[part.namespace],
                first=before[part.namespace] or readers.first(part.namespace),
                after=after[part.namespace],
                uids=readers.uids(part.namespace),
                reports=tuple(said.get(part.namespace, ())),
            )
            for part in parts
        ),
        reads=readers.reads,
        issued=frozenset(map(fingerprint, world.ecr.passwords)),
        scheduled=tuple(run.raised for run in scheduled(runs, by_hand=by_hand)),
        by_hand=tuple(run.raised for run in runs if run.request_id in by_hand),
        requests=audit.counts(user=world.user),
    )


def _report(outcome: str, record: Mapping[str, Any]) -> Report:
    return Report(
        outcome=outcome,
        change=record.get("change", ""),
        uid=record.get("uid", ""),
        reason=record.get("reason", ""),
        remedy=record.get("remedy", ""),
        took_over_from=tuple(record.get("took_over_from", ())),
    )
