"""The refresh function: on its schedule, woken, one of a fleet's, or by hand."""

import os
from typing import Any

from upsert import callers, config, wiring
from upsert.border import without_values
from upsert.records import Records
from upsert.refresh import refresh
from upsert.request import ClustersFor, refresh_request
from upsert.telemetry import Context, Telemetry


def handler(event: dict[str, Any], context: Context) -> dict[str, Any] | list[str]:
    """Refresh what the event asks for and return the summary, or answer what a fleet's state machine asks.

    Raises an `UpsertError` if the run could not go on; unless it is a dry run, also if a source failed, or if anything
    failed and a person waits.
    """
    with Telemetry(context, is_watched=not callers.is_by_hand(event)) as telemetry:
        return _run(event, context, telemetry)


@without_values
def _run(event: dict[str, Any], context: Context, telemetry: Telemetry) -> dict[str, Any] | list[str]:
    known, records = config.load(os.environ), Records(telemetry)
    telemetry.configure(known.log_level)
    if callers.is_summary(event):
        return wiring.sum_up(event, known, telemetry)
    request = refresh_request(event, known)
    if isinstance(request, ClustersFor):
        return list(request.names)
    telemetry.configure(known.log_level, request.target.name, dry_run=request.dry_run, detail=known.detail)
    surroundings = wiring.Surroundings.of(known, telemetry, context)
    with records.of_sources():
        report = refresh(request, wiring.refresh_parts(request, surroundings, records))
    answer = records.completed(report, known.schedule, request.objects)
    if error := report.error(is_by_hand=request.is_by_hand):
        raise error
    return answer
