"""What the deployed stacks print is what a person pastes: each output, as it is printed, with the real AWS CLI.

It runs in an empty folder, with nothing of the repository. Alarms, topic and dashboard are not here: the emulator has
no saved queries, so the stack is deployed without `Monitoring`; a dashboard's address is one of AWS's console.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.conftest import FLEET_NAMESPACES, NAMESPACES
from tests.support.fleet import SITES, Fleet
from tests.support.objects import SECRET
from tests.support.template import ROOT, load
from tests.support.world import World

CLI = ROOT / ".venv" / "cli" / "bin"
# By what a person looks at it.
LOOKS = {
    "FunctionName": "aws lambda get-function-configuration --function-name {} --query FunctionName",
    "AdoptFunctionName": "aws lambda get-function-configuration --function-name {} --query FunctionName",
    "LogGroup": "aws logs describe-log-groups --log-group-name-prefix {} --query logGroups[0].logGroupName",
    # For this service the CLI takes no endpoint from the environment.
    "FailedRuns": "aws sqs receive-message --queue-url {} --query Messages --endpoint-url $AWS_ENDPOINT_URL",
    "FleetArn": "aws stepfunctions describe-state-machine --state-machine-arn {} --query stateMachineArn",
}
NOT_ON_THE_EMULATOR = {"AlarmTopic", "Dashboard"}
COMMANDS = {"RefreshNow"}
ROLES = {"RoleArn", "AdoptRoleArn"}


def run(command: str, world: World, folder: Path, *, says_region: bool = False) -> Any:
    """Return what a command that a person pastes into a shell prints, as JSON; `folder` is where the shell is.

    One that `says_region` runs where none is configured.
    """
    path = f"{CLI}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), **world.aws.client_environment}
    if says_region:
        environment = {name: value for name, value in environment.items() if not name.endswith("REGION")}
    done = subprocess.run(
        ["/bin/sh", "-c", command], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found, _ = json.JSONDecoder().raw_decode(done.stdout.strip() or "null")
    return found


def test_every_output_is_tried_here() -> None:
    assert set(load()["Outputs"]) == {*LOOKS, *NOT_ON_THE_EMULATOR, *COMMANDS, *ROLES}


def test_each_name_is_one_that_the_cli_finds(world: World, tmp_path: Path) -> None:
    tried = {name: text for name, text in world.outputs.items() if name in LOOKS}
    assert {"FunctionName", "LogGroup", "FailedRuns"} <= set(tried)
    for name, text in tried.items():
        found = run(LOOKS[name].format(text), world, tmp_path)
        assert found == (None if name == "FailedRuns" else text), name


def test_the_role_is_there_under_its_arn(world: World, tmp_path: Path) -> None:
    arn = world.outputs["RoleArn"]
    name = arn.rpartition("/")[2]
    assert run(f"aws iam get-role --role-name {name} --query Role.Arn", world, tmp_path) == arn


def uids(world: World) -> dict[str, tuple[str, str]]:
    found = {name: world.control_plane.get_secret(name, SECRET) for name in NAMESPACES}
    return {
        name: (secret["metadata"]["uid"], secret["metadata"]["resourceVersion"])
        for name, secret in found.items()
        if secret
    }


def test_the_emergency_refresh_refreshes_everything(world: World, tmp_path: Path) -> None:
    before = uids(world)
    summary = run(world.outputs["RefreshNow"], world, tmp_path, says_region=True)
    assert (summary["applied"], summary["failed"]) == (len(NAMESPACES), 0)
    after = uids(world)
    assert set(after) == set(NAMESPACES)
    assert all(after[name][1] != version for name, (_, version) in before.items())


def test_what_the_emergency_refresh_prints_is_added_to_a_file_and_replaces_nothing(
    world: World, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.log"
    run(f"{{ echo before; {world.outputs['RefreshNow']}; }} > {kept}", world, tmp_path)
    before, after = kept.read_text().split("\n", 1)
    summary, end = json.JSONDecoder().raw_decode(after)
    metadata = json.loads(after[end:])
    assert before == "before"
    assert (summary["applied"], metadata["StatusCode"]) == (len(NAMESPACES), 200)


def test_the_emergency_refresh_of_a_fleet_refreshes_every_cluster(fleet: Fleet, tmp_path: Path) -> None:
    assert run(LOOKS["FleetArn"].format(fleet.outputs["FleetArn"]), fleet, tmp_path) == fleet.outputs["FleetArn"]
    started = run(fleet.outputs["RefreshNow"], fleet, tmp_path, says_region=True)
    execution = fleet.wait_for(started["executionArn"])
    assert execution.status == "SUCCEEDED", execution.cause
    assert (execution.output["refreshed"], execution.output["applied"]) == (
        len(SITES),
        len(SITES) * len(FLEET_NAMESPACES),
    )
