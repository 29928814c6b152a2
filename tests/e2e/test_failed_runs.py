"""A run that is given up leaves its event and its error in the queue that an alarm watches; no other run does."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.conftest import NAMESPACES, frozen_namespace, pull_secret
from tests.support.objects import SECRET
from tests.support.world import World

EVENTS = Path(__file__).parents[2] / "events"

_RETRIES_S = 60


# What the schedule delivers, and an event that no run can go on with.
SCHEDULED: dict[str, Any] = json.loads((EVENTS / "scheduled.json").read_text())
WRONG = {"namespace": "one"}


def kept(world: World, events: Sequence[object]) -> list[dict[str, Any]]:
    """Deliver events as a schedule does, wait until the last one was given up, and return what is in the queue then."""
    for event in events:
        world.aws.client("lambda").invoke(
            FunctionName=world.function, InvocationType="Event", Payload=json.dumps(event).encode()
        )
    sqs, queue = world.aws.client("sqs"), world.outputs["FailedRuns"]
    deadline = time.monotonic() + _RETRIES_S
    found: list[dict[str, Any]] = []
    while events[-1] not in [message["requestPayload"] for message in found]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{events[-1]} did not come into {queue} within {_RETRIES_S} s")
        time.sleep(0.5)
        received = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        found += [json.loads(message["Body"]) for message in received]
    sqs.purge_queue(QueueUrl=queue)
    return found


def test_a_run_that_cannot_go_on_is_tried_three_times_and_then_kept(world: World) -> None:
    before = len(world.runs())
    (message,) = kept(world, [WRONG])
    assert message["requestPayload"] == WRONG
    assert message["requestContext"]["condition"] == "RetriesExhausted"
    assert "event: unknown field 'namespace'" in message["responsePayload"]["errorMessage"]
    assert [run.raised for run in world.runs()[before:]] == ["InputError"] * 3


def test_a_scheduled_run_in_which_only_objects_failed_is_neither_tried_again_nor_kept(world: World) -> None:
    before = len(world.runs())
    with frozen_namespace(world.control_plane):
        # The second one is given up after its last try. Had the first one failed too, it would be in the queue by then.
        messages = kept(world, [SCHEDULED, WRONG])
    assert [message["requestPayload"] for message in messages] == [WRONG]
    runs = world.runs()[before:]
    assert Counter(run.raised for run in runs) == {None: 1, "InputError": 3}
    (run,) = (run for run in runs if run.raised is None)
    (summary,) = run.named("refresh.completed")
    assert (summary["applied"], summary["failed"]) == (len(NAMESPACES), 1)


def test_a_scheduled_run_with_a_source_that_fails_is_tried_again_and_kept_and_writes_the_rest_each_time(
    world: World,
) -> None:
    *others, last = NAMESPACES
    nowhere = [{"auths": {"secret": "nowhere"}}]
    before = len(world.runs())
    with world.objects(pull_secret(include=others), pull_secret(include=[last], registries=nowhere)):
        (message,) = kept(world, [SCHEDULED])
    why = "registries[0].auths: cannot read the secret that the file of objects names here: "
    assert why in message["responsePayload"]["errorMessage"]
    runs = world.runs()[before:]
    assert [run.raised for run in runs] == ["SourceFailed"] * 3
    for run in runs:
        assert sorted(record["namespace"] for record in run.named("object.applied")) == sorted(others)
        assert [record["object"] for record in run.named("source.failed")] == [f"secret/{SECRET}"]
        (summary,) = run.named("refresh.completed")
        assert summary["objects_not_made"] == [f"secret/{SECRET}"]


def test_the_schedule_keeps_what_it_cannot_deliver_in_the_same_queue(world: World) -> None:
    target = world.schedule["Target"]
    attributes = world.aws.client("sqs").get_queue_attributes(
        QueueUrl=world.outputs["FailedRuns"], AttributeNames=["All"]
    )
    assert target["DeadLetterConfig"]["Arn"] == attributes["Attributes"]["QueueArn"]
    assert attributes["Attributes"]["MessageRetentionPeriod"] == str(14 * 24 * 3600)
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 20}


def test_the_role_of_the_schedule_may_put_messages_into_the_queue(world: World) -> None:
    iam, target = world.aws.client("iam"), world.schedule["Target"]
    role = target["RoleArn"].rpartition("/")[2]
    policies = [
        iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
    ]
    statements = [statement for policy in policies for statement in policy["Statement"]]
    assert target["DeadLetterConfig"]["Arn"] in [
        statement["Resource"] for statement in statements if "sqs:SendMessage" in str(statement["Action"])
    ]
