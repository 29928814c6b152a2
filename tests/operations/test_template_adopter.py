"""The template's part of a migration: off by default, a role of its own, and no more than it needs."""

from typing import Any

import yaml

from tests.support.template import ROOT, Stack, load

TEMPLATE = load()
SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:registries-AbCdEf"
KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def stack(**parameters: str) -> Stack:
    return Stack(ClusterName="demo", CreateAdopter="true", **parameters)


def own(role: str, **parameters: str) -> dict[str, Any]:
    """Return the actions of a role's own policy with their resources."""
    (policy,) = stack(**parameters).resources[role]["Properties"]["Policies"]
    found: dict[str, Any] = {}
    for statement in policy["PolicyDocument"]["Statement"]:
        named = statement["Action"]
        found |= dict.fromkeys([named] if isinstance(named, str) else named, statement["Resource"])
    return found


def test_a_stack_brings_no_adopter_unless_it_is_asked_for() -> None:
    assert TEMPLATE["Parameters"]["CreateAdopter"]["Default"] == "false"
    adopter = {name: resource for name, resource in TEMPLATE["Resources"].items() if name.startswith("Adopt")}
    assert set(adopter) == {"AdoptFunction", "AdoptLogGroup", "AdoptRole", "AdoptAccessEntry"}
    conditions = {name: resource["Condition"] for name, resource in adopter.items()}
    assert conditions == dict.fromkeys(adopter, "Adopts") | {"AdoptAccessEntry": "MapsAdopterRole"}
    assert {output["Condition"] for name, output in TEMPLATE["Outputs"].items() if name.startswith("Adopt")} == {
        "Adopts"
    }


def test_nothing_runs_the_adopter_but_a_person_and_nothing_retries_it() -> None:
    function = stack(AuditLogGroup="/aws/eks/demo/cluster", Fleet="true").resources["AdoptFunction"]["Properties"]
    assert "Events" not in function
    assert function["EventInvokeConfig"] == {"MaximumRetryAttempts": 0}
    others = {name: found for name, found in stack(Fleet="true").resources.items() if not name.startswith("Adopt")}
    assert "AdoptFunction" not in str(others)


def test_the_adopter_may_do_what_the_refresher_may_and_put_the_secrets_that_it_may_read() -> None:
    both = {"AdoptRole": own("AdoptRole"), "RefreshRole": own("RefreshRole")}
    assert set(both["AdoptRole"]) == {"logs:CreateLogStream", "logs:PutLogEvents"}
    with_sources = {role: own(role, ReadableArns=SECRET, DecryptableKeyArns=KEY) for role in both}
    assert with_sources["RefreshRole"] == both["RefreshRole"]
    assert with_sources["AdoptRole"] == both["AdoptRole"] | {
        "secretsmanager:PutSecretValue": [SECRET],
        "ssm:PutParameter": [SECRET],
        "secretsmanager:UpdateSecretVersionStage": [SECRET],
        "kms:GenerateDataKey": [KEY],
    }
    shared = {name: stack().resources[name]["Properties"]["ManagedPolicyArns"] for name in both}
    assert shared == {"AdoptRole": ["SharedPolicy"], "RefreshRole": ["SharedPolicy"]}


def test_a_key_encrypts_for_secrets_manager_alone() -> None:
    statement = stack(DecryptableKeyArns=KEY).statements("AdoptRole")["EncryptSources"]
    assert statement["Condition"] == {"StringLike": {"kms:ViaService": "secretsmanager.*"}}


def test_each_function_may_write_its_own_log_alone() -> None:
    roles = {"RefreshRole": "RefreshLogGroup.Arn", "AdoptRole": "AdoptLogGroup.Arn"}
    assert {role: stack().statements(role)["OwnLogs"]["Resource"] for role in roles} == roles


def test_the_two_functions_have_different_groups_and_only_the_adopter_s_may_get() -> None:
    verbs = {}
    for who, entry in (("refresher", "RefreshAccessEntry"), ("adopter", "AdoptAccessEntry")):
        found = list(yaml.safe_load_all((ROOT / "rbac" / f"{who}.yaml").read_text()))
        (role,) = (one for one in found if one["kind"] == "ClusterRole")
        (binding,) = (one for one in found if one["kind"] == "ClusterRoleBinding")
        (group,) = stack().resources[entry]["Properties"]["KubernetesGroups"]
        assert [subject["name"] for subject in binding["subjects"]] == [group]
        verbs[group] = [(*rule["resources"], *rule.get("resourceNames", ()), *rule["verbs"]) for rule in role["rules"]]
    assert verbs == {
        "eks-upsert": [("namespaces", "list"), ("secrets", "aws-ecr-token", "create", "patch")],
        "eks-upsert-adopter": [("namespaces", "list"), ("secrets", "aws-ecr-token", "create", "patch", "get")],
    }
