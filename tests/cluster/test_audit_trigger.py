"""From a real audit log to the Secret: an event is logged, the subscription lets it through, the function acts.

CloudWatch Logs is played by the shipped filter pattern and the form of its batches; everything else is real: the API
server with an audit policy like that of EKS, its log, the function's handler with its own bearer token.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit import AuditLog
from tests.support.cloudwatch_logs import FilterPattern, batch
from tests.support.controlplane import ControlPlane
from tests.support.invocation import USER, Aws, Seen, invoke
from tests.support.objects import SECRET, entry, manifest, roles
from tests.support.template import Stack

# The parts that matter here of https://aws.github.io/aws-eks-best-practices/security/docs/detective/
EKS_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "configmaps"]}]},
        {"level": "Request", "verbs": ["get", "list", "watch"]},
        {"level": "RequestResponse", "resources": [{"group": ""}]},
        {"level": "Metadata"},
    ],
}


class Subscription:
    """The deployed subscription: gives the lines that were logged since the last call and that it lets through."""

    def __init__(self, audit_log: Path) -> None:
        stack = Stack(ClusterName="test", AuditLogGroup="/aws/eks/test/cluster")
        self._pattern = FilterPattern(stack.resources["AuditSubscription"]["Properties"]["FilterPattern"])
        self._log = audit_log
        self._read = audit_log.stat().st_size

    def lines(self) -> list[str]:
        with self._log.open("rb") as log:
            log.seek(self._read)
            whole, _, _ = log.read().rpartition(b"\n")
        self._read += len(whole) + 1 if whole else 0
        return [line for line in whole.decode().splitlines() if self._pattern.lets_through(line)]

    def wait(self, timeout: float = 10.0) -> list[str]:
        """Return the next lines, as soon as there are any."""
        deadline = time.monotonic() + timeout
        while not (lines := self.lines()):
            assert time.monotonic() < deadline, "no event was let through"
            time.sleep(0.005)
        return lines


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with Aws() as aws:
        yield aws


@pytest.fixture(scope="module")
def plane(aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    policy = tmp_path_factory.mktemp("audit") / "policy.yaml"
    policy.write_text(json.dumps(EKS_AUDIT_POLICY))
    with ControlPlane(
        authentication_webhook=aws.token_review, extra_arguments=[f"--audit-policy-file={policy}"]
    ) as plane:
        aws.point_at(plane.endpoint, plane.ca_pem)
        yield plane


@pytest.fixture
def subscription(plane: ControlPlane) -> Subscription:
    return Subscription(plane.audit_log)


@pytest.fixture
def names(plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Sequence[str]]:
    """Three names for namespaces, which are removed after the test if it created them."""
    stem = request.function.__name__.removeprefix("test_").replace("_", "-")[:40].strip("-")
    names = [f"{stem}-{number}" for number in range(3)]
    yield names
    existing = {item["metadata"]["name"] for item in plane.request("GET", "/api/v1/namespaces")["items"]}
    for name in set(names) & existing:
        plane.remove_namespace(name)


def deliver(aws: Aws, lines: Sequence[str], *objects: Mapping[str, Any]) -> Seen:
    return invoke(aws, batch(lines), objects=objects)


def applied(seen: Seen) -> list[str]:
    assert seen.error is None
    return sorted(record["namespace"] for record in seen.named("object.applied"))


def summary(seen: Seen) -> dict[str, Any]:
    (record,) = seen.named("refresh.completed")
    return record


def test_a_new_namespace_has_its_secret_at_once(
    aws: Aws,
    plane: ControlPlane,
    subscription: Subscription,
    names: Sequence[str],
    record_property: Callable[[str, object], None],
) -> None:
    invoke(aws)  # warm, as after the first run of a day
    subscription.lines()
    started = time.monotonic()
    plane.create_namespace(names[0])
    created = time.monotonic()
    lines = subscription.wait()
    logged = time.monotonic()
    seen = deliver(aws, lines)
    ended = time.monotonic()

    assert applied(seen) == [names[0]]
    assert plane.get_secret(names[0], SECRET)
    figures = {
        "created_ms": round(1000 * (created - started)),
        "logged_ms": round(1000 * (logged - created)),
        "function_ms": round(1000 * (ended - logged)),
        "total_ms": round(1000 * (ended - started)),
    }
    for name, value in figures.items():
        record_property(name, value)
    print(f"from creation to Secret, without CloudWatch Logs: {figures}")
    assert ended - started < 10


@pytest.mark.parametrize("manager", ["kubectl", "argocd-controller", "kustomize-controller"])
def test_a_namespace_that_an_apply_creates_has_its_secret_at_once(
    aws: Aws, plane: ControlPlane, subscription: Subscription, names: Sequence[str], manager: str
) -> None:
    namespace: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names[0]}}

    def apply(*options: str) -> None:
        arguments = ("apply", "--server-side", f"--field-manager={manager}", *options, "--filename=-")
        plane.kubectl(*arguments, stdin=json.dumps(namespace))

    subscription.lines()
    apply("--dry-run=server")
    assert applied(deliver(aws, subscription.wait())) == [], "nothing was created"
    apply()
    (line,) = subscription.wait()
    assert json.loads(line)["verb"] == "patch"

    assert applied(deliver(aws, [line])) == [names[0]]
    assert plane.get_secret(names[0], SECRET)

    # The same again, and a change: nothing is created by it.
    apply()
    namespace["metadata"]["labels"] = {"a": "b"}
    apply()
    plane.kubectl("label", "namespace", names[0], "c=d")
    time.sleep(1)
    assert subscription.lines() == []


def test_it_costs_one_token_one_list_of_that_name_and_one_patch(
    aws: Aws, plane: ControlPlane, subscription: Subscription, names: Sequence[str]
) -> None:
    plane.create_namespace(names[0])
    lines = subscription.wait()
    audit, tokens = AuditLog(plane.audit_log), len(aws.ecr.calls)
    seen = deliver(aws, lines)

    assert audit.counts(user=USER) == {("list", "namespaces"): 1, ("patch", "secrets"): 1}
    assert len(aws.ecr.calls) == tokens + 1
    (listed,) = (event for event in audit.events(user=USER) if event.verb == "list")
    assert f"metadata.name+in+%28{names[0]}%29" in listed.uri
    assert (summary(seen)["api_requests"], summary(seen)["is_whole"]) == (2, False)


def test_several_events_in_one_batch_take_one_token_and_one_patch_per_namespace(
    aws: Aws, plane: ControlPlane, subscription: Subscription, names: Sequence[str]
) -> None:
    for name in names:
        plane.create_namespace(name)
    lines = subscription.wait()
    while len(lines) < len(names):
        lines += subscription.wait()
    tokens = len(aws.ecr.calls)

    seen = deliver(aws, [*lines, *lines])

    assert applied(seen) == sorted(names)
    assert len(aws.ecr.calls) == tokens + 1


def test_a_name_that_the_server_made_up_gets_its_secret_too(
    aws: Aws, plane: ControlPlane, subscription: Subscription
) -> None:
    created = plane.request("POST", "/api/v1/namespaces", {"metadata": {"generateName": "preview-"}})
    name = created["metadata"]["name"]
    try:
        assert applied(deliver(aws, subscription.wait())) == [name]
    finally:
        plane.remove_namespace(name)


@pytest.mark.parametrize("how", ["by its name", "with all others"])
def test_a_deleted_secret_is_there_again(
    aws: Aws, plane: ControlPlane, subscription: Subscription, namespace_of_plane: str, how: str
) -> None:
    invoke(aws)
    subscription.lines()
    secrets = f"/api/v1/namespaces/{namespace_of_plane}/secrets"
    plane.request("DELETE", f"{secrets}/{SECRET}" if how == "by its name" else secrets)
    assert plane.get_secret(namespace_of_plane, SECRET) is None

    seen = deliver(aws, subscription.wait())

    assert applied(seen) == [namespace_of_plane]
    assert plane.get_secret(namespace_of_plane, SECRET)


SETTINGS = {"kind": "ConfigMap", "name": "baseline", "data": {"LEVEL": {"value": "info"}}}


def written(*include: str) -> list[dict[str, Any]]:
    """Return an entry for each kind beside Secrets."""
    names = ("quota", "limits", "network-policy", "disruption-budget")
    settings = {**SETTINGS, "namespaces": {"include": list(include) or ["*"]}}
    return [settings, *(manifest(name, *include) for name in names)]


@pytest.mark.parametrize("how", ["by its name", "with all others"])
@pytest.mark.parametrize(
    ("plural", "title"),
    [
        ("/api/v1/namespaces/{}/configmaps", "configmap/baseline"),
        ("/api/v1/namespaces/{}/resourcequotas", "resourcequota/baseline"),
        ("/api/v1/namespaces/{}/limitranges", "limitrange/baseline"),
        ("/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies", "networkpolicy/baseline"),
        ("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", "poddisruptionbudget/baseline"),
    ],
)
def test_whatever_was_deleted_is_there_again_and_nothing_else_is_asked_for(
    aws: Aws,
    plane: ControlPlane,
    subscription: Subscription,
    namespace_of_plane: str,
    plural: str,
    title: str,
    how: str,
) -> None:
    plane.apply_roles(roles(entry(), *written()))
    objects = [entry(), *written()]
    created = deliver(aws, subscription.wait(), *objects)
    assert len(created.named("object.applied")) == len(objects)
    path = plural.format(namespace_of_plane)
    plane.request("DELETE", f"{path}/baseline" if how == "by its name" else path)
    lines = subscription.wait()
    audit, tokens = AuditLog(plane.audit_log), len(aws.ecr.calls)

    seen = deliver(aws, lines, *objects)

    assert [(record["object"], record["change"]) for record in seen.named("object.applied")] == [(title, "created")]
    assert plane.request("GET", f"{path}/baseline")
    assert audit.counts(user=USER) == {("list", "namespaces"): 1, ("patch", path.rpartition("/")[2]): 1}
    assert len(aws.ecr.calls) == tokens


@pytest.fixture
def namespace_of_plane(plane: ControlPlane, names: Sequence[str]) -> str:
    plane.create_namespace(names[0])
    return names[0]


def test_a_secret_of_another_name_is_nobodys_business(
    aws: Aws, plane: ControlPlane, subscription: Subscription, namespace_of_plane: str
) -> None:
    """The filter names no object, since they are in the file: what is not there is dropped before a source is read."""
    subscription.wait()
    plane.create_secret(namespace_of_plane, {"metadata": {"name": "other"}}, "somebody")
    plane.request("DELETE", f"/api/v1/namespaces/{namespace_of_plane}/secrets/other")
    lines = subscription.wait()
    audit, tokens = AuditLog(plane.audit_log), len(aws.ecr.calls)

    assert applied(deliver(aws, lines)) == []
    assert audit.counts(user=USER) == {}
    assert len(aws.ecr.calls) == tokens


def test_two_objects_of_one_name_are_each_made_again_where_they_belong(
    aws: Aws, plane: ControlPlane, subscription: Subscription, names: Sequence[str]
) -> None:
    for name in names[:2]:
        plane.create_namespace(name)
    lines = subscription.wait()
    while len(lines) < 2:
        lines += subscription.wait()

    assert applied(deliver(aws, lines, *(entry(include=[name]) for name in names))) == names[:2]


def test_the_source_of_an_object_that_is_not_missing_is_not_read(
    aws: Aws, plane: ControlPlane, subscription: Subscription, names: Sequence[str]
) -> None:
    plane.create_namespace(names[0])
    lines = subscription.wait()
    tokens = len(aws.ecr.calls)
    elsewhere = entry(name="elsewhere", include=names[1:], registries=[{"ecr": {"region": "us-east-1"}}])

    assert applied(deliver(aws, lines, entry(), elsewhere)) == [names[0]]
    assert [call.region for call in aws.ecr.calls[tokens:]] == ["eu-central-1"]


def test_no_request_of_the_refresher_is_let_through_so_there_is_no_loop(
    aws: Aws, plane: ControlPlane, subscription: Subscription, namespace_of_plane: str
) -> None:
    deliver(aws, subscription.wait())
    audit = AuditLog(plane.audit_log)
    invoke(aws)
    invoke(aws, {"namespaces": [namespace_of_plane]})
    assert audit.counts(user=USER)[("patch", "secrets")] > 1

    assert subscription.lines() == []


def test_a_namespace_that_is_going_away_is_skipped(
    aws: Aws, plane: ControlPlane, subscription: Subscription, namespace_of_plane: str
) -> None:
    lines = subscription.wait()
    plane.delete_namespace(namespace_of_plane)

    seen = deliver(aws, lines)

    assert seen.error is None
    assert seen.reasons == {namespace_of_plane: "terminating"}


def test_a_namespace_that_is_gone_or_left_out_is_no_error_and_costs_little(
    aws: Aws, plane: ControlPlane, subscription: Subscription, names: Sequence[str]
) -> None:
    plane.create_namespace(names[0])
    lines = subscription.wait()
    audit, tokens = AuditLog(plane.audit_log), len(aws.ecr.calls)

    left_out = deliver(aws, lines, entry(exclude=[names[0]]))
    assert audit.counts(user=USER) == {}
    assert len(aws.ecr.calls) == tokens

    plane.remove_namespace(names[0])
    gone = deliver(aws, lines)
    assert audit.counts(user=USER) == {("list", "namespaces"): 1}

    for seen in (left_out, gone):
        assert seen.error is None
        assert (summary(seen)["applied"], summary(seen)["skipped"], summary(seen)["failed"]) == (0, 0, 0)


@pytest.mark.usefixtures("plane")
def test_by_hand_the_same_names_are_errors(aws: Aws, names: Sequence[str]) -> None:
    missing = invoke(aws, {"namespaces": [names[0]]})
    assert names[0] in str(missing.error)

    left_out = invoke(aws, {"namespaces": ["kube-system"]}, objects=[entry(exclude=["kube-*"])])
    assert "kube-system" in str(left_out.error)
    assert "the objects leave out" in str(left_out.error)


def test_a_selector_still_holds_for_a_namespace_that_is_named(
    aws: Aws, plane: ControlPlane, subscription: Subscription, names: Sequence[str]
) -> None:
    plane.create_namespace(names[0])
    plane.create_namespace(names[1], {"team": "blue"})
    lines = subscription.wait()
    while len(lines) < 2:
        lines += subscription.wait()

    assert applied(deliver(aws, lines, entry(selector="team in (blue),!legacy"))) == [names[1]]


def test_a_trial_of_the_subscription_calls_nothing(aws: Aws, plane: ControlPlane) -> None:
    audit, tokens = AuditLog(plane.audit_log), len(aws.ecr.calls)

    seen = invoke(aws, batch(["CWL CONTROL MESSAGE: Checking health of destination"], kind="CONTROL_MESSAGE"))

    assert seen.error is None
    assert seen.result is not None
    assert (seen.result["applied"], seen.result["api_requests"], seen.result["expires_at"]) == (0, 0, None)
    assert not any("_aws" in record for record in seen.records), "it wrote metrics"
    assert audit.counts(user=USER) == {}
    assert len(aws.ecr.calls) == tokens
