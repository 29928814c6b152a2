"""The refresh function: on its schedule, woken, one of a fleet's, or by hand."""

import os
from typing import Any

from upsert import config, wiring
from upsert.border import without_values
from upsert.records import Records, summary
from upsert.refresh import refresh
from upsert.request import ClustersFor, refresh_request
from upsert.telemetry import Context, Telemetry


def handler(event: dict[str, Any], context: Context) -> dict[str, Any] | list[str]:
    """Refresh what the event asks for and return the summary; or return the clusters that an event concerns.

    Raises an `UpsertError` if the run could not go on, if a source failed, or if anything failed and a person waits for
    the answer.
    """
    with Telemetry(context) as telemetry:
        return _run(event, context, telemetry)


@without_values
def _run(event: dict[str, Any], context: Context, telemetry: Telemetry) -> dict[str, Any] | list[str]:
    known = config.load(os.environ)
    request = refresh_request(event, known)
    if isinstance(request, ClustersFor):
        return list(request.names)
    telemetry.configure(level=known.log_level, cluster=request.target.name, dry_run=request.dry_run)
    surroundings = wiring.Surroundings.of(known, telemetry, context)
    records = Records(telemetry)
    report = refresh(request, wiring.refresh_parts(request, surroundings, records))
    records.completed(report, known.schedule)
    if error := report.error(is_by_hand=request.is_by_hand):
        raise error
    return summary(report)
