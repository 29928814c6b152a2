"""The tests' own model of CloudWatch alarms does what CloudWatch documents."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.alarms import ALARM, OK, UNKNOWN, Point, history, lambda_points, points_of, state

START = datetime(2026, 1, 1, tzinfo=UTC)
END = START + timedelta(minutes=5)


def point(minute: int, value: float, *, name: str = "m") -> Point:
    return Point("N", name, frozenset({("d", "1")}), START + timedelta(minutes=minute, seconds=30), value)


def alarm(**changes: Any) -> dict[str, Any]:
    return {
        "Namespace": "N",
        "MetricName": "m",
        "Dimensions": [{"Name": "d", "Value": "1"}],
        "Statistic": "Sum",
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "Threshold": 3,
        "Period": 60,
        "EvaluationPeriods": 1,
        "TreatMissingData": "notBreaching",
        **changes,
    }


@pytest.mark.parametrize(("statistic", "expected"), [("Sum", ALARM), ("Maximum", OK), ("Minimum", OK)])
def test_the_values_of_a_period_become_one(statistic: str, expected: str) -> None:
    assert state(alarm(Statistic=statistic), [point(4, 2), point(4, 1)], start=START, end=END) == expected


@pytest.mark.parametrize(
    ("sign", "value", "expected"),
    [
        ("GreaterThanThreshold", 3, OK),
        ("GreaterThanThreshold", 4, ALARM),
        ("GreaterThanOrEqualToThreshold", 3, ALARM),
        ("LessThanThreshold", 3, OK),
        ("LessThanThreshold", 2, ALARM),
        ("LessThanOrEqualToThreshold", 3, ALARM),
    ],
)
def test_a_value_is_compared_with_the_threshold(sign: str, value: float, expected: str) -> None:
    assert state(alarm(ComparisonOperator=sign), [point(4, value)], start=START, end=END) == expected


@pytest.mark.parametrize(
    ("treatment", "expected"), [("notBreaching", OK), ("breaching", ALARM), ("ignore", ALARM), ("missing", UNKNOWN)]
)
def test_missing_data_is_what_the_alarm_says_it_is(treatment: str, expected: str) -> None:
    assert state(alarm(TreatMissingData=treatment), [point(1, 9)], start=START, end=END) == expected


def test_all_periods_must_breach_unless_fewer_are_asked_for() -> None:
    points = [point(2, 9), point(3, 0), point(4, 9)]
    assert state(alarm(EvaluationPeriods=3), points, start=START, end=END) == OK
    assert state(alarm(EvaluationPeriods=3, DatapointsToAlarm=2), points, start=START, end=END) == ALARM


@pytest.mark.parametrize(("period", "expected"), [(60, []), (240, [4])])
def test_a_point_counts_from_when_it_is_sent_for_as_long_as_its_time_is_in_the_window(
    period: int, expected: list[int]
) -> None:
    late = replace(point(0, 9), later=timedelta(minutes=3))
    changes = history(alarm(Period=period), [late], start=START, end=END)
    assert [(at - START) // timedelta(minutes=1) for at, now in changes if now == ALARM] == expected


def test_lambda_sends_at_the_end_of_a_run_what_it_stamps_with_its_start() -> None:
    sent = lambda_points("f", START, errors=1, duration_ms=300_000)
    assert {(one.at, one.later) for one in sent} == {(START, timedelta(minutes=5))}


def test_other_metrics_namespaces_and_dimensions_do_not_count() -> None:
    assert state(alarm(), [point(4, 9, name="other")], start=START, end=END) == OK
    assert state(alarm(Namespace="Other"), [point(4, 9)], start=START, end=END) == OK
    assert state(alarm(Dimensions=[]), [point(4, 9)], start=START, end=END) == OK


def math(expression: str) -> dict[str, Any]:
    whole = alarm()
    metric = {key: whole.pop(key) for key in ("Namespace", "MetricName", "Dimensions")}
    statistic = {"Metric": metric, "Period": whole.pop("Period"), "Stat": whole.pop("Statistic")}
    return whole | {
        "Metrics": [
            {"Id": "m1", "MetricStat": statistic, "ReturnData": False},
            {"Id": "e1", "Expression": expression},
        ]
    }


def test_metric_math_is_calculated() -> None:
    assert state(math("m1 / (2 + 1)"), [point(4, 9)], start=START, end=END) == ALARM
    assert state(math("m1 / (2 + 2)"), [point(4, 9)], start=START, end=END) == OK
    assert state(math("m1 * 2 - 1"), [], start=START, end=END) == OK


def test_metric_math_that_is_not_known_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        state(math("FILL(m1, 0)"), [point(4, 9)], start=START, end=END)


def test_embedded_metrics_are_read_with_their_dimensions_and_every_value() -> None:
    record = {
        "_aws": {
            "Timestamp": START.timestamp() * 1000,
            "CloudWatchMetrics": [{"Namespace": "N", "Dimensions": [["d"]], "Metrics": [{"Name": "m"}]}],
        },
        "d": "1",
        "m": [1.0, 2.0],
    }
    at = frozenset({("d", "1")})
    assert points_of([record, {"message": "no metric"}]) == [
        Point("N", "m", at, START, 1.0),
        Point("N", "m", at, START, 2.0),
    ]
