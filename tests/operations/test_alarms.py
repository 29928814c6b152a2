"""Each alarm of the template fires when it should and stays quiet when it should, by the metrics of real runs.

The runs lasted seconds; here they are put at chosen times, since alarms look at hours.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.alarms import ALARM, OK, UNKNOWN, Point, history, lambda_points, points_of, state
from tests.support.invocation import CLUSTER
from tests.support.recording import Recording, Run
from tests.support.template import Stack
from upsert.telemetry import METRICS_NAMESPACE

START = datetime(2026, 1, 1, tzinfo=UTC)
FUNCTION = "RefreshFunction"
ALL = (
    "NoRefreshAlarm",
    "RunStoppedAlarm",
    "NotRefreshedAlarm",
    "SourceFailedAlarm",
    "ObjectFailedAlarm",
    "TokenExpiresEarlyAlarm",
    "CertificateExpiresEarlyAlarm",
    "RunLostAlarm",
    "ThrottledAlarm",
    "SlowAlarm",
)

# An ECR token's life, how often runs are scheduled by default, and how long people need.
TOKEN_HOURS, SCHEDULE_HOURS, NEEDED_HOURS = 12, 3, 3

# For each run of the story, the alarms that it raises on its own, of those that one run can raise. A run by hand raises
# none by stopping, since somebody sees that.
RAISED = {
    "clean": set(),
    "dry run": set(),
    "by hand": set(),
    "contested": set(),
    "recreated": set(),
    "failing": {"ObjectFailedAlarm"},
    "failing by hand": {"ObjectFailedAlarm"},
    "by hand while failing": set(),
    "cluster down": {"RunStoppedAlarm"},
    "short token": {"ObjectFailedAlarm", "TokenExpiresEarlyAlarm"},
    "no token": {"SourceFailedAlarm", "NotRefreshedAlarm", "TokenExpiresEarlyAlarm"},
    "wrong setting": {"RunStoppedAlarm"},
    "repaired": set(),
}


def alarms(stack: Stack) -> dict[str, dict[str, Any]]:
    return stack.of_type("AWS::CloudWatch::Alarm")


def measured(run: Run, at: datetime) -> list[Point]:
    """Return the run's own metrics and Lambda's, as if it had begun at that time."""
    own = [replace(point, at=at + (point.at - run.began)) for point in points_of(run.records)]
    errors = int(run.seen.error is not None)
    return own + lambda_points(FUNCTION, at, errors=errors, duration_ms=run.duration_ms)


def states(stack: Stack, points: list[Point], *, at: datetime, start: datetime = START) -> dict[str, str]:
    return {name: state(alarm, points, start=start, end=at) for name, alarm in alarms(stack).items()}


def depth(count: int, at: datetime) -> Point:
    name = frozenset({("QueueName", "FailedRuns.QueueName")})
    return Point("AWS/SQS", "ApproximateNumberOfMessagesVisible", name, at, count)


def at(hours: float = 0, minutes: float = 0) -> datetime:
    return START + timedelta(hours=hours, minutes=minutes)


def test_the_template_has_these_alarms_and_no_other(stack: Stack) -> None:
    assert set(alarms(stack)) == set(ALL)


@pytest.mark.parametrize("name", RAISED)
def test_a_run_raises_the_alarms_that_it_should_and_no_other(stack: Stack, recording: Recording, name: str) -> None:
    found = states(stack, measured(recording.named(name), at(minutes=5)), at=at(minutes=30))
    del found["NoRefreshAlarm"]  # about the absence of runs, tested below
    assert {alarm for alarm, now in found.items() if now == ALARM} == RAISED[name]


def test_after_a_clean_run_no_alarm_but_those_without_data_is_anything_but_ok(
    stack: Stack, recording: Recording
) -> None:
    found = states(stack, measured(recording.named("clean"), at(minutes=5)), at=at(minutes=30))
    # The queue has not told anything yet, and there is no certificate.
    silent = {"RunLostAlarm": UNKNOWN, "CertificateExpiresEarlyAlarm": UNKNOWN}
    assert {alarm: now for alarm, now in found.items() if now != OK} == silent


def test_no_refresh_fires_seven_hours_after_the_last_one_and_ends_with_the_next(
    stack: Stack, recording: Recording
) -> None:
    clean = recording.named("clean")
    points = measured(clean, at(hours=1)) + measured(clean, at(hours=20))
    changes = history(alarms(stack)["NoRefreshAlarm"], points, start=at(), end=at(hours=22))
    assert [now for _, now in changes] == [UNKNOWN, ALARM, OK, ALARM, OK]
    fired = changes[3][0] - at(hours=1)
    assert timedelta(hours=7) <= fired <= timedelta(hours=7, minutes=11)
    assert timedelta(hours=TOKEN_HOURS) - fired >= timedelta(hours=3), "time to act before nothing can be pulled"
    assert changes[4][0] - at(hours=20) <= timedelta(minutes=1)


def test_one_missed_run_is_no_alarm_and_after_two_the_token_has_hours_to_spare(
    stack: Stack, recording: Recording
) -> None:
    clean, alarm = recording.named("clean"), alarms(stack)["NoRefreshAlarm"]
    missed_one = measured(clean, at()) + measured(clean, at(hours=2 * SCHEDULE_HOURS))
    missed_two = measured(clean, at()) + measured(clean, at(hours=3 * SCHEDULE_HOURS))
    once = history(alarm, missed_one, start=at(), end=at(hours=2 * SCHEDULE_HOURS, minutes=30))
    twice = history(alarm, missed_two, start=at(), end=at(hours=3 * SCHEDULE_HOURS, minutes=30))
    assert [now for _, now in once] == [UNKNOWN, OK]
    assert [now for _, now in twice] == [UNKNOWN, OK, ALARM, OK]
    assert TOKEN_HOURS - 3 * SCHEDULE_HOURS >= 3


@pytest.mark.parametrize("parameters", [{}, {"Fleet": "true"}])
def test_a_new_stack_whose_schedule_is_off_has_no_alarm(parameters: dict[str, str]) -> None:
    off = Stack(ClusterName=CLUSTER, ScheduleState="DISABLED", **parameters)
    assert "NoRefreshAlarm" not in alarms(off)
    assert ALARM not in states(off, [], at=at(hours=24)).values()
    on = Stack(ClusterName=CLUSTER, **parameters)
    assert {name for name, now in states(on, [], at=at(hours=24)).items() if now == ALARM} == {"NoRefreshAlarm"}


@pytest.mark.parametrize("name", ["dry run", "by hand", "by hand while failing", "failing by hand", "cluster down"])
def test_only_a_finished_refresh_of_all_namespaces_counts_as_one(stack: Stack, recording: Recording, name: str) -> None:
    points = measured(recording.named("clean"), at())
    for hour in range(1, 8):
        points += measured(recording.named(name), at(hours=hour))
    assert state(alarms(stack)["NoRefreshAlarm"], points, start=at(), end=at(hours=7, minutes=30)) == ALARM


def test_one_broken_namespace_does_not_hide_that_the_others_are_refreshed(stack: Stack, recording: Recording) -> None:
    points = [
        point for hour in range(0, 24, SCHEDULE_HOURS) for point in measured(recording.named("failing"), at(hours=hour))
    ]
    assert state(alarms(stack)["NoRefreshAlarm"], points, start=at(), end=at(hours=24)) == OK


def test_a_failed_object_stays_an_alarm_until_a_run_over_all_of_them_is_clean(
    stack: Stack, recording: Recording
) -> None:
    story = ("failing", "by hand while failing", "dry run", "cluster down", "repaired")
    points = [point for hour, name in enumerate(story) for point in measured(recording.named(name), at(hours=hour))]
    changes = history(alarms(stack)["ObjectFailedAlarm"], points, start=at(), end=at(hours=6))
    assert [now for _, now in changes] == [UNKNOWN, ALARM, OK]
    assert changes[2][0] >= at(hours=4)


def test_a_stopped_run_is_an_alarm_until_a_run_over_everything_succeeds(stack: Stack, recording: Recording) -> None:
    points = measured(recording.named("cluster down"), at()) + measured(recording.named("by hand"), at(minutes=2))
    points += measured(recording.named("clean"), at(minutes=5))
    changes = history(alarms(stack)["RunStoppedAlarm"], points, start=at(), end=at(hours=1))
    assert [now for _, now in changes] == [UNKNOWN, ALARM, OK]
    assert changes[2][0] >= at(minutes=5)


def test_a_typo_by_hand_is_no_alarm(stack: Stack, recording: Recording) -> None:
    assert recording.named("failing by hand").seen.error
    points = measured(recording.named("failing by hand"), at())
    assert state(alarms(stack)["RunStoppedAlarm"], points, start=at(), end=at(hours=1)) == UNKNOWN


def test_a_message_in_the_queue_stays_an_alarm_until_the_queue_is_empty(stack: Stack) -> None:
    alarm = alarms(stack)["RunLostAlarm"]
    points = [depth(0, at()), depth(1, at(hours=1)), depth(0, at(hours=20))]
    assert state(alarm, points, start=at(), end=at(minutes=30)) == OK
    assert state(alarm, points, start=at(), end=at(hours=19)) == ALARM
    assert state(alarm, points, start=at(), end=at(hours=21)) == OK


def test_a_throttled_invocation_is_an_alarm_for_a_while(stack: Stack) -> None:
    throttled = lambda_points(FUNCTION, at(hours=1), errors=0, duration_ms=0, throttles=1)
    changes = history(alarms(stack)["ThrottledAlarm"], throttled, start=at(), end=at(hours=2))
    assert [now for _, now in changes] == [UNKNOWN, OK, ALARM, OK]


@pytest.mark.parametrize("timeout", [30, 300, 900])
def test_slow_is_more_than_four_fifths_of_the_timeout(timeout: int) -> None:
    alarm = alarms(Stack(ClusterName=CLUSTER, Timeout=str(timeout)))["SlowAlarm"]

    def after(share: float) -> str:
        points = lambda_points(FUNCTION, at(minutes=1), errors=0, duration_ms=share * timeout * 1000)
        return state(alarm, points, start=at(), end=at(minutes=30))

    assert (after(0.1), after(0.8), after(0.81), after(1)) == (OK, OK, ALARM, ALARM)


def test_a_slow_run_of_twelve_minutes_is_an_alarm_as_soon_as_it_ends() -> None:
    alarm = alarms(Stack(ClusterName=CLUSTER, Timeout="890"))["SlowAlarm"]
    points = lambda_points(FUNCTION, at(hours=1), errors=0, duration_ms=720_000)
    changes = history(alarm, points, start=at(), end=at(hours=6))
    assert changes[1:] == [(at(hours=1, minutes=12), ALARM)]


def test_a_token_that_ends_before_the_next_run_is_an_alarm_until_one_lives_long_enough(
    stack: Stack, recording: Recording
) -> None:
    points = measured(recording.named("short token"), at()) + measured(recording.named("repaired"), at(hours=6))
    changes = history(alarms(stack)["TokenExpiresEarlyAlarm"], points, start=at(), end=at(hours=7))
    assert [now for _, now in changes] == [UNKNOWN, ALARM, OK]


def test_every_alarm_on_the_functions_own_metrics_watches_one_that_runs_measure(
    stack: Stack, recording: Recording
) -> None:
    found = {(point.name, point.dimensions) for point in points_of(recording.records)}
    watched = [alarm for alarm in alarms(stack).values() if alarm.get("Namespace") == METRICS_NAMESPACE]
    assert len(watched) == 7
    for alarm in watched:
        dimensions = frozenset((pair["Name"], pair["Value"]) for pair in alarm["Dimensions"])
        # The recording has no certificate.
        assert (alarm["MetricName"], dimensions) in found or alarm["MetricName"] == "CertificateSecondsToSpare"


def test_every_alarm_reaches_the_topic_of_the_stack_or_the_one_that_is_given(stack: Stack) -> None:
    given = "arn:aws:sns:eu-central-1:123456789012:on-call"
    other = Stack(ClusterName=CLUSTER, AlarmTopicArn=given)
    assert set(stack.of_type("AWS::SNS::Topic")) == {"AlarmTopic"}
    assert not other.of_type("AWS::SNS::Topic")
    assert all(alarm["AlarmActions"] == ["AlarmTopic"] for alarm in alarms(stack).values())
    assert all(alarm["AlarmActions"] == [given] for alarm in alarms(other).values())


@pytest.mark.parametrize("topic", ["", "arn:aws:sns:eu-central-1:123456789012:on-call"])
def test_an_address_is_subscribed_to_whichever_topic_it_is(topic: str) -> None:
    stack = Stack(ClusterName=CLUSTER, AlarmEmail="on-call@example.com", AlarmTopicArn=topic)
    (mail,) = stack.of_type("AWS::SNS::Subscription").values()
    assert (mail["Protocol"], mail["Endpoint"]) == ("email", "on-call@example.com")
    assert mail["TopicArn"] == (topic or "AlarmTopic")
    assert not Stack(ClusterName=CLUSTER, AlarmTopicArn=topic).of_type("AWS::SNS::Subscription")


def test_without_monitoring_failed_runs_are_still_kept() -> None:
    stack = Stack(ClusterName=CLUSTER, Monitoring="false", AlarmEmail="on-call@example.com")
    kinds = {resource["Type"] for resource in stack.resources.values()}
    assert not {kind for kind in kinds if kind.startswith(("AWS::CloudWatch", "AWS::SNS"))}
    assert "AWS::Logs::QueryDefinition" not in kinds
    assert "AWS::SQS::Queue" in kinds


def test_monitoring_brings_the_dashboard_with_its_alarms(stack: Stack) -> None:
    assert "Dashboard" in stack.outputs
    without = Stack(ClusterName=CLUSTER, Monitoring="false")
    assert set(stack.outputs) - set(without.outputs) == {"AlarmTopic", "Dashboard"}


def test_a_failed_run_is_tried_again_a_bounded_time_and_then_kept(stack: Stack) -> None:
    function = stack.resources["RefreshFunction"]["Properties"]
    failure = function["EventInvokeConfig"]
    assert (failure["MaximumRetryAttempts"], failure["MaximumEventAgeInSeconds"]) == (2, 3600)
    assert failure["DestinationConfig"]["OnFailure"] == {"Type": "SQS", "Destination": "FailedRuns.Arn"}
    target = stack.resources["RefreshSchedule"]["Properties"]["Target"]
    assert target["DeadLetterConfig"] == {"Arn": "FailedRuns.Arn"}
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 20}
    queue = stack.resources["FailedRuns"]["Properties"]
    assert queue["SqsManagedSseEnabled"] is True
    assert queue["MessageRetentionPeriod"] == timedelta(days=14).total_seconds()


def test_the_function_may_put_its_failed_runs_into_the_queue_and_into_no_other(stack: Stack) -> None:
    statements = stack.statements("RefreshRole").values()
    sending = [statement for statement in statements if "sqs" in str(statement["Action"])]
    assert [(one["Action"], one["Resource"]) for one in sending] == [("sqs:SendMessage", "FailedRuns.Arn")]


def test_nothing_that_raises_an_alarm_depends_on_unknown_metric_math(stack: Stack) -> None:
    inputs = [item for alarm in alarms(stack).values() for item in alarm.get("Metrics", ())]
    assert [item["Expression"] for item in inputs if "Expression" in item] == ["milliseconds / (10 * 300)"]
