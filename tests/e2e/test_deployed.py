"""The shipped template, deployed to a local AWS with IAM enforced, against a real API server that trusts it."""

import base64
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import FROZEN, NAMESPACES, frozen_namespace, pull_secret
from tests.support import ecr_standin
from tests.support.audit import AuditLog
from tests.support.canary import Canary
from tests.support.objects import SECRET
from tests.support.world import Run, World

EVENTS = Path(__file__).parents[2] / "events"
EVERYTHING: dict[str, Any] = {}
ECR_ACTION, EKS_ACTION = "ecr:GetAuthorizationToken", "eks:DescribeCluster"

# A minute, the emulator's ten seconds between looks at its schedules, and time for the run.
FIRING_TIMEOUT_S = 120


type Broken = Callable[[World], AbstractContextManager[None]]
"""Breaks one thing of the world while its block lasts."""


def event(name: str) -> Any:
    return json.loads((EVENTS / name).read_text())


def secret_in(world: World, namespace: str) -> dict[str, Any]:
    secret = world.control_plane.get_secret(namespace, SECRET)
    assert secret is not None, f"{namespace} has no {SECRET}"
    return secret


def logins_in(world: World, namespace: str) -> dict[str, dict[str, str]]:
    config = base64.b64decode(secret_in(world, namespace)["data"][".dockerconfigjson"])
    logins: dict[str, dict[str, str]] = json.loads(config)["auths"]
    return logins


def password_in(world: World, namespace: str) -> str:
    (login,) = logins_in(world, namespace).values()
    return login["password"]


def uids_in(world: World) -> dict[str, str]:
    return {name: secret_in(world, name)["metadata"]["uid"] for name in NAMESPACES}


@dataclass(frozen=True)
class Firing:
    """One run that the schedule started, with a namespace there whose Secret nobody can change."""

    run: Run
    passwords: set[str]
    newest: str


@pytest.fixture(scope="module")
def firing(world: World) -> Firing:
    known = world.runs()
    with frozen_namespace(world.control_plane):
        world.set_schedule(enabled=True)
        try:
            run = world.wait_for_run(known, FIRING_TIMEOUT_S)
        finally:
            world.set_schedule(enabled=False)
        return Firing(run, {password_in(world, name) for name in NAMESPACES}, world.ecr.passwords[-1])


def test_the_schedule_fires_and_every_namespace_gets_the_new_token(firing: Firing) -> None:
    assert firing.passwords == {firing.newest}


def test_a_scheduled_run_returns_where_only_objects_failed_and_says_which(firing: Firing) -> None:
    assert firing.run.raised is None
    (failed,) = firing.run.named("object.failed")
    assert (failed["object"], failed["namespace"], failed["reason"]) == (f"secret/{SECRET}", FROZEN, "immutable")
    (summary,) = firing.run.named("refresh.completed")
    assert (summary["applied"], summary["failed"], summary["is_whole"]) == (len(NAMESPACES), 1, True)


def test_by_hand_the_emergency_event_refreshes_everything_and_returns_the_summary(world: World) -> None:
    answer = world.invoke(event("emergency.json"))
    assert not answer.failed
    assert answer.payload["applied"] == len(NAMESPACES)
    assert answer.payload["failed"] == 0
    assert answer.payload["dry_run"] is False
    assert {password_in(world, name) for name in NAMESPACES} == {world.ecr.passwords[-1]}


def test_two_runs_rotate_the_password_and_keep_the_uid(world: World) -> None:
    world.invoke(EVERYTHING)
    uids, passwords = uids_in(world), {name: password_in(world, name) for name in NAMESPACES}
    world.invoke(EVERYTHING)
    assert uids_in(world) == uids
    assert all(password_in(world, name) != passwords[name] for name in NAMESPACES)


def test_the_log_proves_each_uid_and_resource_version(world: World) -> None:
    records = world.invoke(EVERYTHING).run.named("object.applied")
    logged = {record["namespace"]: (record["uid"], record["resource_version"]) for record in records}
    secrets = {name: secret_in(world, name)["metadata"] for name in NAMESPACES}
    assert logged == {name: (found["uid"], found["resourceVersion"]) for name, found in secrets.items()}
    assert {record["object"] for record in records} == {f"secret/{SECRET}"}


def test_a_dry_run_by_hand_writes_nothing_and_asks_for_the_named_namespaces_only(world: World) -> None:
    world.invoke(EVERYTHING)
    before = {name: secret_in(world, name) for name in NAMESPACES}
    audit = AuditLog(world.control_plane.audit_log)
    answer = world.invoke(event("named-dry-run.json"))
    assert not answer.failed
    assert answer.payload["dry_run"] is True
    assert {name: secret_in(world, name) for name in NAMESPACES} == before
    audit.counts(user=world.user)  # waits until the log is complete
    patches = [request for request in audit.events(user=world.user) if request.verb == "patch"]
    assert {request.namespace for request in patches} == {"team-blue", "team-green"}
    assert all("dryRun=All" in request.uri for request in patches)


def test_a_dry_run_by_hand_answers_with_what_would_fail(world: World) -> None:
    with frozen_namespace(world.control_plane):
        answer = world.invoke({"dry_run": True})
    assert not answer.failed
    assert (answer.payload["applied"], answer.payload["failed"]) == (len(NAMESPACES), 1)
    assert answer.payload["table"][1].split(maxsplit=2) == [f"secret/{SECRET}", FROZEN, "failed: immutable"]


def test_the_api_server_sees_one_list_and_one_patch_per_namespace_and_nothing_else(world: World) -> None:
    world.invoke(EVERYTHING)
    audit = AuditLog(world.control_plane.audit_log)
    answer = world.invoke(EVERYTHING)
    seen = audit.counts(user=world.user)
    assert seen == {("list", "namespaces"): 1, ("patch", "secrets"): len(NAMESPACES)}
    assert answer.payload["api_requests"] == seen.total()


def test_registries_in_two_regions_take_one_token_each_into_one_secret(world: World) -> None:
    regions = ("eu-central-1", "us-east-1")
    registries = [
        {"ecr": {"account": account, "region": region}}
        for region in regions
        for account in ("111122223333", "444455556666")
    ]
    known = len(world.ecr.calls)
    with world.objects(pull_secret(registries=registries)):
        answer = world.invoke(EVERYTHING)
    assert not answer.failed
    calls = world.ecr.calls[known:]
    assert sorted(call.region for call in calls) == sorted(regions)
    password_of = {call.region: call.password for call in calls}
    assert {host: login["password"] for host, login in logins_in(world, "ops").items()} == {
        f"{account}.dkr.ecr.{region}.amazonaws.com": password_of[region]
        for region in regions
        for account in ("111122223333", "444455556666")
    }


def test_by_hand_a_namespace_that_fails_fails_the_run_after_the_others_were_refreshed(world: World) -> None:
    with frozen_namespace(world.control_plane):
        answer = world.invoke(EVERYTHING)
    assert answer.failed
    assert answer.run.raised == "ObjectsFailed"
    told = f"1 of {len(NAMESPACES) + 1} writes failed: secret/{SECRET} in {FROZEN}: immutable"
    assert told in answer.payload["errorMessage"]
    assert {password_in(world, name) for name in NAMESPACES} == {world.ecr.passwords[-1]}


def test_at_debug_level_no_log_line_holds_any_part_of_a_password_or_bearer_token(world: World) -> None:
    with world.environment(LOG_LEVEL="DEBUG"):
        world.invoke(EVERYTHING)
    canary = Canary()
    for password in world.ecr.passwords:
        canary.learn("password", password, like=ecr_standin.new_password())
    for run in world.runs():
        assert not canary.leaks(run.text)
        assert "k8s-aws-v1." not in run.text
    assert canary.searched
    assert canary.parts_known


def as_is(_: World) -> AbstractContextManager[None]:
    return nullcontext()


def case(name: str, broken: Broken, error: str, clue: str, request_event: Any = EVERYTHING) -> Any:
    return pytest.param(broken, request_event, error, clue, id=name)


STOPPED = [
    case("no access entry", lambda world: world.access_entry(None), "Unauthorized", "access entry"),
    case("no RBAC", lambda world: world.access_entry([]), "ListForbidden", "refresher.yaml"),
    case("no IAM for ECR", lambda world: world.without_permission(ECR_ACTION), "SourceFailed", ECR_ACTION),
    case("no IAM for EKS", lambda world: world.without_permission(EKS_ACTION), "ClusterAccessDenied", EKS_ACTION),
    case("a foreign token", lambda world: world.ecr.answering(ecr_standin.foreign_token), "SourceFailed", "AWS:"),
    case("malformed SCHEDULE", lambda world: world.environment(SCHEDULE="often"), "InputError", "SCHEDULE"),
    case("half a file of objects", lambda world: world.compiled(b'{"version": 1,'), "InputError", "objects.json"),
    case("a file of another version", lambda world: world.compiled(b'{"version": 2}'), "InputError", "objects.json"),
    case("unknown event key", as_is, "InputError", "dryrun", {"dryrun": True}),
    case("unknown object", as_is, "InputError", "api-config", {"objects": ["api-config"]}),
    case("unknown cluster", as_is, "InputError", "elsewhere", {"cluster": "elsewhere"}),
    case("no such namespace", as_is, "NoNamespaceMatches", "no-such-team", {"namespaces": ["no-such-team"]}),
]


@pytest.mark.parametrize(("broken", "request_event", "error", "clue"), STOPPED)
def test_a_run_that_cannot_go_on_says_why_and_writes_nothing(
    world: World, broken: Broken, request_event: Any, error: str, clue: str
) -> None:
    before = {name: world.control_plane.get_secret(name, SECRET) for name in NAMESPACES}
    audit = AuditLog(world.control_plane.audit_log)
    with broken(world):
        answer = world.invoke(request_event)
    assert answer.failed
    assert answer.run.raised == error
    assert clue in answer.payload["errorMessage"]
    assert ("patch", "secrets") not in audit.counts(user=world.user)
    assert {name: world.control_plane.get_secret(name, SECRET) for name in NAMESPACES} == before


def test_after_the_access_entry_is_back_the_next_run_succeeds(world: World) -> None:
    with world.access_entry(None):
        assert world.invoke(EVERYTHING).failed
    assert not world.invoke(EVERYTHING).failed
