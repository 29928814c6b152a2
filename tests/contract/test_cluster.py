"""The fake cluster and the real API server give the same answers."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import replace
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest

from tests.support.controlplane import ControlPlane
from tests.support.fake_cluster import FakeCluster
from tests.support.refresher import (
    EXPIRES_AT,
    FIELD_MANAGER,
    LAST_APPLIED,
    SECRET,
    document,
    login,
    pull_secret,
    writer,
)
from upsert import writing
from upsert.core import document as documents
from upsert.core import outcomes
from upsert.core.answers import Answer, Refusal, Written
from upsert.core.identity import REFRESHER
from upsert.core.remedies import Asked
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.errors import InputError

SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)


class Side(Protocol):
    """One of the two clusters, with what a test does to it as its admin."""

    namespace: str

    @property
    def writer(self) -> writing.Writer: ...
    def store(self, body: Mapping[str, Any], manager: str) -> None: ...
    def terminate(self) -> None: ...
    def fill_quota(self) -> None: ...
    def begin_deletion(self) -> AbstractContextManager[None]: ...


class FakeSide:
    def __init__(self, namespace: str) -> None:
        self.writer = FakeCluster()
        self._place = self.writer.add(namespace, contract=namespace)
        self.namespace = namespace

    def store(self, body: Mapping[str, Any], manager: str) -> None:
        self.writer.store(self.namespace, body, manager)

    def terminate(self) -> None:
        self._place.terminating = True

    def fill_quota(self) -> None:
        self._place.quota_full = True

    @contextmanager
    def begin_deletion(self) -> Iterator[None]:
        self._place.secrets[SECRET].is_being_deleted = True
        yield


class RealSide:
    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.writer = writer(control_plane)
        self._control_plane = control_plane
        self.namespace = namespace
        self._merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"contract": namespace}}})

    def store(self, body: Mapping[str, Any], manager: str) -> None:
        self._control_plane.create_secret(self.namespace, dict(body), manager)

    def terminate(self) -> None:
        self._control_plane.delete_namespace(self.namespace)

    def fill_quota(self) -> None:
        fill_quota(self._control_plane, self.namespace)

    @contextmanager
    def begin_deletion(self) -> Iterator[None]:
        path = SECRETS.path(self.namespace, SECRET)
        self._merge(path, {"metadata": {"finalizers": ["example.com/wait"]}})
        self._control_plane.request("DELETE", path)
        yield
        self._merge(path, {"metadata": {"finalizers": None}})

    def _merge(self, path: str, patch: Mapping[str, Any]) -> None:
        self._control_plane.request("PATCH", path, patch, content_type="application/merge-patch+json")


def fill_quota(control_plane: ControlPlane, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    quota = control_plane.request("POST", path, {"metadata": {"name": "full"}, "spec": {"hard": {"secrets": "0"}}})
    quota["status"] = {"hard": {"secrets": "0"}, "used": {"secrets": "0"}}
    control_plane.request("PUT", f"{path}/full/status", quota)


@pytest.fixture(params=["fake", "real"])
def side(request: pytest.FixtureRequest) -> Side:
    if request.param == "fake":
        return FakeSide("contract")
    return RealSide(request.getfixturevalue("control_plane"), request.getfixturevalue("namespace"))


def apply(
    side: Side, body: Sensitive[bytes] | None = None, *, force: bool = False, dry_run: bool = False, name: str = SECRET
) -> Answer[Written]:
    path = SECRETS.path(side.namespace, name)
    return side.writer.apply(path, body or document(), force=force, dry_run=dry_run)


def remove(side: Side, version: Answer[Written], *, dry_run: bool = False) -> Answer[Written]:
    """Remove kubectl's copy from the version that an answer carries."""
    assert version.value is not None
    return side.writer.remove_last_applied(SECRETS.path(side.namespace, SECRET), version.value, dry_run=dry_run)


def shape(answer: Answer[Written]) -> Answer[Written]:
    """The answer without what differs from server to server."""
    written = answer.value
    if written is None:
        return answer
    changed_at = written.changed_at and SOME_TIME
    return replace(
        answer,
        value=replace(written, uid="", resource_version="", changed_at=changed_at),
        at=answer.at and SOME_TIME,
    )


def succeeded(
    status: int,
    *,
    holds_last_applied: bool = False,
    is_being_deleted: bool = False,
    keeps_keys_of: tuple[str, ...] = (),
    has_owner: bool = False,
) -> Answer[Written]:
    """The shape of an answer that succeeded, after an apply of ours that changed something."""
    written = Written(
        "",
        "",
        holds_last_applied,
        is_being_deleted,
        is_dated=True,
        changed_at=SOME_TIME,
        keeps_keys_of=keeps_keys_of,
        expires_at=documents.timestamp(EXPIRES_AT),
        has_owner=has_owner,
    )
    return Answer(status, value=written, at=SOME_TIME)


def change(answer: Answer[Written]) -> str:
    """Return what the write changed, by its answer."""
    assert answer.value is not None
    asked = Asked(f"secret/{SECRET}", "a", REFRESHER)
    return outcomes.applied(asked, answer, answer.value, expires_at="", took_over_from=(), seconds=0.0).change


def refused(status: int, reason: str, kind: str = "", *causes: tuple[str, str], **more: Any) -> Answer[Written]:
    return Answer(status, refusal=Refusal(reason, kind, causes, **more))


def proof(answer: Answer[Written]) -> tuple[str, str]:
    assert answer.value is not None
    assert answer.value.uid, "an answer that succeeded carries a uid"
    assert answer.value.resource_version, "an answer that succeeded carries a resourceVersion"
    return answer.value.uid, answer.value.resource_version


def test_a_missing_secret_is_created(side: Side) -> None:
    answer = apply(side)

    assert shape(answer) == succeeded(201)
    assert all(proof(answer))


def test_other_bytes_update_the_same_object(side: Side) -> None:
    created = apply(side)
    updated = apply(side)

    assert shape(updated) == succeeded(200)
    assert proof(updated)[0] == proof(created)[0]
    assert proof(updated)[1] != proof(created)[1]


def test_the_same_bytes_change_nothing(side: Side) -> None:
    same = document()

    assert proof(apply(side, same)) == proof(apply(side, same))


def test_the_same_bytes_are_told_as_unchanged_once_their_second_is_over(side: Side) -> None:
    same = document()
    created = apply(side, same)
    time.sleep(1.1)

    assert change(created) == "created"
    assert change(apply(side, same)) == "unchanged"
    assert change(apply(side)) == "updated"


def test_what_another_wrote_the_same_is_unchanged_from_the_first_apply_on(side: Side) -> None:
    side.store(pull_secret(password="the-same-password"), "kubectl-create")

    granted = login(password="the-same-password", expires_at=None)

    assert change(apply(side, document(granted))) == "unchanged"


def test_another_managers_own_key_stays_and_it_is_named(side: Side) -> None:
    body = pull_secret()
    side.store(body | {"data": body["data"] | {"extra": "eA=="}}, "kubectl-create")

    assert shape(apply(side, force=True)) == succeeded(200, keeps_keys_of=("kubectl-create",))


def test_that_it_has_an_owner_is_told(side: Side) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "app", "uid": "00000000-0000-4000-8000-000000000000"}
    side.store(pull_secret(metadata={"name": SECRET, "ownerReferences": [owner]}), "kubectl-create")

    assert shape(apply(side, force=True)) == succeeded(200, has_owner=True)


def test_a_conflict_names_the_other_manager_and_changes_nothing(side: Side) -> None:
    side.store(pull_secret(), "kubectl-create")

    answer = apply(side)

    assert answer == refused(409, "Conflict", "", ("FieldManagerConflict", ""), managers=("kubectl-create",))
    assert apply(side) == answer


def test_force_takes_the_field_over_and_the_next_apply_needs_none(side: Side) -> None:
    side.store(pull_secret(), "kubectl-create")

    forced = apply(side, force=True)
    updated = apply(side)

    assert (shape(forced), shape(updated)) == (succeeded(200), succeeded(200))
    assert proof(forced)[0] == proof(updated)[0]


def test_the_values_that_another_manager_wrote_are_no_conflict(side: Side) -> None:
    granted = login(password="the-same-password")
    side.store(pull_secret(password="the-same-password"), "kubectl-create")

    # The annotation that says when it expires is new.
    assert shape(apply(side, document(granted))) == succeeded(200)


def test_a_conflict_over_a_value_both_wrote_comes_at_the_next_change(side: Side) -> None:
    granted = login(password="the-same-password")
    side.store(pull_secret(password="the-same-password"), "kubectl-create")
    apply(side, document(granted))

    assert apply(side).refusal.managers == ("kubectl-create",)


def test_an_immutable_secret_is_refused_even_with_force(side: Side) -> None:
    side.store(pull_secret(immutable=True), "kubectl-create")

    assert apply(side).is_conflict_of_managers
    assert apply(side, force=True) == refused(422, "Invalid", "Secret", ("FieldValueForbidden", "data"))


def test_a_manager_of_our_name_that_does_not_apply_is_another_manager(side: Side) -> None:
    side.store(pull_secret(), FIELD_MANAGER)

    assert apply(side).refusal.managers == (FIELD_MANAGER,)


def test_another_type_is_refused_even_with_force(side: Side) -> None:
    side.store({"metadata": {"name": SECRET}, "type": "Opaque", "data": {"key": "dmFsdWU="}}, "kubectl-create")

    assert apply(side).is_conflict_of_managers
    assert apply(side, force=True) == refused(422, "Invalid", "Secret", ("FieldValueInvalid", "type"))


def test_an_old_copy_in_an_annotation_is_reported_until_it_is_removed(side: Side) -> None:
    body = pull_secret()
    body["metadata"] = {"name": SECRET, "annotations": {LAST_APPLIED: "{}"}}
    side.store(body, "kubectl-client-side-apply")

    forced = apply(side, force=True)
    removed = remove(side, forced)
    again = remove(side, removed)

    assert shape(forced) == succeeded(200, holds_last_applied=True)
    assert shape(removed) == succeeded(200)
    assert proof(removed)[0] == proof(forced)[0]
    assert proof(removed)[1] != proof(forced)[1]
    assert proof(again) == proof(removed)
    assert shape(apply(side)) == succeeded(200)


def test_a_dry_run_of_a_removal_removes_nothing(side: Side) -> None:
    body = pull_secret()
    body["metadata"] = {"name": SECRET, "annotations": {LAST_APPLIED: "{}"}}
    side.store(body, "kubectl-client-side-apply")
    removed = remove(side, apply(side, force=True), dry_run=True)
    after = apply(side, dry_run=True)

    assert shape(removed) == succeeded(200)
    assert shape(after) == succeeded(200, holds_last_applied=True)
    assert proof(after) == proof(removed)


def test_a_dry_run_of_a_creation_creates_nothing(side: Side) -> None:
    would_create = apply(side, dry_run=True)

    assert shape(would_create) == succeeded(201)
    assert would_create.value is not None
    assert (bool(would_create.value.uid), would_create.value.resource_version) == (True, "")
    assert apply(side).status == 201


def test_a_dry_run_of_an_update_shows_the_unchanged_version(side: Side) -> None:
    created = apply(side)

    assert proof(apply(side, dry_run=True)) == proof(created)
    assert shape(apply(side, dry_run=True)) == succeeded(200)


def test_a_dry_run_meets_the_conflict_that_the_real_one_would(side: Side) -> None:
    side.store(pull_secret(), "kubectl-create")

    assert apply(side, dry_run=True).is_conflict_of_managers
    assert shape(apply(side, dry_run=True, force=True)) == succeeded(200)
    assert apply(side).is_conflict_of_managers


def test_a_terminating_namespace_takes_no_new_secret(side: Side) -> None:
    side.terminate()

    assert apply(side) == refused(403, "Forbidden", "secrets", ("NamespaceTerminating", ""))


def test_a_terminating_namespace_still_updates_the_secret_it_has(side: Side) -> None:
    created = apply(side)
    side.terminate()

    updated = apply(side)

    assert shape(updated) == succeeded(200)
    assert proof(updated)[0] == proof(created)[0]


def test_a_full_quota_refuses_a_new_secret_and_not_an_update(side: Side) -> None:
    apply(side)
    side.fill_quota()

    assert shape(apply(side)) == succeeded(200)


def test_a_full_quota_refuses_a_new_secret(side: Side) -> None:
    side.fill_quota()

    assert apply(side) == refused(403, "Forbidden", "secrets", quota="full")


def test_a_secret_that_is_being_deleted_is_written_and_said_to_be_so(side: Side) -> None:
    created = apply(side)
    with side.begin_deletion():
        updated = apply(side)

        assert shape(updated) == succeeded(200, is_being_deleted=True)
        assert proof(updated)[0] == proof(created)[0]
        assert shape(apply(side, dry_run=True)) == succeeded(200, is_being_deleted=True)


def test_a_namespace_that_is_not_there_is_named_as_what_is_missing(side: Side) -> None:
    answer = side.writer.apply(SECRETS.path("not-there", SECRET), document(), force=False, dry_run=False)

    assert answer == refused(404, "NotFound", "namespaces")


def test_a_removal_from_a_version_that_is_no_more_removes_nothing(side: Side) -> None:
    body = pull_secret()
    body["metadata"] = {"name": SECRET, "annotations": {LAST_APPLIED: "{}"}}
    side.store(body, "kubectl-client-side-apply")
    forced = apply(side, force=True)
    apply(side)

    assert remove(side, forced).is_precondition_failed
    assert shape(apply(side)) == succeeded(200, holds_last_applied=True)


def test_a_removal_from_another_object_removes_nothing(side: Side) -> None:
    other = Answer(200, value=Written("00000000-0000-4000-8000-000000000000", "1"))
    apply(side)

    assert remove(side, other).is_precondition_failed


def test_a_removal_in_a_namespace_without_the_secret_is_not_found(side: Side) -> None:
    assert remove(side, succeeded(200)) == refused(404, "NotFound", "secrets")


def test_namespaces_are_selected_by_label(side: Side) -> None:
    assert side.writer.namespaces(f"contract={side.namespace}") == [side.namespace]
    assert side.namespace in side.writer.namespaces("")


def test_namespaces_can_be_asked_for_by_name(side: Side) -> None:
    wanted = [side.namespace, "not-there"]

    assert side.writer.namespaces("", wanted) == [side.namespace]
    assert side.writer.namespaces(f"contract={side.namespace}", wanted) == [side.namespace]
    assert side.writer.namespaces("contract=another", wanted) == []


def test_a_terminating_namespace_is_still_listed(side: Side) -> None:
    side.terminate()

    assert side.namespace in side.writer.namespaces("")


def test_a_selector_that_is_none_is_named_with_its_field(side: Side) -> None:
    with pytest.raises(InputError, match=r"namespaces\.selector: the API server does not understand '=,='"):
        side.writer.namespaces("=,=")


def test_every_request_is_counted(side: Side) -> None:
    before = side.writer.requests
    side.writer.namespaces("")
    apply(side)
    remove(side, apply(side, force=True), dry_run=True)

    assert side.writer.requests - before == 4


def test_there_is_time_to_start(side: Side) -> None:
    assert side.writer.time_left() > 0
