"""A fleet of three clusters in two accounts: each refreshed by one run of its own."""

import base64
import json
import time

import pytest

from tests.cluster.test_audit_trigger import Subscription
from tests.e2e.conftest import FLEET_NAMESPACES as NAMESPACES
from tests.e2e.conftest import PULL_ROLE, frozen_namespace, pull_secret
from tests.support.audit import AuditLog
from tests.support.fleet import (
    AUDIT_LOG_GROUP,
    FAR,
    HOME,
    MEMBER,
    MEMBER_ROLE,
    OTHER_ACCOUNT,
    SITES,
    Fleet,
    Site,
)
from tests.support.objects import SECRET
from upsert.aws import SESSION_NAME

# A minute, the emulator's ten seconds between looks at its schedules, and time to start.
FIRING_TIMEOUT_S = 120


def password_in(fleet: Fleet, site: Site, namespace: str, host: str | None = None) -> str:
    secret = fleet.planes[site].get_secret(namespace, SECRET)
    assert secret is not None, f"{site.name}/{namespace} has no {SECRET}"
    auths = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))["auths"]
    password: str = auths[host or next(iter(auths))]["password"]
    return password


def user_at(fleet: Fleet, site: Site) -> str:
    """Return the name under which the function is to come to a cluster."""
    if site.role_arn:
        return f"arn:aws:sts::{site.account}:assumed-role/{MEMBER_ROLE}/{SESSION_NAME}"
    return fleet.user


WRONG = [
    ({"name": "nowhere"}, f"EKS knows no cluster nowhere in {HOME.region}"),
    (
        MEMBER.entry | {"role_arn": f"arn:aws:iam::{OTHER_ACCOUNT}:role/another"},
        "AssumableRoleArns must match it",
    ),
    ({"name": "elsewhere", "region": MEMBER.region}, "EKS knows no cluster elsewhere in eu-west-1"),
]


def test_every_cluster_is_refreshed_with_a_token_of_the_functions_account(fleet: Fleet) -> None:
    tokens = len(fleet.ecr.passwords)

    execution = fleet.execute()

    assert execution.status == "SUCCEEDED", execution.cause
    table = execution.output.pop("table")
    assert execution.output == {
        "clusters": 3,
        "refreshed": 3,
        "applied": 3 * len(NAMESPACES),
        "unchanged": 0,
        "skipped": 0,
        "failed": 0,
        "not_refreshed": [],
        "is_whole": True,
        "dry_run": False,
        "cause": "",
    }
    assert [line.split()[:4] for line in table[1:]] == sorted(
        [site.name, "1", str(len(NAMESPACES)), "0"] for site in SITES
    )
    new = fleet.ecr.passwords[tokens:]
    assert len(new) == len(SITES)
    assert {password_in(fleet, site, name) for site in SITES for name in NAMESPACES} == set(new)


def test_in_its_own_account_a_cluster_sees_the_functions_role_and_in_another_the_members(fleet: Fleet) -> None:
    logs = {site: AuditLog(fleet.planes[site].audit_log) for site in SITES}

    fleet.execute()

    for site, log in logs.items():
        assert log.counts(user=user_at(fleet, site)) == {("list", "namespaces"): 1, ("patch", "secrets"): 2}


def test_the_schedule_starts_the_fleet_in_place_of_the_function(fleet: Fleet) -> None:
    states = fleet.aws.client("stepfunctions")

    def executions() -> set[str]:
        listed = states.list_executions(stateMachineArn=fleet.state_machine)["executions"]
        return {one["executionArn"] for one in listed}

    known = executions()
    assert fleet.schedule["Target"]["Arn"] == fleet.state_machine
    fleet.set_schedule(enabled=True)
    try:
        deadline = time.monotonic() + FIRING_TIMEOUT_S
        while not (new := executions() - known):
            assert time.monotonic() < deadline, "the schedule started nothing"
            time.sleep(0.5)
    finally:
        fleet.set_schedule(enabled=False)
    assert fleet.wait_for(new.pop()).status == "SUCCEEDED"


def test_asked_for_everything_the_function_names_the_state_machine_and_refreshes_nothing(fleet: Fleet) -> None:
    tokens = len(fleet.ecr.passwords)

    answer = fleet.invoke({})

    assert answer.run.raised == "InputError"
    assert fleet.state_machine.rpartition(":")[2] in answer.payload["errorMessage"]
    assert len(fleet.ecr.passwords) == tokens


def test_one_cluster_of_the_fleet_can_be_refreshed_by_hand(fleet: Fleet) -> None:
    fleet.execute()
    before = {site: password_in(fleet, site, "team-green") for site in SITES}

    answer = fleet.invoke({"cluster": MEMBER.name, "namespaces": ["team-blue"]})

    assert not answer.failed, answer.payload
    assert answer.payload["applied"] == 1
    assert password_in(fleet, MEMBER, "team-blue") == fleet.ecr.passwords[-1]
    assert {site: password_in(fleet, site, "team-green") for site in SITES} == before
    assert {record["cluster"] for record in answer.run.named("object.applied")} == {MEMBER.name}


def test_an_execution_refreshes_the_clusters_that_its_event_concerns_and_no_other(fleet: Fleet) -> None:
    of_far = pull_secret(name="far-only", clusters=[FAR.name])
    of_others = pull_secret(clusters=[HOME.name, MEMBER.name])
    with fleet.objects(of_far, of_others):
        names = {
            json.dumps(event): fleet.invoke({"clusters_for": event}).payload
            for event in ({}, {"cluster": MEMBER.name}, {"objects": [SECRET]}, {"objects": ["far-only"]})
        }
        logs = {site: AuditLog(fleet.planes[site].audit_log) for site in SITES}
        execution = fleet.execute({"objects": [SECRET], "namespaces": ["team-blue"]})

    assert list(names.values()) == [
        [site.name for site in SITES],
        [MEMBER.name],
        [HOME.name, MEMBER.name],
        [FAR.name],
    ]
    assert execution.status == "SUCCEEDED", execution.cause
    assert (execution.output["clusters"], execution.output["applied"]) == (2, 2)
    assert {site.name: log.counts(user=user_at(fleet, site)).total() for site, log in logs.items()} == {
        HOME.name: 2,
        FAR.name: 0,
        MEMBER.name: 2,
    }


def test_an_object_that_fails_in_one_cluster_fails_the_execution_which_names_it(fleet: Fleet) -> None:
    with frozen_namespace(fleet.planes[FAR]):
        execution = fleet.execute()

    assert (execution.status, execution.error) == ("FAILED", "ClustersFailed")
    assert (
        execution.cause.splitlines()[0]
        == f"1 of 3 clusters failed: {FAR.name} (1 failed, 2 applied). Applied in all: 6"
    )


def test_wrong_clusters_of_the_file_fail_alone_and_are_named(fleet: Fleet) -> None:
    with fleet.objects(pull_secret(), clusters=[HOME.entry, *(entry for entry, _ in WRONG), FAR.entry]):
        execution = fleet.execute()

    assert (execution.status, execution.error) == ("FAILED", "ClustersFailed")
    assert execution.cause.startswith("3 of 5 clusters failed: ")
    assert execution.cause.splitlines()[0].endswith(". Applied in all: 4")
    starts = [execution.cause.index(f"{wrong['name']} (") for wrong, _ in WRONG]
    for start, (_, clue) in zip(starts, WRONG, strict=True):
        end = min((other for other in starts if other > start), default=len(execution.cause))
        assert clue in execution.cause[start:end]


def test_a_file_without_clusters_is_no_success(fleet: Fleet) -> None:
    with fleet.objects(pull_secret(), clusters=[]):
        execution = fleet.execute()

    assert execution.status == "FAILED"
    assert "the file of objects has no clusters" in execution.cause


def test_a_file_that_is_not_there_is_no_success(fleet: Fleet) -> None:
    with fleet.compiled(b""):
        execution = fleet.execute()

    assert execution.status == "FAILED"
    assert "objects.json: is no JSON" in execution.cause


def test_a_registry_of_another_account_is_logged_in_to_as_its_role(fleet: Fleet) -> None:
    """The role is assumed in the emulator's STS, and its own policy lets it have a token from ECR."""
    iam = fleet.client("iam", MEMBER)
    trust = {"Effect": "Allow", "Principal": {"AWS": fleet.role}, "Action": "sts:AssumeRole"}
    document = {"Version": "2012-10-17", "Statement": [trust]}
    iam.create_role(RoleName="pull", AssumeRolePolicyDocument=json.dumps(document))
    registries = [
        {"ecr": {"account": "111122223333", "region": "eu-central-1"}},
        {"ecr": {"account": OTHER_ACCOUNT, "region": "eu-central-1", "role_arn": PULL_ROLE}},
        {"ecr": {"account": OTHER_ACCOUNT, "region": "us-east-1", "role_arn": PULL_ROLE}},
    ]
    with fleet.objects(pull_secret(registries=registries)):
        refused = fleet.invoke({"cluster": HOME.name})
        allowed = {"Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"}
        document = {"Version": "2012-10-17", "Statement": [allowed]}
        iam.put_role_policy(RoleName="pull", PolicyName="pull", PolicyDocument=json.dumps(document))
        known = len(fleet.ecr.calls)
        answer = fleet.invoke({"cluster": HOME.name})

    assert refused.run.raised == "SourceFailed"
    assert (
        f"ECR in eu-central-1 gave role {PULL_ROLE} no token: AccessDeniedException" in refused.payload["errorMessage"]
    )
    assert not answer.failed, answer.payload
    assert [call.region for call in fleet.ecr.calls[known:]] == ["eu-central-1", "eu-central-1", "us-east-1"]
    for account, region, call in (
        ("111122223333", "eu-central-1", 0),
        (OTHER_ACCOUNT, "eu-central-1", 1),
        (OTHER_ACCOUNT, "us-east-1", 2),
    ):
        host = f"{account}.dkr.ecr.{region}.amazonaws.com"
        assert password_in(fleet, HOME, "team-blue", host) == fleet.ecr.calls[known + call].password


def test_a_role_that_the_stack_was_not_told_about_cannot_be_assumed(fleet: Fleet) -> None:
    registries = [{"ecr": {"account": OTHER_ACCOUNT, "region": "eu-central-1", "role_arn": f"{PULL_ROLE}-other"}}]
    with fleet.objects(pull_secret(registries=registries)):
        answer = fleet.invoke({"cluster": HOME.name})

    assert answer.run.raised == "SourceFailed"
    assert "the parameter AssumableRoleArns must name it" in answer.payload["errorMessage"]


def test_an_audit_event_in_the_log_group_brings_the_secret_of_a_new_namespace(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """The emulator knows filter patterns of bare words only, so here the test applies the shipped pattern itself."""
    logs = fleet.aws.client("logs")
    (deployed,) = logs.describe_subscription_filters(logGroupName=AUDIT_LOG_GROUP)["subscriptionFilters"]
    logs.put_subscription_filter(
        logGroupName=AUDIT_LOG_GROUP,
        filterName=deployed["filterName"],
        filterPattern="namespaces",
        destinationArn=deployed["destinationArn"],
    )
    logs.create_log_stream(logGroupName=AUDIT_LOG_GROUP, logStreamName="kube-apiserver-audit-1")
    subscription = Subscription(fleet.control_plane.audit_log)
    known = fleet.runs()

    started = time.monotonic()
    fleet.control_plane.create_namespace("brand-new")
    (line,) = subscription.wait()
    event = {"timestamp": round(time.time() * 1000), "message": line}
    logs.put_log_events(logGroupName=AUDIT_LOG_GROUP, logStreamName="kube-apiserver-audit-1", logEvents=[event])
    while fleet.control_plane.get_secret("brand-new", SECRET) is None:
        assert time.monotonic() < started + 60, "no Secret within a minute"
        time.sleep(0.02)
    seconds = time.monotonic() - started
    run = fleet.wait_for_run(known, 30)

    with capsys.disabled():
        print(f"\nfrom a new namespace to its Secret, deployed: {seconds:.1f} s")
    assert run.raised is None
    (completed,) = run.named("refresh.completed")
    assert (completed["applied"], completed["newly_created"], completed["api_requests"]) == (1, 1, 2)
    fleet.control_plane.remove_namespace("brand-new")
