"""The state machine, run by the local AWS as its own role with a function that answers as told, shows what they sum to.

The clusters' answers are told; the sum of them is the function's own.
"""

import io
import json
import re
import time
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.ministack import ACCOUNT, REGION, MiniStack
from tests.support.template import ROOT, Stack

# It is told what to answer by the event that a person starts the execution with, which has to reach it each time.
FUNCTION = """
from types import SimpleNamespace
from upsert.fleet import fleet_report

def handler(event, context):
    if "summary_of" in event:
        return fleet_report(event, SimpleNamespace(targets=(), objects=())).answer
    if "clusters_for" in event:
        names = event["clusters_for"]["names"]
        if isinstance(names, str):
            raise type(names, (Exception,), {})("the file is wrong")
        return names
    answer = event["event"]["answers"][event["cluster"]]
    if isinstance(answer, str):
        raise type(answer, (Exception,), {})("it does not answer")
    return answer
"""
TIMEOUT_S = 60
FLEET = Stack(ClusterName="a", Fleet="true")

type Execution = Mapping[str, Any]


class Machine:
    """The deployed state machine."""

    def __init__(self, aws: MiniStack) -> None:
        self._states = aws.client("stepfunctions")
        function = self._create_function(aws)
        role = self._create_role(aws, "FleetRole", {"RefreshFunction.Arn": function})
        properties = FLEET.resources["FleetStateMachine"]["Properties"]
        definition = (ROOT / properties["DefinitionUri"]).read_text()
        for name, value in properties["DefinitionSubstitutions"].items():
            definition = definition.replace(f"${{{name}}}", function if name == "RefreshFunctionArn" else value)
        created = self._states.create_state_machine(name=properties["Name"], definition=definition, roleArn=role)
        self._arn = created["stateMachineArn"]

    def run(self, names: object, answers: Mapping[str, object]) -> Execution:
        """Run it once, the function answering so, and return how it ended."""
        event = json.dumps({"names": names, "answers": answers})
        arn = self._states.start_execution(stateMachineArn=self._arn, input=event)["executionArn"]
        deadline = time.monotonic() + TIMEOUT_S
        while (found := self._states.describe_execution(executionArn=arn))["status"] == "RUNNING":
            assert time.monotonic() < deadline, "the execution did not end"
            time.sleep(0.05)
        ended: Execution = found
        return ended

    @staticmethod
    def _create_role(aws: MiniStack, name: str, arns: Mapping[str, str]) -> str:
        """Create a role as the template has it, with these ARNs for those of its resources."""
        properties = FLEET.resources[name]["Properties"]
        iam = aws.client("iam")
        trust = json.dumps(properties["AssumeRolePolicyDocument"])
        arn: str = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
        for policy in properties["Policies"]:
            text = json.dumps(policy["PolicyDocument"])
            for placeholder, value in arns.items():
                text = text.replace(placeholder, value)
            iam.put_role_policy(RoleName=name, PolicyName=policy["PolicyName"], PolicyDocument=text)
        return arn

    def _create_function(self, aws: MiniStack) -> str:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as target:
            target.writestr("told.py", FUNCTION)
            for file in sorted((ROOT / "functions" / "upsert").rglob("*.py")):
                target.write(file, file.relative_to(ROOT / "functions"))
        role = aws.client("iam").create_role(
            RoleName="told",
            AssumeRolePolicyDocument=json.dumps(
                FLEET.resources["RefreshRole"]["Properties"]["AssumeRolePolicyDocument"]
            ),
        )
        arn: str = aws.client("lambda").create_function(
            FunctionName="told",
            Runtime="python3.13",
            Handler="told.handler",
            Role=role["Role"]["Arn"],
            Code={"ZipFile": archive.getvalue()},
        )["FunctionArn"]
        return arn


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with MiniStack() as aws:
        yield Machine(aws)


def answer(applied: int, *, skipped: int = 0, failed: int = 0, not_refreshed: int = 0) -> dict[str, object]:
    return {
        "objects": 2,
        "applied": applied,
        "unchanged": 0,
        "skipped": skipped,
        "failed": failed,
        "not_refreshed": ["secret/a", "secret/b"][:not_refreshed],
        "token_seconds_to_spare": 21600,
        "certificate_seconds_to_spare": None,
        "oldest_value_from": "2026-11-30T06:45:35Z",
        "is_whole": True,
        "dry_run": False,
        "took_over": 0,
    }


def test_the_name_in_the_definition_is_the_one_that_outputs_use() -> None:
    arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{FLEET.resources['FleetStateMachine']['Properties']['Name']}"
    assert arn in FLEET.outputs["RefreshNow"]["Value"]


CLEAN = {
    "unchanged": 0,
    "skipped": 0,
    "failed": 0,
    "not_refreshed": [],
    "is_whole": True,
    "dry_run": False,
    "cause": "",
}


@pytest.mark.parametrize(
    ("answers", "summary"),
    [
        ({}, CLEAN | {"clusters": 0, "refreshed": 0, "applied": 0, "is_whole": False}),
        ({"a": answer(3, skipped=1)}, CLEAN | {"clusters": 1, "refreshed": 1, "applied": 3, "skipped": 1}),
        (
            {"a": answer(3), "b": answer(4, skipped=2), "c": answer(0)},
            CLEAN | {"clusters": 3, "refreshed": 3, "applied": 7, "skipped": 2},
        ),
    ],
)
def test_when_every_cluster_was_refreshed_it_succeeds_with_the_sums(
    machine: Machine, answers: dict[str, object], summary: dict[str, object]
) -> None:
    ended = machine.run(list(answers), answers)
    assert ended["status"] == "SUCCEEDED"
    output = json.loads(ended["output"])
    assert len(output.pop("table")) == 1 + len(answers)
    assert output == summary


def test_the_output_is_a_table_of_the_clusters(machine: Machine) -> None:
    ended = machine.run(["production-eu", "b"], {"production-eu": answer(30), "b": answer(4)})
    assert json.loads(ended["output"])["table"] == [
        "cluster        objects  applied  failed  oldest value",
        "b              2        4        0       2026-11-30T06:45:35Z",
        "production-eu  2        30       0       2026-11-30T06:45:35Z",
    ]


@pytest.mark.parametrize(
    ("answers", "cause"),
    [
        ({"a": answer(3, failed=2)}, r"1 of 1 clusters failed: a \(2 failed, 3 applied\)\. Applied in all: 3\n"),
        ({"a": "ClusterUnreachable"}, r"1 of 1 clusters failed: a \(.*it does not answer.*\)\. Applied in all: 0\n"),
        (
            {"a": answer(3, failed=4, not_refreshed=1)},
            r"1 of 1 clusters failed: a \(4 failed, 3 applied, 1 of 2 objects not refreshed\)\. Applied in all: 3\n",
        ),
        (
            {"a": "ClusterUnreachable", "b": answer(4), "c": answer(1, failed=1)},
            r"2 of 3 clusters failed: a \(.*it does not answer.*\); c \(1 failed, 1 applied\)\. Applied in all: 5\n",
        ),
    ],
)
def test_a_cluster_that_failed_or_on_which_something_did_is_named_after_all_had_their_run(
    machine: Machine, answers: dict[str, object], cause: str
) -> None:
    ended = machine.run(list(answers), answers)
    assert (ended["status"], ended["error"]) == ("FAILED", "ClustersFailed")
    assert re.match(cause, ended["cause"], re.DOTALL), ended["cause"]
    assert "\ncluster  objects  applied  failed  oldest value\na " in ended["cause"], "a failed run has no other output"


def test_a_question_that_the_function_refuses_is_no_success(machine: Machine) -> None:
    ended = machine.run("InputError", {})
    assert ended["status"] == "FAILED"
    assert "the file is wrong" in ended["cause"]
