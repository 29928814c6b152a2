"""Settings come whole and valid, or as one error that names every bad field."""

import dataclasses
import json
import string
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core.registries import Registry
from upsert.errors import SettingsError
from upsert.settings import OnConflict, Request, Settings, load

ONE_REGISTRY = '[{"account": "123456789012", "region": "eu-central-1"}]'
REQUIRED = {"CLUSTER_NAME": "production", "REGISTRIES": ONE_REGISTRY}
FIELDS = [field.name.upper() for field in dataclasses.fields(Settings)]


def settings(**environment: str) -> Settings:
    return load({**REQUIRED, **environment}, {})[0]


def problems(environment: Mapping[str, str], event: object = None) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as refused:
        load(environment, {} if event is None else event)
    return refused.value.problems


def refused_fields(environment: Mapping[str, str]) -> list[str]:
    try:
        load(environment, {})
    except SettingsError as refused:
        return [problem.partition(":")[0] for problem in refused.problems]
    return []


DEFAULTS = {
    "cluster_name": "production",
    "secret_name": "aws-ecr-token",
    "registries": (Registry("123456789012", "eu-central-1"),),
    "include_namespaces": ("*",),
    "exclude_namespaces": (),
    "namespace_selector": "",
    "on_conflict": OnConflict.TAKE_OVER,
    "concurrency": 16,
    "log_level": "INFO",
    "schedule": timedelta(hours=6),
    "extra_registries_secret": "",
}


@pytest.mark.parametrize(("field", "value"), DEFAULTS.items())
def test_what_is_not_set_has_this_default(field: str, value: object) -> None:
    assert getattr(settings(), field) == value


def test_no_event_asks_for_everything() -> None:
    assert load(REQUIRED, {})[1] == Request(namespaces=(), dry_run=False)


KEPT = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:pull/registries-AbCdEf"


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("CLUSTER_NAME", "a", "a"),
        ("CLUSTER_NAME", "9_Prod-" + "x" * 93, "9_Prod-" + "x" * 93),
        ("SECRET_NAME", "a", "a"),
        ("SECRET_NAME", "pull.secret-1", "pull.secret-1"),
        ("SECRET_NAME", "a" * 253, "a" * 253),
        ("EXTRA_REGISTRIES_SECRET", "", ""),
        ("EXTRA_REGISTRIES_SECRET", KEPT, KEPT),
        ("INCLUDE_NAMESPACES", "team-*, default ,a?c", ("team-*", "default", "a?c")),
        ("EXCLUDE_NAMESPACES", "", ()),
        ("EXCLUDE_NAMESPACES", " ", ()),
        ("EXCLUDE_NAMESPACES", "kube-*", ("kube-*",)),
        ("NAMESPACE_SELECTOR", "", ""),
        ("NAMESPACE_SELECTOR", "env in (prod,stage),!legacy,a.b/c==d", "env in (prod,stage),!legacy,a.b/c==d"),
        ("ON_CONFLICT", "take-over", OnConflict.TAKE_OVER),
        ("ON_CONFLICT", "refuse", OnConflict.REFUSE),
        ("CONCURRENCY", "1", 1),
        ("CONCURRENCY", "64", 64),
        ("LOG_LEVEL", "DEBUG", "DEBUG"),
        ("LOG_LEVEL", "INFO", "INFO"),
        ("LOG_LEVEL", "WARNING", "WARNING"),
        ("LOG_LEVEL", "ERROR", "ERROR"),
        ("SCHEDULE", "rate(1 minute)", timedelta(minutes=1)),
        ("SCHEDULE", "rate(90 minutes)", timedelta(minutes=90)),
        ("SCHEDULE", "rate(1 hour)", timedelta(hours=1)),
        ("SCHEDULE", "rate(11 hours)", timedelta(hours=11)),
    ],
)
def test_a_good_value_is_read(variable: str, text: str, value: object) -> None:
    assert getattr(settings(**{variable: text}), variable.lower()) == value


@pytest.mark.parametrize(
    ("entry", "registry"),
    [
        ('{"account": "123456789012", "region": "cn-north-1"}', Registry("123456789012", "cn-north-1")),
        ('{"account": "123456789012", "region": "us-gov-west-1"}', Registry("123456789012", "us-gov-west-1")),
        ('{"account": "123456789012", "region": "eusc-de-east-1"}', Registry("123456789012", "eusc-de-east-1")),
        ('{"account": "123456789012", "region": "us-isob-east-1"}', Registry("123456789012", "us-isob-east-1")),
        (
            '{"account": "123456789012", "region": "eu-west-1", "role_arn": "arn:aws-cn:iam::123456789012:role/a/b"}',
            Registry("123456789012", "eu-west-1", "arn:aws-cn:iam::123456789012:role/a/b"),
        ),
        (
            '{"account": "123456789012", "region": "eu-west-1", "host": "registry.example:5000"}',
            Registry("123456789012", "eu-west-1", None, "registry.example:5000"),
        ),
    ],
)
def test_a_good_registry_is_read(entry: str, registry: Registry) -> None:
    assert settings(REGISTRIES=f"[{entry}]").registries == (registry,)


def test_several_registries_keep_their_order() -> None:
    text = '[{"account": "222222222222", "region": "eu-west-1"}, {"account": "111111111111", "region": "eu-west-1"}]'

    assert [registry.host[:12] for registry in settings(REGISTRIES=text).registries] == ["222222222222", "111111111111"]


GLOBS = "is no name or glob of lower-case letters, digits, -, * and ?"
LIST = 'expected a JSON list of {"account": "…", "region": "…", "role_arn": "…"?, "host": "…"?}'


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("CLUSTER_NAME", "", "CLUSTER_NAME: '' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "-prod", "CLUSTER_NAME: '-prod' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "a/b", "CLUSTER_NAME: 'a/b' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "prod\n", "CLUSTER_NAME: 'prod\\n' is wrong; expected the name of an EKS cluster"),
        ("CLUSTER_NAME", "x" * 101, f"CLUSTER_NAME: '{'x' * 79}… is wrong; expected the name of an EKS cluster"),
        ("SECRET_NAME", "", "SECRET_NAME: '' is wrong; expected a Secret's name: lower-case letters, digits, - and ."),
        ("SECRET_NAME", "Token", "SECRET_NAME: 'Token' is wrong; expected a Secret's name"),
        ("SECRET_NAME", "a..b", "SECRET_NAME: 'a..b' is wrong; expected a Secret's name"),
        ("SECRET_NAME", "a.", "SECRET_NAME: 'a.' is wrong; expected a Secret's name"),
        ("SECRET_NAME", "a/../b", "SECRET_NAME: 'a/../b' is wrong; expected a Secret's name"),
        ("SECRET_NAME", "a?dryRun=All", "SECRET_NAME: 'a?dryRun=All' is wrong; expected a Secret's name"),
        ("SECRET_NAME", "a\n", "SECRET_NAME: 'a\\n' is wrong; expected a Secret's name"),
        ("SECRET_NAME", "a" * 254, f"SECRET_NAME: '{'a' * 79}… is wrong; expected a Secret's name"),
        ("INCLUDE_NAMESPACES", "", "INCLUDE_NAMESPACES: '' is wrong; expected comma-separated globs"),
        ("INCLUDE_NAMESPACES", " ", "INCLUDE_NAMESPACES: ' ' is wrong; expected comma-separated globs"),
        ("INCLUDE_NAMESPACES", "a,,b", f"INCLUDE_NAMESPACES: 'a,,b' is wrong; '' {GLOBS}"),
        ("INCLUDE_NAMESPACES", "a,", f"INCLUDE_NAMESPACES: 'a,' is wrong; '' {GLOBS}"),
        ("INCLUDE_NAMESPACES", "team-[ab]", f"INCLUDE_NAMESPACES: 'team-[ab]' is wrong; 'team-[ab]' {GLOBS}"),
        ("EXCLUDE_NAMESPACES", "Kube-*", f"EXCLUDE_NAMESPACES: 'Kube-*' is wrong; 'Kube-*' {GLOBS}"),
        ("EXCLUDE_NAMESPACES", "a b", f"EXCLUDE_NAMESPACES: 'a b' is wrong; 'a b' {GLOBS}"),
        ("NAMESPACE_SELECTOR", "a=b&limit=1", "NAMESPACE_SELECTOR: 'a=b&limit=1' is wrong; expected a label selector"),
        ("NAMESPACE_SELECTOR", "a=ä", "NAMESPACE_SELECTOR: 'a=ä' is wrong; expected a label selector"),
        ("NAMESPACE_SELECTOR", "a\n", "NAMESPACE_SELECTOR: 'a\\n' is wrong; expected a label selector"),
        ("ON_CONFLICT", "force", "ON_CONFLICT: 'force' is wrong; expected one of take-over, refuse"),
        ("ON_CONFLICT", "", "ON_CONFLICT: '' is wrong; expected one of take-over, refuse"),
        ("ON_CONFLICT", "refuse\n", "ON_CONFLICT: 'refuse\\n' is wrong; expected one of take-over, refuse"),
        ("CONCURRENCY", "0", "CONCURRENCY: '0' is wrong; expected a whole number from 1 to 64"),
        ("CONCURRENCY", "65", "CONCURRENCY: '65' is wrong; expected a whole number from 1 to 64"),
        ("CONCURRENCY", "1e1", "CONCURRENCY: '1e1' is wrong; expected a whole number from 1 to 64"),
        ("CONCURRENCY", "-4", "CONCURRENCY: '-4' is wrong; expected a whole number from 1 to 64"),
        ("CONCURRENCY", "٤", "CONCURRENCY: '٤' is wrong; expected a whole number from 1 to 64"),
        ("CONCURRENCY", "9" * 5000, f"CONCURRENCY: '{'9' * 79}… is wrong; expected a whole number from 1 to 64"),
        (
            "EXTRA_REGISTRIES_SECRET",
            "registries",
            "EXTRA_REGISTRIES_SECRET: 'registries' is wrong; expected nothing, or",
        ),
        (
            "EXTRA_REGISTRIES_SECRET",
            f"{KEPT}ä",
            f"EXTRA_REGISTRIES_SECRET: '{KEPT}ä",
        ),
        ("LOG_LEVEL", "info", "LOG_LEVEL: 'info' is wrong; expected one of DEBUG, INFO, WARNING, ERROR"),
        ("LOG_LEVEL", "TRACE", "LOG_LEVEL: 'TRACE' is wrong; expected one of DEBUG, INFO, WARNING, ERROR"),
        ("SCHEDULE", "cron(0 * * * ? *)", "SCHEDULE: 'cron(0 * * * ? *)' is wrong; expected rate(N minutes) or rate"),
        ("SCHEDULE", "rate(0 hours)", "SCHEDULE: 'rate(0 hours)' is wrong; expected rate(N minutes) or rate(N hours)"),
        ("SCHEDULE", "rate(99999 hours)", "SCHEDULE: 'rate(99999 hours)' is wrong; expected rate(N minutes)"),
        ("SCHEDULE", "rate(1 day)", "SCHEDULE: 'rate(1 day)' is wrong; expected rate(N minutes) or rate(N hours)"),
        ("REGISTRIES", "", f"REGISTRIES: '' is wrong; {LIST}"),
        ("REGISTRIES", "123456789012", f"REGISTRIES: '123456789012' is wrong; {LIST}, with at least one entry"),
        ("REGISTRIES", "[", f"REGISTRIES: '[' is wrong; {LIST}"),
        ("REGISTRIES", "[" * 100_000, f"REGISTRIES: '{'[' * 79}… is wrong; {LIST}"),
        ("REGISTRIES", "{}", f"REGISTRIES: '{{}}' is wrong; {LIST}, with at least one entry"),
        ("REGISTRIES", "[]", f"REGISTRIES: '[]' is wrong; {LIST}, with at least one entry"),
        ("REGISTRIES", "[5]", "REGISTRIES: [0] is 5; expected an object"),
        ("REGISTRIES", '["123456789012"]', "REGISTRIES: [0] is '123456789012'; expected an object"),
        ("REGISTRIES", '[{"account": "123456789012"}]', "REGISTRIES: [0] has no region; expected a region such as"),
        ("REGISTRIES", '[{"region": "eu-west-1"}]', "REGISTRIES: [0] has no account; expected a 12-digit AWS account"),
        (
            "REGISTRIES",
            '[{"account": "123456789012", "region": "eu-west-1", "role": "x"}]',
            "REGISTRIES: [0] has the unknown key 'role'; known: account, region, role_arn, host",
        ),
        (
            "REGISTRIES",
            '[{"account": 123456789012, "region": "eu-west-1"}]',
            "REGISTRIES: [0].account is 123456789012; expected a 12-digit AWS account id",
        ),
        (
            "REGISTRIES",
            '[{"account": "12345678901", "region": "eu-west-1"}]',
            "REGISTRIES: [0].account is '12345678901'; expected a 12-digit AWS account id",
        ),
        (
            "REGISTRIES",
            '[{"account": "123456789012", "region": "Frankfurt"}]',
            "REGISTRIES: [0].region is 'Frankfurt'; expected a region such as eu-central-1",
        ),
        (
            "REGISTRIES",
            '[{"account": "123456789012", "region": "eu-west-1", "role_arn": "pull"}]',
            "REGISTRIES: [0].role_arn is 'pull'; expected a role ARN such as arn:aws:iam::111122223333:role/pull",
        ),
        (
            "REGISTRIES",
            '[{"account": "123456789012", "region": "eu-west-1", "role_arn": "arn:aws:iam::123456789012:role/ä"}]',
            "REGISTRIES: [0].role_arn is 'arn:aws:iam::123456789012:role/ä'; expected a role ARN",
        ),
        (
            "REGISTRIES",
            '[{"account": "123456789012", "region": "eu-west-1", "host": "https://a.example/"}]',
            "REGISTRIES: [0].host is 'https://a.example/'; expected a bare host without https:// and path",
        ),
        (
            "REGISTRIES",
            '[{"account": "123456789012", "region": "eu-west-1", "host": null}]',
            "REGISTRIES: [0].host is None; expected a bare host without https:// and path",
        ),
        (
            "REGISTRIES",
            f"{ONE_REGISTRY[:-1]}, {ONE_REGISTRY[1:]}",
            "REGISTRIES: names the host 123456789012.dkr.ecr.eu-central-1.amazonaws.com more than once; expected one",
        ),
    ],
)
def test_a_bad_value_is_one_problem_with_field_value_and_what_was_expected(
    variable: str, text: str, problem: str
) -> None:
    found = problems({**REQUIRED, variable: text})

    assert len(found) == 1
    assert found[0].startswith(problem)


def test_all_bad_fields_are_reported_at_once() -> None:
    everything = dict.fromkeys(FIELDS, "!%")

    found = problems(everything, {"namespaces": "team-a", "dry_run": "yes", "force": True})

    named = [problem.partition(":")[0] for problem in found]
    assert sorted(named) == sorted([*FIELDS, "event", "event.namespaces", "event.dry_run"])


def test_an_empty_environment_names_what_must_be_set() -> None:
    assert [problem.partition(":")[0] for problem in problems({})] == ["CLUSTER_NAME", "REGISTRIES"]


@pytest.mark.parametrize("text", ["x" * 10_000, "\x00", "\ud800", "\U0001f600" * 50, '"' * 500])
@pytest.mark.parametrize("variable", FIELDS)
def test_a_monstrous_value_gives_a_short_message(variable: str, text: str) -> None:
    (problem,) = problems({**REQUIRED, variable: text})

    assert problem.startswith(f"{variable}: ")
    assert len(problem) < 600


@given(st.sampled_from(FIELDS), st.text(st.characters(), max_size=40) | st.text(string.printable, max_size=40))
def test_any_text_is_taken_or_named(variable: str, text: str) -> None:
    assert refused_fields({**REQUIRED, variable: text}) in ([], [variable])


REGISTRY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["account", "region", "role_arn", "host", "x"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.lists(REGISTRY_JSON, max_size=3) | REGISTRY_JSON)
def test_any_json_for_the_registries_is_taken_or_named(entries: Any) -> None:
    found = problems({**REQUIRED, "REGISTRIES": json.dumps(entries)})

    assert [problem.partition(":")[0] for problem in found] == ["REGISTRIES"]


@given(st.lists(st.from_regex(r"[a-z0-9*?]([a-z0-9*?-]{0,20}[a-z0-9*?])?", fullmatch=True), min_size=1))
def test_globs_come_out_as_they_were_written(globs: list[str]) -> None:
    assert settings(INCLUDE_NAMESPACES=" , ".join(globs)).include_namespaces == tuple(globs)


def test_entries_pasted_in_place_of_their_arn_are_not_repeated() -> None:
    pasted = '{"auths":{"quay.io":{"password":"hunter2hunter2"}}}'
    with pytest.raises(SettingsError) as found:
        load(REQUIRED | {"EXTRA_REGISTRIES_SECRET": pasted}, {})
    assert "EXTRA_REGISTRIES_SECRET: 51 characters is wrong" in str(found.value)
    assert "hunter2" not in str(found.value)
