"""Time lines of what goes wrong: when the first notification leaves, and how long is left until nothing can be pulled.

All with the defaults of the template, by the metrics of real runs that are put at chosen times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.alarms import ALARM, OK, UNKNOWN, Point, history, lambda_points, points_of
from tests.support.invocation import CLUSTER, Aws, invoke
from tests.support.objects import entry
from tests.support.recording import Recording, Run
from tests.support.template import Stack
from upsert.core.reports import ObjectCounts, RefreshReport
from upsert.lifetimes import lifetimes

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SCHEDULE, TOKEN_LIFE, NEEDED, WEEK = 3 * HOUR, 12 * HOUR, 3 * HOUR, 7 * 24 * HOUR

type TimeLine = Mapping[timedelta, str]


def told(stack: Stack, points: Sequence[Point], *, until: timedelta) -> list[tuple[timedelta, str]]:
    """Return each notification of an alarm, which leaves when its state becomes ALARM, with its time."""
    found = []
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        if alarm["AlarmActions"]:
            changes = history(alarm, points, start=START, end=START + until)
            found += [(when - START, name) for when, now in changes if now == ALARM]
    return sorted(found)


def put(runs: Mapping[timedelta, Run | list[Point]], *, stack_name: str = "eks-upsert") -> list[Point]:
    """Return the metrics of runs at these times, as a stack of that name measures them."""
    points = []
    for when, run in runs.items():
        own = run if isinstance(run, list) else points_of(run.records)
        if own:
            began = min(point.at for point in own)
            points += [
                replace(one, at=START + when + (one.at - began), dimensions=_named(one, stack_name)) for one in own
            ]
    return points


def _named(point: Point, stack_name: str) -> frozenset[tuple[str, str]]:
    return frozenset((name, stack_name if name == "stack" else value) for name, value in point.dimensions)


def lost(when: timedelta, count: int = 1) -> Point:
    """Return what the queue tells once Lambda has given up an event."""
    name = frozenset({("QueueName", "FailedRuns.QueueName")})
    return Point("AWS/SQS", "ApproximateNumberOfMessagesVisible", name, START + when, count)


def every(run: Run | list[Point], first: timedelta, last: timedelta) -> dict[timedelta, Run | list[Point]]:
    """Return the time line of a run that comes as scheduled from `first` to `last`."""
    found: dict[timedelta, Run | list[Point]] = {}
    while first <= last:
        found[first] = run
        first += SCHEDULE
    return found


def test_a_tenants_lasting_fault_is_told_once_and_hides_no_run_that_stops(stack: Stack, recording: Recording) -> None:
    failing, down = recording.named("failing"), recording.named("cluster down")
    days = 3 * 24 * HOUR
    points = put({timedelta(): recording.named("clean")} | every(failing, SCHEDULE, days) | {days + SCHEDULE: down})
    first, second = told(stack, points, until=days + 4 * HOUR)
    assert first[1] == "ObjectFailedAlarm"
    assert second[1] == "RunStoppedAlarm"
    assert second[0] - (days + SCHEDULE) <= timedelta(minutes=1)
    assert (days + TOKEN_LIFE) - second[0] >= NEEDED


def test_a_source_that_fails_for_long_hides_no_run_that_stops_and_none_that_does_not_come(
    stack: Stack, recording: Recording
) -> None:
    # Another object's source: of the pull Secret's own, the token's alarm would tell.
    minor = [
        point
        for point in points_of(recording.named("clean").records)
        if point.name not in ("SourcesFailed", "NotRefreshed")
    ]
    minor += [replace(minor[0], name=name, value=1.0) for name in ("SourcesFailed", "NotRefreshed")]
    stopped = put(every(minor, timedelta(), 24 * HOUR) | {27 * HOUR: recording.named("cluster down")})
    # Each of its runs raises, is tried in vain, and waits in the queue.
    stopped += [lost(timedelta(minutes=5))]
    found = told(stack, stopped, until=28 * HOUR)
    assert {name for when, name in found if when < HOUR} == {"NotRefreshedAlarm", "SourceFailedAlarm", "RunLostAlarm"}
    assert [name for when, name in found if when > HOUR] == ["RunStoppedAlarm"]
    silent = told(stack, [*put(every(minor, timedelta(), 24 * HOUR)), lost(timedelta(minutes=5))], until=48 * HOUR)
    ((when, name),) = [one for one in silent if one[0] > HOUR]
    assert name == "NoRefreshAlarm"
    assert 24 * HOUR + TOKEN_LIFE - when >= NEEDED


def test_a_token_that_cannot_be_had_is_told_although_another_source_fails_for_long(
    stack: Stack, recording: Recording
) -> None:
    clean = [
        point
        for point in points_of(recording.named("clean").records)
        if point.name not in ("SourcesFailed", "NotRefreshed")
    ]
    minor = clean + [replace(clean[0], name=name, value=1.0) for name in ("SourcesFailed", "NotRefreshed")]
    points = put(every(minor, timedelta(), 24 * HOUR) | {27 * HOUR: recording.named("no token")})
    (found,) = [one for one in told(stack, points, until=28 * HOUR) if one[0] > HOUR]
    assert found[1] == "TokenExpiresEarlyAlarm"
    assert 24 * HOUR + TOKEN_LIFE - found[0] >= NEEDED


def test_the_silence_of_one_stack_is_not_hidden_by_another_on_the_same_cluster(
    stack: Stack, recording: Recording
) -> None:
    clean = recording.named("clean")
    own = put({timedelta(): clean})
    other = put(every(clean, timedelta(), 24 * HOUR), stack_name="another")
    ((when, name),) = told(stack, own + other, until=12 * HOUR)
    assert name == "NoRefreshAlarm"
    assert TOKEN_LIFE - when >= NEEDED


def test_a_schedule_that_goes_silent_is_told_with_hours_to_spare(stack: Stack, recording: Recording) -> None:
    ((when, name),) = told(stack, put({timedelta(): recording.named("clean")}), until=TOKEN_LIFE)
    assert name == "NoRefreshAlarm"
    assert TOKEN_LIFE - when >= NEEDED


def test_a_run_that_crashes_is_told_once_it_was_tried_in_vain(stack: Stack, recording: Recording) -> None:
    # It measures nothing. Three tries of the default 300 s, one and two minutes apart, then it is in the queue.
    given_up = SCHEDULE + timedelta(minutes=3 * 5 + 3)
    points = [*put({timedelta(): recording.named("clean")}), lost(timedelta(), 0), lost(given_up)]
    (first, *_) = told(stack, points, until=TOKEN_LIFE)
    assert first[1] == "RunLostAlarm"
    assert TOKEN_LIFE - first[0] >= NEEDED


def test_a_run_that_lambda_has_no_room_for_is_told_at_once(stack: Stack, recording: Recording) -> None:
    throttled = lambda_points("RefreshFunction", START + SCHEDULE, errors=0, duration_ms=0, throttles=1)
    ((when, name),) = told(stack, [*put({timedelta(): recording.named("clean")}), *throttled], until=SCHEDULE + HOUR)
    assert (name, when - SCHEDULE <= timedelta(minutes=2)) == ("ThrottledAlarm", True)
    assert TOKEN_LIFE - when >= NEEDED


def to_spare(ends: timedelta, at: timedelta) -> int:
    """Return by how many seconds a certificate lives longer than people need, as a run at that time measures it."""
    counts = ObjectCounts(applied=1, expires_at=START + ends)
    report = RefreshReport(is_whole=True, dry_run=False, applied=1, by_object={"secret/wildcard": counts})
    (found,) = lifetimes(report, [], schedule=SCHEDULE, now=START + at)
    return found.spare


@pytest.mark.parametrize("is_fleet", [False, True])
def test_a_certificate_that_ends_is_told_once_and_a_week_before(
    stack: Stack, recording: Recording, *, is_fleet: bool
) -> None:
    ends, last = WEEK + 10 * HOUR, 36 * HOUR
    clean = points_of(recording.named("clean").records)
    runs: dict[timedelta, Run | list[Point]] = {}
    for at in every(clean, timedelta(), last):
        spare = to_spare(ends, at)
        runs[at] = (
            of_fleet(row("test"), row("blue", certificate_seconds_to_spare=spare), row("red"))
            if is_fleet
            else [*clean, replace(clean[0], name="CertificateSecondsToSpare", value=float(spare))]
        )
    ((when, name),) = told(FLEET if is_fleet else stack, put(runs), until=last)
    assert name == "CertificateExpiresEarlyAlarm"
    assert WEEK - SCHEDULE <= ends - when <= WEEK


def test_two_missed_runs_leave_hours_and_one_is_no_alarm(stack: Stack, recording: Recording) -> None:
    clean = recording.named("clean")
    assert told(stack, put({timedelta(): clean, 2 * SCHEDULE: clean}), until=2 * SCHEDULE + HOUR) == []
    ((when, name),) = told(stack, put({timedelta(): clean, 3 * SCHEDULE: clean}), until=3 * SCHEDULE + HOUR)
    assert (name, when <= 8 * HOUR) == ("NoRefreshAlarm", True)
    assert TOKEN_LIFE - 3 * SCHEDULE >= NEEDED


def test_no_alarm_speaks_after_the_end_of_what_it_is_about(stack: Stack) -> None:
    waits = [
        alarm["Period"] * alarm["EvaluationPeriods"]
        for alarm in stack.of_type("AWS::CloudWatch::Alarm").values()
        if "Period" in alarm
    ]
    assert timedelta(seconds=max(waits)) + NEEDED <= TOKEN_LIFE


@pytest.mark.parametrize("parameters", [{}, {"Fleet": "true"}])
def test_a_new_stack_whose_schedule_is_off_tells_nothing(parameters: dict[str, str]) -> None:
    off = Stack(ClusterName=CLUSTER, ScheduleState="DISABLED", **parameters)
    assert told(off, [], until=24 * HOUR) == []


def test_a_dry_run_tells_nothing_whatever_it_meets(recording: Recording) -> None:
    for run in recording.runs:
        if "dry" in run.name:
            assert points_of(run.records) == []


# --- A fleet ------------------------------------------------------------------------------------------------------

FLEET = Stack(ClusterName=CLUSTER, Fleet="true")
NAMES = ("test", "blue", "red")
CLUSTERS = tuple({"name": name} for name in NAMES)


def row(cluster: str, **changes: Any) -> dict[str, Any]:
    """Return what the state machine keeps of a cluster's answer."""
    counts = {"objects": 1, "applied": 5, "unchanged": 0, "skipped": 0, "failed": 0, "not_refreshed": 0}
    spares = {"token_seconds_to_spare": 21_600, "certificate_seconds_to_spare": None, "oldest_value_from": None}
    return {"cluster": cluster, **counts, **spares, "is_whole": True, "dry_run": False, **changes}


def stopped(cluster: str, error: str = "ClusterUnreachable") -> dict[str, Any]:
    return {"cluster": cluster, "error": error, "cause": '{"errorMessage": "the endpoint does not answer"}'}


def summed(*rows: Mapping[str, Any], event: object = None) -> Any:
    """Return what the function lets out when the state machine has it sum up these answers."""
    asked = {"summary_of": {"event": event or {}, "clusters": list(rows)}}
    with Aws() as aws:
        seen = invoke(aws, asked, objects=[entry()], clusters=CLUSTERS)
    assert seen.error is None
    return seen


def of_fleet(*rows: Mapping[str, Any], event: object = None) -> list[Point]:
    return points_of(summed(*rows, event=event).records)


WELL = tuple(row(name) for name in NAMES)


def test_a_fleet_that_is_well_tells_nothing() -> None:
    assert told(FLEET, put(every(of_fleet(*WELL), timedelta(), 24 * HOUR)), until=24 * HOUR) == []


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        ((row("test"), row("blue"), stopped("red")), "red"),
        ((row("test"), stopped("blue", "States.Timeout"), row("red")), "blue"),
        # The question which clusters there are was answered without this one.
        ((row("test"), row("blue")), "red"),
        ((row("test"), row("blue"), row("red", applied=0, failed=5, not_refreshed=1)), "red"),
    ],
)
def test_one_cluster_that_is_refreshed_no_more_is_told_and_named(rows: tuple[dict[str, Any], ...], left: str) -> None:
    bad = summed(*rows)
    points = put({timedelta(): of_fleet(*WELL)} | every(points_of(bad.records), SCHEDULE, 24 * HOUR))
    found = told(FLEET, points, until=24 * HOUR)
    first = min(found)
    assert first[1] == "NotRefreshedAlarm"
    assert TOKEN_LIFE - first[0] >= NEEDED
    assert [name for _, name in found].count("NotRefreshedAlarm") == 1, "a lasting fault is told once"
    (record,) = bad.named("fleet.completed")
    assert record["not_refreshed"] == [left]
    assert bad.result["not_refreshed"] == [left]
    assert left in bad.result["cause"]


def test_a_cluster_that_is_down_for_long_does_not_hide_that_no_run_comes_any_more() -> None:
    down = of_fleet(row("test"), row("blue"), stopped("red"))
    found = told(FLEET, put(every(down, timedelta(), 24 * HOUR)), until=48 * HOUR)
    assert [name for _, name in found] == ["NotRefreshedAlarm", "NoRefreshAlarm"]
    assert 24 * HOUR + TOKEN_LIFE - found[-1][0] >= NEEDED


def test_a_fleet_of_which_no_cluster_is_refreshed_counts_as_silent() -> None:
    none = of_fleet(*(stopped(name) for name in NAMES))
    found = told(FLEET, put({timedelta(): of_fleet(*WELL)} | every(none, SCHEDULE, 24 * HOUR)), until=TOKEN_LIFE)
    assert {name for _, name in found} == {"NotRefreshedAlarm", "NoRefreshAlarm"}
    assert TOKEN_LIFE - max(found)[0] >= NEEDED


def test_a_tenants_lasting_fault_on_a_cluster_of_a_fleet_is_told_once() -> None:
    failing = of_fleet(row("test"), row("blue", failed=2), row("red"))
    assert [name for _, name in told(FLEET, put(every(failing, timedelta(), 72 * HOUR)), until=72 * HOUR)] == [
        "ObjectFailedAlarm"
    ]


def test_clusters_that_report_one_after_the_other_end_no_alarm_of_the_fleet(recording: Recording) -> None:
    """What a cluster measures has its name, and what alarms of a fleet watch has none."""
    failing = put({timedelta(): of_fleet(row("test"), row("blue", failed=2), row("red"))})
    others = put(every(recording.named("clean"), HOUR, 2 * HOUR))
    alarm = FLEET.of_type("AWS::CloudWatch::Alarm")["ObjectFailedAlarm"]
    changes = history(alarm, failing + others, start=START, end=START + 3 * HOUR)
    assert [now for _, now in changes] == [UNKNOWN, ALARM]


@pytest.mark.parametrize(
    ("rows", "event"),
    [
        ([row("blue")], {"cluster": "blue"}),
        ([row("blue", is_whole=False)], {"objects": ["aws-ecr-token"]}),
        ([row(name, dry_run=True) for name in NAMES], {"dry_run": True}),
        ([], {}),
    ],
)
def test_a_part_of_a_fleet_neither_misses_the_rest_nor_counts_as_all_of_it(
    rows: list[dict[str, Any]], event: dict[str, Any]
) -> None:
    seen = summed(*rows, event=event)
    assert seen.result["not_refreshed"] == []
    watched = {point.name for point in points_of(seen.records)} - {
        "ObjectsApplied",
        "ObjectsSkipped",
        "ObjectsUnchanged",
    }
    assert watched == set()


def test_a_question_that_the_function_cannot_answer_is_a_run_that_stopped() -> None:
    with Aws() as aws:
        seen = invoke(aws, {"clusters_for": {}}, objects=[entry()], clusters=CLUSTERS, SCHEDULE="often")
    assert seen.error
    points = put({timedelta(): of_fleet(*WELL), SCHEDULE: points_of(seen.records), 2 * SCHEDULE: of_fleet(*WELL)})
    ((when, name),) = told(FLEET, points, until=3 * SCHEDULE)
    assert (name, when - SCHEDULE <= timedelta(minutes=1)) == ("RunStoppedAlarm", True)
    alarm = FLEET.of_type("AWS::CloudWatch::Alarm")["RunStoppedAlarm"]
    assert history(alarm, points, start=START, end=START + 3 * SCHEDULE)[-1][1] == OK


def test_both_kinds_of_stack_have_the_same_alarms(stack: Stack) -> None:
    assert set(stack.of_type("AWS::CloudWatch::Alarm")) == set(FLEET.of_type("AWS::CloudWatch::Alarm"))


def test_each_cluster_has_a_record_with_what_the_table_shows() -> None:
    seen = summed(row("test", oldest_value_from="2026-01-01T00:00:00Z"), row("blue", failed=2), stopped("red"))
    shown = [
        tuple(record.get(name) for name in ("cluster", "objects", "applied", "failed", "oldest_value_from", "error"))
        for record in seen.named("fleet.cluster")
    ]
    assert shown == [
        ("test", 1, 5, 0, "2026-01-01T00:00:00Z", None),
        ("blue", 1, 5, 2, None, None),
        ("red", 0, 0, 0, None, "ClusterUnreachable"),
    ]
    assert seen.result["table"] == [
        "cluster  objects  applied  failed  oldest value",
        "blue     1        5        2       -",
        "red      -        -        -       ClusterUnreachable",
        "test     1        5        0       2026-01-01T00:00:00Z",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"summary_of": None},
        {"summary_of": {"event": {}, "clusters": {}}},
        {"summary_of": {"event": {}, "clusters": [5]}},
        {"summary_of": {"event": {}, "clusters": [row("a", applied="5")]}},
        {"summary_of": {"event": {}, "clusters": [row("a", more=1)]}},
        {"summary_of": {"event": {}, "clusters": [{"applied": 1}]}},
        {"summary_of": {"event": {}, "clusters": []}, "cluster": "a"},
    ],
)
def test_a_sum_that_the_state_machine_never_asks_for_is_refused(wrong: dict[str, Any]) -> None:
    with Aws() as aws:
        seen = invoke(aws, wrong, objects=[entry()], clusters=CLUSTERS)
    assert type(seen.error).__name__ == "InputError"
