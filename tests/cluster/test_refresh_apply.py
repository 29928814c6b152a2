"""What an apply does to Secrets on a real API server, as the shipped ClusterRole."""

import base64
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.support.controlplane import ControlPlane
from tests.support.refresher import (
    FIELD_MANAGER,
    HOST,
    LAST_APPLIED,
    SECRET,
    document,
    login,
    password_in,
    pull_secret,
    run,
    writer,
)
from upsert import rounds
from upsert.core.answers import Answer, Written
from upsert.core.objects import OnConflict
from upsert.core.outcomes import Applied, Failed
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.kube.transport import Connection, Reply
from upsert.kube.writer import KubeWriter


class Place:
    """One namespace, the admin's view of it, and refreshes of it."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.control_plane = control_plane
        self.namespace = namespace

    def refresh(self, password: str | None = None, **options: Any) -> Any:
        """Run the use case on this namespace alone and return its outcome."""
        given = login(password=password)
        result = run(writer(self.control_plane), given, namespaces=[self.namespace], **options)
        assert set(result.outcomes) == {self.namespace}
        return result.outcomes[self.namespace]

    def secret(self, name: str = SECRET) -> dict[str, Any]:
        secret = self.control_plane.get_secret(self.namespace, name)
        assert secret is not None
        return secret

    def versions_since(self, secret: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return every version of the Secret after this one, as a watch tells of them."""
        metadata = secret["metadata"]
        query = {
            "watch": "true",
            "timeoutSeconds": "1",
            "fieldSelector": f"metadata.name={metadata['name']}",
            "resourceVersion": metadata["resourceVersion"],
        }
        path = f"/api/v1/namespaces/{self.namespace}/secrets"
        told = self.control_plane.admin.call_api(
            path, "GET", query_params=list(query.items()), auth_settings=["BearerToken"], _preload_content=False
        )
        return [json.loads(line)["object"] for line in told.data.splitlines()]

    def store(self, body: Mapping[str, Any], manager: str) -> dict[str, Any]:
        return self.control_plane.create_secret(self.namespace, body, manager)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.control_plane.kubectl(f"--namespace={self.namespace}", *arguments, stdin=stdin)


@pytest.fixture
def place(control_plane: ControlPlane, namespace: str) -> Place:
    return Place(control_plane, namespace)


def identity(secret: Mapping[str, Any]) -> tuple[str, str]:
    return secret["metadata"]["uid"], secret["metadata"]["resourceVersion"]


def proof(outcome: Applied | Failed) -> tuple[str, str]:
    assert isinstance(outcome, Applied), outcome
    return outcome.uid, outcome.resource_version


def test_a_missing_secret_is_created_as_a_kubelet_reads_it(place: Place) -> None:
    outcome = place.refresh(password="the-password")

    secret = place.secret()
    assert proof(outcome) == identity(secret)
    assert (outcome.change, outcome.status, outcome.took_over_from) == ("created", 201, ())
    assert secret["type"] == "kubernetes.io/dockerconfigjson"
    assert json.loads(base64.b64decode(secret["data"][".dockerconfigjson"])) == {
        "auths": {HOST: {"username": "AWS", "password": "the-password", "auth": "QVdTOnRoZS1wYXNzd29yZA=="}}
    }


def test_the_secret_carries_when_it_ends_and_nothing_that_could_delete_it(place: Place) -> None:
    place.refresh()

    metadata = place.secret()["metadata"]
    assert metadata["annotations"] == {"eks-upsert/expires-at": "2030-01-02T03:04:05Z"}
    assert not {"labels", "ownerReferences", "finalizers"} & set(metadata)
    assert [entry["manager"] for entry in metadata["managedFields"]] == [FIELD_MANAGER]
    assert [entry["operation"] for entry in metadata["managedFields"]] == ["Apply"]


def test_a_refresh_rotates_the_password_and_keeps_the_object(place: Place) -> None:
    created = place.refresh(password="the-first")
    updated = place.refresh(password="the-second")

    assert (updated.change, updated.status) == ("updated", 200)
    assert updated.uid == created.uid
    assert updated.resource_version != created.resource_version
    assert proof(updated) == identity(place.secret())
    assert password_in(place.secret()) == "the-second"


def test_the_same_token_again_changes_nothing(place: Place) -> None:
    first = place.refresh(password="the-same")

    assert proof(place.refresh(password="the-same")) == proof(first)


def test_a_secret_made_by_kubectl_create_is_taken_over_in_place(place: Place) -> None:
    place.kubectl(
        "create",
        "secret",
        "docker-registry",
        SECRET,
        f"--docker-server={HOST}",
        "--docker-username=AWS",
        "--docker-password=the-old",
    )
    before = identity(place.secret())

    outcome = place.refresh(password="the-new")

    assert (outcome.change, outcome.uid, outcome.took_over_from) == ("updated", before[0], ("kubectl-create",))
    assert password_in(place.secret()) == "the-new"


def test_once_taken_over_it_is_not_contested_again(place: Place) -> None:
    place.store(pull_secret(), "kubectl-create")
    place.refresh()

    assert place.refresh().took_over_from == ()


def test_under_refuse_a_secret_of_another_is_left_as_it_is(place: Place) -> None:
    before = place.store(pull_secret(), "kubectl-create")

    outcome = place.refresh(on_conflict=OnConflict.REFUSE)

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("contested", 409)
    assert outcome.remedy.startswith("kubectl-create writes this Secret too")
    assert place.secret() == before


def test_every_other_manager_is_named(place: Place) -> None:
    place.store(pull_secret(password="one"), "terraform")
    body = pull_secret(password="two")
    place.control_plane.request(
        "PATCH",
        f"/api/v1/namespaces/{place.namespace}/secrets/{SECRET}",
        {"metadata": {"annotations": {"eks-upsert/expires-at": "someday"}}, "data": body["data"]},
        query={"fieldManager": "a person"},
        content_type="application/merge-patch+json",
    )

    assert place.refresh(on_conflict=OnConflict.REFUSE).remedy.startswith("a person writes this Secret too")
    assert place.refresh().took_over_from == ("a person",)


@pytest.mark.parametrize("policy", list(OnConflict))
def test_another_managers_own_keys_stay_and_it_is_named(place: Place, policy: OnConflict) -> None:
    theirs = {"extra": base64.b64encode(b"theirs").decode()}
    place.store(pull_secret() | {"data": theirs | pull_secret()["data"]}, "somebody")
    place.refresh()

    outcome = place.refresh(on_conflict=policy)

    assert isinstance(outcome, Applied)
    assert outcome.keeps_keys_of == ("somebody",)
    assert place.secret()["data"]["extra"] == theirs["extra"]


def test_where_nobody_has_other_keys_nobody_is_named(place: Place) -> None:
    place.store(pull_secret(), "kubectl-create")
    assert place.refresh().keeps_keys_of == ()


def test_an_owner_stays_and_is_told_at_each_run_until_it_is_gone(place: Place) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "app", "uid": "00000000-0000-4000-8000-000000000000"}
    place.store(pull_secret(metadata={"name": SECRET, "ownerReferences": [owner]}), "somebody")

    assert [place.refresh(dry_run=dry_run).altered for dry_run in (True, False, False)] == [("has-owner",)] * 3
    assert place.secret()["metadata"]["ownerReferences"] == [owner]

    place.kubectl("patch", "secret", SECRET, "--type=merge", '--patch={"metadata":{"ownerReferences":null}}')
    assert place.refresh().altered == ()


def applied_by_kubectl(place: Place, password: str) -> None:
    place.kubectl("apply", "--filename=-", stdin=json.dumps(pull_secret(password=password)))


def test_the_old_password_that_kubectl_apply_left_in_an_annotation_is_removed(place: Place) -> None:
    applied_by_kubectl(place, "the-old-password")
    before = place.secret()
    assert LAST_APPLIED in before["metadata"]["annotations"]

    outcome = place.refresh(password="the-new-password")

    after = place.secret()
    assert outcome.took_over_from == ("kubectl-client-side-apply",)
    assert outcome.uid == before["metadata"]["uid"] == after["metadata"]["uid"]
    # What is told is the apply's own version; the removal made one more of it.
    applied, removed = place.versions_since(before)
    assert outcome.resource_version == applied["metadata"]["resourceVersion"]
    assert password_in(applied) == "the-new-password"
    assert removed == after
    assert set(after["metadata"]["annotations"]) == {"eks-upsert/expires-at"}
    assert password_in(after) == "the-new-password"


def test_the_annotation_is_removed_by_a_request_that_is_not_repeated(place: Place) -> None:
    applied_by_kubectl(place, "the-old-password")
    sent = []
    for _ in range(3):
        target = writer(place.control_plane)
        run(target, namespaces=[place.namespace])
        sent.append(target.requests)

    # One list; then unforced, forced and removal, and from then on one write.
    assert sent == [4, 2, 2]


def test_one_who_applies_the_old_yaml_again_is_found_out_and_overruled(place: Place) -> None:
    place.refresh()
    applied_by_kubectl(place, "the-old-password")

    outcome = place.refresh(password="the-newest")

    assert outcome.took_over_from == ("kubectl-client-side-apply",)
    assert password_in(place.secret()) == "the-newest"
    assert LAST_APPLIED not in place.secret()["metadata"]["annotations"]


def test_labels_and_annotations_of_others_stay(place: Place) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    annotations = {"meta.helm.sh/release-name": "web"}
    place.store(pull_secret(metadata={"name": SECRET, "labels": labels, "annotations": annotations}), "helm")

    place.refresh()

    metadata = place.secret()["metadata"]
    assert metadata["labels"] == labels
    assert metadata["annotations"].items() > annotations.items()


def test_another_writers_data_key_stays(place: Place) -> None:
    body = pull_secret()
    body["data"]["extra"] = "dmFsdWU="
    place.store(body, "somebody")

    place.refresh(password="the-new")

    assert place.secret()["data"]["extra"] == "dmFsdWU="
    assert password_in(place.secret()) == "the-new"


def test_another_registrys_entry_in_the_same_config_is_lost(place: Place) -> None:
    """A docker config is one field: what is to stay there has to be given to the refresher."""
    config = {"auths": {"registry.example": {"auth": "dXNlcjpwYXNz"}}}
    place.store({**pull_secret(), "data": {".dockerconfigjson": _encoded(config)}}, "somebody")

    place.refresh()

    auths = json.loads(base64.b64decode(place.secret()["data"][".dockerconfigjson"]))["auths"]
    assert list(auths) == [HOST]


def _encoded(config: Mapping[str, Any]) -> str:
    return base64.b64encode(json.dumps(config).encode()).decode()


def test_an_immutable_secret_fails_with_what_its_owner_can_do(place: Place) -> None:
    before = place.store(pull_secret(immutable=True), "somebody")

    outcome = place.refresh()

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("immutable", 422)
    assert "its owner has to delete it, and the next refresh creates it anew" in outcome.remedy
    assert place.secret() == before


def test_a_secret_of_our_own_that_somebody_made_immutable_fails_too(place: Place) -> None:
    place.refresh()
    place.kubectl("patch", "secret", SECRET, "--type=merge", '--patch={"immutable":true}')
    before = place.secret()

    outcome = place.refresh()

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("immutable", 422)
    assert place.secret() == before


@pytest.mark.parametrize("kind", ["Opaque", "kubernetes.io/basic-auth"])
def test_a_secret_of_another_type_fails_with_what_its_owner_can_do(place: Place, kind: str) -> None:
    before = place.store(
        {"metadata": {"name": SECRET}, "type": kind, "data": {"username": "dXNlcg==", "password": "cGFzcw=="}},
        "somebody",
    )

    outcome = place.refresh()

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("wrong-type", 422)
    assert "its owner has to rename it" in outcome.remedy
    assert place.secret() == before


@pytest.mark.parametrize("prepared", ["nothing", "ours", "kubectl-create", "kubectl-apply", "immutable"])
def test_a_dry_run_ends_as_the_real_one_would_and_writes_nothing(place: Place, prepared: str) -> None:
    match prepared:
        case "ours":
            place.refresh()
        case "kubectl-create":
            place.store(pull_secret(), "kubectl-create")
        case "kubectl-apply":
            applied_by_kubectl(place, "the-old-password")
        case "immutable":
            place.store(pull_secret(immutable=True), "somebody")
    before = place.control_plane.get_secret(place.namespace, SECRET)

    rehearsed = place.refresh(dry_run=True)

    assert place.control_plane.get_secret(place.namespace, SECRET) == before
    real = place.refresh()
    assert type(rehearsed) is type(real)
    if isinstance(real, Applied):
        assert (rehearsed.change, rehearsed.took_over_from) == (real.change, real.took_over_from)
        assert (before is None) or rehearsed.uid == before["metadata"]["uid"]
    else:
        assert rehearsed == real


def test_a_name_that_only_the_server_can_judge_is_judged_by_it(place: Place) -> None:
    """Another Secret name than the role's is forbidden, and the remedy says what to change."""
    name = f"other-{secrets.token_hex(3)}"

    outcome = place.refresh(name=name)

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("forbidden", 403)
    assert "may not patch this Secret; apply rbac/refresher.yaml" in outcome.remedy
    assert f"with {name} in resourceNames" in outcome.remedy


def test_the_server_answers_with_metadata_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes on the wire are looked at, before anything reads them down to codes."""
    target = writer(place.control_plane)
    bodies: list[bytes] = []
    original = Connection.send

    def sending(*arguments: Any, **options: Any) -> Reply:
        reply = original(*arguments, **options)
        bodies.append(reply.body)
        return reply

    monkeypatch.setattr(Connection, "send", sending)
    place.store(pull_secret(password="the-old-password"), "kubectl-create")
    path, new = SECRETS.path(place.namespace, SECRET), document(login(password="the-new-password"))
    for force in (False, True, False):
        answer = target.apply(path, new, force=force)
    assert answer.value is not None
    target.remove_last_applied(path, answer.value)
    target.namespaces("")

    kinds = [json.loads(body)["kind"] for body in bodies]
    assert kinds == ["Status", *["PartialObjectMetadata"] * 3, "PartialObjectMetadataList"]
    for body in bodies:
        for value in ("the-old-password", "the-new-password", place.secret()["data"][".dockerconfigjson"]):
            assert value.encode() not in body
    assert all("data" not in json.loads(body) for body in bodies)
    assert not any({"spec", "status"} & set(item) for item in json.loads(bodies[-1])["items"])


@pytest.mark.parametrize("on_conflict", OnConflict)
def test_a_manager_that_applies_string_data_is_seen_and_named(
    control_plane: ControlPlane, namespace: str, on_conflict: OnConflict
) -> None:
    """No conflict is ever reported for it: its field is stringData, ours data."""
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths":{}}'},
    }
    control_plane.kubectl(
        "apply", "--server-side", "--field-manager=blind", f"--namespace={namespace}", "-f-", stdin=json.dumps(body)
    )

    outcome = run(writer(control_plane), namespaces=[namespace], on_conflict=on_conflict).outcomes[namespace]

    if on_conflict is OnConflict.REFUSE:
        assert isinstance(outcome, Failed)
        assert outcome.reason == "contested"
        assert "blind writes this Secret too" in outcome.remedy
    else:
        assert isinstance(outcome, Applied)
        assert outcome.took_over_from == ("blind",)


@pytest.mark.parametrize("on_conflict", OnConflict)
def test_a_manager_that_applies_string_data_of_another_key_is_in_nobodys_way(
    place: Place, on_conflict: OnConflict
) -> None:
    place.refresh()
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": {"notes": "by hand"}}
    body["type"] = "kubernetes.io/dockerconfigjson"
    place.kubectl("apply", "--server-side", "--field-manager=notes", "-f-", stdin=json.dumps(body))

    outcome = place.refresh(password="the-new-password", on_conflict=on_conflict)

    assert isinstance(outcome, Applied)
    assert outcome.took_over_from == ()
    assert base64.b64decode(place.secret()["data"]["notes"]) == b"by hand"
    assert password_in(place.secret()) == "the-new-password"


@pytest.fixture
def finalizer(place: Place) -> Iterator[Callable[[], object]]:
    """Have somebody delete the Secret, which a finalizer keeps; what is given takes the finalizer off."""

    def let_go() -> None:
        if place.control_plane.get_secret(place.namespace, SECRET):
            place.kubectl("patch", "secret", SECRET, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')

    body = pull_secret()
    body["metadata"] = {"name": SECRET, "finalizers": ["example.com/keep"]}
    place.store(body, "kubectl-create")
    place.kubectl("delete", "secret", SECRET, "--wait=false")
    yield let_go
    let_go()


@pytest.mark.usefixtures("finalizer")
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("on_conflict", OnConflict)
def test_a_secret_that_is_being_deleted_is_never_applied(
    place: Place, monkeypatch: pytest.MonkeyPatch, on_conflict: OnConflict, *, dry_run: bool
) -> None:
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.0)

    outcome = place.refresh(on_conflict=on_conflict, dry_run=dry_run)

    assert isinstance(outcome, Failed)
    # Under refuse it is somebody else's, going or not.
    assert outcome.reason == ("being-deleted" if on_conflict is OnConflict.TAKE_OVER else "contested")


def test_one_of_our_own_that_is_being_deleted_is_never_applied_either(place: Place) -> None:
    place.refresh(password="the-old-password")
    place.kubectl("patch", "secret", SECRET, "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/keep"]}}')
    place.kubectl("delete", "secret", SECRET, "--wait=false")

    outcome = place.refresh(password="the-new-password", on_conflict=OnConflict.REFUSE)
    place.kubectl("patch", "secret", SECRET, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("being-deleted", 200)
    assert place.control_plane.get_secret(place.namespace, SECRET) is None


def test_once_its_finalizer_is_gone_it_is_created_anew_in_the_same_run(
    place: Place, monkeypatch: pytest.MonkeyPatch, finalizer: Callable[[], object]
) -> None:
    before = place.secret()
    waits: list[int] = []

    def backoff(tries: int) -> float:
        waits.append(tries)
        if len(waits) == 2:
            finalizer()
        return 0.0

    monkeypatch.setattr(rounds, "backoff", backoff)

    outcome = place.refresh(password="the-new-password")

    assert (outcome.change, outcome.status) == ("created", 201)
    assert proof(outcome) == identity(place.secret())
    assert outcome.uid != before["metadata"]["uid"]
    assert password_in(place.secret()) == "the-new-password"


class Meanwhile(KubeWriter):
    """What writes, with something that happens between the apply and the removal of kubectl's copy."""

    before_removal: Callable[[], object] = staticmethod(lambda: None)
    applied: Answer[Written]

    def apply(self, path: str, configuration: Sensitive[bytes], *, force: bool, dry_run: bool = False) -> Any:
        self.applied = super().apply(path, configuration, force=force, dry_run=dry_run)
        return self.applied

    def remove_last_applied(self, path: str, written: Written, *, dry_run: bool = False) -> Any:
        self.before_removal()
        self.before_removal = lambda: None
        return super().remove_last_applied(path, written, dry_run=dry_run)


@pytest.fixture
def meanwhile(place: Place) -> Meanwhile:
    """Of a namespace whose Secret kubectl applied."""
    place.kubectl("apply", "-f-", stdin=json.dumps(pull_secret("an-older-password")))
    return Meanwhile(writer(place.control_plane).api)


def refresh_with(meanwhile: Meanwhile, place: Place) -> Any:
    return run(meanwhile, login(password="the-new-password"), namespaces=[place.namespace]).outcomes[place.namespace]


@pytest.mark.parametrize("how", ["apply", "create"])
def test_what_a_cron_job_puts_in_its_place_before_the_old_copy_goes_is_not_the_evidence(
    place: Place, meanwhile: Meanwhile, how: str
) -> None:
    def replace() -> None:
        place.kubectl("delete", "secret", SECRET)
        place.kubectl(how, "-f-", stdin=json.dumps(pull_secret("of-the-cron-job")))

    meanwhile.before_removal = replace

    outcome = refresh_with(meanwhile, place)

    assert meanwhile.applied.value is not None
    assert proof(outcome) == (meanwhile.applied.value.uid, meanwhile.applied.value.resource_version)
    after = place.secret()
    assert outcome.uid != after["metadata"]["uid"]
    assert password_in(after) == "of-the-cron-job"
    assert (LAST_APPLIED in after["metadata"].get("annotations", {})) == (how == "apply"), "it was not touched"


def test_what_somebody_edits_before_the_old_copy_goes_stays(place: Place, meanwhile: Meanwhile) -> None:
    meanwhile.before_removal = lambda: place.kubectl("label", "secret", SECRET, "a=b")

    outcome = refresh_with(meanwhile, place)

    assert isinstance(outcome, Applied)
    assert meanwhile.applied.value is not None
    assert proof(outcome) == (meanwhile.applied.value.uid, meanwhile.applied.value.resource_version)
    assert LAST_APPLIED in place.secret()["metadata"]["annotations"], "the next refresh removes it"
    place.refresh()
    assert LAST_APPLIED not in place.secret()["metadata"]["annotations"]


def test_one_that_is_gone_before_the_old_copy_is_removed_is_created_anew(place: Place, meanwhile: Meanwhile) -> None:
    meanwhile.before_removal = lambda: place.kubectl("delete", "secret", SECRET)

    outcome = refresh_with(meanwhile, place)

    assert proof(outcome) == identity(place.secret())
    assert outcome.change == "created"
