"""The event says what to refresh, or is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.errors import SettingsError
from upsert.settings import Request, load

EVENTS = Path(__file__).parents[2] / "events"
REQUIRED = {"CLUSTER_NAME": "production", "REGISTRIES": '[{"account": "123456789012", "region": "eu-central-1"}]'}
NOT_A_LIST = "is wrong; expected a list of names or globs, not empty"
NOT_A_NAME = "is wrong; expected a namespace's name or a glob over such names"


def request(event: object) -> Request:
    return load(REQUIRED, event)[1]


def sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / name).read_text())
    return event


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({}, Request()),
        ({"namespaces": ["team-*", "default"]}, Request(("team-*", "default"))),
        ({"dry_run": True}, Request((), dry_run=True)),
        ({"dry_run": False}, Request()),
        ({"namespaces": ["a"], "dry_run": True}, Request(("a",), dry_run=True)),
        (sample("scheduled.json"), Request()),
        ({**sample("scheduled.json"), "source": "aws.events", "detail": {}}, Request()),
        (sample("emergency.json"), Request()),
        (sample("named-dry-run.json"), Request(("team-*",), dry_run=True)),
    ],
)
def test_a_good_event_is_read(event: Mapping[str, Any], expected: Request) -> None:
    assert request(event) == expected


@pytest.mark.parametrize(
    ("event", "problems"),
    [
        (None, ["event: None is wrong; expected a JSON object, such as {}"]),
        ([], ["event: [] is wrong; expected a JSON object, such as {}"]),
        ("{}", ["event: '{}' is wrong; expected a JSON object, such as {}"]),
        (
            {"namespace": ["a"]},
            ["event: unknown key 'namespace'; expected namespaces, dry_run, cluster, or a scheduled event"],
        ),
        (
            {"source": "aws.scheduler", "detail-type": "Something Else"},
            [
                "event: unknown key 'source'; expected namespaces, dry_run, cluster, or a scheduled event",
                "event: unknown key 'detail-type'; expected namespaces, dry_run, cluster, or a scheduled event",
            ],
        ),
        ({"namespaces": []}, [f"event.namespaces: [] {NOT_A_LIST}"]),
        ({"namespaces": None}, [f"event.namespaces: None {NOT_A_LIST}"]),
        ({"namespaces": "team-a"}, [f"event.namespaces: 'team-a' {NOT_A_LIST}"]),
        ({"namespaces": {"a": 1}}, [f"event.namespaces: {{'a': 1}} {NOT_A_LIST}"]),
        (
            {"namespaces": ["ok", 5, "Team", ""]},
            [f"event.namespaces: {bad} {NOT_A_NAME}" for bad in ("5", "'Team'", "''")],
        ),
        ({"namespaces": [["a"]]}, [f"event.namespaces: ['a'] {NOT_A_NAME}"]),
        ({"dry_run": "true"}, ["event.dry_run: 'true' is wrong; expected true or false"]),
        ({"dry_run": 1}, ["event.dry_run: 1 is wrong; expected true or false"]),
        ({"dry_run": None}, ["event.dry_run: None is wrong; expected true or false"]),
    ],
)
def test_a_bad_event_is_refused_with_what_was_expected(event: object, problems: list[str]) -> None:
    with pytest.raises(SettingsError) as refused:
        request(event)

    assert list(refused.value.problems) == problems


def test_a_monstrous_event_gives_a_short_message() -> None:
    with pytest.raises(SettingsError) as refused:
        request({"namespaces": "x" * 100_000, "y" * 100_000: 1})

    assert len(str(refused.value)) < 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
EVENT_LIKE = st.fixed_dictionaries(
    {},
    optional={
        "namespaces": st.lists(st.text("abc-*?", max_size=5), max_size=3) | JSON,
        "dry_run": st.booleans() | JSON,
        "source": st.sampled_from(["aws.scheduler", "aws.events"]) | JSON,
        "detail-type": st.just("Scheduled Event") | JSON,
        "extra": JSON,
    },
)


def taken_or_refused(event: object) -> Request | SettingsError:
    try:
        return request(event)
    except SettingsError as refused:
        return refused


@given(JSON | EVENT_LIKE)
def test_any_event_is_taken_or_refused_by_name(event: object) -> None:
    outcome = taken_or_refused(event)

    if isinstance(outcome, SettingsError):
        assert all(problem.startswith(("event: ", "event.")) for problem in outcome.problems)
    else:
        assert isinstance(event, dict)
        assert "source" in event or outcome.namespaces == tuple(event.get("namespaces", ()))


def test_a_scheduled_event_with_more_in_it_is_refused_and_not_run_over_everything() -> None:
    event = {"detail-type": "Scheduled Event", "source": "aws.events", "dry_run": True}
    with pytest.raises(SettingsError, match="event: unknown key 'dry_run' in a scheduled event"):
        load(REQUIRED, event)
