"""The adopt function, by hand only: check, import, adopt, release."""

import os
from typing import Any

from upsert import adopt_wiring, config
from upsert.adopt import adopt
from upsert.adopt_records import AdoptRecords, adopt_answer
from upsert.adopt_request import Action, adopt_request
from upsert.border import without_values
from upsert.imports import import_object
from upsert.release import release
from upsert.telemetry import Context, Telemetry
from upsert.wiring import Surroundings


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Do the event's action on every selected object and return the summary and the lines.

    Raises an `UpsertError` if the run could not go on, or if an object was not adopted.
    """
    with Telemetry(context, "adopt") as telemetry:
        return _run(event, context, telemetry)


@without_values
def _run(event: dict[str, Any], context: Context, telemetry: Telemetry) -> dict[str, Any]:
    known = config.load(os.environ)
    request = adopt_request(event, known)
    telemetry.configure(level=known.log_level, cluster=request.target.name)
    surroundings = Surroundings.of(known, telemetry, context)
    records = AdoptRecords(telemetry)
    if request.action is Action.IMPORT:
        report = import_object(request, adopt_wiring.import_parts(request, surroundings, records))
    elif request.action is Action.RELEASE:
        report = release(request, adopt_wiring.release_parts(request, surroundings, records))
    else:
        report = adopt(request, adopt_wiring.adopt_parts(request, surroundings, records))
    records.completed(report, as_markdown=request.as_markdown)
    if error := report.error(has_page=request.as_markdown):
        raise error
    return adopt_answer(report, as_markdown=request.as_markdown)
