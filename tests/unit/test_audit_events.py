"""Audit events, recorded from a real API server under a policy like that of EKS, name the namespaces to heal.

The recording holds, in order, kubectl and the refresher at work on the namespace team-blue: created, created again in
vain, another one created in a dry run, one whose name the server made up, two refreshes, the Secret deleted, deleted
again in vain, another Secret created and deleted, all Secrets deleted, the namespace deleted.
"""

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cloudwatch_logs import LOG_GROUP, FilterPattern, batch
from tests.support.template import Stack
from upsert.core.audit_events import NotABatch, affected

RECORDED = (Path(__file__).parents[1] / "data" / "audit-events.jsonl").read_text().splitlines()
SECRET = "aws-ecr-token"
NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"


def in_batch(*lines: str) -> tuple[str, ...]:
    return affected(batch(lines)["awslogs"], SECRET)


def recorded(**wanted: object) -> str:
    """Return the one recorded line whose event has these values, by dotted path with __ for the dot."""
    (line,) = [line for line in RECORDED if all(at(json.loads(line), path) == value for path, value in wanted.items())]
    return line


def at(event: Mapping[str, Any], path: str) -> Any:
    value: Any = event
    for name in path.split("__"):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def changed(line: str, change: Callable[[dict[str, Any]], object]) -> str:
    event = json.loads(line)
    change(event)
    return json.dumps(event)


CREATED = recorded(
    verb="create", objectRef__name="team-blue", objectRef__resource="namespaces", responseStatus__code=201
)
NAMED_BY_THE_SERVER = recorded(verb="create", objectRef__resource="namespaces", objectRef__name=None)
DELETED = recorded(verb="delete", objectRef__name=SECRET, responseStatus__code=200)
ALL_DELETED = recorded(verb="deletecollection")


def test_a_namespace_that_was_created_is_named() -> None:
    assert in_batch(CREATED) == ("team-blue",)


def test_a_name_that_the_server_made_up_is_read_from_its_answer() -> None:
    (name,) = in_batch(NAMED_BY_THE_SERVER)
    assert name.startswith("preview-")


def test_a_namespace_whose_pull_secret_was_deleted_is_named() -> None:
    assert in_batch(DELETED) == ("team-blue",)


def test_a_namespace_whose_secrets_were_all_deleted_is_named() -> None:
    assert in_batch(ALL_DELETED) == ("team-blue",)


def test_a_namespace_that_is_emptied_because_it_goes_away_is_not() -> None:
    by_controller = changed(ALL_DELETED, lambda event: event["user"].update(username=NAMESPACE_CONTROLLER))
    assert in_batch(by_controller) == ()


def test_a_whole_recording_names_each_namespace_once() -> None:
    names = in_batch(*RECORDED, *RECORDED)
    assert [name for name in names if not name.startswith("preview-")] == ["team-blue", "team-dry"]
    assert len(names) == 3


def test_what_the_refresher_does_names_none() -> None:
    own = [line for line in RECORDED if json.loads(line)["user"]["username"] == "refresher"]
    assert {json.loads(line)["verb"] for line in own} == {"list", "patch"}
    assert in_batch(*own) == ()


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (CREATED, lambda event: event["responseStatus"].update(code=409)),
        (CREATED, lambda event: event["responseStatus"].update(code=403)),
        (CREATED, lambda event: event.pop("responseStatus")),
        (CREATED, lambda event: event.update(stage="RequestReceived")),
        (CREATED, lambda event: event.update(stage="Panic")),
        (CREATED, lambda event: event.update(verb="update")),
        (CREATED, lambda event: event["objectRef"].update(subresource="finalize")),
        (CREATED, lambda event: event["objectRef"].update(resource="pods", namespace="team-blue")),
        (CREATED, lambda event: event["objectRef"].update(name="../kube-system")),
        (CREATED, lambda event: event["objectRef"].update(name=5)),
        (DELETED, lambda event: event["objectRef"].update(name="other")),
        (DELETED, lambda event: event["objectRef"].update(resource="configmaps")),
        (DELETED, lambda event: event["objectRef"].pop("namespace")),
        (DELETED, lambda event: event["responseStatus"].update(code=404)),
        (ALL_DELETED, lambda event: event["objectRef"].update(resource="configmaps")),
    ],
)
def test_anything_else_names_none(line: str, change: Callable[[dict[str, Any]], object]) -> None:
    assert in_batch(line)
    assert in_batch(changed(line, change)) == ()


def test_lines_that_are_no_events_are_passed_over() -> None:
    assert in_batch("", "{", "null", "[]", "I1130 05:41:10 trace.go:236] Trace", "{}", CREATED[:-9], DELETED) == (
        "team-blue",
    )


def test_a_trial_of_the_subscription_names_none() -> None:
    lines = ["CWL CONTROL MESSAGE: Checking health of destination"]
    assert affected(batch(lines, kind="CONTROL_MESSAGE")["awslogs"], SECRET) == ()


def packed(content: bytes) -> dict[str, str]:
    return {"data": base64.b64encode(content).decode()}


@pytest.mark.parametrize(
    ("awslogs", "problem"),
    [
        (None, "an object with a text named data"),
        ({}, "an object with a text named data"),
        ({"data": 5}, "an object with a text named data"),
        ({"data": "no base64!"}, "base64 of gzip"),
        (packed(b"no gzip"), "base64 of gzip"),
        (packed(gzip.compress(b"{}")[:-9]), "a whole gzip stream"),
        (packed(gzip.compress(b" " * (64 * 1024 * 1024 + 1))), "a whole gzip stream"),
        (packed(gzip.compress(b"no JSON")), "DATA_MESSAGE"),
        (packed(gzip.compress(b"[]")), "DATA_MESSAGE"),
        (packed(gzip.compress(b'{"messageType": "DATA_MESSAGE"}')), "DATA_MESSAGE"),
    ],
)
def test_what_is_no_batch_is_refused_with_what_was_expected(awslogs: object, problem: str) -> None:
    with pytest.raises(NotABatch, match=problem):
        affected(awslogs, SECRET)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
EVENT_LIKE = st.fixed_dictionaries(
    {"stage": st.just("ResponseComplete") | JSON, "verb": st.sampled_from(["create", "delete"]) | JSON},
    optional={
        "objectRef": JSON
        | st.fixed_dictionaries({"resource": st.sampled_from(["namespaces", "secrets"]), "name": JSON}),
        "responseStatus": JSON | st.fixed_dictionaries({"code": JSON | st.just(201)}),
        "responseObject": JSON,
        "user": JSON,
    },
)


@given(st.lists(EVENT_LIKE, max_size=3), st.lists(JSON, max_size=2))
def test_no_event_whatever_it_holds_is_an_error(events: list[Any], others: list[Any]) -> None:
    content = {"messageType": "DATA_MESSAGE", "logEvents": [*({"message": json.dumps(one)} for one in events), *others]}
    names = affected(packed(gzip.compress(json.dumps(content).encode())), SECRET)
    assert all(isinstance(name, str) and 0 < len(name) <= 63 for name in names)


def filter_pattern(**parameters: str) -> str:
    stack = Stack(ClusterName="test", AuditLogGroup=LOG_GROUP, **parameters)
    pattern: str = stack.resources["AuditSubscription"]["Properties"]["FilterPattern"]
    return pattern


PATTERN = FilterPattern(filter_pattern())


@pytest.mark.parametrize(
    "line", RECORDED, ids=[f"{at(json.loads(line), 'verb')}-{n}" for n, line in enumerate(RECORDED)]
)
def test_the_subscription_lets_through_exactly_what_names_a_namespace(line: str) -> None:
    assert PATTERN.lets_through(line) is bool(in_batch(line))


def test_the_subscription_keeps_back_what_the_namespace_controller_empties() -> None:
    assert PATTERN.lets_through(ALL_DELETED)
    assert not PATTERN.lets_through(
        changed(ALL_DELETED, lambda event: event["user"].update(username=NAMESPACE_CONTROLLER))
    )


def test_a_pattern_fits_with_the_longest_name_of_a_secret() -> None:
    # https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutSubscriptionFilter.html
    assert len(filter_pattern(SecretName="a" * 253)) <= 1024
