"""External Secrets Operator beside us: a check names its objects, and Secrets are handed over both ways."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support import adopter, keyed, refresher
from tests.support.adopter import Run, allowed, cluster, secret
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.keyed import owners_of, values_of
from tests.support.objects import SECRET, roles
from upsert.adopt_request import Action
from upsert.core.identity import FIELD_MANAGER
from upsert.core.outcomes import Applied, Failed, Outcome

GROUP = "external-secrets.io"
ROLE = "sees-external-secrets"


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _one_of(default: str, *names: str) -> dict[str, Any]:
    return {"type": "string", "default": default, "enum": [default, *names]}


_TEXT = {"type": "string"}
# What an ExternalSecret says in its version v1, as far as this project has to do with it.
# https://external-secrets.io/latest/api/externalsecret/
SCHEMA = _object(
    spec=_object(
        secretStoreRef=_object(name=_TEXT, kind=_TEXT),
        refreshInterval=_TEXT,
        refreshPolicy={"type": "string", "enum": ["CreatedOnce", "Periodic", "OnChange"]},
        target={
            **_object(
                name=_TEXT,
                creationPolicy=_one_of("Owner", "Orphan", "Merge", "CreateOrMerge", "None"),
                deletionPolicy=_one_of("Retain", "Delete", "Merge"),
                immutable={"type": "boolean"},
            ),
            "default": {"creationPolicy": "Owner", "deletionPolicy": "Retain"},
        },
        data={
            "type": "array",
            "items": _object(secretKey=_TEXT, remoteRef=_object(key=_TEXT, property=_TEXT, version=_TEXT)),
        },
        dataFrom={"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    ),
    status={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
)


@pytest.fixture
def kind(control_plane: ControlPlane) -> Iterator[str]:
    """The kind ExternalSecret, as far as the API server has to know it."""
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
                        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
                    ],
                },
            }
        )
    )
    control_plane.wait_established(f"externalsecrets.{GROUP}")
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


NAME, LIVE = "api-config", {"DB_PASSWORD": b"correct-horse-battery-9", "OTHER": b"\x00\xff"}
NEXT = LIVE | {"DB_PASSWORD": b"the-next-password"}
# How the operator is called in managedFields: by its program where it updates, by the ExternalSecret where it applies.
UPDATES, APPLIES = "external-secrets", f"externalsecrets.external-secrets.io/{NAME}"


class Operator:
    """Plays External Secrets Operator on one ExternalSecret, as its documentation and source tell what it does."""

    def __init__(self, plane: ControlPlane, kind: str, namespace: str) -> None:
        self._plane, self._kind, self._namespace = plane, kind, namespace
        self._path = f"/apis/{kind}/namespaces/{namespace}/externalsecrets/{NAME}"
        self._secret = f"/api/v1/namespaces/{namespace}/secrets/{NAME}"

    def create(self, policy: str) -> None:
        """Create the ExternalSecret as a person does."""
        create(self._plane, self._kind, self._namespace, NAME, creationPolicy=policy)

    def reconcile(self, values: Mapping[str, bytes] = LIVE) -> None:
        """Write the Secret as the policy says: update it, or, to merge, apply with force what the store holds."""
        found = self._plane.request("GET", self._path)
        policy = found["spec"]["target"]["creationPolicy"]
        owner = {"apiVersion": self._kind, "kind": "ExternalSecret", "name": NAME, "uid": found["metadata"]["uid"]}
        document = keyed.body(NAME, values)
        there = self._plane.get_secret(self._namespace, NAME)
        if policy == "Merge" or (policy == "CreateOrMerge" and there):
            query = {"fieldManager": APPLIES, "force": "true"}
            apply = "application/apply-patch+yaml"
            self._plane.request("PATCH", self._secret, document, query=query, content_type=apply)
            return
        metadata = there["metadata"] if there else document["metadata"]
        # An Owner takes an object that has no owner yet.
        owners = metadata.get("ownerReferences") or [{**owner, "controller": True}]
        document["metadata"] = {**metadata, **({"ownerReferences": owners} if policy == "Owner" else {})}
        path, method = (self._secret, "PUT") if there else (self._secret.removesuffix(f"/{NAME}"), "POST")
        self._plane.request(method, path, document, query={"fieldManager": UPDATES})

    def stop(self) -> None:
        """Have it own nothing, keep what is there, and look once only, as a person does before anything else."""
        policies = {"creationPolicy": "Orphan", "deletionPolicy": "Retain"}
        patch = json.dumps({"spec": {"refreshPolicy": "CreatedOnce", "target": policies}})
        self._kubectl("patch", f"externalsecrets.{GROUP}", NAME, "--type=merge", f"--patch={patch}")

    def disown(self) -> None:
        """Take the ownerReference off the Secret, as a person does who has stopped the operator."""
        self._kubectl("patch", "secret", NAME, "--type=merge", '--patch={"metadata":{"ownerReferences":null}}')

    def delete(self) -> None:
        """Delete the ExternalSecret, and, as the garbage collector does, what it alone owns."""
        self._kubectl("delete", f"externalsecrets.{GROUP}", NAME)
        found = self._plane.get_secret(self._namespace, NAME)
        if found and found["metadata"].get("ownerReferences"):
            self._plane.request("DELETE", self._secret)

    def _kubectl(self, *arguments: str) -> None:
        self._plane.kubectl(*arguments, f"--namespace={self._namespace}")


@pytest.fixture
def operator(control_plane: ControlPlane, namespace: str, kind: str) -> Iterator[Operator]:
    one = keyed.entry(NAME, LIVE)
    control_plane.apply_roles("\n---\n".join([roles(one), roles(one, is_adopter=True)]))
    yield Operator(control_plane, kind, namespace)
    control_plane.apply_roles("\n---\n".join([roles(), roles(is_adopter=True)]))


def run(plane: ControlPlane, namespace: str, action: Action) -> Run:
    objects = [keyed.keyed_object(NAME, LIVE)]
    return adopter.run(cluster(plane), action, namespace, objects=objects, read=keyed.read_from(LIVE))


def refresh(plane: ControlPlane, namespace: str, values: Mapping[str, bytes]) -> Outcome:
    one = keyed.keyed_object(NAME, values)
    done = refresher.run(refresher.writer(plane), keyed.source(values), one, namespaces=[namespace])
    return done.outcomes[namespace]


def found(plane: ControlPlane, namespace: str) -> dict[str, Any]:
    secret = plane.get_secret(namespace, NAME)
    assert secret is not None, "the Secret is gone"
    return secret


POLICIES = ("Owner", "Orphan", "Merge", "CreateOrMerge")


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("policy", POLICIES)
def test_from_the_operator_to_here_nothing_is_lost_in_this_order(
    control_plane: ControlPlane, namespace: str, operator: Operator, policy: str
) -> None:
    if policy == "Merge":
        control_plane.create_secret(namespace, keyed.body(NAME, {"OTHER": LIVE["OTHER"]}), "kubectl-create")
    operator.create(policy)
    operator.reconcile()
    before = found(control_plane, namespace)
    notes = run(control_plane, namespace, Action.CHECK).lines
    assert f"{namespace}/{NAME}: note: ExternalSecret {NAME} writes it (creationPolicy {policy}): stop that first" in (
        notes
    )
    assert any("owned by ExternalSecret/" in line for line in notes) == (policy == "Owner")

    operator.stop()
    operator.disown()
    # It may look once more, since it was changed.
    operator.reconcile()
    assert run(control_plane, namespace, Action.ADOPT).report.counts == {"adopted": 1}
    operator.delete()

    after = found(control_plane, namespace)
    assert values_of(after) == values_of(before) == LIVE
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert not after["metadata"].get("ownerReferences")
    assert owners_of(after) == {FIELD_MANAGER}
    assert isinstance(refresh(control_plane, namespace, NEXT), Applied)
    rotated = found(control_plane, namespace)
    assert (values_of(rotated), rotated["metadata"]["uid"]) == (NEXT, before["metadata"]["uid"])


def test_in_the_other_order_the_secret_goes_with_the_external_secret(
    control_plane: ControlPlane, namespace: str, operator: Operator
) -> None:
    """So the steps are needed: adopting leaves an ownerReference alone."""
    operator.create("Owner")
    operator.reconcile()
    run(control_plane, namespace, Action.ADOPT)
    operator.delete()
    assert control_plane.get_secret(namespace, NAME) is None


def test_a_policy_of_owner_takes_the_secret_again_unless_it_is_changed_first(
    control_plane: ControlPlane, namespace: str, operator: Operator
) -> None:
    operator.create("Owner")
    operator.reconcile()
    operator.disown()
    operator.reconcile()
    assert found(control_plane, namespace)["metadata"]["ownerReferences"]


@pytest.mark.parametrize("policy", ["Owner", "Orphan"])
def test_an_operator_that_goes_on_with_the_same_bytes_claims_nothing(
    control_plane: ControlPlane, namespace: str, operator: Operator, policy: str
) -> None:
    operator.create(policy)
    operator.reconcile()
    run(control_plane, namespace, Action.ADOPT)
    operator.reconcile()
    assert owners_of(found(control_plane, namespace)) == {FIELD_MANAGER}
    operator.reconcile(NEXT)
    outcome = refresh(control_plane, namespace, LIVE)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, UPDATES in outcome.remedy) == ("contested", True), "it is named, and not written over"
    assert values_of(found(control_plane, namespace)) == NEXT


@pytest.mark.parametrize("policy", POLICIES)
def test_back_to_the_operator_nothing_is_lost_either(
    control_plane: ControlPlane, namespace: str, operator: Operator, policy: str
) -> None:
    assert isinstance(refresh(control_plane, namespace, LIVE), Applied)
    before = found(control_plane, namespace)
    assert run(control_plane, namespace, Action.RELEASE).report.counts == {"released": 1}
    operator.create(policy)
    operator.reconcile()
    taken = found(control_plane, namespace)
    assert values_of(taken) == LIVE
    assert taken["metadata"]["uid"] == before["metadata"]["uid"]
    operator.reconcile(NEXT)
    rotated = found(control_plane, namespace)
    assert (values_of(rotated), rotated["metadata"]["uid"]) == (NEXT, before["metadata"]["uid"])
    assert FIELD_MANAGER not in owners_of(rotated)
