"""A run that is given up leaves its event and its error in the queue that an alarm watches."""

import json
import time
from typing import Any

import pytest

from tests.support.world import STACK, World

_RETRIES_S = 60


@pytest.fixture
def outputs(world: World) -> dict[str, str]:
    """The outputs of the deployed stack."""
    (stack,) = world.aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def first_message(world: World, queue: str) -> dict[str, Any]:
    sqs = world.aws.client("sqs")
    deadline = time.monotonic() + _RETRIES_S
    while time.monotonic() < deadline:
        if messages := sqs.receive_message(QueueUrl=queue).get("Messages"):
            sqs.purge_queue(QueueUrl=queue)
            message: dict[str, Any] = json.loads(messages[0]["Body"])
            return message
        time.sleep(0.5)
    raise TimeoutError(f"nothing came into {queue} within {_RETRIES_S} s")


def test_an_asynchronous_run_that_fails_is_tried_three_times_and_then_kept(
    world: World, outputs: dict[str, str]
) -> None:
    before = len(world.runs())
    world.aws.client("lambda").invoke(
        FunctionName=world.function, InvocationType="Event", Payload=json.dumps({"namespace": "one"}).encode()
    )
    kept = first_message(world, outputs["FailedRuns"])
    assert kept["requestPayload"] == {"namespace": "one"}
    assert kept["requestContext"]["condition"] == "RetriesExhausted"
    assert "event: unknown key 'namespace'" in kept["responsePayload"]["errorMessage"]
    tried = world.runs()[before:]
    assert [run.raised for run in tried] == ["SettingsError"] * 3


def test_the_schedule_keeps_what_it_cannot_deliver_in_the_same_queue(world: World, outputs: dict[str, str]) -> None:
    scheduler = world.aws.client("scheduler")
    (found,) = scheduler.list_schedules()["Schedules"]
    target = scheduler.get_schedule(Name=found["Name"], GroupName=found["GroupName"])["Target"]
    attributes = world.aws.client("sqs").get_queue_attributes(QueueUrl=outputs["FailedRuns"], AttributeNames=["All"])
    assert target["DeadLetterConfig"]["Arn"] == attributes["Attributes"]["QueueArn"]
    assert attributes["Attributes"]["MessageRetentionPeriod"] == str(14 * 24 * 3600)
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 20}


def test_the_role_of_the_schedule_may_put_messages_into_the_queue(world: World) -> None:
    scheduler, iam = world.aws.client("scheduler"), world.aws.client("iam")
    (found,) = scheduler.list_schedules()["Schedules"]
    target = scheduler.get_schedule(Name=found["Name"], GroupName=found["GroupName"])["Target"]
    role = target["RoleArn"].rpartition("/")[2]
    policies = [
        iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
    ]
    statements = [statement for policy in policies for statement in policy["Statement"]]
    assert target["DeadLetterConfig"]["Arn"] in [
        statement["Resource"] for statement in statements if "sqs:SendMessage" in str(statement["Action"])
    ]
