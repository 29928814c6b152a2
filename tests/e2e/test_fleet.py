"""A fleet of three clusters in two accounts: each refreshed by one run of its own, also when one of them is down."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.test_audit_trigger import Subscription
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
from upsert.adapters.aws import SESSION_NAME

SECRET = "aws-ecr-token"
NAMESPACES = ("team-blue", "team-green")
PULL_ROLE = f"arn:aws:iam::{OTHER_ACCOUNT}:role/pull"

# A minute, the emulator's ten seconds between looks at its schedules, and time to start.
FIRING_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with Fleet() as running:
        for plane in running.planes.values():
            for name in NAMESPACES:
                plane.create_namespace(name)
        running.deploy(
            Schedule="rate(1 minute)",
            ScheduleState="DISABLED",
            ExcludeNamespaces="kube-*,default",
            RegistryRoleArns=PULL_ROLE,
        )
        yield running


@pytest.fixture(autouse=True)
def _whole_list(fleet: Fleet) -> Iterator[None]:
    yield
    fleet.write_list([site.entry for site in SITES])


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


def test_every_cluster_is_refreshed_with_a_token_of_the_functions_account(fleet: Fleet) -> None:
    tokens = len(fleet.ecr.passwords)

    execution = fleet.execute()

    assert execution.status == "SUCCEEDED", execution.cause
    assert execution.output == {
        "clusters": 3,
        "refreshed": 3,
        "applied": 3 * len(NAMESPACES),
        "skipped": 0,
        "failures": [],
    }
    new = fleet.ecr.passwords[tokens:]
    assert len(new) == len(SITES)
    assert {password_in(fleet, site, name) for site in SITES for name in NAMESPACES} == set(new)


def test_in_its_own_account_a_cluster_sees_the_functions_role_and_in_another_the_members(fleet: Fleet) -> None:
    logs = {site: AuditLog(fleet.planes[site].audit_log) for site in SITES}

    fleet.execute()

    for site, log in logs.items():
        assert log.counts(user=user_at(fleet, site)) == {("list", "namespaces"): 1, ("patch", "secrets"): 2}


def schedules(fleet: Fleet) -> dict[str, dict[str, Any]]:
    """Return the deployed schedules by the kind of what they start."""
    client = fleet.aws.client("scheduler")
    found = [
        client.get_schedule(Name=one["Name"], GroupName=one["GroupName"])
        for one in client.list_schedules()["Schedules"]
    ]
    return {one["Target"]["Arn"].split(":")[2]: one for one in found}


def test_the_schedule_starts_the_fleet_in_place_of_the_function(fleet: Fleet) -> None:
    client, states = fleet.aws.client("scheduler"), fleet.aws.client("stepfunctions")
    both = schedules(fleet)
    assert set(both) == {"lambda", "states"}
    assert both["states"]["Target"]["Arn"] == fleet.state_machine
    assert both["lambda"]["State"] == "DISABLED"
    keep = ("Name", "GroupName", "ScheduleExpression", "FlexibleTimeWindow", "Target")
    schedule = {key: both["states"][key] for key in keep}

    def executions() -> set[str]:
        listed = states.list_executions(stateMachineArn=fleet.state_machine)["executions"]
        return {one["executionArn"] for one in listed}

    known = executions()
    client.update_schedule(**schedule, State="ENABLED")
    try:
        deadline = time.monotonic() + FIRING_TIMEOUT_S
        while not (new := executions() - known):
            assert time.monotonic() < deadline, "the schedule started nothing"
            time.sleep(0.5)
    finally:
        client.update_schedule(**schedule, State="DISABLED")
    assert fleet.wait_for(new.pop()).status == "SUCCEEDED"


def test_one_cluster_of_the_fleet_can_be_refreshed_by_hand(fleet: Fleet) -> None:
    fleet.execute()
    before = {site: password_in(fleet, site, "team-green") for site in SITES}

    answer = fleet.invoke({"cluster": MEMBER.entry, "namespaces": ["team-blue"]})

    assert not answer.failed, answer.payload
    assert answer.payload["applied"] == 1
    assert password_in(fleet, MEMBER, "team-blue") == fleet.ecr.passwords[-1]
    assert {site: password_in(fleet, site, "team-green") for site in SITES} == before
    assert {record["cluster"] for record in answer.run.records if record.get("message") == "object.applied"} == {
        MEMBER.name
    }


WRONG: list[tuple[object, str, str]] = [
    ({"name": "nowhere"}, "nowhere", "EKS knows no cluster nowhere"),
    ({"nam": "demo"}, '{"nam":"demo"}', "event.cluster: unknown key 'nam'"),
    ("prod", "prod", "event.cluster: 'prod' is wrong"),
    (
        MEMBER.entry | {"role_arn": f"arn:aws:iam::{OTHER_ACCOUNT}:role/another"},
        MEMBER.name,
        "FleetRoleArns must match it",
    ),
    ({"name": "elsewhere", "region": MEMBER.region}, "elsewhere", "EKS knows no cluster elsewhere in eu-west-1"),
]


def test_wrong_entries_fail_alone_and_are_named(fleet: Fleet) -> None:
    fleet.write_list([HOME.entry, *(entry for entry, _, _ in WRONG), FAR.entry])

    execution = fleet.execute()

    assert (execution.status, execution.error) == ("FAILED", "ClustersFailed")
    assert execution.cause.startswith("5 of 7 clusters failed: ")
    assert execution.cause.endswith("Namespaces applied in the others: 4")
    for _, name, clue in WRONG:
        (told,) = (
            part
            for part in execution.cause.split("; ")
            if part.removeprefix("5 of 7 clusters failed: ").startswith(f"{name} (")
        )
        assert clue in told


def test_an_empty_list_is_no_success(fleet: Fleet) -> None:
    fleet.write_list([])

    execution = fleet.execute()

    assert (execution.status, execution.error) == ("FAILED", "NoCluster")
    assert "fleet.json lists no cluster" in execution.cause


def test_a_list_that_is_not_there_is_no_success(fleet: Fleet) -> None:
    fleet.aws.client("s3").delete_object(Bucket="fleet-of-the-tests", Key="fleet.json")

    execution = fleet.execute()

    assert (execution.status, execution.error) == ("FAILED", "States.ItemReaderFailed")


def test_a_registry_of_another_account_is_logged_in_to_as_its_role(fleet: Fleet) -> None:
    """The role is assumed in the emulator's STS, and its own policy lets it have a token from ECR."""
    iam = fleet.client("iam", MEMBER)
    trust = {"Effect": "Allow", "Principal": {"AWS": fleet.role}, "Action": "sts:AssumeRole"}
    document = {"Version": "2012-10-17", "Statement": [trust]}
    iam.create_role(RoleName="pull", AssumeRolePolicyDocument=json.dumps(document))
    registries = [
        {"account": "111122223333", "region": "eu-central-1"},
        {"account": OTHER_ACCOUNT, "region": "eu-central-1", "role_arn": PULL_ROLE},
        {"account": OTHER_ACCOUNT, "region": "us-east-1", "role_arn": PULL_ROLE},
    ]
    with fleet.environment(REGISTRIES=json.dumps(registries)):
        refused = fleet.invoke({})
        allowed = {"Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"}
        document = {"Version": "2012-10-17", "Statement": [allowed]}
        iam.put_role_policy(RoleName="pull", PolicyName="pull", PolicyDocument=json.dumps(document))
        known = len(fleet.ecr.calls)
        answer = fleet.invoke({})

    assert refused.run.raised == "RegistryError"
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
    registries = [{"account": OTHER_ACCOUNT, "region": "eu-central-1", "role_arn": f"{PULL_ROLE}-other"}]
    with fleet.environment(REGISTRIES=json.dumps(registries)):
        answer = fleet.invoke({})

    assert answer.run.raised == "RegistryError"
    assert "the parameter RegistryRoleArns must name it" in answer.payload["errorMessage"]


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
    (completed,) = (record for record in run.records if record.get("message") == "refresh.completed")
    assert (completed["applied"], completed["newly_created"], completed["api_requests"]) == (1, 1, 2)
    fleet.control_plane.remove_namespace("brand-new")


def test_with_one_cluster_down_the_others_are_refreshed_and_the_summary_names_it(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last test: that cluster does not come back."""
    fleet.stop(FAR)
    tokens = len(fleet.ecr.passwords)

    started = time.monotonic()
    execution = fleet.execute()
    seconds = time.monotonic() - started

    with capsys.disabled():
        print(f"\nfleet: {len(SITES)} clusters, 1 of them down: {execution.status} after {seconds:.1f} s")
    assert (execution.status, execution.error) == ("FAILED", "ClustersFailed")
    assert execution.cause.startswith(f"1 of 3 clusters failed: {FAR.name} (")
    assert "no connection to https://127.0.0.1" in execution.cause
    assert execution.cause.endswith("Namespaces applied in the others: 4")
    new = set(fleet.ecr.passwords[tokens:])
    assert {password_in(fleet, site, name) for site in (HOME, MEMBER) for name in NAMESPACES} <= new
