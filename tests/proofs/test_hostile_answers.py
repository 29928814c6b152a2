"""A real API server made hostile: by an admission webhook that quotes the Secret, and a proxy that echoes requests."""

import base64
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.proofs.conftest import Crowd
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.faults import Fault, FaultProxy
from tests.support.invocation import Aws, Seen, canary, invoke
from tests.support.refresher import SECRET
from tests.support.standin import Reply, Request, Standin
from upsert import rounds

LABEL = "hostile-webhook"


def verdict(allowed: bool, quoted: str, code: int = 0) -> dict[str, Any]:
    """Return an answer of an admission webhook that quotes what it was given, wherever text may stand."""
    status = {"code": code, "message": quoted, "reason": quoted[:200], "status": "Failure"}
    return {"allowed": allowed, "warnings": [quoted[-100:], quoted[:200]], "auditAnnotations": {"x": quoted[:200]}} | (
        {} if allowed else {"status": status}
    )


type Behaviour = Callable[[str], dict[str, Any] | None]
# What the webhook does, and what the remedy then says of it.
WEBHOOK: dict[str, tuple[Behaviour, str]] = {
    "denies": (lambda quoted: verdict(False, quoted, 403), "refused the Secret (status 403)"),
    "denies-without-a-code": (lambda quoted: verdict(False, quoted), "refused the Secret (status 400)"),
    "denies-with-400": (lambda quoted: verdict(False, quoted, 400), "refused the Secret (status 400)"),
    "denies-with-429": (lambda quoted: verdict(False, quoted, 429), "refused the Secret (status 429)"),
    "denies-with-503": (lambda quoted: verdict(False, quoted, 503), "refused the Secret (status 503)"),
    "warns": (lambda quoted: verdict(True, quoted), ""),
    "is-broken": (lambda _: None, "did not answer the API server (status 500)"),
}


@pytest.fixture(scope="module")
def webhook(plane: ControlPlane) -> Iterator[None]:
    """An admission webhook over every namespace with the label, whose value says how it behaves."""
    certificate = make_serving_certificate()

    def review(request: Request) -> Reply:
        asked = json.loads(request.body)["request"]
        behaviour, _ = WEBHOOK[asked["namespace"].partition(".")[0].removesuffix("-0000")]
        response = behaviour(json.dumps(asked["object"]))
        if response is None:
            return Reply(500, request.body)
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return Reply(body=body | {"response": {"uid": asked["uid"], **response}})

    with Standin(review, certificate) as standin:
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hostile"},
            "webhooks": [_hook(standin.url, certificate.ca_pem)],
        }
        plane.apply_yaml(json.dumps(configuration))
        yield
        plane.kubectl("delete", "validatingwebhookconfiguration", "hostile")


def _hook(url: str, ca_pem: str) -> Mapping[str, Any]:
    return {
        "name": "hostile.example.com",
        "clientConfig": {"url": f"{url}/", "caBundle": base64.b64encode(ca_pem.encode()).decode()},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["secrets"]}
        ],
        "namespaceSelector": {"matchExpressions": [{"key": LABEL, "operator": "Exists"}]},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.05)
    monkeypatch.setattr(rounds, "_PATIENCE_SECONDS", 1.0)


def assert_silent(seen: Seen, aws: Aws) -> int:
    """Check that no text of the run holds a part of a secret, and return how many strings were searched for."""
    known = canary(seen.passwords, aws.bearers[-1:])
    assert {name for text in seen.texts for name in known.leaks(text)} == set()
    return known.parts_known


@pytest.mark.usefixtures("webhook")
def test_an_admission_webhook_that_quotes_the_secret_is_not_quoted(aws: Aws, plane: ControlPlane) -> None:
    names = {f"{behaviour}-0000": said for behaviour, (_, said) in WEBHOOK.items()}
    for name in names:
        plane.create_namespace(name, {LABEL: "on"})
    seen = wait_for_webhook(aws, plane, list(names))
    searched = assert_silent(seen, aws)
    for name in names:
        plane.remove_namespace(name)
    print(f"\nproof: hostile webhook: reasons={seen.reasons} strings searched for={searched} leaks=0")
    assert seen.reasons == {name: "denied" for name, said in names.items() if said}
    assert [record["namespace"] for record in seen.named("object.applied")] == ["warns-0000"]
    for record in seen.named("object.failed"):
        assert record["remedy"].startswith(f"admission webhook hostile.example.com {names[record['namespace']]}")


def wait_for_webhook(aws: Aws, plane: ControlPlane, names: list[str]) -> Seen:
    """Refresh until the API server knows of the webhook: it learns of it through a watch. Return the last run."""
    for _ in range(50):
        seen = invoke(aws, {"namespaces": names}, root_level=logging.DEBUG)
        if "denies-0000" in seen.reasons:
            break
        for name in names:
            plane.request("DELETE", f"/api/v1/namespaces/{name}/secrets/{SECRET}")
    return seen


@pytest.mark.parametrize("fault", [Fault.ECHO, Fault.HTML, Fault.HUGE_STATUS, Fault.TRUNCATED])
def test_a_load_balancer_that_echoes_the_request_is_not_quoted(
    fault: Fault, aws: Aws, plane: ControlPlane, crowd: Crowd
) -> None:
    echoed, whole = crowd(2)
    with FaultProxy(plane, lambda passage: fault if passage.namespace == echoed else None) as proxy:
        aws.point_at(proxy.endpoint, proxy.ca_pem)
        seen = invoke(aws, {"namespaces": [echoed, whole]}, root_level=logging.DEBUG)
    assert_silent(seen, aws)
    assert set(seen.reasons) == {echoed}
    assert proxy.injected[fault] > 0
