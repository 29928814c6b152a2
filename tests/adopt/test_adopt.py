"""Adopting, on a real API server, as the shipped ClusterRole: byte for byte, and nothing without a clean check."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.adopt.test_check import PRETTY, QUAY, REORDERED
from tests.support import adopter, refresher
from tests.support.adopter import (
    ECR,
    NEW,
    OLD,
    FakeKept,
    Run,
    allowed,
    cluster,
    config,
    digests,
    entry,
    managers,
    secret,
)
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.refresher import HOST, SECRET
from upsert.adapters.kube_adopter import Adopter
from upsert.core.answers import Answer
from upsert.core.manifest import DATA_KEY, EXPIRES_AT, FIELD_MANAGER, LAST_APPLIED
from upsert.core.sensitive import Sensitive
from upsert.errors import NamespacesFailed
from upsert.settings import Action

OWNER = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "name": "registry-login",
    "uid": "5d7e9c1e-0000-4000-8000-000000000001",
    "blockOwnerDeletion": False,
}


def adopt(control_plane: ControlPlane, namespace: str, **more: Any) -> Run:
    return adopter.run(cluster(control_plane), Action.ADOPT, namespace, **more)


def apply_with_kubectl(control_plane: ControlPlane, namespace: str, body: Mapping[str, Any]) -> None:
    control_plane.kubectl("apply", "--namespace", namespace, "--filename=-", stdin=json.dumps(body))


CLEAN: Mapping[str, dict[str, Any]] = {
    "as kubectl creates it": secret(),
    "a trailing newline after the text": secret(config(ECR) + b"\n"),
    "CRLF between the lines": secret(PRETTY.replace(b"\n", b"\r\n")),
    "JSON key order": secret(REORDERED),
    "auth alone": secret({HOST: {"auth": ECR[HOST]["auth"]}}),
    "an owner and a finalizer": secret(metadata={"ownerReferences": [OWNER], "finalizers": ["example.com/keep"]}),
    "of a Helm release": secret(
        metadata={
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "pull-secrets", "meta.helm.sh/release-namespace": "default"},
        }
    ),
}


@pytest.mark.parametrize("case", CLEAN)
def test_an_adopted_secret_is_the_same_but_for_who_manages_it(
    control_plane: ControlPlane, namespace: str, case: str
) -> None:
    before = control_plane.create_secret(namespace, CLEAN[case], "kubectl-create")
    run = adopt(control_plane, namespace)
    after = control_plane.get_secret(namespace, SECRET)
    assert after is not None
    assert digests(after) == digests(before)
    assert managers(after) == {"kubectl-create", FIELD_MANAGER}
    for found in (before, after):
        del found["metadata"]["managedFields"], found["metadata"]["resourceVersion"]
    assert after == before, "uid, type, labels, annotations, ownerReferences and finalizers stay"
    lines = run.lines
    assert lines[-1] == f"{namespace}: adopted (uid the same, ownerReferences untouched)"
    assert lines[:-1] == sorted(lines[:-1])
    assert all(line.endswith(": MATCH") for line in lines[:-1])
    assert f"{namespace}/.dockerconfigjson: MATCH" in lines
    assert run.report.error() is None
    # What the test put there to stay has to go with the namespace.
    control_plane.kubectl("patch", "secret", SECRET, "-n", namespace, "-p", '{"metadata":{"finalizers":null}}')


def test_every_key_is_reported_as_a_match(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(ECR | QUAY), "kubectl-create")
    assert adopt(control_plane, namespace, kept=FakeKept(config(QUAY).decode())).lines == [
        f"{namespace}/.dockerconfigjson: MATCH",
        f"{namespace}/{HOST}/auth: MATCH",
        f"{namespace}/{HOST}/password: MATCH",
        f"{namespace}/{HOST}/username: MATCH",
        f"{namespace}/quay.io/auth: MATCH",
        f"{namespace}/quay.io/password: MATCH",
        f"{namespace}/quay.io/username: MATCH",
        f"{namespace}: adopted (uid the same, ownerReferences untouched)",
    ]


def test_the_leaking_annotation_goes_and_the_value_stays(control_plane: ControlPlane, namespace: str) -> None:
    apply_with_kubectl(control_plane, namespace, secret())
    before = control_plane.get_secret(namespace, SECRET)
    lines = adopt(control_plane, namespace).lines
    after = control_plane.get_secret(namespace, SECRET)
    assert before is not None
    assert after is not None
    assert LAST_APPLIED in before["metadata"]["annotations"]
    assert LAST_APPLIED not in after["metadata"].get("annotations", {})
    assert digests(after) == digests(before)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert lines[-1] == (
        f"{namespace}: adopted (uid the same, ownerReferences untouched, last-applied-configuration removed)"
    )


def test_adopting_again_writes_nothing(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    adopt(control_plane, namespace)
    before = control_plane.get_secret(namespace, SECRET)
    audit = AuditLog(control_plane.audit_log)
    lines = adopt(control_plane, namespace).lines
    assert lines[-1] == f"{namespace}: adopted already (uid the same, ownerReferences untouched)"
    assert control_plane.get_secret(namespace, SECRET) == before
    assert audit.counts(user="adopter") == {
        ("list", "namespaces"): 1,
        ("get", "secrets"): 2,
        ("list", "externalsecrets"): 1,
    }


def test_a_secret_that_the_refresher_wrote_keeps_its_annotation(control_plane: ControlPlane, namespace: str) -> None:
    refresher.run(refresher.cluster(control_plane), namespaces=[namespace])
    before = control_plane.get_secret(namespace, SECRET)
    adopt(control_plane, namespace)
    assert before is not None
    assert EXPIRES_AT in before["metadata"]["annotations"]
    assert control_plane.get_secret(namespace, SECRET) == before


def test_the_next_refresh_rotates_an_adopted_secret_and_keeps_its_uid(
    control_plane: ControlPlane, namespace: str
) -> None:
    before = control_plane.create_secret(namespace, secret(), "kubectl-create")
    adopt(control_plane, namespace)
    run = refresher.run(refresher.cluster(control_plane), refresher.logins(password=NEW), namespaces=[namespace])
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(before) == OLD
    assert refresher.password_in(after) == NEW
    assert run.report.failures == ()
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert managers(after) == {FIELD_MANAGER}


UNCLEAN: Mapping[str, tuple[dict[str, Any], str]] = {
    "another registry": (
        secret(ECR | QUAY),
        "not adoptable: only in live: quay.io/auth, quay.io/password, quay.io/username",
    ),
    "another data key": (secret(data={"notes.txt": b"by hand"}), "not adoptable: only in live: notes.txt"),
    "a trailing newline in a value": (
        secret({HOST: entry("AWS\n", OLD)}),
        f"not adoptable: differs: {HOST}/username",
    ),
    "https:// on the host": (
        secret({f"https://{HOST}": entry("AWS", OLD)}),
        f"not adoptable: differs: https://{HOST}",
    ),
    "immutable": (secret(immutable=True), "not adoptable: immutable"),
    "another type": (
        secret(type="Opaque"),
        "not adoptable: type is Opaque, expected kubernetes.io/dockerconfigjson",
    ),
    "no docker config": (
        secret(b"\xef\xbb\xbf{}", type="Opaque"),
        "not adoptable: type is Opaque, expected kubernetes.io/dockerconfigjson; differs: .dockerconfigjson",
    ),
}


@pytest.mark.parametrize("case", UNCLEAN)
def test_what_is_not_clean_is_refused_named_and_untouched(
    control_plane: ControlPlane, namespace: str, case: str
) -> None:
    body, reason = UNCLEAN[case]
    before = control_plane.create_secret(namespace, body, "kubectl-create")
    audit = AuditLog(control_plane.audit_log)
    run = adopt(control_plane, namespace)
    assert control_plane.get_secret(namespace, SECRET) == before, "the resourceVersion did not move either"
    assert run.lines[-1] == f"{namespace}: refused: {reason}"
    assert ("patch", "secrets") not in audit.counts(user="adopter")
    error = run.report.error()
    assert isinstance(error, NamespacesFailed)
    assert str(error) == f"1 of 1 namespaces were not adopted: {namespace}: {reason}. The log has every line"


def test_a_missing_secret_is_left_to_the_next_refresh(control_plane: ControlPlane, namespace: str) -> None:
    run = adopt(control_plane, namespace)
    assert run.lines == [
        f"{namespace}/aws-ecr-token: MISSING",
        f"{namespace}: not adoptable: missing (the next refresh creates it)",
    ]
    assert control_plane.get_secret(namespace, SECRET) is None
    assert run.report.error() is None, "nothing is there that could be lost"


class Interrupted(Adopter):
    """The adapter, with something that happens before its first apply, or in place of its answers."""

    before_apply: Callable[[], object] = staticmethod(lambda: None)
    before_removal: Callable[[], object] = staticmethod(lambda: None)
    loses_answers = False

    def adopt(self, namespace: str, name: str, manifest: Sensitive[bytes]) -> Answer:
        self.before_apply()
        answer = super().adopt(namespace, name, manifest)
        # As if the answer to the first try had been lost: the second one meets what the first one did.
        return super().adopt(namespace, name, manifest) if self.loses_answers else answer

    def remove_last_applied_from(self, namespace: str, name: str, patch: bytes) -> Answer:
        self.before_removal()
        return super().remove_last_applied_from(namespace, name, patch)


@pytest.fixture
def interrupted(control_plane: ControlPlane) -> Interrupted:
    found = cluster(control_plane)
    found.__class__ = Interrupted
    assert isinstance(found, Interrupted)
    return found


def edit(control_plane: ControlPlane, namespace: str, password: str = "written-by-someone-else-meanwhile") -> None:
    text = base64.b64encode(config({HOST: entry("AWS", password)})).decode()
    patch = json.dumps({"data": {DATA_KEY: text}})
    control_plane.kubectl("patch", "secret", SECRET, "--namespace", namespace, "--patch", patch)


def test_an_edit_between_check_and_write_is_not_overwritten(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.before_apply = lambda: edit(control_plane, namespace)
    run = adopter.run(interrupted, Action.ADOPT, namespace)
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(after) == "written-by-someone-else-meanwhile"
    assert FIELD_MANAGER not in managers(after)
    assert run.lines == [f"{namespace}: refused: changed since the check; check again"]
    assert run.report.error() is not None


def test_an_edit_that_leaves_the_value_alone_is_not_written_over_either(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.before_apply = lambda: control_plane.kubectl("label", "secret", SECRET, "-n", namespace, "a=b")
    run = adopter.run(interrupted, Action.ADOPT, namespace)
    assert FIELD_MANAGER not in managers(control_plane.get_secret(namespace, SECRET))
    assert run.lines == [f"{namespace}: refused: changed since the check; check again"]


def test_a_secret_that_is_replaced_meanwhile_is_left_alone(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")

    def replace() -> None:
        control_plane.kubectl("delete", "secret", SECRET, "--namespace", namespace)
        control_plane.create_secret(namespace, secret(), "kubectl-create")

    interrupted.before_apply = replace
    run = adopter.run(interrupted, Action.ADOPT, namespace)
    assert managers(control_plane.get_secret(namespace, SECRET)) == {"kubectl-create"}
    assert run.lines == [f"{namespace}: refused: changed since the check; check again"]


def test_a_secret_that_is_deleted_meanwhile_is_not_brought_back(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.before_apply = lambda: control_plane.kubectl("delete", "secret", SECRET, "--namespace", namespace)
    run = adopter.run(interrupted, Action.ADOPT, namespace)
    assert control_plane.get_secret(namespace, SECRET) is None
    assert run.lines == [f"{namespace}: refused: changed since the check; check again"]


def test_an_edit_before_the_annotation_goes_is_not_overwritten(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    apply_with_kubectl(control_plane, namespace, secret())
    interrupted.before_removal = lambda: edit(control_plane, namespace)
    run = adopter.run(interrupted, Action.ADOPT, namespace)
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(after) == "written-by-someone-else-meanwhile"
    assert run.lines == [f"{namespace}: refused: changed since the check; check again"]


def test_a_write_whose_answer_was_lost_is_known_by_what_is_there(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    before = control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.loses_answers = True
    run = adopter.run(interrupted, Action.ADOPT, namespace)
    assert run.lines[-1] == f"{namespace}: adopted (uid the same, ownerReferences untouched)"
    assert digests(control_plane.get_secret(namespace, SECRET)) == digests(before)


def test_one_namespace_that_is_refused_does_not_stop_another(control_plane: ControlPlane, namespace: str) -> None:
    other = f"{namespace}-other"
    control_plane.create_namespace(other)
    try:
        control_plane.create_secret(namespace, secret(immutable=True), "kubectl-create")
        control_plane.create_secret(other, secret(), "kubectl-create")
        run = adopter.run(cluster(control_plane), Action.ADOPT, f"{namespace}*")
        assert run.report.counts == {"refused": 1, "adopted": 1}
        assert run.lines[-1] == f"{other}: adopted (uid the same, ownerReferences untouched)"
    finally:
        control_plane.remove_namespace(other)


def test_a_cluster_role_without_get_fails_with_the_verb_and_the_file(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    target = cluster(control_plane, "refresher")
    target.__class__ = Adopter
    run = adopter.run(target, Action.CHECK, namespace)
    remedy = "apply rbac/adopter.yaml with the Secret's name in resourceNames"
    reason = "forbidden (status 403); the function's group may not get this Secret"
    assert run.lines == [f"{namespace}: not adoptable: {reason}; {remedy}"]


def test_the_adopter_may_not_do_more_than_it_needs(control_plane: ControlPlane, namespace: str) -> None:
    def may(verb: str, name: str = "", resource: str = "secrets") -> bool:
        return allowed(control_plane, verb, resource, name=name, namespace=namespace)

    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    assert {verb for verb in verbs if may(verb, SECRET)} == {"get", "create", "patch"}
    assert not any(may(verb) or may(verb, "another") for verb in verbs)
    assert {verb for verb in verbs if may(verb, resource="namespaces")} == {"list"}
