"""Adopting, on a real API server, as the shipped ClusterRole: byte for byte, and nothing without a clean check."""

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from tests.adopt.test_check import PRETTY, QUAY, REORDERED
from tests.support import adopter, refresher
from tests.support.adopter import (
    ECR,
    NEW,
    OLD,
    Cluster,
    Run,
    allowed,
    being_deleted,
    by_string_data,
    cluster,
    config,
    digests,
    entry,
    granted,
    managers,
    secret,
)
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.objects import HOST, SECRET, pull_object
from tests.support.objects import entry as entry_of
from upsert.adopt_request import Action
from upsert.core.answers import Answer, Written
from upsert.core.docker_config import DATA_KEY
from upsert.core.document import EXPIRES_AT, LAST_APPLIED
from upsert.core.identity import FIELD_MANAGER
from upsert.core.sensitive import Sensitive
from upsert.errors import ObjectsFailed
from upsert.kube.reader import KubeReader
from upsert.kube.writer import KubeWriter

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
    assert lines[-1] == f"{namespace}/aws-ecr-token: adopted (uid the same, ownerReferences untouched)"
    assert lines[:-1] == sorted(lines[:-1])
    assert all(line.endswith(": MATCH") for line in lines[:-1])
    assert f"{namespace}/aws-ecr-token/.dockerconfigjson: MATCH" in lines
    assert run.report.error() is None
    # What the test put there to stay has to go with the namespace.
    control_plane.kubectl("patch", "secret", SECRET, "-n", namespace, "-p", '{"metadata":{"finalizers":null}}')


def test_every_key_is_reported_as_a_match(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(ECR | QUAY), "kubectl-create")
    assert adopt(control_plane, namespace, kept=config(QUAY).decode()).lines == [
        f"{namespace}/aws-ecr-token/.dockerconfigjson: MATCH",
        f"{namespace}/aws-ecr-token/{HOST}/auth: MATCH",
        f"{namespace}/aws-ecr-token/{HOST}/password: MATCH",
        f"{namespace}/aws-ecr-token/{HOST}/username: MATCH",
        f"{namespace}/aws-ecr-token/quay.io/auth: MATCH",
        f"{namespace}/aws-ecr-token/quay.io/password: MATCH",
        f"{namespace}/aws-ecr-token/quay.io/username: MATCH",
        f"{namespace}/aws-ecr-token: adopted (uid the same, ownerReferences untouched)",
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
        f"{namespace}/aws-ecr-token: adopted (uid the same, ownerReferences untouched, "
        "last-applied-configuration removed)"
    )


def test_adopting_again_writes_nothing(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    adopt(control_plane, namespace)
    before = control_plane.get_secret(namespace, SECRET)
    audit = AuditLog(control_plane.audit_log)
    lines = adopt(control_plane, namespace).lines
    assert lines[-1] == f"{namespace}/aws-ecr-token: adopted already (uid the same, ownerReferences untouched)"
    assert control_plane.get_secret(namespace, SECRET) == before
    assert audit.counts(user="adopter") == {
        ("list", "namespaces"): 1,
        ("get", "secrets"): 2,
        ("list", "externalsecrets"): 1,
    }


def test_a_secret_that_the_refresher_wrote_keeps_its_annotation(control_plane: ControlPlane, namespace: str) -> None:
    refresher.run(refresher.writer(control_plane), namespaces=[namespace])
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
    run = refresher.run(refresher.writer(control_plane), refresher.login(password=NEW), namespaces=[namespace])
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(before) == OLD
    assert refresher.password_in(after) == NEW
    assert run.report.failures == ()
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert managers(after) == {FIELD_MANAGER}


class Interrupted(KubeWriter):
    """What writes, with something that happens before its first apply, or in place of its answers."""

    before_apply: Callable[[], object] = staticmethod(lambda: None)
    before_removal: Callable[[], object] = staticmethod(lambda: None)
    loses_answers = False

    def claim(self, path: str, configuration: Sensitive[bytes]) -> Answer[Written]:
        self.before_apply()
        answer = super().claim(path, configuration)
        # As if the answer to the first try had been lost: the second one meets what the first one did.
        return super().claim(path, configuration) if self.loses_answers else answer

    def remove_last_applied(self, path: str, written: Written, *, dry_run: bool = False) -> Answer[Written]:
        self.before_removal()
        return super().remove_last_applied(path, written, dry_run=dry_run)


@pytest.fixture
def interrupted(control_plane: ControlPlane) -> Interrupted:
    return Interrupted(adopter.api(control_plane))


def adopt_with(writer: Interrupted, namespace: str) -> Run:
    return adopter.run(Cluster(writer, KubeReader(writer.api)), Action.ADOPT, namespace)


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
    assert run.lines[-1] == f"{namespace}/aws-ecr-token: refused: {reason}"
    assert ("patch", "secrets") not in audit.counts(user="adopter")
    error = run.report.error()
    assert isinstance(error, ObjectsFailed)
    place = f"{namespace}/secret/aws-ecr-token"
    assert str(error) == f"1 of 1 objects were not adopted: {place}: {reason}. The log has every line"


def test_one_that_is_being_deleted_is_refused_and_untouched(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(metadata={"finalizers": ["example.com/keep"]}), "kubectl-create")
    with being_deleted(control_plane, namespace):
        before = control_plane.get_secret(namespace, SECRET)
        run = adopt(control_plane, namespace)
        assert control_plane.get_secret(namespace, SECRET) == before
    reason = "being-deleted: it is gone once its finalizers are, and the next refresh creates it anew"
    assert run.lines[-1] == f"{namespace}/aws-ecr-token: refused: not adoptable: {reason}"
    assert isinstance(run.report.error(), ObjectsFailed)


def test_one_that_is_deleted_meanwhile_and_kept_by_a_finalizer_is_not_adopted(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(metadata={"finalizers": ["example.com/keep"]}), "kubectl-create")
    with ExitStack() as stack:
        interrupted.before_apply = lambda: stack.enter_context(being_deleted(control_plane, namespace))
        run = adopt_with(interrupted, namespace)
        assert FIELD_MANAGER not in managers(control_plane.get_secret(namespace, SECRET))
    assert run.lines == [f"{namespace}/aws-ecr-token: refused: changed since the check; check again"]


def test_what_is_applied_as_string_data_is_adopted_and_its_writer_stays_named(
    control_plane: ControlPlane, namespace: str
) -> None:
    by_string_data(control_plane, namespace, config(ECR))
    before = control_plane.get_secret(namespace, SECRET)
    assert adopt(control_plane, namespace).report.counts == {"adopted": 1}
    after = control_plane.get_secret(namespace, SECRET)
    assert digests(after) == digests(before)
    assert managers(after) == {FIELD_MANAGER}, "other-writer owns stringData, and none of data"
    notes = adopter.run(cluster(control_plane), Action.CHECK, namespace).lines
    assert f"{namespace}/aws-ecr-token: note: data is managed by other-writer; the next refresh takes it over" in notes


def test_an_update_under_our_name_is_not_our_apply(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), FIELD_MANAGER)
    run = adopt(control_plane, namespace)
    found = control_plane.get_secret(namespace, SECRET)
    assert found is not None
    assert run.report.counts == {"adopted": 1}
    assert {field["operation"] for field in found["metadata"]["managedFields"]} == {"Apply", "Update"}


def test_each_object_of_the_file_is_adopted_or_refused_by_itself(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(immutable=True), "kubectl-create")
    again = secret()
    again["metadata"]["name"] = "pull-again"
    before = control_plane.create_secret(namespace, again, "kubectl-create")
    both = (pull_object(), pull_object(name="pull-again"))
    with granted(control_plane, entry_of(), entry_of(name="pull-again")):
        run = adopt(control_plane, namespace, objects=both)
    assert run.report.counts == {"refused": 1, "adopted": 1}
    assert run.lines[-1] == f"{namespace}/pull-again: adopted (uid the same, ownerReferences untouched)"
    after = control_plane.get_secret(namespace, "pull-again")
    assert digests(after) == digests(before)
    assert FIELD_MANAGER in managers(after)
    assert str(run.report.error()) == (
        f"1 of 2 objects were not adopted: {namespace}/secret/aws-ecr-token: not adoptable: immutable. The log has "
        "every line"
    )


def test_a_missing_secret_is_left_to_the_next_refresh(control_plane: ControlPlane, namespace: str) -> None:
    run = adopt(control_plane, namespace)
    assert run.lines == [
        f"{namespace}/aws-ecr-token: MISSING",
        f"{namespace}/aws-ecr-token: not adoptable: missing (the next refresh creates it)",
    ]
    assert control_plane.get_secret(namespace, SECRET) is None
    assert run.report.error() is None, "nothing is there that could be lost"


def edit(control_plane: ControlPlane, namespace: str, password: str = "written-by-someone-else-meanwhile") -> None:
    text = base64.b64encode(config({HOST: entry("AWS", password)})).decode()
    patch = json.dumps({"data": {DATA_KEY: text}})
    control_plane.kubectl("patch", "secret", SECRET, "--namespace", namespace, "--patch", patch)


def test_an_edit_between_check_and_write_is_not_overwritten(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.before_apply = lambda: edit(control_plane, namespace)
    run = adopt_with(interrupted, namespace)
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(after) == "written-by-someone-else-meanwhile"
    assert FIELD_MANAGER not in managers(after)
    assert run.lines == [f"{namespace}/aws-ecr-token: refused: changed since the check; check again"]
    assert run.report.error() is not None


def test_an_edit_that_leaves_the_value_alone_is_not_written_over_either(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.before_apply = lambda: control_plane.kubectl("label", "secret", SECRET, "-n", namespace, "a=b")
    audit = AuditLog(control_plane.audit_log)
    run = adopt_with(interrupted, namespace)
    assert audit.counts(user="adopter")["patch", "secrets"] == 1, "a 409 is the answer, and not tried again"
    assert FIELD_MANAGER not in managers(control_plane.get_secret(namespace, SECRET))
    assert run.lines == [f"{namespace}/aws-ecr-token: refused: changed since the check; check again"]


def test_a_secret_that_is_replaced_meanwhile_is_left_alone(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")

    def replace() -> None:
        control_plane.kubectl("delete", "secret", SECRET, "--namespace", namespace)
        control_plane.create_secret(namespace, secret(), "kubectl-create")

    interrupted.before_apply = replace
    audit = AuditLog(control_plane.audit_log)
    run = adopt_with(interrupted, namespace)
    assert audit.counts(user="adopter")["patch", "secrets"] == 1, "a 422 is the answer, and not tried again"
    assert managers(control_plane.get_secret(namespace, SECRET)) == {"kubectl-create"}
    assert run.lines == [f"{namespace}/aws-ecr-token: refused: changed since the check; check again"]


def test_a_secret_that_is_deleted_meanwhile_is_not_brought_back(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.before_apply = lambda: control_plane.kubectl("delete", "secret", SECRET, "--namespace", namespace)
    run = adopt_with(interrupted, namespace)
    assert control_plane.get_secret(namespace, SECRET) is None
    assert run.lines == [f"{namespace}/aws-ecr-token: refused: changed since the check; check again"]


def test_an_edit_before_the_annotation_goes_is_not_overwritten(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    apply_with_kubectl(control_plane, namespace, secret())
    interrupted.before_removal = lambda: edit(control_plane, namespace)
    run = adopt_with(interrupted, namespace)
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(after) == "written-by-someone-else-meanwhile"
    assert run.lines == [f"{namespace}/aws-ecr-token: refused: changed since the check; check again"]


def test_a_write_whose_answer_was_lost_is_known_by_what_is_there(
    control_plane: ControlPlane, namespace: str, interrupted: Interrupted
) -> None:
    before = control_plane.create_secret(namespace, secret(), "kubectl-create")
    interrupted.loses_answers = True
    run = adopt_with(interrupted, namespace)
    assert run.lines[-1] == f"{namespace}/aws-ecr-token: adopted (uid the same, ownerReferences untouched)"
    assert digests(control_plane.get_secret(namespace, SECRET)) == digests(before)


def test_one_namespace_that_is_refused_does_not_stop_another(control_plane: ControlPlane, namespace: str) -> None:
    other = f"{namespace}-other"
    control_plane.create_namespace(other)
    try:
        control_plane.create_secret(namespace, secret(immutable=True), "kubectl-create")
        control_plane.create_secret(other, secret(), "kubectl-create")
        run = adopter.run(cluster(control_plane), Action.ADOPT, f"{namespace}*")
        assert run.report.counts == {"refused": 1, "adopted": 1}
        assert run.lines[-1] == f"{other}/aws-ecr-token: adopted (uid the same, ownerReferences untouched)"
    finally:
        control_plane.remove_namespace(other)


def test_a_cluster_role_without_get_fails_with_the_verb_and_the_file(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    run = adopter.run(cluster(control_plane, "refresher"), Action.CHECK, namespace)
    remedy = (
        "the group eks-upsert-adopter may not get this Secret; apply rbac/adopter.yaml (`make rbac ADOPTER=1` prints "
        "it for your objects) with aws-ecr-token in resourceNames"
    )
    assert run.lines == [f"{namespace}/{SECRET}: not adoptable: forbidden (status 403); {remedy}"]
    assert isinstance(run.report.error(), ObjectsFailed), "nothing at all was checked"


def test_the_adopter_may_not_do_more_than_it_needs(control_plane: ControlPlane, namespace: str) -> None:
    def may(verb: str, name: str = "", resource: str = "secrets") -> bool:
        return allowed(control_plane, verb, resource, name=name, namespace=namespace)

    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    assert {verb for verb in verbs if may(verb, SECRET)} == {"get", "create", "patch"}
    assert not any(may(verb) or may(verb, "another") for verb in verbs)
    assert {verb for verb in verbs if may(verb, resource="namespaces")} == {"list"}
