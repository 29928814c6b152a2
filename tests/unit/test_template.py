"""The template agrees with the code and the cluster's RBAC, and stops a typo before anything is deployed."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from upsert.errors import SettingsError
from upsert.settings import Settings, load

ROOT = Path(__file__).parents[2]


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms, !Ref X, as one-key mappings."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        raise TypeError(f"!{suffix} holds {node}")
    return {suffix: value}


_Loader.add_multi_constructor("!", _short_form)

TEMPLATE = yaml.load((ROOT / "template.yaml").read_text(), _Loader)  # a subclass of SafeLoader
PARAMETERS: dict[str, dict[str, Any]] = TEMPLATE["Parameters"]
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]
FUNCTION = RESOURCES["RefreshFunction"]["Properties"]
VARIABLES: dict[str, Any] = FUNCTION["Environment"]["Variables"]
STATEMENTS = RESOURCES["RefreshRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
RBAC = list(yaml.safe_load_all((ROOT / "rbac" / "refresher.yaml").read_text()))

GOOD = {
    "ClusterName": ["a", "prod-eu_1", "A" * 100],
    "SecretName": ["aws-ecr-token", "a", "pull.secret-1", "a" * 253],
    "Registries": [
        '[{"account": "123456789012", "region": "eu-central-1"}]',
        '\n[{"account": "123456789012", "region": "cn-north-1"},{"account": "210987654321", "region": "us-east-1"}]\n',
    ],
    "ServiceAccounts": ["", "default", "default, my.app"],
    "IncludeNamespaces": ["*", "team-*,prod", "team-* , ops", "a?c"],
    "ExcludeNamespaces": ["", "kube-*", "kube-*,sandbox"],
    "NamespaceSelector": ["", "env in (prod, stage),!legacy", "team=a", "example.com/team!=a_b"],
    "OnConflict": ["take-over", "refuse"],
    "Concurrency": ["1", "64"],
    "LogLevel": ["DEBUG", "INFO", "WARNING", "ERROR"],
    "Schedule": ["rate(1 minute)", "rate(90 minutes)", "rate(660 minutes)", "rate(1 hour)", "rate(11 hours)"],
}
BAD = {
    "ClusterName": ["", "-a", "my cluster", "a" * 101, "arn:aws:eks:eu-central-1:123456789012:cluster/a"],
    "SecretName": ["", "Aws", "a_b", "-a", "a-", "a..b", "a" * 254],
    "Registries": ["[]", "{}", "123456789012", "[123456789012]"],
    "RegistryRoleArns": ["pull", "arn:aws:iam::1:role/pull", "arn:aws:iam::123456789012:user/pull"],
    "RepositoryArns": ["*", "team/app", "arn:aws:ecr:eu-central-1:123456789012:repository/", "arn:aws:s3:::a"],
    "EcrPublic": ["", "yes"],
    "ServiceAccounts": ["Default", "default,", "a b", "-a", "*"],
    "AuditLogGroup": ["/aws/eks/my cluster", "a" * 513],
    "IncludeNamespaces": ["", "Team", "team-*;prod", "team-*,", ",team", "a b"],
    "ExcludeNamespaces": [",", "Kube", "kube-*,,b"],
    "NamespaceSelector": ['team="a"', "a;b", "env~prod"],
    "OnConflict": ["", "takeover"],
    "Concurrency": ["0", "65"],
    "LogLevel": ["", "info", "TRACE"],
    "Schedule": [
        *(
            "",
            "6 hours",
            "rate(6)",
            "rate(0 hours)",
            "rate(1 hours)",
            "rate(1 minutes)",
            "rate(6 hour)",
            "rate(12 hours)",
        ),
        *(
            "rate(661 minutes)",
            "rate(720 minutes)",
            "rate(1 day)",
            "rate(6 hours) ",
            "cron(0 */6 * * ? *)",
            "at(2026-01-01)",
        ),
    ],
    "SubnetIds": ["subnet", "sg-0123456789abcdef0", "subnet-xyz"],
    "SecurityGroupIds": ["sg", "subnet-0123456789abcdef0"],
    "MemorySize": ["128", "10241"],
    "AlarmEmail": ["on-call", "on-call@example", "a@example.com,b@example.com", "a b@example.com"],
    "AlarmTopicArn": ["on-call", "arn:aws:sqs:eu-central-1:123456789012:on-call", "arn:aws:sns:eu-central-1:1:on-call"],
    "MaxHoursWithoutRefresh": ["0", "13", "1.5"],
    "Monitoring": ["", "yes"],
    "CreateDashboard": ["", "no"],
    "Timeout": ["0", "901"],
}


def accepts(parameter: str, value: str) -> bool:
    """Return whether CloudFormation takes the value, by the rules that the template uses."""
    rules = PARAMETERS[parameter]
    return (
        re.fullmatch(rules.get("AllowedPattern", r"[\s\S]*"), value) is not None
        and len(value) <= rules.get("MaxLength", 4096)
        and value in map(str, rules.get("AllowedValues", [value]))
        and ("MinValue" not in rules or rules["MinValue"] <= int(value) <= rules["MaxValue"])
    )


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(parameter, value) for parameter, values in table.items() for value in values]


def environment(**parameters: str) -> dict[str, str]:
    """Return the function's variables for these parameters, the defaults for all others."""
    values = {name: str(rules.get("Default", "")) for name, rules in PARAMETERS.items()} | parameters
    resolved = {}
    for variable, value in VARIABLES.items():
        condition, default, given = value.get("If", (None, None, value))
        if condition == "NoRegistries" and not values["Registries"]:
            resolved[variable] = (
                default["Sub"].replace("${AWS::AccountId}", "123456789012").replace("${AWS::Region}", "eu-west-1")
            )
        else:
            resolved[variable] = values[given["Ref"]]
    return resolved


def actions(*, under: str | None) -> set[str]:
    """Return what the role may do always, or under one condition."""
    found: set[str] = set()
    for statement in STATEMENTS:
        condition, body = (statement["If"][0], statement["If"][1]) if "If" in statement else (None, statement)
        if condition == under:
            found |= {body["Action"]} if isinstance(body["Action"], str) else set(body["Action"])
    return found


def test_the_function_gets_exactly_the_variables_that_the_settings_are() -> None:
    assert set(VARIABLES) == {field.name.upper() for field in fields(Settings)}


def test_each_variable_holds_the_parameter_of_its_name() -> None:
    for variable, value in VARIABLES.items():
        named = "".join(word.capitalize() for word in variable.split("_"))
        assert {"Ref": named} in (value, *value.get("If", ())), variable


def test_only_the_cluster_must_be_named() -> None:
    assert [name for name, rules in PARAMETERS.items() if "Default" not in rules] == ["ClusterName"]


def test_the_defaults_are_settings_for_the_registry_of_this_account_and_region() -> None:
    settings, request = load(environment(ClusterName="demo"), {})
    assert [entry.host for entry in settings.registries] == ["123456789012.dkr.ecr.eu-west-1.amazonaws.com"]
    assert settings.secret_name == "aws-ecr-token"
    assert request.namespaces == ()


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_parameter_says_what_it_takes_and_takes_its_default(name: str) -> None:
    rules = PARAMETERS[name]
    assert rules["Description"]
    assert {"AllowedPattern", "AllowedValues", "MinValue"} & set(rules)
    assert "AllowedPattern" not in rules or rules["ConstraintDescription"]
    assert "Default" not in rules or accepts(name, str(rules["Default"]))


def test_every_parameter_is_shown_in_a_group_once() -> None:
    groups = TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    assert sorted(name for group in groups for name in group["Parameters"]) == sorted(PARAMETERS)


@pytest.mark.parametrize(("parameter", "value"), cases(GOOD))
def test_a_value_that_deploys_is_one_that_the_function_takes(parameter: str, value: str) -> None:
    assert accepts(parameter, value)
    load(environment(**{"ClusterName": "demo", parameter: value}), {})


@pytest.mark.parametrize(("parameter", "value"), cases(BAD))
def test_a_typo_does_not_deploy(parameter: str, value: str) -> None:
    assert not accepts(parameter, value)


def test_the_function_refuses_such_a_typo_too() -> None:
    for parameter, value in cases(BAD):
        # Here the template is the stricter one: it takes no period longer than a token's life, and no wrong plural.
        if parameter != "Schedule" and {"Ref": parameter} in VARIABLES.values():
            with pytest.raises(SettingsError):
                load(environment(**{"ClusterName": "demo", parameter: value}), {})


def test_a_token_of_twelve_hours_outlives_every_schedule_that_deploys() -> None:
    for unit, seconds in (("minute", 60), ("hour", 3600)):
        for count in range(1, 2000):
            if accepts("Schedule", f"rate({count} {unit}{'' if count == 1 else 's'})"):
                assert count * seconds < 12 * 3600


def test_the_role_may_do_what_a_refresh_needs_and_nothing_else() -> None:
    assert actions(under=None) == {
        "ecr:BatchGetImage",
        "ecr:GetAuthorizationToken",
        "ecr:GetDownloadUrlForLayer",
        "eks:DescribeCluster",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:SendMessage",
    }
    assert actions(under="AssumesRoles") == {"sts:AssumeRole"}
    assert actions(under="LogsInToPublic") == {"ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"}
    assert {action.partition(":")[0] for action in actions(under="InVpc")} == {"ec2"}


def test_the_role_may_touch_every_resource_only_where_aws_knows_none() -> None:
    everything = [
        body["Sid"]
        for statement in STATEMENTS
        if (body := statement.get("If", [None, statement])[1])["Resource"] == "*"
    ]
    assert everything == ["LoginToken", "PublicLoginToken", "NetworkInterfaces"]


def test_the_access_entry_the_binding_and_the_secret_name_are_those_of_the_cluster_role() -> None:
    role, binding = RBAC
    (group,) = RESOURCES["RefreshAccessEntry"]["Properties"]["KubernetesGroups"]
    assert [(subject["kind"], subject["name"]) for subject in binding["subjects"]] == [("Group", group)]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert role["rules"][1]["resourceNames"] == [PARAMETERS["SecretName"]["Default"]]


def test_the_cluster_role_holds_what_is_promised_and_nothing_else() -> None:
    role, _ = RBAC
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["aws-ecr-token"], "verbs": ["create", "patch"]},
    ]


def test_the_emergency_event_asks_for_everything() -> None:
    assert json.loads((ROOT / "events" / "emergency.json").read_text()) == {}
    assert "events/emergency.json" in TEMPLATE["Outputs"]["RefreshNow"]["Value"]["Sub"]
