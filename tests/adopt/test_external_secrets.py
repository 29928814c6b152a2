"""ExternalSecrets beside the Secret: named by a check that may see them, and no hindrance to one that may not."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.support import adopter
from tests.support.adopter import allowed, cluster, secret
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.objects import SECRET
from upsert.adopt_request import Action

GROUP = "external-secrets.io"
ROLE = "sees-external-secrets"


@pytest.fixture
def kind(control_plane: ControlPlane) -> Iterator[str]:
    """The kind ExternalSecret, as far as the API server has to know it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    control_plane.apply_yaml(
        json.dumps(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"externalsecrets.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "names": {"kind": "ExternalSecret", "plural": "externalsecrets", "singular": "externalsecret"},
                    "scope": "Namespaced",
                    "versions": [
                        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
                    ],
                },
            }
        )
    )
    control_plane.kubectl("wait", "--for=condition=Established", f"crd/externalsecrets.{GROUP}", "--timeout=30s")
    yield f"{GROUP}/v1"
    control_plane.kubectl("delete", "crd", f"externalsecrets.{GROUP}")


@pytest.fixture
def _allowed(control_plane: ControlPlane) -> Iterator[None]:
    rule = {"apiGroups": [GROUP], "resources": ["externalsecrets"], "verbs": ["list"]}
    api = "/apis/rbac.authorization.k8s.io/v1"
    control_plane.request("POST", f"{api}/clusterroles", {"metadata": {"name": ROLE}, "rules": [rule]})
    control_plane.kubectl("create", "clusterrolebinding", ROLE, f"--clusterrole={ROLE}", "--group=eks-upsert-adopter")
    deadline = time.monotonic() + 10
    while not allowed(control_plane, "list", "externalsecrets", group=GROUP):
        assert time.monotonic() < deadline, "the API server did not learn of the role"
        time.sleep(0.05)
    yield
    control_plane.kubectl("delete", "clusterrolebinding", ROLE)
    control_plane.kubectl("delete", "clusterrole", ROLE)
    while allowed(control_plane, "list", "externalsecrets", group=GROUP):
        assert time.monotonic() < deadline + 10, "the API server did not forget the role"
        time.sleep(0.05)


def create(control_plane: ControlPlane, kind: str, namespace: str, called: str, **target: str) -> None:
    body = {"apiVersion": kind, "kind": "ExternalSecret", "metadata": {"name": called}, "spec": {"target": target}}
    control_plane.kubectl("create", "--namespace", namespace, "--filename=-", stdin=json.dumps(body))


@pytest.mark.usefixtures("_allowed")
def test_those_that_write_the_secret_are_named_with_their_policy(
    control_plane: ControlPlane, namespace: str, kind: str
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    create(control_plane, kind, namespace, "registry-login", name=SECRET, creationPolicy="Merge")
    create(control_plane, kind, namespace, SECRET)
    create(control_plane, kind, namespace, "database", name="database-password")
    run = adopter.run(cluster(control_plane), Action.CHECK, namespace)
    assert [line for line in run.lines if "ExternalSecret" in line] == [
        f"{namespace}/{SECRET}: note: ExternalSecret {SECRET} writes it (creationPolicy Owner): stop that first",
        f"{namespace}/{SECRET}: note: ExternalSecret registry-login writes it (creationPolicy Merge): stop that first",
    ]
    assert run.lines[-1] == f"{namespace}/{SECRET}: adoptable"
    assert run.report.saw_external_secrets


@pytest.mark.usefixtures("_allowed")
def test_a_cluster_without_the_kind_is_asked_for_each_version_once(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    target, audit = cluster(control_plane), AuditLog(control_plane.audit_log)
    for _ in range(2):
        run = adopter.run(target, Action.CHECK, namespace)
        assert run.lines[-1] == f"{namespace}/{SECRET}: adoptable"
        assert run.report.saw_external_secrets
    assert audit.counts(user="adopter")["list", "externalsecrets"] == 2


def test_without_leave_to_see_them_they_are_asked_for_once(
    control_plane: ControlPlane, namespace: str, kind: str
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    create(control_plane, kind, namespace, SECRET)
    target, audit = cluster(control_plane), AuditLog(control_plane.audit_log)
    for _ in range(2):
        run = adopter.run(target, Action.CHECK, namespace)
        assert run.lines[-1] == f"{namespace}/{SECRET}: adoptable"
        assert not run.report.saw_external_secrets
    assert audit.counts(user="adopter")["list", "externalsecrets"] == 1
