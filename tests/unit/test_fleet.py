"""A fleet's list, its state machine and the template for member accounts agree with the function."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.template import Stack, _Loader
from upsert.errors import SettingsError
from upsert.settings import OneOfFleet, Request, load

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {"CLUSTER_NAME": "home", "REGISTRIES": '[{"account": "123456789012", "region": "eu-central-1"}]'}
ROLE = "arn:aws:iam::210987654321:role/eks-upsert"
FLEET = {"ClusterName": "demo", "FleetBucket": "lists", "FleetRoleArns": "arn:aws:iam::*:role/eks-upsert"}


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ({"name": "prod"}, OneOfFleet("prod")),
        ({"name": "prod", "region": "us-east-1"}, OneOfFleet("prod", "us-east-1")),
        ({"name": "prod", "region": "cn-north-1", "role_arn": ROLE}, OneOfFleet("prod", "cn-north-1", ROLE)),
    ],
)
def test_an_event_may_name_a_cluster_which_takes_the_place_of_the_settings(
    cluster: dict[str, str], expected: OneOfFleet
) -> None:
    settings, request = load(ENVIRONMENT, {"cluster": cluster, "namespaces": ["a"], "dry_run": True})

    assert request == Request(("a",), dry_run=True, cluster=expected)
    assert settings.cluster_name == "prod"


def test_without_one_it_is_the_cluster_of_the_settings() -> None:
    settings, request = load(ENVIRONMENT, {})
    assert (settings.cluster_name, request.cluster) == ("home", None)


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        (None, "event.cluster: None is wrong; expected {"),
        ("prod", "event.cluster: 'prod' is wrong; expected {"),
        ([], "event.cluster: [] is wrong; expected {"),
        ({}, "event.cluster.name: None is wrong; expected the name of an EKS cluster"),
        ({"name": ""}, "event.cluster.name: '' is wrong"),
        ({"name": "a/b"}, "event.cluster.name: 'a/b' is wrong"),
        ({"name": "prod\n"}, "event.cluster.name: 'prod\\n' is wrong"),
        ({"name": 5}, "event.cluster.name: 5 is wrong"),
        ({"name": "prod", "region": None}, "event.cluster.region: None is wrong; expected a region such as"),
        ({"name": "prod", "region": "Frankfurt"}, "event.cluster.region: 'Frankfurt' is wrong"),
        ({"name": "prod", "role_arn": "pull"}, "event.cluster.role_arn: 'pull' is wrong; expected a role ARN"),
        ({"name": "prod", "role": ROLE}, "event.cluster: unknown key 'role'; expected name, region, role_arn"),
    ],
)
def test_a_wrong_cluster_is_refused_with_what_was_expected(cluster: object, problem: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(ENVIRONMENT, {"cluster": cluster})
    assert [one for one in refused.value.problems if one.startswith(problem)]


def test_the_sample_list_holds_events_that_the_function_takes() -> None:
    entries = json.loads((ROOT / "fleet" / "fleet.json").read_text())
    assert len(entries) == 3
    for entry in entries:
        assert load(ENVIRONMENT, {"cluster": entry})[0].cluster_name == entry["name"]


def test_the_sample_event_names_one_of_the_sample_list() -> None:
    event = json.loads((ROOT / "events" / "one-of-fleet.json").read_text())
    assert event["cluster"] in json.loads((ROOT / "fleet" / "fleet.json").read_text())
    assert load(ENVIRONMENT, event)[1].cluster


@pytest.mark.parametrize("event", ["audit-namespace-created.json", "audit-secret-deleted.json"])
def test_the_sample_batches_name_the_namespace(event: str) -> None:
    request = load(ENVIRONMENT, json.loads((ROOT / "events" / event).read_text()))[1]
    assert (request.namespaces, request.from_audit_log) == (("team-blue",), True)


def machine(**parameters: str) -> dict[str, Any]:
    """Return the definition as it is deployed, with the substitutions of the template."""
    fleet = Stack(**FLEET, **parameters).resources["Fleet"]["Properties"]
    text = (ROOT / fleet["DefinitionUri"]).read_text()
    for name, value in fleet["DefinitionSubstitutions"].items():
        text = text.replace(f"${{{name}}}", str(value))
    assert "${" not in text
    definition: dict[str, Any] = json.loads(text)
    return definition


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


def test_each_item_is_one_invocation_and_only_faults_of_lambda_are_tried_again() -> None:
    each = machine(FleetConcurrency="7")["States"]["EachCluster"]
    item = each["ItemProcessor"]["States"]["Refresh"]
    assert each["MaxConcurrency"] == 7
    assert each["ItemReader"]["Arguments"] == {"Bucket": "lists", "Key": "fleet.json"}
    assert item["Arguments"]["Payload"] == {"cluster": "{% $states.input %}"}
    (retry,) = item["Retry"]
    assert all(error.startswith("Lambda.") for error in retry["ErrorEquals"])
    (catch,) = item["Catch"]
    assert catch["ErrorEquals"] == ["States.ALL"]


def test_an_item_is_given_up_only_after_the_function_had_all_its_time() -> None:
    longest = yaml.load((ROOT / "template.yaml").read_text(), _Loader)["Parameters"]["Timeout"]["MaxValue"]
    assert machine()["States"]["EachCluster"]["ItemProcessor"]["States"]["Refresh"]["TimeoutSeconds"] > longest


def test_the_state_machine_may_do_this_and_nothing_else() -> None:
    (policy,) = Stack(**FLEET).resources["Fleet"]["Properties"]["Policies"]
    base = "arn:aws:states:eu-central-1:123456789012"
    assert {(str(one["Action"]), str(one["Resource"])) for one in policy["Statement"]} == {
        ("lambda:InvokeFunction", "RefreshFunction.Arn"),
        ("s3:GetObject", "arn:aws:s3:::lists/fleet.json"),
        ("states:StartExecution", f"{base}:stateMachine:eks-upsert-fleet"),
        (
            "['states:DescribeExecution', 'states:StopExecution']",
            f"['{base}:execution:eks-upsert-fleet:*', '{base}:execution:eks-upsert-fleet/*']",
        ),
    }


def statements(**parameters: str) -> dict[str, dict[str, Any]]:
    role = Stack(**parameters).resources["RefreshRole"]["Properties"]
    return {one["Sid"]: one for one in role["Policies"][0]["PolicyDocument"]["Statement"]}


def test_the_function_may_reach_the_fleet_only_if_there_is_one() -> None:
    assert not {"FindFleet", "FleetAccounts"} & set(statements(ClusterName="demo"))
    assert "FleetAccounts" not in statements(ClusterName="demo", FleetBucket="lists")
    fleet = statements(**FLEET)
    assert fleet["FleetAccounts"]["Resource"] == ["arn:aws:iam::*:role/eks-upsert"]
    assert fleet["FindFleet"]["Resource"] == "arn:aws:eks:*:123456789012:cluster/*"


def test_with_a_fleet_the_functions_own_schedule_is_off() -> None:
    def state(**parameters: str) -> str:
        events = Stack(**parameters).resources["RefreshFunction"]["Properties"]["Events"]
        found: str = events["RefreshSchedule"]["Properties"]["State"]
        return found

    assert (state(ClusterName="demo"), state(**FLEET)) == ("ENABLED", "DISABLED")
    fleet = Stack(**FLEET).resources["Fleet"]["Properties"]["Events"]["FleetSchedule"]["Properties"]
    assert (fleet["State"], fleet["ScheduleExpression"]) == ("ENABLED", "rate(6 hours)")


def test_the_fleets_alarms_have_their_sections() -> None:
    one, many = Stack(ClusterName="demo"), Stack(**FLEET)
    own = set(many.of_type("AWS::CloudWatch::Alarm")) - set(one.of_type("AWS::CloudWatch::Alarm"))
    sections = re.findall(r"^## (Alarm: .*)$", (ROOT / "docs" / "fleets.md").read_text(), re.MULTILINE)
    named = [
        re.findall(r'docs/fleets\.md, section "([^"]+)"', many.resources[name]["Properties"]["AlarmDescription"])
        for name in own
    ]
    assert sorted(named) == sorted([section] for section in sections)


def test_a_member_account_lets_the_refresher_find_one_cluster_and_maps_it_to_the_group() -> None:
    member = yaml.load((ROOT / "fleet" / "member.yaml").read_text(), _Loader)["Resources"]
    (policy,) = member["Role"]["Properties"]["Policies"]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "eks:DescribeCluster"
    assert statement["Resource"]["!Sub"].endswith(":cluster/${ClusterName}")
    own = Stack(ClusterName="demo").resources["RefreshAccessEntry"]["Properties"]
    assert member["AccessEntry"]["Properties"]["KubernetesGroups"] == own["KubernetesGroups"]


@pytest.mark.parametrize("document", ["fleets", "new-namespaces", "service-accounts"])
def test_every_file_that_a_document_names_is_there(document: str) -> None:
    text = (ROOT / "docs" / f"{document}.md").read_text()
    files = re.findall(r"(?<![\w/.-])((?:cluster|events|fleet|tests)/[\w./-]+\.\w+)", text)
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []
    for target in re.findall(r"\]\((?!https:)([^)#]+)", text):
        assert (ROOT / "docs" / target).exists(), target
