"""The template agrees with the code and the cluster's RBAC, and stops a typo before anything is deployed."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import yaml

from tests.support.template import ROOT, Stack, load
from upsert.config import Config, config
from upsert.errors import InputError

TEMPLATE = load()
PARAMETERS: dict[str, dict[str, Any]] = TEMPLATE["Parameters"]
RBAC = list(yaml.safe_load_all((ROOT / "rbac" / "refresher.yaml").read_text()))

# What functions/objects.yaml says instead, and what nobody had reason to change.
GONE = {
    *("SecretName", "Registries", "RegistryRoleArns", "EcrPublic", "ExtraRegistriesSecret", "OnConflict"),
    *("IncludeNamespaces", "ExcludeNamespaces", "NamespaceSelector", "ServiceAccounts"),
    *("FleetBucket", "FleetKey", "FleetRoleArns", "FleetConcurrency", "Concurrency"),
    *("MaxHoursWithoutRefresh", "CreateDashboard"),
}

SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret"
PARAMETER = "arn:aws:ssm:eu-central-1:123456789012:parameter"
KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
GOOD = {
    "ClusterName": ["a", "prod-eu_1", "A" * 100],
    "Fleet": ["true", "false"],
    "ReadableArns": [
        "",
        f"{SECRET}:registries-AbCdEf",
        f"{SECRET}:apps/api-??????",
        f"{SECRET}:apps/*",
        f"{PARAMETER}/apps/api/log-token",
        f"{PARAMETER}/apps/*",
    ],
    "DecryptableKeyArns": ["", KEY, "arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab"],
    "AssumableRoleArns": ["", "arn:aws:iam::123456789012:role/pull", "arn:aws:iam::*:role/path/eks-upsert"],
    "RepositoryArns": ["", "arn:aws:ecr:*:123456789012:repository/team/*"],
    "AuditLogGroup": ["", "/aws/eks/demo/cluster"],
    "LogLevel": ["DEBUG", "INFO", "WARNING", "ERROR"],
    "Metrics": ["fleet", "cluster", "object"],
    "Schedule": ["rate(1 minute)", "rate(90 minutes)", "rate(300 minutes)", "rate(1 hour)", "rate(5 hours)"],
    "RolePath": ["/", "/team/", "/platform/eks-upsert/"],
    "KmsKeyArn": ["", KEY],
    "OrganizationId": ["", "o-abcdefghij"],
    "PermissionsBoundary": [
        "",
        "arn:aws:iam::123456789012:policy/boundaries/team",
        "arn:aws:iam::aws:policy/ReadOnlyAccess",
    ],
}
BAD = {
    "ClusterName": ["", "-a", "my cluster", "a" * 101, "arn:aws:eks:eu-central-1:123456789012:cluster/a"],
    "Fleet": ["", "yes"],
    "ReadableArns": [
        *("*", "apps/api", f"{SECRET}:*", f"{SECRET}:?pps", f"{PARAMETER}/*", f"{PARAMETER}/?", f"{SECRET}:"),
        *("arn:aws:s3:::bucket/key", "arn:aws:secretsmanager:*:123456789012:secret:a", f"{SECRET}:a b"),
        '{"auths": {"quay.io": {"auth": "dTpw"}}}',
    ],
    "DecryptableKeyArns": [
        *("*", "alias/apps", "arn:aws:kms:eu-central-1:123456789012:alias/apps"),
        "arn:aws:kms:eu-central-1:123456789012:key/*",
    ],
    "AssumableRoleArns": ["pull", "arn:aws:iam::1:role/pull", "arn:aws:iam::123456789012:user/pull", "*"],
    "RepositoryArns": ["*", "team/app", "arn:aws:ecr:eu-central-1:123456789012:repository/", "arn:aws:s3:::a"],
    "AuditLogGroup": ["/aws/eks/my cluster", "a" * 513],
    "LogLevel": ["", "info", "TRACE"],
    "Metrics": ["", "all", "Object"],
    "Schedule": [
        *(
            "",
            "3 hours",
            "rate(3)",
            "rate(0 hours)",
            "rate(1 hours)",
            "rate(1 minutes)",
            "rate(3 hour)",
            "rate(6 hours)",
        ),
        *("rate(301 minutes)", "rate(660 minutes)", "rate(1 day)", "rate(3 hours) ", "cron(0 */6 * * ? *)"),
        "at(2026-01-01)",
    ],
    "SubnetIds": ["subnet", "sg-0123456789abcdef0", "subnet-xyz"],
    "SecurityGroupIds": ["sg", "subnet-0123456789abcdef0"],
    "MemorySize": ["128", "10241"],
    "AlarmEmail": ["on-call", "on-call@example", "a@example.com,b@example.com", "a b@example.com"],
    "AlarmTopicArn": ["on-call", "arn:aws:sqs:eu-central-1:123456789012:on-call", "arn:aws:sns:eu-central-1:1:on-call"],
    "Monitoring": ["", "yes"],
    "Timeout": ["0", "901"],
    "RolePath": ["", "team", "/team", "team/", "//", "/a b/"],
    "KmsKeyArn": ["alias/logs", "arn:aws:kms:eu-central-1:123456789012:alias/logs", f"{KEY},{KEY}"],
    "OrganizationId": ["abcdefghij", "o-short", "o-ABCDEFGHIJ", "r-abcd"],
    "PermissionsBoundary": ["team", "arn:aws:iam::123456789012:role/team", "arn:aws:iam::1:policy/team"],
}


def accepts(parameter: str, value: str) -> bool:
    """Return whether CloudFormation takes the value, by the rules that the template uses."""
    rules = PARAMETERS[parameter]
    return (
        re.fullmatch(rules.get("AllowedPattern", r"[\s\S]*"), value) is not None
        and value in map(str, rules.get("AllowedValues", [value]))
        and ("MinValue" not in rules or rules["MinValue"] <= int(value) <= rules["MaxValue"])
    )


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(parameter, value) for parameter, values in table.items() for value in values]


def actions(**parameters: str) -> set[str]:
    """Return what the refresher's role is allowed, for these parameters."""
    found: set[str] = set()
    for statement in Stack(ClusterName="demo", **parameters).statements("RefreshRole").values():
        if statement["Effect"] == "Allow":
            found |= set([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    return found


ALWAYS = actions()
EVERYTHING = {
    "Fleet": "true",
    "ReadableArns": f"{SECRET}:a-AbCdEf,{PARAMETER}/a",
    "DecryptableKeyArns": KEY,
    "AssumableRoleArns": "arn:aws:iam::123456789012:role/pull",
    "SubnetIds": "subnet-0123456789abcdef0",
    "SecurityGroupIds": "sg-0123456789abcdef0",
    "CreateAdopter": "true",
    "AuditLogGroup": "/aws/eks/demo/cluster",
    "RolePath": "/team/",
    "KmsKeyArn": KEY.replace("1234abcd", "5678abcd"),
    "OrganizationId": "o-abcdefghij",
}


def test_the_template_asks_for_at_most_26_things() -> None:
    assert len(PARAMETERS) <= 26


@pytest.mark.parametrize("name", sorted(GONE))
def test_a_parameter_that_is_gone_is_named_nowhere(name: str) -> None:
    shipped = ["template.yaml", "samconfig.toml", "fleet/member.yaml", "fleet/statemachine.asl.json"]
    assert [file for file in shipped if re.search(rf"\b{name}\b", (ROOT / file).read_text())] == []


def test_what_is_written_where_is_no_parameter() -> None:
    assert set(PARAMETERS) == {
        *("ClusterName", "Fleet", "CreateAccessEntry"),
        *("ReadableArns", "DecryptableKeyArns", "AssumableRoleArns", "RepositoryArns"),
        *(
            "Schedule",
            "ScheduleState",
            "AuditLogGroup",
            "AlarmEmail",
            "AlarmTopicArn",
            "Monitoring",
            "Metrics",
            "CreateAdopter",
        ),
        *("SubnetIds", "SecurityGroupIds", "Architecture", "MemorySize", "Timeout", "LogLevel", "LogRetentionDays"),
        *("PermissionsBoundary", "RolePath", "KmsKeyArn", "OrganizationId"),
    }


def test_both_functions_get_the_same_variables_and_the_refresher_of_a_fleet_the_state_machines_name() -> None:
    one, fleet = (
        {
            name: function["Environment"]["Variables"]
            for name, function in Stack(ClusterName="demo", CreateAdopter="true", Fleet=fleet)
            .of_type("AWS::Serverless::Function")
            .items()
        }
        for fleet in ("false", "true")
    )
    shared = {
        "CLUSTER_NAME": "demo",
        "FLEET": "false",
        "ACCOUNT_ID": "123456789012",
        "SCHEDULE": "rate(3 hours)",
        "STACK": "eks-upsert",
        "METRICS": "object",
        "LOG_LEVEL": "INFO",
    }
    assert one == {"RefreshFunction": shared, "AdoptFunction": shared}
    assert fleet["AdoptFunction"] == shared | {"FLEET": "true"}
    assert fleet["RefreshFunction"] == shared | {"FLEET": "true", "FLEET_STATE_MACHINE": "eks-upsert-fleet"}


LIBRARIES = ("AWS_", "HTTP", "http", "REQUESTS_", "SSLKEYLOGFILE")


class Watched(dict[str, str]):
    """An environment that notes what is looked up in it."""

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)


def variables(**parameters: str) -> Watched:
    function = Stack(**{"ClusterName": "demo", **parameters}).resources["RefreshFunction"]["Properties"]
    # Lambda itself adds the region.
    return Watched({**function["Environment"]["Variables"], "AWS_REGION": "eu-central-1"})


def read(environment: Watched) -> Config:
    """Return the function's settings, its file of objects being one that suits the parameter Fleet."""
    clusters = [{"name": environment["CLUSTER_NAME"]}] if environment["FLEET"] == "true" else []
    return config(environment, {"version": 1, "clusters": clusters, "objects": []})


def test_the_function_reads_the_variables_that_it_gets_and_no_other() -> None:
    environment = variables(Fleet="true")
    config(environment, {"version": 1, "clusters": [{"name": "demo"}], "objects": []})
    # Beside its own it looks at what libraries would read, to say by name what is wrong there.
    own = {name for name in environment.read if not name.startswith(LIBRARIES)}
    # Metrics have this one also where the configuration is wrong.
    own.add("STACK")
    assert own == {name for name in environment if not name.startswith(LIBRARIES)}


def test_the_defaults_are_settings_for_this_account_and_one_cluster() -> None:
    settings = read(variables())
    assert [target.name for target in settings.targets] == ["demo"]
    assert (settings.account, settings.schedule, settings.is_fleet) == ("123456789012", timedelta(hours=3), False)


# The parameters that the function gets the value of.
PASSED_ON = ("ClusterName", "Fleet", "LogLevel", "Metrics", "Schedule")


@pytest.mark.parametrize(("parameter", "value"), [case for case in cases(GOOD) if case[0] in PASSED_ON])
def test_a_value_that_deploys_is_one_that_the_function_takes(parameter: str, value: str) -> None:
    read(variables(**{parameter: value}))


# Here the template is the stricter one: it takes no period longer than an alarm waits, and no wrong plural.
@pytest.mark.parametrize(
    ("parameter", "value"), [case for case in cases(BAD) if case[0] in PASSED_ON and case[0] != "Schedule"]
)
def test_the_function_refuses_such_a_typo_too(parameter: str, value: str) -> None:
    with pytest.raises(InputError):
        read(variables(**{parameter: value}))


def test_the_functions_differ_in_what_they_are_and_in_nothing_else() -> None:
    own = {
        name: set(resource["Properties"])
        for name, resource in TEMPLATE["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
    }
    both = {"Description", "Handler", "Role", "LoggingConfig", "EventInvokeConfig"}
    assert own == {"RefreshFunction": both | {"Environment"}, "AdoptFunction": both}


def test_the_functions_log_texts_that_they_write_themselves() -> None:
    functions = Stack(ClusterName="demo", CreateAdopter="true").of_type("AWS::Serverless::Function")
    assert {name: function["LoggingConfig"] for name, function in functions.items()} == {
        "RefreshFunction": {"LogFormat": "Text", "LogGroup": "RefreshLogGroup"},
        "AdoptFunction": {"LogFormat": "Text", "LogGroup": "AdoptLogGroup"},
    }


def test_in_a_vpc_both_functions_run_in_the_given_subnets_and_otherwise_in_none() -> None:
    inside = Stack(ClusterName="demo", **EVERYTHING).of_type("AWS::Serverless::Function")
    assert [function["VpcConfig"] for function in inside.values()] == [
        {"SubnetIds": ["subnet-0123456789abcdef0"], "SecurityGroupIds": ["sg-0123456789abcdef0"]}
    ] * 2
    outside = Stack(ClusterName="demo", CreateAdopter="true").of_type("AWS::Serverless::Function")
    assert ["VpcConfig" in function for function in outside.values()] == [False, False]


def test_only_the_cluster_must_be_named() -> None:
    assert [name for name, rules in PARAMETERS.items() if "Default" not in rules] == ["ClusterName"]


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
def test_a_value_that_is_right_deploys(parameter: str, value: str) -> None:
    assert accepts(parameter, value)


@pytest.mark.parametrize(("parameter", "value"), cases(BAD))
def test_a_typo_does_not_deploy(parameter: str, value: str) -> None:
    assert not accepts(parameter, value)


@pytest.mark.parametrize(("parameter", "value"), [case for case in cases(GOOD) if " " in case[1]])
def test_what_a_shell_leaves_of_a_value_with_a_blank_does_not_deploy(parameter: str, value: str) -> None:
    assert not accepts(parameter, value.partition(" ")[0])


def test_a_schedule_that_deploys_has_two_more_runs_before_a_token_of_twelve_hours_ends() -> None:
    deployable = [
        count * seconds
        for unit, seconds in (("minute", 60), ("hour", 3600))
        for count in range(1, 2000)
        if accepts("Schedule", f"rate({count} {unit}{'' if count == 1 else 's'})")
    ]
    assert (min(deployable), max(deployable)) == (60, 5 * 3600)
    assert 2 * max(deployable) < 12 * 3600


def test_the_role_may_do_what_a_refresh_needs_and_nothing_else() -> None:
    assert actions() == {
        "ecr:BatchGetImage",
        "ecr:BatchImportUpstreamImage",
        "ecr:GetAuthorizationToken",
        "ecr:GetDownloadUrlForLayer",
        "ecr-public:GetAuthorizationToken",
        "sts:GetServiceBearerToken",
        "eks:DescribeCluster",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:SendMessage",
    }


@pytest.mark.parametrize(
    ("parameter", "more"),
    [
        (
            "ReadableArns",
            {"secretsmanager:BatchGetSecretValue", "secretsmanager:GetSecretValue", "ssm:GetParameters"},
        ),
        ("DecryptableKeyArns", {"kms:Decrypt"}),
        ("AssumableRoleArns", {"sts:AssumeRole"}),
        ("KmsKeyArn", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("RolePath", set()),
        ("OrganizationId", set()),
        ("Fleet", set()),
        ("CreateAdopter", set()),
    ],
)
def test_a_parameter_adds_to_the_role_what_it_says(parameter: str, more: set[str]) -> None:
    assert actions(**{parameter: EVERYTHING[parameter]}) - ALWAYS == more


def test_in_a_vpc_lambda_may_make_interfaces_with_the_role_and_the_functions_code_may_not() -> None:
    more = actions(SubnetIds=EVERYTHING["SubnetIds"]) - ALWAYS
    assert {action.partition(":")[0] for action in more} == {"ec2"}
    denied = [
        statement
        for statement in Stack(ClusterName="demo", **EVERYTHING).statements("RefreshRole").values()
        if statement["Effect"] == "Deny"
    ]
    # https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html: only what the code asks for
    # names its function.
    assert [(one["Action"], one["Resource"], one["Condition"]) for one in denied] == [
        ("ec2:*", "*", {"Null": {"lambda:SourceFunctionArn": "false"}})
    ]


def test_a_statement_is_about_the_arns_that_its_parameter_names() -> None:
    statements = Stack(ClusterName="demo", **EVERYTHING).statements("RefreshRole")
    assert {name: statements[name]["Resource"] for name in ("ReadSources", "DecryptSources", "AssumeRoles")} == {
        "ReadSources": EVERYTHING["ReadableArns"].split(","),
        "DecryptSources": [KEY],
        "AssumeRoles": ["arn:aws:iam::123456789012:role/pull"],
    }
    assert statements["DecryptSources"]["Condition"] == {
        "StringLike": {"kms:ViaService": ["secretsmanager.*", "ssm.*"]}
    }


def test_the_role_may_touch_every_resource_only_where_aws_knows_none() -> None:
    for role in ("RefreshRole", "AdoptRole"):
        statements = Stack(ClusterName="demo", **EVERYTHING).statements(role)
        everything = [sid for sid, one in statements.items() if one["Resource"] == "*" and one["Effect"] == "Allow"]
        assert everything == ["LoginTokens", "ReadManySecretsAtOnce", "NetworkInterfaces"]
        assert statements["ReadManySecretsAtOnce"]["Action"] == "secretsmanager:BatchGetSecretValue"


def roles(**parameters: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from Stack(ClusterName="demo", **EVERYTHING, **parameters).of_type("AWS::IAM::Role").items()


def test_every_role_is_the_stacks_own_and_is_assumed_by_one_service_for_what_is_the_stacks_own() -> None:
    trusts = {}
    for name, role in roles():
        (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
        condition = statement["Condition"]
        assert condition.pop("StringEquals") == {"aws:SourceAccount": "123456789012"}
        trusts[name] = (statement["Principal"]["Service"], condition)
    here = "eu-central-1:123456789012"
    rules = [f"arn:aws:events:{here}:rule/eks-upsert-{source}-changed" for source in ("secret", "parameter")]
    assert trusts == {
        "RefreshRole": ("lambda.amazonaws.com", {}),
        "AdoptRole": ("lambda.amazonaws.com", {}),
        "ScheduleRole": ("scheduler.amazonaws.com", source_is(f"arn:aws:scheduler:{here}:schedule-group/default")),
        "FleetRole": ("states.amazonaws.com", source_is(f"arn:aws:states:{here}:stateMachine:eks-upsert-fleet")),
        "SourceChangeRole": ("events.amazonaws.com", source_is(rules)),
    }


def source_is(arns: str | list[str]) -> dict[str, object]:
    return {"ArnEquals": {"aws:SourceArn": arns}}


def test_what_a_trust_names_has_that_name() -> None:
    stack = Stack(ClusterName="demo", **EVERYTHING)
    assert stack.of_type("AWS::Serverless::StateMachine")["FleetStateMachine"]["Name"] == "eks-upsert-fleet"
    assert {name: rule["Name"] for name, rule in stack.of_type("AWS::Events::Rule").items()} == {
        "SecretChanged": "eks-upsert-secret-changed",
        "ParameterChanged": "eks-upsert-parameter-changed",
    }
    # A schedule without a group is in the group default.
    assert "GroupName" not in stack.of_type("AWS::Scheduler::Schedule")["RefreshSchedule"]


def test_sam_makes_no_role_of_its_own() -> None:
    stack = Stack(ClusterName="demo", **EVERYTHING)
    for kind in ("AWS::Serverless::Function", "AWS::Serverless::StateMachine"):
        for properties in stack.of_type(kind).values():
            assert properties["Role"].removesuffix(".Arn") in stack.resources
            assert "Events" not in properties


def test_a_permissions_boundary_bounds_every_role_and_none_bounds_none() -> None:
    boundary = "arn:aws:iam::123456789012:policy/team"
    assert {role["PermissionsBoundary"] for _, role in roles(PermissionsBoundary=boundary)} == {boundary}
    assert ["PermissionsBoundary" in role for _, role in roles()] == [False] * 5


def test_every_role_and_policy_has_the_path_that_is_asked_for() -> None:
    for parameters, path in (({}, "/"), ({"RolePath": "/team/"}, "/team/")):
        found = Stack(ClusterName="demo", **{**EVERYTHING, "RolePath": "/", **parameters})
        kinds = ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy")
        paths = {name: one["Path"] for kind in kinds for name, one in found.of_type(kind).items()}
        assert paths == dict.fromkeys(paths, path)
        assert len(paths) == 6


def encryption(**parameters: str) -> dict[str, object]:
    """Return the key of whatever keeps something, by logical id."""
    found = Stack(ClusterName="demo", CreateAdopter="true", **parameters)
    return {
        **{name: one.get("KmsKeyId") for name, one in found.of_type("AWS::Logs::LogGroup").items()},
        **{name: one.get("KmsMasterKeyId") for name, one in found.of_type("AWS::SQS::Queue").items()},
        **{name: one.get("KmsMasterKeyId") for name, one in found.of_type("AWS::SNS::Topic").items()},
    }


def test_one_key_encrypts_the_logs_the_queue_and_the_topic() -> None:
    assert encryption(KmsKeyArn=KEY) == dict.fromkeys(
        ("RefreshLogGroup", "AdoptLogGroup", "FailedRuns", "AlarmTopic"), KEY
    )
    assert set(encryption().values()) == {None}
    for parameters, expected in (({}, True), ({"KmsKeyArn": KEY}, None)):
        queue = Stack(ClusterName="demo", **parameters).of_type("AWS::SQS::Queue")["FailedRuns"]
        assert queue.get("SqsManagedSseEnabled") is expected, "a queue takes one of the two"


def test_who_puts_failed_runs_into_the_queue_may_encrypt_them_and_nothing_else() -> None:
    stack = Stack(ClusterName="demo", **EVERYTHING)
    senders = {name for name, _ in roles() if "KeepFailedRuns" in stack.statements(name)}
    assert senders == {"RefreshRole", "ScheduleRole"}
    for name, _ in roles():
        kept = stack.statements(name).get("EncryptFailedRuns")
        assert (kept is not None) is (name in senders)
        assert kept is None or (kept["Resource"], kept["Condition"]) == (
            EVERYTHING["KmsKeyArn"],
            {"StringLike": {"kms:ViaService": "sqs.*"}},
        )


def test_the_functions_assume_roles_of_the_organisation_alone_if_one_is_named() -> None:
    arns = EVERYTHING["AssumableRoleArns"]
    anywhere = Stack(ClusterName="demo", AssumableRoleArns=arns).statements("RefreshRole")["AssumeRoles"]
    assert "Condition" not in anywhere
    own = Stack(ClusterName="demo", AssumableRoleArns=arns, OrganizationId="o-abcdefghij")
    assert own.statements("RefreshRole")["AssumeRoles"]["Condition"] == {
        "StringEquals": {"aws:ResourceOrgID": "o-abcdefghij"}
    }


def test_who_shows_a_token_pulls_also_what_a_pull_through_cache_does_not_have_yet() -> None:
    statement = Stack(ClusterName="demo").statements("RefreshRole")["PullWithToken"]
    assert statement["Action"] == ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:BatchImportUpstreamImage"]
    assert statement["Resource"] == "arn:aws:ecr:*:*:repository/*"


def test_the_schedule_starts_one_run_and_may_do_nothing_else() -> None:
    stack = Stack(ClusterName="demo")
    schedule = stack.resources["RefreshSchedule"]["Properties"]
    assert (schedule["ScheduleExpression"], schedule["State"]) == ("rate(3 hours)", "ENABLED")
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert schedule["Target"]["Arn"] == "RefreshFunction.Arn"
    assert {
        (one["Action"], one["Resource"]) for one in stack.statements(schedule["Target"]["RoleArn"][:-4]).values()
    } == {("lambda:InvokeFunction", "RefreshFunction.Arn"), ("sqs:SendMessage", "FailedRuns.Arn")}


def test_the_access_entry_and_the_binding_name_one_group() -> None:
    group = Stack(ClusterName="demo").resources["RefreshAccessEntry"]["Properties"]["KubernetesGroups"]
    (binding,) = (found for found in RBAC if found["kind"] == "ClusterRoleBinding")
    assert [(subject["kind"], subject["name"]) for subject in binding["subjects"]] == [("Group", *group)]
    assert binding["roleRef"]["name"] in {found["metadata"]["name"] for found in RBAC if found["kind"] == "ClusterRole"}


def test_the_cluster_role_holds_what_is_promised_and_nothing_else() -> None:
    (role,) = (found for found in RBAC if found["kind"] == "ClusterRole")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["aws-ecr-token"], "verbs": ["create", "patch"]},
    ]


def output(name: str, **parameters: str) -> str:
    value: str = Stack(ClusterName="demo", **parameters).outputs[name]["Value"]
    return value


def test_an_emergency_refresh_is_one_command_that_needs_no_file() -> None:
    assert output("RefreshNow") == (
        "echo '{}' | aws lambda invoke --region eu-central-1 --function-name RefreshFunction"
        " --payload fileb:///dev/stdin --cli-read-timeout 0 /dev/stdout | cat"
    )


def test_an_emergency_refresh_of_a_fleet_is_one_of_every_cluster() -> None:
    assert output("RefreshNow", Fleet="true") == (
        "aws stepfunctions start-execution --region eu-central-1"
        " --state-machine-arn arn:aws:states:eu-central-1:123456789012:stateMachine:eks-upsert-fleet"
    )


@pytest.mark.parametrize("file", ["template.yaml", "fleet/member.yaml"])
def test_no_output_is_a_command_that_works_in_the_repository_alone(file: str) -> None:
    assert [
        name for name, one in load(ROOT / file)["Outputs"].items() if re.search(r"\bmake\b", str(one["Value"]))
    ] == []


def test_the_emergency_event_asks_for_everything() -> None:
    assert json.loads((ROOT / "events" / "emergency.json").read_text()) == {}


ORGANISATIONS = (ROOT / "docs" / "organisations.md").read_text()


def test_the_page_for_organisations_names_parameters_and_files_that_are_there() -> None:
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", ORGANISATIONS))
    assert named <= set(PARAMETERS)
    assert {"PermissionsBoundary", "RolePath", "KmsKeyArn", "OrganizationId"} <= named
    for file in re.findall(r"`([\w./-]+\.(?:yaml|md))`", ORGANISATIONS):
        assert (ROOT / file).is_file(), file


def test_the_policy_of_a_key_lets_in_who_encrypts_with_it_for_the_stack() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", ORGANISATIONS, re.DOTALL)
    logs, others = json.loads(block)
    assert logs["Principal"] == {"Service": "logs.eu-central-1.amazonaws.com"}
    (pattern,) = logs["Condition"]["ArnLike"].values()
    groups = Stack(ClusterName="demo", CreateAdopter="true").of_type("AWS::Logs::LogGroup").values()
    prefix = "arn:aws:logs:eu-central-1:123456789012:log-group:"
    assert all(f"{prefix}{group['LogGroupName']}".startswith(pattern.removesuffix("*")) for group in groups)
    assert others["Principal"] == {"Service": ["cloudwatch.amazonaws.com", "events.amazonaws.com"]}
    assert {"kms:Decrypt", "kms:GenerateDataKey*"} == set(others["Action"])
