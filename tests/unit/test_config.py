"""What a deployment fixes comes whole and valid, or as one error that names everything that is wrong with it."""

import json
import string
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.objects import ACCOUNT, ARN, REGION, compiled, entry, install, pull_object
from upsert.config import Config, config, load
from upsert.core.objects import Object, OnConflict, Part, Ref, Scope, Target
from upsert.errors import InputError

REQUIRED = {"CLUSTER_NAME": "production", "ACCOUNT_ID": ACCOUNT, "AWS_REGION": REGION}
VARIABLES = ["CLUSTER_NAME", "FLEET", "ACCOUNT_ID", "AWS_REGION", "SCHEDULE", "LOG_LEVEL"]
CLUSTERS = [{"name": "production"}, {"name": "team-blue", "region": "eu-west-1"}]
FILE = json.loads(compiled())
FILE_OF_A_FLEET = json.loads(compiled(clusters=CLUSTERS))


def read(file: Mapping[str, Any] = FILE, **environment: str) -> Config:
    return config(REQUIRED | environment, file)


def problems(environment: Mapping[str, str], file: Mapping[str, Any] = FILE) -> tuple[str, ...]:
    with pytest.raises(InputError) as refused:
        config(environment, file)
    return refused.value.problems


DEFAULTS = {
    "own": Target("production"),
    "targets": (Target("production"),),
    "objects": (pull_object(),),
    "account": ACCOUNT,
    "region": REGION,
    "log_level": "INFO",
    "schedule": timedelta(hours=3),
    "is_fleet": False,
    "state_machine": "",
}


@pytest.mark.parametrize(("field", "value"), DEFAULTS.items())
def test_what_is_not_set_has_this_default(field: str, value: object) -> None:
    assert getattr(read(), field) == value


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("CLUSTER_NAME", "a", "own", Target("a")),
        ("CLUSTER_NAME", "9_Prod-" + "x" * 93, "own", Target("9_Prod-" + "x" * 93)),
        ("ACCOUNT_ID", "000000000000", "account", "000000000000"),
        ("AWS_REGION", "us-gov-west-1", "region", "us-gov-west-1"),
        ("LOG_LEVEL", "DEBUG", "log_level", "DEBUG"),
        ("LOG_LEVEL", "INFO", "log_level", "INFO"),
        ("LOG_LEVEL", "WARNING", "log_level", "WARNING"),
        ("LOG_LEVEL", "ERROR", "log_level", "ERROR"),
        ("SCHEDULE", "rate(1 minute)", "schedule", timedelta(minutes=1)),
        ("SCHEDULE", "rate(90 minutes)", "schedule", timedelta(minutes=90)),
        ("SCHEDULE", "rate(1 hour)", "schedule", timedelta(hours=1)),
        ("SCHEDULE", "rate(5 hours)", "schedule", timedelta(hours=5)),
        ("FLEET", "false", "is_fleet", False),
        ("FLEET_STATE_MACHINE", "refresh-fleet", "state_machine", "refresh-fleet"),
    ],
)
def test_a_good_value_is_read(variable: str, text: str, field: str, value: object) -> None:
    assert getattr(config({**REQUIRED, variable: text}, FILE), field) == value


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("CLUSTER_NAME", "", "CLUSTER_NAME: '' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "-prod", "CLUSTER_NAME: '-prod' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "a/b", "CLUSTER_NAME: 'a/b' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "prod\n", "CLUSTER_NAME: 'prod\\n' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "x" * 101, f"CLUSTER_NAME: '{'x' * 80}'… (101 characters) is wrong; expected the name of"),
        ("FLEET", "", "FLEET: '' is wrong; expected true or false"),
        ("FLEET", "True", "FLEET: 'True' is wrong; expected true or false"),
        ("FLEET", "yes", "FLEET: 'yes' is wrong; expected true or false"),
        ("ACCOUNT_ID", "", "ACCOUNT_ID: '' is wrong; expected a 12-digit AWS account id"),
        ("ACCOUNT_ID", "12345678901", "ACCOUNT_ID: '12345678901' is wrong; expected a 12-digit AWS account id"),
        ("ACCOUNT_ID", "٤" * 12, f"ACCOUNT_ID: '{'٤' * 12}' is wrong; expected a 12-digit AWS account id"),
        ("AWS_REGION", "", "AWS_REGION: '' is wrong; expected a region such as eu-central-1"),
        ("AWS_REGION", "eu-central-1a", "AWS_REGION: 'eu-central-1a' is wrong; expected a region such as eu-central-1"),
        (
            "AWS_REGION",
            "eu-central-1\n",
            "AWS_REGION: 'eu-central-1\\n' is wrong; expected a region such as eu-central-1",
        ),
        ("LOG_LEVEL", "info", "LOG_LEVEL: 'info' is wrong; expected one of DEBUG, INFO, WARNING, ERROR"),
        ("LOG_LEVEL", "TRACE", "LOG_LEVEL: 'TRACE' is wrong; expected one of DEBUG, INFO, WARNING, ERROR"),
        ("SCHEDULE", "cron(0 * * * ? *)", "SCHEDULE: 'cron(0 * * * ? *)' is wrong; expected rate(N minutes) or rate"),
        ("SCHEDULE", "rate(0 hours)", "SCHEDULE: 'rate(0 hours)' is wrong; expected rate(N minutes) or rate(N hours)"),
        ("SCHEDULE", "rate(99999 hours)", "SCHEDULE: 'rate(99999 hours)' is wrong; expected rate(N minutes)"),
        ("SCHEDULE", "rate(1 day)", "SCHEDULE: 'rate(1 day)' is wrong; expected rate(N minutes) or rate(N hours)"),
    ],
)
def test_a_bad_value_is_one_problem_with_field_value_and_what_was_expected(
    variable: str, text: str, problem: str
) -> None:
    found = problems({**REQUIRED, variable: text})

    assert len(found) == 1
    assert found[0].startswith(problem)


def test_all_bad_variables_are_reported_at_once() -> None:
    found = problems(dict.fromkeys(VARIABLES, "!%"))

    assert sorted(problem.partition(":")[0] for problem in found) == sorted(VARIABLES)


def test_an_empty_environment_names_what_must_be_set() -> None:
    assert problems({}) == (
        "CLUSTER_NAME: is missing; expected the name of an EKS cluster",
        "ACCOUNT_ID: is missing; expected a 12-digit AWS account id, in quotes",
        "AWS_REGION: is missing; expected a region such as eu-central-1",
    )


@pytest.mark.parametrize("text", ["x" * 10_000, "\x00", "\ud800", "\U0001f600" * 50, '"' * 500])
@pytest.mark.parametrize("variable", VARIABLES)
def test_a_monstrous_value_gives_a_short_message(variable: str, text: str) -> None:
    (problem,) = problems({**REQUIRED, variable: text})

    assert problem.startswith(f"{variable}: ")
    assert len(problem) < 600


def refused_variables(environment: Mapping[str, str]) -> list[str]:
    try:
        config(environment, FILE)
    except InputError as refused:
        return [problem.partition(":")[0] for problem in refused.problems]
    return []


@given(st.sampled_from(VARIABLES), st.text(st.characters(), max_size=40) | st.text(string.printable, max_size=40))
def test_any_text_is_taken_or_named(variable: str, text: str) -> None:
    assert refused_variables({**REQUIRED, variable: text}) in ([], [variable])


def test_a_fleet_has_its_clusters_in_the_order_of_the_file() -> None:
    fleet = read(FILE_OF_A_FLEET, FLEET="true", FLEET_STATE_MACHINE="refresh-fleet")

    assert fleet.is_fleet
    assert fleet.targets == (Target("production"), Target("team-blue", "eu-west-1"))
    assert fleet.own == Target("production")
    assert fleet.target("team-blue") == Target("team-blue", "eu-west-1")
    assert fleet.target("team-red") is None


def test_the_stacks_own_cluster_is_reached_as_the_file_says() -> None:
    fleet = read(FILE_OF_A_FLEET, FLEET="true", CLUSTER_NAME="team-blue")

    assert fleet.own == Target("team-blue", "eu-west-1")


@pytest.mark.parametrize(
    ("file", "environment", "problem"),
    [
        (
            FILE,
            {"FLEET": "true"},
            "FLEET: 'true' is wrong; expected false, since the file of objects has no clusters",
        ),
        (
            FILE_OF_A_FLEET,
            {"FLEET": "false"},
            "FLEET: 'false' is wrong; expected true, since the file of objects has clusters",
        ),
        (
            FILE_OF_A_FLEET,
            {},
            "FLEET: 'false' is wrong; expected true, since the file of objects has clusters",
        ),
        (
            FILE_OF_A_FLEET,
            {"FLEET": "true", "CLUSTER_NAME": "staging"},
            "CLUSTER_NAME: 'staging' is wrong; expected one of the clusters in the file of objects",
        ),
    ],
)
def test_the_parameters_are_held_against_the_file(
    file: Mapping[str, Any], environment: dict[str, str], problem: str
) -> None:
    assert problems({**REQUIRED, **environment}, file) == (problem,)


def test_a_bad_flag_over_a_file_with_clusters_is_one_problem() -> None:
    assert problems({**REQUIRED, "FLEET": "yes"}, FILE_OF_A_FLEET) == ("FLEET: 'yes' is wrong; expected true or false",)


def test_every_field_of_the_file_comes_out_as_it_was_written() -> None:
    whole = entry(
        name="pull.secret-1",
        registries=[
            {"ecr": {"account": "111111111111", "region": "eu-west-1"}},
            {"ecr_public": {}},
            {"auths": {"secret": ARN}},
        ],
        include=["team-*", "a?c"],
        exclude=["team-x"],
        selector="env in (prod,stage),!legacy",
        on_conflict="refuse",
        service_accounts=["default", "my.app"],
        clusters=["production*"],
    )

    found = read(json.loads(compiled(whole, entry(), clusters=CLUSTERS)), FLEET="true").objects

    assert found == (
        Object(
            "pull.secret-1",
            "docker-registry",
            (
                Part("registries[0]", Ref("ecr", (("account", "111111111111"), ("region", "eu-west-1")))),
                Part("registries[1]", Ref("ecr_public")),
                Part("registries[2].auths", Ref("secret", (("secret", ARN),))),
            ),
            Scope(("team-*", "a?c"), ("team-x",), "env in (prod,stage),!legacy"),
            on_conflict=OnConflict.REFUSE,
            service_accounts=("default", "my.app"),
            clusters=("production*",),
        ),
        pull_object(),
    )


@pytest.mark.parametrize(
    ("clusters", "cluster", "is_for"),
    [(["*"], "production", True), (["team-*", "x"], "production", False), (["prod*"], "production", True)],
)
def test_an_object_is_for_the_clusters_that_its_globs_match(clusters: list[str], cluster: str, is_for: bool) -> None:
    assert pull_object(clusters=tuple(clusters)).is_for(cluster) is is_for


def test_the_compiled_file_is_found_beside_the_function(tmp_path: Path) -> None:
    assert load(install(tmp_path, entry(name="other"))).objects == (pull_object(name="other"),)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "objects.json: is not beside the function; build it with `sam build`"),
        (b"", "objects.json: is no JSON, or has a key twice; build it anew with `sam build`"),
        (b"version: 1", "objects.json: is no JSON, or has a key twice; build it anew with `sam build`"),
        (b"\xff\xfe", "objects.json: is no JSON, or has a key twice; build it anew with `sam build`"),
        (b"[" * 100_000, "objects.json: is no JSON, or has a key twice; build it anew with `sam build`"),
        (
            b'{"version": 1, "objects": [], "objects": []}',
            "objects.json: is no JSON, or has a key twice; build it anew with `sam build`",
        ),
        (
            b'{"version": 1, "objects": [{"name": "a", "name": "b"}]}',
            "objects.json: is no JSON, or has a key twice; build it anew with `sam build`",
        ),
        (b'{"version": 1}', "objects.json: is not as the build writes it; build it anew with `sam build`"),
        (
            b'{"version": 1, "objects": 5}',
            "objects.json: is not as the build writes it; build it anew with `sam build`",
        ),
        (
            b'{"version": 1, "objects": [{"name": "a"}]}',
            "objects.json: is not as the build writes it; build it anew with `sam build`",
        ),
        (
            b'{"version": 1, "clusters": [{"arn": "a"}], "objects": []}',
            "objects.json: is not as the build writes it; build it anew with `sam build`",
        ),
        (b"[]", "objects.json: is not of version 1; build it anew with `sam build`"),
        (b"{}", "objects.json: is not of version 1; build it anew with `sam build`"),
        (b'{"version": 2, "objects": []}', "objects.json: is not of version 1; build it anew with `sam build`"),
        (b'{"version": "1"}', "objects.json: is not of version 1; build it anew with `sam build`"),
    ],
)
def test_without_a_compiled_file_of_this_version_there_is_one_clear_error(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "objects.json").write_bytes(content)

    with pytest.raises(InputError) as refused:
        load({**REQUIRED, "LAMBDA_TASK_ROOT": str(tmp_path)})

    assert refused.value.problems == (problem,)
