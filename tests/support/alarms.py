"""Says in what state CloudWatch would have an alarm, given its definition in the template and the metrics of real runs.

The local AWS emulator stores alarms and metrics, and acts on neither. What is left out here: CloudWatch looks at a few
periods more than an alarm names before it calls data missing, which makes an alarm on missing data that much later.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

OK, ALARM, UNKNOWN = "OK", "ALARM", "INSUFFICIENT_DATA"

_STEP = timedelta(minutes=1)


@dataclass(frozen=True)
class Point:
    """One value of one metric, which CloudWatch gets this much later than the time that it is stamped with."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]
    at: datetime
    value: float
    later: timedelta = timedelta(0)


def points_of(records: Iterable[Mapping[str, Any]]) -> list[Point]:
    """Return the metrics in these records, as CloudWatch reads the embedded metric format.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
    """
    points = []
    for record in records:
        for directive in record.get("_aws", {}).get("CloudWatchMetrics", ()):
            at = datetime.fromtimestamp(record["_aws"]["Timestamp"] / 1000, UTC)
            for names in directive["Dimensions"]:
                dimensions = frozenset((name, str(record[name])) for name in names)
                for metric in directive["Metrics"]:
                    values = record[metric["Name"]]
                    points += [
                        Point(directive["Namespace"], metric["Name"], dimensions, at, float(value))
                        for value in (values if isinstance(values, list) else [values])
                    ]
    return points


def lambda_points(function: str, at: datetime, *, errors: int, duration_ms: float, throttles: int = 0) -> list[Point]:
    """Return what Lambda itself measures of one invocation that began at `at`, sent when it ends."""
    dimensions = frozenset({("FunctionName", function)})
    measured = {"Errors": errors, "Duration": duration_ms, "Throttles": throttles}
    later = timedelta(milliseconds=duration_ms)
    return [Point("AWS/Lambda", name, dimensions, at, float(value), later) for name, value in measured.items()]


def state(alarm: Mapping[str, Any], points: Sequence[Point], *, start: datetime, end: datetime) -> str:
    """Return the alarm's state at `end`, if it was created at `start` and looked at every minute since."""
    return history(alarm, points, start=start, end=end)[-1][1]


def history(
    alarm: Mapping[str, Any], points: Sequence[Point], *, start: datetime, end: datetime
) -> list[tuple[datetime, str]]:
    """Return each change of state with its time, the first one at `start`."""
    changes = [(start, UNKNOWN)]
    now = start.replace(second=0, microsecond=0)
    while now < end:
        now += _STEP
        current = _evaluate(alarm, points, now, changes[-1][1])
        if current != changes[-1][1]:
            changes.append((now, current))
    return changes


def _evaluate(alarm: Mapping[str, Any], points: Sequence[Point], now: datetime, before: str) -> str:
    value_at, period = _series(alarm, [point for point in points if point.at + point.later <= now])
    count = int(alarm["EvaluationPeriods"])
    values = [value_at(now - (index + 1) * period, now - index * period) for index in range(count)]
    missing = values.count(None)
    breach = _BREACHES[alarm["ComparisonOperator"]]
    breaching = sum(breach(value, float(alarm["Threshold"])) for value in values if value is not None)
    match alarm.get("TreatMissingData", "missing"):
        case "breaching":
            breaching += missing
        case "ignore" if missing:
            return before
        case "missing" if missing == count:
            return UNKNOWN
    return ALARM if breaching >= int(alarm.get("DatapointsToAlarm", count)) else OK


type Series = Callable[[datetime, datetime], float | None]


def _series(alarm: Mapping[str, Any], points: Sequence[Point]) -> tuple[Series, timedelta]:
    """Return the function from a period's bounds to its value, and the period."""
    if "Metrics" not in alarm:
        return _statistic(alarm, alarm["Statistic"], points), timedelta(seconds=alarm["Period"])
    inputs = {item["Id"]: item["MetricStat"] for item in alarm["Metrics"] if "MetricStat" in item}
    (expression,) = (item["Expression"] for item in alarm["Metrics"] if item.get("ReturnData", True))
    series = {name: _statistic(given["Metric"], given["Stat"], points) for name, given in inputs.items()}
    (period,) = {given["Period"] for given in inputs.values()}

    def value(since: datetime, until: datetime) -> float | None:
        values = {name: one(since, until) for name, one in series.items()}
        known = {name: found for name, found in values.items() if found is not None}
        return _calculate(ast.parse(expression, mode="eval").body, known) if len(known) == len(values) else None

    return value, timedelta(seconds=period)


def _statistic(metric: Mapping[str, Any], statistic: str, points: Sequence[Point]) -> Series:
    dimensions = frozenset((pair["Name"], pair["Value"]) for pair in metric["Dimensions"])
    own = [
        point
        for point in points
        if (point.namespace, point.name, point.dimensions) == (metric["Namespace"], metric["MetricName"], dimensions)
    ]

    def value(since: datetime, until: datetime) -> float | None:
        values = [point.value for point in own if since <= point.at < until]
        return _STATISTICS[statistic](values) if values else None

    return value


def _calculate(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
            return float(_ARITHMETIC[type(sign)](_calculate(left, values), _calculate(right, values)))
        case _:
            raise NotImplementedError(f"metric math that is not known here: {ast.unparse(node)}")


_STATISTICS: dict[str, Callable[[list[float]], float]] = {"Sum": sum, "Maximum": max, "Minimum": min}

_BREACHES: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}

_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
