"""What webhooks, policies and quotas of a cluster say is told as theirs, and under no other name."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.refresher import SECRET, pull_secret, run, writer
from tests.support.standin import Reply, Request, Standin
from tests.support.webhooks import configuration, hook
from upsert import rounds
from upsert.core.outcomes import Applied, Failed

LABEL = "admission"
VALIDATING, MUTATING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
# What a webhook may answer with, by the label of the namespace: a code, and a message of its own.
DENIALS: Mapping[str, tuple[int, str]] = {
    "none": (0, "no"),
    "c400": (400, "no"),
    "c401": (401, "no"),
    "c403": (403, "exceeded quota: everything"),
    "c404": (404, 'namespaces "x" not found'),
    "c409": (409, "Apply failed with 1 conflict"),
    "c422": (422, "field is immutable"),
    "c429": (429, "later"),
    "c503": (503, "down"),
}


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.02)


@pytest.fixture(scope="module")
def webhook(control_plane: ControlPlane) -> Iterator[None]:
    """A webhook that denies as the namespace's name ends."""
    certificate = make_serving_certificate()

    def review(request: Request) -> Reply:
        asked = json.loads(request.body)["request"]
        code, message = DENIALS[asked["namespace"].rpartition("-")[2]]
        status = {"status": "Failure", "message": message, **({"code": code} if code else {})}
        response = {"uid": asked["uid"], "allowed": False, "status": status}
        return Reply(body={"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    with Standin(review, certificate) as standin:
        one = hook("denies.example.com", standin.url, certificate.ca_pem, label=LABEL, seconds=5, policy="Fail")
        control_plane.apply_yaml(json.dumps(configuration("denies", one)))
        time.sleep(2)
        yield
        control_plane.kubectl("delete", "validatingwebhookconfiguration", "denies")


def failed(control_plane: ControlPlane, namespace: str) -> Failed:
    outcome = run(writer(control_plane), namespaces=[namespace]).outcomes[namespace]
    assert isinstance(outcome, Failed), outcome
    return outcome


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize("denial", DENIALS)
def test_a_webhooks_denial_is_told_as_its_own_whatever_it_answers(
    control_plane: ControlPlane, namespace: str, denial: str
) -> None:
    name = f"{namespace}-{denial}"
    control_plane.create_namespace(name, {LABEL: "on"})

    outcome = failed(control_plane, name)
    control_plane.remove_namespace(name)

    assert outcome.reason == "denied"
    assert outcome.remedy.startswith("admission webhook denies.example.com refused the Secret")


RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["secrets"]}


@contextmanager
def policy(
    control_plane: ControlPlane, namespace: str, name: str, spec: Mapping[str, Any], *, kind: str = VALIDATING
) -> Iterator[None]:
    """Have an admission policy decide about the Secrets of a namespace, until the block ends."""
    version = "admissionregistration.k8s.io/v1"
    base = {"apiVersion": version, "metadata": {"name": name}}
    of_binding = {
        "policyName": name,
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}},
        **({"validationActions": ["Deny"]} if kind == VALIDATING else {}),
        **({"paramRef": {"name": "not-there", "parameterNotFoundAction": "Deny"}} if "paramKind" in spec else {}),
    }
    of_policy = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [RULE]}, **spec}
    items = [{**base, "kind": kind, "spec": of_policy}, {**base, "kind": f"{kind}Binding", "spec": of_binding}]
    control_plane.apply_yaml(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    try:
        yield
    finally:
        control_plane.kubectl("delete", f"{kind}Binding,{kind}", name)


@pytest.mark.parametrize("reason", ["Forbidden", "Invalid", "RequestEntityTooLarge"])
def test_a_policys_denial_is_told_as_its_own(control_plane: ControlPlane, namespace: str, reason: str) -> None:
    name = f"policy-{reason.lower()}.example.com"
    validation = {"expression": "false", "message": "exceeded quota: no", "reason": reason}
    with policy(control_plane, namespace, name, {"validations": [validation]}):
        outcome = _once_denied(control_plane, namespace)

    assert outcome.reason == "denied"
    assert outcome.remedy.startswith(f"ValidatingAdmissionPolicy {name} refused the Secret")


# There is no such label, so it cannot be evaluated.
MUTATION = '[JSONPatch{op: "replace", path: "/type", value: object.metadata.labels["none"]}]'


def test_a_mutating_policy_that_fails_is_told_as_the_cause(control_plane: ControlPlane, namespace: str) -> None:
    if MUTATING not in control_plane.kubectl("api-resources"):
        minor = int(control_plane.request("GET", "/version")["minor"].rstrip("+"))
        assert minor < 36
        pytest.skip(f"{MUTATING} is off unless asked for before Kubernetes 1.36, and EKS does not ask for it")
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": MUTATION}}]
    spec = {"mutations": mutations, "reinvocationPolicy": "Never"}
    with policy(control_plane, namespace, "mutates.example.com", spec, kind=MUTATING):
        outcome = _once_denied(control_plane, namespace)

    assert outcome.reason == "denied"
    assert outcome.remedy.startswith("MutatingAdmissionPolicy mutates.example.com refused the Secret")


def test_a_policy_without_its_parameters_is_told_as_the_cause(control_plane: ControlPlane, namespace: str) -> None:
    spec = {"validations": [{"expression": "true"}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    with policy(control_plane, namespace, "asks.example.com", spec):
        outcome = _once_denied(control_plane, namespace)

    assert outcome.reason == "denied"
    assert outcome.remedy.startswith("ValidatingAdmissionPolicy asks.example.com refused the Secret")


def test_a_webhook_that_is_not_there_is_told_as_the_cause(control_plane: ControlPlane, namespace: str) -> None:
    url, ca_pem = "https://127.0.0.1:1", make_serving_certificate().ca_pem
    one = hook("gone.example.com", url, ca_pem, label="gone", seconds=1, policy="Fail")
    control_plane.kubectl("label", "namespace", namespace, "gone=yes")
    control_plane.apply_yaml(json.dumps(configuration("gone", one)))
    try:
        outcome = _once_denied(control_plane, namespace)
    finally:
        control_plane.kubectl("delete", "validatingwebhookconfiguration", "gone")

    assert (outcome.reason, outcome.status) == ("denied", 500)
    assert outcome.remedy.startswith("admission webhook gone.example.com did not answer the API server")


def test_a_policy_that_keeps_the_old_copy_is_told_as_the_cause(control_plane: ControlPlane, namespace: str) -> None:
    """It lets an apply over kubectl's Secret through, and refuses the removal of the annotation."""
    annotation = "object.metadata.?annotations[?'kubectl.kubernetes.io/last-applied-configuration'].hasValue()"
    validation = {"expression": annotation, "message": "others changed it", "reason": "Forbidden"}
    with policy(control_plane, namespace, "keeps.example.com", {"validations": [validation]}):
        _once_denied(control_plane, namespace)
        control_plane.kubectl("apply", "--namespace", namespace, "-f-", stdin=json.dumps(pull_secret()))
        outcome = failed(control_plane, namespace)

    assert outcome.reason == "stale-copy"
    assert "(ValidatingAdmissionPolicy keeps.example.com refused its removal)" in outcome.remedy


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "app", "uid": "00000000-0000-4000-8000-000000000000"}
ANNOTATION = "/metadata/annotations/eks-upsert~1expires-at"
# What a webhook may make of the Secret, by how the namespace's name ends, and how that is told.
CHANGES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "drops": ({"op": "remove", "path": ANNOTATION}, "annotation-differs"),
    "dates": ({"op": "replace", "path": ANNOTATION, "value": "2040-01-02T03:04:05Z"}, "annotation-differs"),
    "owns": ({"op": "add", "path": "/metadata/ownerReferences", "value": [OWNER]}, "has-owner"),
}


@pytest.fixture(scope="module")
def mutating_webhook(control_plane: ControlPlane) -> Iterator[None]:
    """A webhook that changes Secrets as the namespace's name ends."""
    certificate = make_serving_certificate()

    def review(request: Request) -> Reply:
        asked = json.loads(request.body)["request"]
        patch, _ = CHANGES[asked["namespace"].rpartition("-")[2]]
        encoded = base64.b64encode(json.dumps([patch]).encode()).decode()
        response = {"uid": asked["uid"], "allowed": True, "patchType": "JSONPatch", "patch": encoded}
        return Reply(body={"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    with Standin(review, certificate) as standin:
        one = hook("changes.example.com", standin.url, certificate.ca_pem, label="changes", seconds=5, policy="Fail")
        control_plane.apply_yaml(json.dumps(configuration("changes", one, kind="Mutating")))
        yield
        control_plane.kubectl("delete", "mutatingwebhookconfiguration", "changes")


@pytest.mark.usefixtures("mutating_webhook")
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_webhook_changes_of_the_metadata_is_told(
    control_plane: ControlPlane, namespace: str, change: str
) -> None:
    name = f"{namespace}-{change}"
    control_plane.create_namespace(name, {"changes": "on"})
    _once_altered(control_plane, name)

    runs = [run(writer(control_plane), namespaces=[name], dry_run=dry_run) for dry_run in (True, False, False)]
    control_plane.remove_namespace(name)

    told = [(one.outcomes[name], one.report.altered) for one in runs]
    assert [(outcome.change, outcome.altered, count) for outcome, count in told if isinstance(outcome, Applied)] == [
        (done, (CHANGES[change][1],), 1) for done in ("created", "created", "updated")
    ]


def _once_altered(control_plane: ControlPlane, namespace: str) -> None:
    """Refresh until the API server knows of the webhook, and leave nothing there."""
    for _ in range(100):
        outcome = run(writer(control_plane), namespaces=[namespace]).outcomes[namespace]
        assert isinstance(outcome, Applied), outcome
        control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/secrets/{SECRET}")
        if outcome.altered:
            return
        time.sleep(0.1)
    raise AssertionError("nothing was ever in force")


def _once_denied(control_plane: ControlPlane, namespace: str) -> Failed:
    """Refresh until the API server knows of the policy or quota: it learns of it through a watch."""
    for _ in range(100):
        outcome = run(writer(control_plane), namespaces=[namespace]).outcomes[namespace]
        if isinstance(outcome, Failed):
            return outcome
        control_plane.request("DELETE", f"/api/v1/namespaces/{namespace}/secrets/{SECRET}")
        time.sleep(0.1)
    raise AssertionError("nothing was ever in force")


def test_a_quota_that_nobody_counted_yet_is_named_and_waited_for_in_the_same_run(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    quota = control_plane.request("POST", path, {"metadata": {"name": "new"}, "spec": {"hard": {"secrets": "5"}}})

    def count(**status: Any) -> None:
        found = control_plane.request("GET", f"{path}/new")
        control_plane.request("PUT", f"{path}/new/status", found | {"status": {"hard": {"secrets": "5"}, **status}})

    assert not quota.get("status")
    count()

    outcome = _once_denied(control_plane, namespace)

    assert (outcome.reason, outcome.status) == ("forbidden", 403)
    assert "nobody counts for the ResourceQuota new" in outcome.remedy
    assert "rbac" not in outcome.remedy

    def backoff(tries: int) -> float:
        if tries == 2:
            count(used={"secrets": "0"})
        return 0.2

    monkeypatch.setattr(rounds, "backoff", backoff)
    created = run(writer(control_plane), namespaces=[namespace]).outcomes[namespace]
    assert isinstance(created, Applied), created
    assert created.change == "created"
