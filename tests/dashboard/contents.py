"""What the template's dashboard would show of a recording: series, table rows, alarm states.

The runs of a recording follow each other within seconds. Here each is put three hours after the one before, as the
schedule would have it, or twenty minutes after if it was made by hand; nothing else about the records is changed.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.evidence.insights import read, run
from tests.support.alarms import Point, lambda_points, points_of, state
from tests.support.recording import Recording, Run
from tests.support.template import Stack

_SCHEDULED, _BY_HAND = timedelta(hours=3), timedelta(minutes=20)

type Widget = dict[str, Any]


def contents(stack: Stack, recording: Recording) -> list[Widget]:
    """Return each widget of the dashboard with what it shows, ready for JSON."""
    placed = list(_placed(recording.runs))
    points = [point for one, at in placed for point in _points(one, at)]
    lines = [line for one, at in placed for line in _lines(one, at)]
    start, end = placed[0][1] - timedelta(minutes=5), placed[-1][1] + timedelta(minutes=30)
    (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
    alarms = stack.of_type("AWS::CloudWatch::Alarm")
    shown = []
    for widget in json.loads(dashboard["DashboardBody"])["widgets"]:
        properties = widget["properties"]
        match widget["type"]:
            case "alarm":
                content: Widget = {
                    "states": [
                        (alarm["AlarmName"], state(alarm, points, start=start, end=end)) for alarm in alarms.values()
                    ]
                }
            case "metric":
                content = {"series": [one for metric in properties["metrics"] for one in _series(metric, points)]}
            case "log":
                content = {"rows": run(properties["query"], read(lines))}
            case kind:
                raise NotImplementedError(f"the dashboard has a widget of the kind {kind}")
        place = {key: widget[key] for key in ("type", "x", "y", "width", "height")}
        shown.append({**place, "title": properties["title"], **content})
    return shown


def _placed(runs: Sequence[Run]) -> Iterator[tuple[Run, datetime]]:
    now = runs[0].began.replace(minute=0, second=0, microsecond=0)
    for one in runs:
        # The story's names say which runs a person made.
        by_hand = any(word in one.name for word in ("hand", "dry"))
        yield one, now + (_BY_HAND - _SCHEDULED if by_hand else timedelta())
        now += timedelta() if by_hand else _SCHEDULED


def _points(one: Run, at: datetime) -> list[Point]:
    own = [replace(point, at=point.at + (at - one.began)) for point in points_of(one.records)]
    errors = int(one.seen.error is not None)
    return own + lambda_points("RefreshFunction", at, errors=errors, duration_ms=one.duration_ms)


def _lines(one: Run, at: datetime) -> Iterator[str]:
    for record in one.records:
        moved = {
            name: (datetime.fromisoformat(record[name]) + (at - one.began)).isoformat(timespec="milliseconds")
            for name in ("timestamp", "expires_at")
            if name in record
        }
        yield json.dumps(record | moved)


# Such as SEARCH('{EksUpsert,cluster,object,stack} MetricName="SourceAge" stack="eks-upsert"', 'Maximum').
_SEARCH = re.compile(r"""SEARCH\('\{(\w+),([\w,]+)\} MetricName="(\w+)" stack="([^"]+)"', 'Maximum'\)""")


def _series(metric: Sequence[Any], points: Sequence[Point]) -> Iterator[Mapping[str, Any]]:
    *named, options = metric
    if named:
        namespace, name, *pairs = named
        dimensions = frozenset(zip(pairs[::2], pairs[1::2], strict=True))
        yield _drawn(options["label"], options.get("color"), points, (namespace, name, dimensions))
        return
    found = _SEARCH.fullmatch(options["expression"])
    if not found:
        raise NotImplementedError(f"a metric that is not known here: {options['expression']}")
    namespace, names, name, stack = found.groups()
    keys = {(point.namespace, point.name, point.dimensions) for point in points}
    for key in sorted(keys, key=lambda key: sorted(key[2])):
        called = dict(key[2])
        if key[:2] == (namespace, name) and sorted(called) == names.split(",") and called["stack"] == stack:
            yield _drawn(f"{called['object']}: {name}", None, points, key)


def _drawn(label: str, color: str | None, points: Sequence[Point], key: tuple[str, str, Any]) -> Mapping[str, Any]:
    own = [
        (point.at.timestamp(), point.value)
        for point in points
        if (point.namespace, point.name, point.dimensions) == key
    ]
    return {"label": label, "color": color, "points": own}
