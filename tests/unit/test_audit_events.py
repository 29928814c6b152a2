"""Audit events, recorded from a real API server under a policy like that of EKS, say where something is missing.

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
from upsert.audit_events import Gap, NotABatch, gaps

RECORDED = (Path(__file__).parents[1] / "data" / "audit-events.jsonl").read_text().splitlines()
SECRET = "aws-ecr-token"
NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"


def in_batch(*lines: str) -> tuple[Gap, ...]:
    return gaps(batch(lines)["awslogs"])


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


def test_a_namespace_that_was_created_misses_everything() -> None:
    assert in_batch(CREATED) == (Gap("team-blue"),)


def test_a_name_that_the_server_made_up_is_read_from_its_answer() -> None:
    (gap,) = in_batch(NAMED_BY_THE_SERVER)
    assert gap.namespace.startswith("preview-")
    assert gap.title == ""


def patched(code: int, **target: str) -> str:
    """Return the event of an apply or another patch of the namespace team-blue, or of something else there."""

    def change(event: dict[str, Any]) -> None:
        event.update(verb="patch")
        event["responseStatus"].update(code=code)
        event["objectRef"].update(target)

    return changed(CREATED, change)


def test_a_namespace_that_an_apply_created_misses_everything() -> None:
    """So Flux, Argo CD and `kubectl apply --server-side` create namespaces."""
    assert in_batch(patched(201)) == in_batch(CREATED)
    assert PATTERN.lets_through(patched(201))


@pytest.mark.parametrize(
    "line",
    [
        patched(200),
        patched(202),
        patched(409),
        patched(403),
        patched(200, subresource="status"),
        patched(201, subresource="finalize"),
        patched(201, resource="pods", namespace="team-blue"),
        patched(201, resource="secrets", namespace="team-blue"),
        patched(200, resource="secrets", namespace="team-blue", name=SECRET),
    ],
)
def test_any_other_patch_leaves_nothing_missing(line: str) -> None:
    assert in_batch(line) == ()


@pytest.mark.parametrize("code", [200, 409])
@pytest.mark.parametrize("resource", ["namespaces", "secrets"])
def test_the_subscription_keeps_back_patches_that_create_no_namespace(resource: str, code: int) -> None:
    assert not PATTERN.lets_through(patched(code, resource=resource))


def test_a_namespace_misses_the_secret_that_was_deleted() -> None:
    assert in_batch(DELETED) == (Gap("team-blue", f"secret/{SECRET}"),)


def test_a_namespace_whose_secrets_were_all_deleted_misses_each_of_them() -> None:
    assert in_batch(ALL_DELETED) == (Gap("team-blue", "secret/"),)


@pytest.mark.parametrize(
    ("line", "change", "title"),
    [
        (DELETED, {"name": "other"}, "secret/other"),
        (DELETED, {"resource": "configmaps"}, f"configmap/{SECRET}"),
        (DELETED, {"resource": "configmaps", "name": "settings"}, "configmap/settings"),
        (ALL_DELETED, {"resource": "configmaps"}, "configmap/"),
        (DELETED, {"resource": "resourcequotas", "name": "a"}, "resourcequota/a"),
        (DELETED, {"resource": "limitranges", "name": "a"}, "limitrange/a"),
        (DELETED, {"apiGroup": "networking.k8s.io", "resource": "networkpolicies", "name": "a"}, "networkpolicy/a"),
        (DELETED, {"apiGroup": "policy", "resource": "poddisruptionbudgets", "name": "a"}, "poddisruptionbudget/a"),
        (ALL_DELETED, {"apiGroup": "policy", "resource": "poddisruptionbudgets"}, "poddisruptionbudget/"),
    ],
)
def test_whatever_can_be_written_is_missed_by_its_title(line: str, change: dict[str, str], title: str) -> None:
    assert in_batch(changed(line, lambda event: event["objectRef"].update(change))) == (Gap("team-blue", title),)


@pytest.mark.parametrize(
    ("title", "missing", "not_missing"),
    [
        ("", ("secret/a", "configmap/a"), ()),
        ("secret/", ("secret/a", "secret/b"), ("configmap/a",)),
        ("configmap/", ("configmap/a",), ("secret/a",)),
        ("secret/a", ("secret/a",), ("secret/ab", "secret/b", "configmap/a")),
    ],
)
def test_a_gap_concerns_what_may_be_missing(title: str, missing: tuple[str, ...], not_missing: tuple[str, ...]) -> None:
    gap = Gap("team-a", title)
    assert [one for one in (*missing, *not_missing) if gap.concerns(one)] == list(missing)


def test_a_namespace_that_is_emptied_because_it_goes_away_misses_nothing() -> None:
    by_controller = changed(ALL_DELETED, lambda event: event["user"].update(username=NAMESPACE_CONTROLLER))
    assert in_batch(by_controller) == ()


def test_a_whole_recording_names_each_gap_once_in_order() -> None:
    found = in_batch(*RECORDED, *RECORDED)
    assert [gap for gap in found if not gap.namespace.startswith("preview-")] == [
        Gap("team-blue"),
        Gap("team-blue", "secret/"),
        Gap("team-blue", f"secret/{SECRET}"),
        Gap("team-blue", "secret/other"),
        Gap("team-dry"),
    ]
    assert len(found) == 6


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
        (DELETED, lambda event: event["objectRef"].update(resource="pods")),
        (DELETED, lambda event: event["objectRef"].update(subresource="status")),
        (DELETED, lambda event: event["objectRef"].update(apiGroup="example.com")),
        (
            DELETED,
            lambda event: event["objectRef"].update(apiGroup="crd.projectcalico.org", resource="networkpolicies"),
        ),
        (DELETED, lambda event: event["objectRef"].update(resource="networkpolicies")),
        (DELETED, lambda event: event["objectRef"].pop("name")),
        (DELETED, lambda event: event["objectRef"].pop("namespace")),
        (DELETED, lambda event: event["responseStatus"].update(code=404)),
        (ALL_DELETED, lambda event: event["objectRef"].update(resource="pods")),
    ],
)
def test_anything_else_names_none(line: str, change: Callable[[dict[str, Any]], object]) -> None:
    assert in_batch(line)
    assert in_batch(changed(line, change)) == ()


def test_lines_that_are_no_events_are_passed_over() -> None:
    noise = ("", "{", "null", "[]", "I1130 05:41:10 trace.go:236] Trace", "{}", CREATED[:-9])
    assert in_batch(*noise, DELETED) == in_batch(DELETED)


def test_a_trial_of_the_subscription_names_none() -> None:
    lines = ["CWL CONTROL MESSAGE: Checking health of destination"]
    assert gaps(batch(lines, kind="CONTROL_MESSAGE")["awslogs"]) == ()


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
        gaps(awslogs)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
EVENT_LIKE = st.fixed_dictionaries(
    {"stage": st.just("ResponseComplete") | JSON, "verb": st.sampled_from(["create", "delete"]) | JSON},
    optional={
        "objectRef": JSON
        | st.fixed_dictionaries({"resource": st.sampled_from(["namespaces", "secrets", "configmaps"]), "name": JSON}),
        "responseStatus": JSON | st.fixed_dictionaries({"code": JSON | st.just(201)}),
        "responseObject": JSON,
        "user": JSON,
    },
)


@given(st.lists(EVENT_LIKE, max_size=3), st.lists(JSON, max_size=2))
def test_no_event_whatever_it_holds_is_an_error(events: list[Any], others: list[Any]) -> None:
    content = {"messageType": "DATA_MESSAGE", "logEvents": [*({"message": json.dumps(one)} for one in events), *others]}
    found = gaps(packed(gzip.compress(json.dumps(content).encode())))
    assert all(isinstance(gap.namespace, str) and 0 < len(gap.namespace) <= 63 for gap in found)
    assert all(gap.title.partition("/")[0] in ("", "secret", "configmap") for gap in found)


def filter_pattern() -> str:
    stack = Stack(ClusterName="test", AuditLogGroup=LOG_GROUP)
    pattern: str = stack.resources["AuditSubscription"]["Properties"]["FilterPattern"]
    return pattern


PATTERN = FilterPattern(filter_pattern())


@pytest.mark.parametrize(
    "line", RECORDED, ids=[f"{at(json.loads(line), 'verb')}-{n}" for n, line in enumerate(RECORDED)]
)
def test_the_subscription_lets_through_exactly_what_leaves_a_gap(line: str) -> None:
    assert PATTERN.lets_through(line) is bool(in_batch(line))


def test_the_subscription_keeps_back_what_the_namespace_controller_empties() -> None:
    assert PATTERN.lets_through(ALL_DELETED)
    assert not PATTERN.lets_through(
        changed(ALL_DELETED, lambda event: event["user"].update(username=NAMESPACE_CONTROLLER))
    )


def test_the_pattern_is_no_longer_than_cloudwatch_allows() -> None:
    # https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutSubscriptionFilter.html
    assert len(filter_pattern()) <= 1024
