"""The template's rules wake the function, or a fleet's state machine, when a source changes, and at nothing else."""

from typing import Any

import pytest

from tests.support.event_rules import matches, parameter_changed, secret_changed
from tests.support.template import Stack

READABLE = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:apps/api-AbCdEf"
RULES = ("SecretChanged", "ParameterChanged")


def stack(**parameters: str) -> Stack:
    return Stack(ClusterName="demo", **{"ReadableArns": READABLE, **parameters})


def rules(**parameters: str) -> dict[str, dict[str, Any]]:
    return stack(**parameters).of_type("AWS::Events::Rule")


def woken_by(event: dict[str, Any]) -> set[str]:
    return {name for name, rule in rules().items() if matches(rule["EventPattern"], event)}


@pytest.mark.parametrize("label", ["AWSCURRENT", "blue"])
def test_every_label_that_the_file_may_name_as_stage_wakes(label: str) -> None:
    assert woken_by(secret_changed(label)) == {"SecretChanged"}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (parameter_changed("Create"), {"ParameterChanged"}),
        (parameter_changed("Update"), {"ParameterChanged"}),
        (parameter_changed("Update", description="a note"), {"ParameterChanged"}),
        (parameter_changed("LabelParameterVersion"), {"ParameterChanged"}),
        (parameter_changed("Delete"), set()),
        (parameter_changed("Create", exception="Unable to Describe Resource"), set()),
    ],
)
def test_a_parameter_wakes_when_it_has_a_new_value_or_label(event: dict[str, Any], expected: set[str]) -> None:
    assert woken_by(event) == expected


@pytest.mark.parametrize("source", ["aws.secretsmanager", "aws.ssm", "aws.events"])
@pytest.mark.parametrize("kind", ["AWS API Call via CloudTrail", "Parameter Store Policy Action", "Scheduled Event"])
def test_no_other_event_wakes(source: str, kind: str) -> None:
    assert woken_by(secret_changed() | {"source": source, "detail-type": kind}) == set()


def test_a_stack_that_reads_no_source_is_woken_by_none() -> None:
    found = Stack(ClusterName="demo", Fleet="true")
    for kind in ("AWS::Events::Rule", "AWS::Lambda::Permission", "AWS::SQS::QueuePolicy"):
        assert found.of_type(kind) == {}
    assert "SourceChangeRole" not in found.resources


@pytest.mark.parametrize("state", ["ENABLED", "DISABLED"])
def test_sources_wake_while_the_schedule_is_on_and_not_before(state: str) -> None:
    assert {rule["State"] for rule in rules(ScheduleState=state).values()} == {state}


def test_a_rule_sends_its_event_as_it_is_and_keeps_what_it_cannot_deliver() -> None:
    for rule in rules().values():
        (target,) = rule["Targets"]
        assert target == {
            "Id": "refresh",
            "Arn": "RefreshFunction.Arn",
            "RetryPolicy": {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 20},
            "DeadLetterConfig": {"Arn": "FailedRuns.Arn"},
        }


def test_each_rule_of_this_account_may_invoke_the_function_and_nobody_else_may() -> None:
    found = stack()
    assert "SourceChangeRole" not in found.resources
    assert list(found.of_type("AWS::Lambda::Permission").values()) == [
        {
            "Action": "lambda:InvokeFunction",
            "FunctionName": "RefreshFunction",
            "Principal": "events.amazonaws.com",
            "SourceAccount": "123456789012",
            "SourceArn": f"{rule}.Arn",
        }
        for rule in RULES
    ]


def test_in_a_fleet_the_rules_start_the_state_machine_with_a_role_that_may_do_that_alone() -> None:
    found = stack(Fleet="true")
    assert found.of_type("AWS::Lambda::Permission") == {}
    targets = [target for rule in rules(Fleet="true").values() for target in rule["Targets"]]
    assert {(one["Arn"], one["RoleArn"]) for one in targets} == {("FleetStateMachine", "SourceChangeRole.Arn")}
    assert {(one["Action"], one["Resource"]) for one in found.statements("SourceChangeRole").values()} == {
        ("states:StartExecution", "FleetStateMachine")
    }


def test_the_queue_takes_what_these_rules_could_not_deliver_and_nothing_of_other_rules() -> None:
    (policy,) = stack().of_type("AWS::SQS::QueuePolicy").values()
    assert policy["Queues"] == ["FailedRuns"]
    (kept,) = policy["PolicyDocument"]["Statement"]
    assert (kept["Effect"], kept["Principal"], kept["Action"], kept["Resource"]) == (
        "Allow",
        {"Service": "events.amazonaws.com"},
        "sqs:SendMessage",
        "FailedRuns.Arn",
    )
    assert kept["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "123456789012"},
        "ArnEquals": {"aws:SourceArn": [f"{rule}.Arn" for rule in RULES]},
    }
