"""The log records and metrics of a run over a fleet: the one place that names their fields."""

from typing import Any

from upsert.errors import SourceFailed
from upsert.fleet import SPARES, FleetReport
from upsert.telemetry import Telemetry
from upsert.watched import measure_watched


def fleet_completed(telemetry: Telemetry, report: FleetReport) -> dict[str, Any]:
    """Write a record of each cluster and the summary of a run over a fleet, measure it, and return the summary.

    Of clusters that measure one after the other, each would end the alarm of another one; so alarms watch this.
    """
    for row in report.rows:
        telemetry.info(
            "fleet.cluster",
            cluster=row.cluster,
            objects=row.objects,
            applied=row.applied,
            failed=row.failed,
            oldest_value_from=row.oldest_value_from,
            error=row.error,
            is_whole=report.is_whole,
            dry_run=report.dry_run,
        )
    answer = report.answer
    told = {name: value for name, value in answer.items() if name not in ("table", "cause")}
    telemetry.info("fleet.completed", **told)
    if report.dry_run or not report.rows:
        return answer
    telemetry.measure("ObjectsApplied", report.total("applied"))
    telemetry.measure("ObjectsUnchanged", report.total("unchanged"))
    telemetry.measure("ObjectsSkipped", report.total("skipped"))
    spares = {name: report.least(name) for name in SPARES}
    sources_failed = sum(row.error == SourceFailed.__name__ for row in report.rows)
    measure_watched(telemetry.measure, answer | spares, sources_failed=sources_failed)
    return answer
