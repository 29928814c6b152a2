"""The way back: once the refresher stops, an object stays as it is; given back, another writer needs no force."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes.client import ApiException

from tests.support import adopter, keyed, refresher
from tests.support.adopter import NEW, OLD, Cluster, Run, cluster, digests, entry, managers, secret
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane, KubectlFailed
from tests.support.keyed import body, keyed_object, owners_of, values_of
from tests.support.objects import HOST, SECRET, roles
from tests.support.objects import entry as entry_of
from upsert.adopt_request import Action
from upsert.core import claims, document
from upsert.core.answers import Answer, Written
from upsert.core.docker_config import DATA_KEY
from upsert.core.document import EXPIRES_AT
from upsert.core.identity import FIELD_MANAGER
from upsert.core.objects import Object
from upsert.core.sensitive import Sensitive
from upsert.errors import ObjectsFailed
from upsert.kube.reader import KubeReader
from upsert.kube.writer import KubeWriter


def adopted_and_refreshed(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    adopter.run(cluster(control_plane), Action.ADOPT, namespace)
    refresher.run(refresher.writer(control_plane), refresher.login(password=NEW), namespaces=[namespace])


def test_a_namespace_that_is_excluded_is_not_touched_again(control_plane: ControlPlane, namespace: str) -> None:
    adopted_and_refreshed(control_plane, namespace)
    before = control_plane.get_secret(namespace, SECRET)
    audit = AuditLog(control_plane.audit_log)
    refresher.run(refresher.writer(control_plane), exclude=(namespace,))
    assert control_plane.get_secret(namespace, SECRET) == before, "byte for byte, and the uid"
    assert not [event for event in audit.events(user="refresher") if event.namespace == namespace]


def test_another_writer_takes_it_over_by_its_own_forced_apply(control_plane: ControlPlane, namespace: str) -> None:
    adopted_and_refreshed(control_plane, namespace)
    before = control_plane.get_secret(namespace, SECRET)
    text = json.dumps(secret({HOST: entry("AWS", OLD)}))
    arguments = ["--server-side", "--force-conflicts", "--field-manager=next-writer", "--namespace", namespace]
    control_plane.kubectl("apply", *arguments, "--filename=-", stdin=text)
    after = control_plane.get_secret(namespace, SECRET)
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert refresher.password_in(after) == OLD
    assert managers(after) == {"next-writer"}


def test_a_writer_that_replaces_the_value_needs_no_leave(control_plane: ControlPlane, namespace: str) -> None:
    adopted_and_refreshed(control_plane, namespace)
    value = secret({HOST: entry("AWS", OLD)})["data"][DATA_KEY]
    patch = json.dumps({"data": {DATA_KEY: value}})
    control_plane.kubectl("patch", "secret", SECRET, "--namespace", namespace, "--patch", patch)
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(after) == OLD
    assert FIELD_MANAGER not in managers(after)


def test_deleting_a_namespace_s_other_objects_never_takes_the_secret_along(
    control_plane: ControlPlane, namespace: str
) -> None:
    adopted_and_refreshed(control_plane, namespace)
    found = control_plane.get_secret(namespace, SECRET)
    assert found is not None
    assert not found["metadata"].keys() & {"ownerReferences", "finalizers", "labels"}
    assert digests(found).keys() == {DATA_KEY}


GIVEN = {"DB_PASSWORD": b"correct-horse-battery-9", "keystore.p12": b"\x00\xff\xfe", "EMPTY": b""}
THEIRS = GIVEN | {"DB_PASSWORD": b"of-the-next-writer"}
NAME, SETTINGS = "api-config", "settings"


class TestGivenBack:
    """Our claims are dropped and the bytes stay: then another writer's own apply needs no force."""

    @pytest.fixture(autouse=True)
    def _granted(self, control_plane: ControlPlane) -> Iterator[None]:
        entries = [entry_of(), keyed.entry(NAME, GIVEN), keyed.entry(SETTINGS, GIVEN, kind="ConfigMap")]
        control_plane.apply_roles("\n---\n".join([roles(*entries), roles(*entries, is_adopter=True)]))
        yield
        control_plane.apply_roles("\n---\n".join([roles(), roles(is_adopter=True)]))

    def refresh(self, plane: ControlPlane, namespace: str, one: Object, values: Mapping[str, bytes]) -> None:
        run = refresher.run(refresher.writer(plane), keyed.source(values), one, namespaces=[namespace])
        assert run.report.failures == ()

    def release(self, plane: ControlPlane, namespace: str, one: Object) -> Run:
        return adopter.run(cluster(plane), Action.RELEASE, namespace, objects=[one])

    def test_what_only_we_wrote(self, control_plane: ControlPlane, namespace: str) -> None:
        one = keyed_object(NAME, GIVEN)
        self.refresh(control_plane, namespace, one, GIVEN)
        before = control_plane.get_secret(namespace, NAME)
        next_one = body(NAME, THEIRS)
        by_them = ("--server-side", "--field-manager=next-writer")
        with pytest.raises(KubectlFailed, match='conflict with "eks-upsert"'):
            keyed.apply(control_plane, namespace, next_one, *by_them)

        run = self.release(control_plane, namespace, one)
        assert run.lines == [f"{namespace}/{NAME}: released (uid and bytes the same)"]
        after = control_plane.get_secret(namespace, NAME)
        assert before is not None
        assert after is not None
        assert {**after, "metadata": None} == {**before, "metadata": None}
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert owners_of(after) == set()

        keyed.apply(control_plane, namespace, next_one, *by_them)
        taken = control_plane.get_secret(namespace, NAME)
        assert values_of(taken) == THEIRS
        assert owners_of(taken) == {"next-writer"}
        # What it leaves out from then on goes, as of any object that it wrote itself.
        keyed.apply(control_plane, namespace, body(NAME, {"DB_PASSWORD": b"alone"}), *by_them)
        assert values_of(control_plane.get_secret(namespace, NAME)) == {"DB_PASSWORD": b"alone"}

    def test_what_others_claim_too_stays_theirs(self, control_plane: ControlPlane, namespace: str) -> None:
        one = keyed_object(NAME, {"DB_PASSWORD": b"of both"})
        theirs = body(NAME, {"DB_PASSWORD": b"of both", "OF_THEIRS": b"alone"})
        keyed.apply(control_plane, namespace, theirs, "--server-side", "--field-manager=other-writer")
        self.refresh(control_plane, namespace, one, {"DB_PASSWORD": b"of both"})
        before = control_plane.get_secret(namespace, NAME)
        run = self.release(control_plane, namespace, one)
        assert run.lines == [f"{namespace}/{NAME}: released (uid and bytes the same, claimed by other-writer)"]
        after = control_plane.get_secret(namespace, NAME)
        assert values_of(after) == values_of(before)
        assert owners_of(after) == {"other-writer"}

    def test_a_config_map(self, control_plane: ControlPlane, namespace: str) -> None:
        one = keyed_object(SETTINGS, GIVEN, kind="ConfigMap", type="")
        self.refresh(control_plane, namespace, one, GIVEN)
        path = f"/api/v1/namespaces/{namespace}/configmaps/{SETTINGS}"
        before = control_plane.request("GET", path)
        assert self.release(control_plane, namespace, one).report.counts == {"released": 1}
        after = control_plane.request("GET", path)
        assert values_of(after) == values_of(before) == GIVEN
        assert owners_of(after) == set()
        theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SETTINGS}, "data": {"EMPTY": "no"}}
        keyed.apply(control_plane, namespace, theirs, "--server-side", "--field-manager=next-writer")
        assert values_of(control_plane.request("GET", path)) == GIVEN | {"EMPTY": b"no"}

    def test_a_pull_secret_goes_without_the_time_at_which_ours_would_have_expired(
        self, control_plane: ControlPlane, namespace: str
    ) -> None:
        adopted_and_refreshed(control_plane, namespace)
        before = control_plane.get_secret(namespace, SECRET)
        run = adopter.run(cluster(control_plane), Action.RELEASE, namespace)
        after = control_plane.get_secret(namespace, SECRET)
        assert run.report.counts == {"released": 1}
        assert before is not None
        assert after is not None
        assert EXPIRES_AT in before["metadata"]["annotations"]
        assert "annotations" not in after["metadata"]
        assert after["data"] == before["data"]

    def test_once_is_enough(self, control_plane: ControlPlane, namespace: str) -> None:
        one = keyed_object(NAME, GIVEN)
        self.refresh(control_plane, namespace, one, GIVEN)
        self.release(control_plane, namespace, one)
        before, audit = control_plane.get_secret(namespace, NAME), AuditLog(control_plane.audit_log)
        run = self.release(control_plane, namespace, one)
        assert run.lines == [f"{namespace}/{NAME}: released already"]
        assert control_plane.get_secret(namespace, NAME) == before
        assert audit.counts(user="adopter") == {("list", "namespaces"): 1, ("get", "secrets"): 1}

    def test_what_is_not_there_needs_none(self, control_plane: ControlPlane, namespace: str) -> None:
        run = self.release(control_plane, namespace, keyed_object(NAME, GIVEN))
        assert run.lines == [f"{namespace}/{NAME}: missing, so there is nothing to release"]
        assert run.report.error() is None

    def test_it_can_be_taken_up_again(self, control_plane: ControlPlane, namespace: str) -> None:
        one = keyed_object(NAME, GIVEN)
        self.refresh(control_plane, namespace, one, GIVEN)
        self.release(control_plane, namespace, one)
        self.refresh(control_plane, namespace, one, THEIRS)
        found = control_plane.get_secret(namespace, NAME)
        assert values_of(found) == THEIRS
        assert owners_of(found) == {FIELD_MANAGER}

    def test_a_write_meanwhile_is_not_lost(self, control_plane: ControlPlane, namespace: str) -> None:
        class Interrupted(KubeWriter):
            def disclaim(self, path: str, patch: Sensitive[bytes]) -> Answer[Written]:
                value = json.dumps({"data": body(NAME, {"DB_PASSWORD": b"meanwhile"})["data"]})
                control_plane.kubectl("patch", "secret", NAME, f"--namespace={namespace}", f"--patch={value}")
                return super().disclaim(path, patch)

        one = keyed_object(NAME, GIVEN)
        self.refresh(control_plane, namespace, one, GIVEN)
        api = adopter.api(control_plane)
        run = adopter.run(Cluster(Interrupted(api), KubeReader(api)), Action.RELEASE, namespace, objects=[one])
        assert run.lines == [f"{namespace}/{NAME}: refused: changed meanwhile; release again"]
        found = control_plane.get_secret(namespace, NAME)
        assert values_of(found)["DB_PASSWORD"] == b"meanwhile"
        assert FIELD_MANAGER in owners_of(found), "it was bound to a version that is gone"
        assert isinstance(run.report.error(), ObjectsFailed)

    def test_an_answer_that_was_lost_is_known_by_what_is_there(
        self, control_plane: ControlPlane, namespace: str
    ) -> None:
        class Lost(KubeWriter):
            def disclaim(self, path: str, patch: Sensitive[bytes]) -> Answer[Written]:
                super().disclaim(path, patch)
                return Answer(0, trouble="timeout")

        one = keyed_object(NAME, GIVEN)
        self.refresh(control_plane, namespace, one, GIVEN)
        api = adopter.api(control_plane)
        run = adopter.run(Cluster(Lost(api), KubeReader(api)), Action.RELEASE, namespace, objects=[one])
        assert run.lines == [f"{namespace}/{NAME}: released (uid and bytes the same)"]

    def test_one_that_is_being_deleted_is_left_alone(self, control_plane: ControlPlane, namespace: str) -> None:
        kept = body(NAME, GIVEN, metadata={"name": NAME, "finalizers": ["example.com/keep"]})
        control_plane.create_secret(namespace, kept, "kubectl-create")
        one = keyed_object(NAME, GIVEN)
        self.refresh(control_plane, namespace, one, GIVEN)
        control_plane.kubectl("delete", "secret", NAME, f"--namespace={namespace}", "--wait=false")
        run = self.release(control_plane, namespace, one)
        assert run.lines == [
            f"{namespace}/{NAME}: refused: being-deleted: it is gone once its finalizers are",
        ]
        nothing = '{"metadata":{"finalizers":null}}'
        control_plane.kubectl("patch", "secret", NAME, f"--namespace={namespace}", f"--patch={nothing}")

    def test_without_leave_to_patch_it_says_so(self, control_plane: ControlPlane, namespace: str) -> None:
        one = keyed_object(NAME, GIVEN)
        self.refresh(control_plane, namespace, one, GIVEN)
        api = adopter.api(control_plane, "refresher")
        run = adopter.run(Cluster(KubeWriter(api), KubeReader(api)), Action.RELEASE, namespace, objects=[one])
        assert "may not get this Secret; apply rbac/adopter.yaml" in run.lines[0]


MANIFESTS: Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "ResourceQuota": ("/api/v1", {"hard": {"pods": "10"}}, {"hard": {"pods": "20"}}),
    "LimitRange": (
        "/api/v1",
        {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
        {"limits": [{"type": "Container", "default": {"cpu": "2"}}]},
    ),
    "NetworkPolicy": (
        "/apis/networking.k8s.io/v1",
        {"podSelector": {}, "policyTypes": ["Ingress"]},
        {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
    ),
    "PodDisruptionBudget": ("/apis/policy/v1", {"minAvailable": 1}, {"minAvailable": 2}),
}


@pytest.mark.parametrize("kind", MANIFESTS)
def test_what_a_release_sends_frees_the_fields_of_every_kind_of_manifest(
    control_plane: ControlPlane, namespace: str, kind: str
) -> None:
    root, ours, theirs = MANIFESTS[kind]
    plural = {"NetworkPolicy": "networkpolicies"}.get(kind, f"{kind.lower()}s")
    path = f"{root}/namespaces/{namespace}/{plural}/baseline"

    def apply(spec: Mapping[str, Any], manager: str) -> dict[str, Any]:
        version = root.removeprefix("/apis/").removeprefix("/api/")
        whole = {"apiVersion": version, "kind": kind, "metadata": {"name": "baseline"}, "spec": dict(spec)}
        return control_plane.request(
            "PATCH", path, whole, query={"fieldManager": manager}, content_type="application/apply-patch+yaml"
        )

    before = apply(ours, FIELD_MANAGER)
    with pytest.raises(ApiException, match='conflict with \\\\"eks-upsert'):
        apply(theirs, "next-writer")
    held = claims.parse_of(namespace, "baseline", 200, before)
    patch = document.claims(held.without_ours(), uid=held.uid, resource_version=held.resource_version)
    query = {"fieldManager": FIELD_MANAGER}
    merge = "application/merge-patch+json"
    after = control_plane.request("PATCH", path, json.loads(patch.reveal()), query=query, content_type=merge)
    assert claims.parse_of(namespace, "baseline", 200, after).content == held.content
    # The server fills in what a LimitRange leaves out.
    assert apply(theirs, "next-writer")["spec"] != before["spec"]
