"""The template's part of a migration: off by default, a role of its own, and no more than it needs."""

from pathlib import Path
from typing import Any

import yaml

from tests.unit.test_template import PARAMETERS, RESOURCES, TEMPLATE

ROOT = Path(__file__).parents[2]
KEEPS = "KeepsExtraRegistries"
# What only the refresher does.
OF_THE_REFRESHER = {"SERVICE_ACCOUNTS"}


def actions(role: str, condition: str | None) -> dict[str, Any]:
    """Return the actions that a role may do under a condition, or always for None, with their resources."""
    (policy,) = RESOURCES[role]["Properties"]["Policies"]
    found: dict[str, Any] = {}
    for statement in policy["PolicyDocument"]["Statement"]:
        under, given, _ = statement.get("If", (None, statement, None))
        if under == condition:
            named = given["Action"]
            found |= dict.fromkeys([named] if isinstance(named, str) else named, given["Resource"])
    return found


def environment(function: str) -> dict[str, Any]:
    found: dict[str, Any] = RESOURCES[function]["Properties"]["Environment"]["Variables"]
    return found


def test_a_stack_brings_no_adopter_unless_it_is_asked_for() -> None:
    assert PARAMETERS["CreateAdopter"]["Default"] == "false"
    adopter = {name: resource for name, resource in RESOURCES.items() if name.startswith("Adopt")}
    assert set(adopter) == {"AdoptFunction", "AdoptLogGroup", "AdoptRole", "AdoptAccessEntry"}
    conditions = {name: resource["Condition"] for name, resource in adopter.items()}
    assert conditions == dict.fromkeys(adopter, "Adopts") | {"AdoptAccessEntry": "MapsAdopterRole"}
    assert {output["Condition"] for name, output in TEMPLATE["Outputs"].items() if name.startswith("Adopt")} == {
        "Adopts"
    }


def test_the_adopter_is_set_up_as_the_refresher_is() -> None:
    refresher = environment("RefreshFunction")
    assert environment("AdoptFunction") == {
        name: value for name, value in refresher.items() if name not in OF_THE_REFRESHER
    }


def test_nothing_runs_the_adopter_but_a_person_and_nothing_retries_it() -> None:
    function = RESOURCES["AdoptFunction"]["Properties"]
    assert "Events" not in function
    assert function["EventInvokeConfig"] == {"MaximumRetryAttempts": 0}


def test_the_adopter_may_do_what_the_refresher_may_and_put_the_kept_secret() -> None:
    assert set(actions("AdoptRole", None)) == {
        "ecr:GetAuthorizationToken",
        "eks:DescribeCluster",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }
    assert actions("AdoptRole", KEEPS) == {
        "secretsmanager:GetSecretValue": {"Ref": "ExtraRegistriesSecret"},
        "secretsmanager:PutSecretValue": {"Ref": "ExtraRegistriesSecret"},
    }
    assert actions("RefreshRole", KEEPS) == {"secretsmanager:GetSecretValue": {"Ref": "ExtraRegistriesSecret"}}
    assert actions("AdoptRole", "AssumesRoles") == actions("RefreshRole", "AssumesRoles")


def test_the_two_functions_have_different_groups_and_only_the_adopter_s_may_get() -> None:
    verbs = {}
    for who, entry in (("refresher", "RefreshAccessEntry"), ("adopter", "AdoptAccessEntry")):
        role, binding = yaml.safe_load_all((ROOT / "rbac" / f"{who}.yaml").read_text())
        (group,) = RESOURCES[entry]["Properties"]["KubernetesGroups"]
        assert [subject["name"] for subject in binding["subjects"]] == [group]
        verbs[group] = [(*rule["resources"], *rule.get("resourceNames", ()), *rule["verbs"]) for rule in role["rules"]]
    assert verbs == {
        "eks-upsert": [("namespaces", "list"), ("secrets", "aws-ecr-token", "create", "patch")],
        "eks-upsert-adopter": [("namespaces", "list"), ("secrets", "aws-ecr-token", "create", "patch", "get")],
    }
