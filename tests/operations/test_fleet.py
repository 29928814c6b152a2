"""The file's clusters, the state machine and the template for member accounts agree with the function."""

import json
import re
from typing import Any

import pytest

from tests.support.template import MEMBER, ROOT, Stack, load
from upsert.config import Config, config
from upsert.core.objects import Target
from upsert.errors import InputError
from upsert.request import Request, refresh_request

ROLE = "arn:aws:iam::210987654321:role/eks-upsert"
FLEET = {"ClusterName": "production-eu", "Fleet": "true", "AssumableRoleArns": "arn:aws:iam::*:role/eks-upsert"}
CLUSTERS = [
    {"name": "production-eu"},
    {"name": "production-us", "region": "us-east-1"},
    {"name": "team-blue", "region": "eu-west-1", "role_arn": ROLE},
]
SECRET = {
    "kind": "Secret",
    "type": "docker-registry",
    "name": "aws-ecr-token",
    "parts": [{"place": "registries[0]", "source": "ecr", "ref": {}}],
    "namespaces": {"include": ["*"], "exclude": [], "selector": ""},
    "service_accounts": [],
    "on_conflict": "take-over",
    "clusters": ["*"],
    "is_written": True,
}


def configured(clusters: list[dict[str, str]], **parameters: str) -> Config:
    """Return what the deployed function reads, if the file of objects named these clusters."""
    function = Stack(**parameters).resources["RefreshFunction"]["Properties"]
    # Lambda itself adds the region.
    variables = {**function["Environment"]["Variables"], "AWS_REGION": "eu-central-1"}
    return config(variables, {"version": 1, "clusters": clusters, "objects": [SECRET]})


def asked(event: object) -> Request:
    """Return what the event asks the fleet's function for."""
    request = refresh_request(event, configured(CLUSTERS, **FLEET))
    assert isinstance(request, Request)
    return request


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("production-eu", Target("production-eu")),
        ("production-us", Target("production-us", "us-east-1")),
        ("team-blue", Target("team-blue", "eu-west-1", ROLE)),
    ],
)
def test_an_event_names_a_cluster_of_the_file_which_says_where_it_is(name: str, expected: Target) -> None:
    request = asked({"cluster": name, "namespaces": ["a"], "dry_run": True})

    assert (request.target, request.namespaces, request.dry_run, request.is_by_hand) == (expected, ("a",), True, True)


def test_without_a_fleet_it_is_the_cluster_of_the_parameter() -> None:
    request = refresh_request({}, configured([], ClusterName="home"))
    assert isinstance(request, Request)
    assert request.target == Target("home")


@pytest.mark.parametrize(
    ("clusters", "parameters", "problem"),
    [
        (CLUSTERS, {"ClusterName": "production-eu"}, "FLEET: 'false' is wrong"),
        ([], FLEET, "FLEET: 'true' is wrong"),
        (CLUSTERS[1:], FLEET, "CLUSTER_NAME: 'production-eu' is wrong; expected one of the clusters in the file"),
    ],
)
def test_the_parameters_and_the_file_must_agree(
    clusters: list[dict[str, str]], parameters: dict[str, str], problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        configured(clusters, **parameters)
    assert [one for one in refused.value.problems if one.startswith(problem)]


NO_NAME = "the name of an EKS cluster"
NO_NAMES: list[object] = [
    *(None, [], 5, "", "a/b", "team-blue\n", {"name": "team-blue"}),
    {"name": "mine", "region": "eu-west-1", "role_arn": ROLE},
]


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        *((wrong, NO_NAME) for wrong in NO_NAMES),
        ("elsewhere", "'elsewhere' is no cluster of the file; nothing else can be written to"),
    ],
)
def test_no_event_can_send_a_request_to_a_cluster_that_is_not_in_the_file(cluster: object, problem: str) -> None:
    for event in ({"cluster": cluster}, {"cluster": cluster, "event": {}}, {"clusters_for": {"cluster": cluster}}):
        with pytest.raises(InputError) as refused:
            refresh_request(event, configured(CLUSTERS, **FLEET))
        assert [one for one in refused.value.problems if ".cluster: " in one and problem in one]


def test_who_asks_the_function_for_the_whole_fleet_is_told_the_state_machines_name() -> None:
    with pytest.raises(InputError, match="start the state machine eks-upsert-fleet with this event"):
        refresh_request({}, configured(CLUSTERS, **FLEET))
    assert Stack(**FLEET).resources["FleetStateMachine"]["Properties"]["Name"] == "eks-upsert-fleet"


def machine(**parameters: str) -> dict[str, Any]:
    """Return the definition as it is deployed, with the substitutions of the template."""
    fleet = Stack(**FLEET, **parameters).resources["FleetStateMachine"]["Properties"]
    text = (ROOT / fleet["DefinitionUri"]).read_text()
    for name, value in fleet["DefinitionSubstitutions"].items():
        text = text.replace(f"${{{name}}}", str(value))
    assert "${" not in text
    definition: dict[str, Any] = json.loads(text)
    return definition


def tasks() -> list[dict[str, Any]]:
    """Return the states that invoke the function: the question, the refresh of one cluster, and the sum."""
    states = machine()["States"]
    return [states["WhichClusters"], states["EachCluster"]["ItemProcessor"]["States"]["Refresh"], states["Summary"]]


def test_every_state_is_reached_and_every_way_ends() -> None:
    states = machine()["States"]
    reached: set[str] = set()
    waiting = [machine()["StartAt"]]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        state = states[name]
        following = [state.get("Next"), state.get("Default"), *(choice["Next"] for choice in state.get("Choices", ()))]
        following = [one for one in following if one]
        assert following or state["Type"] in {"Succeed", "Fail"}, name
        waiting += following
    assert reached == set(states)


def test_the_function_names_the_clusters_and_each_is_one_invocation() -> None:
    question, refresh, summary = tasks()
    assert question["Arguments"]["Payload"] == {"clusters_for": "{% $states.input %}"}
    assert summary["Arguments"]["Payload"] == {
        "summary_of": {"event": "{% $states.context.Execution.Input %}", "clusters": "{% $states.input %}"}
    }
    assert refresh["Arguments"]["Payload"] == {
        "cluster": "{% $states.input %}",
        "event": "{% $states.context.Execution.Input %}",
    }
    each = machine()["States"]["EachCluster"]
    assert (each["ItemProcessor"]["ProcessorConfig"]["Mode"], each["MaxConcurrency"]) == ("INLINE", 20)


def test_only_faults_of_lambda_are_tried_again_and_a_cluster_fails_alone() -> None:
    question, refresh, summary = tasks()
    for task in (question, refresh, summary):
        (retry,) = task["Retry"]
        assert all(error.startswith("Lambda.") for error in retry["ErrorEquals"])
    assert "Catch" not in question
    assert "Catch" not in summary
    (catch,) = refresh["Catch"]
    assert catch["ErrorEquals"] == ["States.ALL"]


def test_an_invocation_is_given_up_only_after_the_function_had_all_its_time() -> None:
    longest = load()["Parameters"]["Timeout"]["MaxValue"]
    assert all(task["TimeoutSeconds"] > longest for task in tasks())


def test_the_state_machine_may_invoke_the_refresher_and_nothing_else() -> None:
    stack = Stack(**FLEET)
    assert stack.resources["FleetStateMachine"]["Properties"]["Role"] == "FleetRole.Arn"
    assert {(one["Action"], one["Resource"]) for one in stack.statements("FleetRole").values()} == {
        ("lambda:InvokeFunction", "RefreshFunction.Arn")
    }


def test_the_function_may_find_other_clusters_only_if_there_is_a_fleet() -> None:
    one, fleet = Stack(ClusterName="demo").statements("RefreshRole"), Stack(**FLEET).statements("RefreshRole")
    assert one["FindCluster"]["Resource"] == "arn:aws:eks:eu-central-1:123456789012:cluster/demo"
    assert fleet["FindCluster"]["Resource"] == "arn:aws:eks:*:123456789012:cluster/*"
    assert "AssumeRoles" not in one
    assert fleet["AssumeRoles"]["Resource"] == ["arn:aws:iam::*:role/eks-upsert"]


@pytest.mark.parametrize("state", ["ENABLED", "DISABLED"])
def test_with_a_fleet_the_one_schedule_starts_the_state_machine(state: str) -> None:
    stack = Stack(**FLEET, ScheduleState=state)
    ((_, schedule),) = stack.of_type("AWS::Scheduler::Schedule").items()
    assert (schedule["State"], schedule["ScheduleExpression"]) == (state, "rate(3 hours)")
    assert schedule["Target"]["Arn"] == "FleetStateMachine"
    assert {(one["Action"], one["Resource"]) for one in stack.statements("ScheduleRole").values()} == {
        ("states:StartExecution", "FleetStateMachine"),
        ("sqs:SendMessage", "FailedRuns.Arn"),
    }


def test_without_a_fleet_there_is_no_state_machine() -> None:
    assert set(Stack(**FLEET).resources) - set(Stack(ClusterName="demo").resources) == {
        "FleetStateMachine",
        "FleetRole",
    }


BOUNDARY = "arn:aws:iam::210987654321:policy/team"


def member(**parameters: str) -> Stack:
    return Stack(MEMBER, ClusterName="team-blue", RefresherRoleArn=ROLE, **parameters)


def test_a_member_account_lets_the_refresher_find_one_cluster_and_maps_it_to_the_group() -> None:
    assert {(one["Action"], one["Resource"]) for one in member().statements("Role").values()} == {
        ("eks:DescribeCluster", "arn:aws:eks:eu-central-1:123456789012:cluster/team-blue")
    }
    (trust,) = member().resources["Role"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"AWS": ROLE}
    own = Stack(ClusterName="demo").resources["RefreshAccessEntry"]["Properties"]
    assert member().resources["AccessEntry"]["Properties"]["KubernetesGroups"] == own["KubernetesGroups"]


def test_a_member_accounts_role_can_be_bounded() -> None:
    assert "PermissionsBoundary" not in member().resources["Role"]["Properties"]
    bounded = member(PermissionsBoundary=BOUNDARY).resources["Role"]["Properties"]
    assert bounded["PermissionsBoundary"] == BOUNDARY


@pytest.mark.parametrize("document", ["fleets", "new-namespaces", "service-accounts"])
def test_every_file_that_a_document_names_is_there(document: str) -> None:
    text = (ROOT / "docs" / f"{document}.md").read_text()
    files = re.findall(r"(?<![\w/.-])((?:rbac|events|fleet|tests)/[\w./-]+\.\w+)", text)
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []
    for target in re.findall(r"\]\((?!https:)([^)#]+)", text):
        assert (ROOT / "docs" / target).exists(), target
