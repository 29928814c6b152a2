"""The fake cluster and the real API server give the same answers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import pytest

from tests.support.controlplane import ControlPlane
from tests.support.fake_cluster import FakeCluster
from tests.support.refresher import FIELD_MANAGER, LAST_APPLIED, SECRET, cluster, document, logins, pull_secret
from upsert import refresh
from upsert.core.answers import Answer
from upsert.core.sensitive import Sensitive
from upsert.errors import SettingsError


class Side(Protocol):
    """One of the two clusters, with what a test does to it as its admin."""

    namespace: str

    @property
    def cluster(self) -> refresh.Cluster: ...
    def store(self, body: Mapping[str, Any], manager: str) -> None: ...
    def terminate(self) -> None: ...
    def fill_quota(self) -> None: ...


class FakeSide:
    def __init__(self, namespace: str) -> None:
        self.cluster = FakeCluster()
        self._place = self.cluster.add(namespace, contract=namespace)
        self.namespace = namespace

    def store(self, body: Mapping[str, Any], manager: str) -> None:
        self.cluster.store(self.namespace, body, manager)

    def terminate(self) -> None:
        self._place.terminating = True

    def fill_quota(self) -> None:
        self._place.quota_full = True


class RealSide:
    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.cluster = cluster(control_plane)
        self._control_plane = control_plane
        self.namespace = namespace
        control_plane.request(
            "PATCH",
            f"/api/v1/namespaces/{namespace}",
            {"metadata": {"labels": {"contract": namespace}}},
            content_type="application/merge-patch+json",
        )

    def store(self, body: Mapping[str, Any], manager: str) -> None:
        self._control_plane.create_secret(self.namespace, dict(body), manager)

    def terminate(self) -> None:
        self._control_plane.delete_namespace(self.namespace)

    def fill_quota(self) -> None:
        fill_quota(self._control_plane, self.namespace)


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
) -> Answer:
    return side.cluster.apply(side.namespace, name, body or document(), force=force, dry_run=dry_run)


def shape(answer: Answer) -> Answer:
    """The answer without what differs from server to server."""
    return replace(answer, uid="", resource_version="")


def proof(answer: Answer) -> tuple[str, str]:
    assert answer.uid, "an answer that succeeded carries a uid"
    assert answer.resource_version, "an answer that succeeded carries a resourceVersion"
    return answer.uid, answer.resource_version


def test_a_missing_secret_is_created(side: Side) -> None:
    answer = apply(side)

    assert shape(answer) == Answer(201)
    assert all(proof(answer))


def test_other_bytes_update_the_same_object(side: Side) -> None:
    created = apply(side)
    updated = apply(side)

    assert shape(updated) == Answer(200)
    assert proof(updated)[0] == proof(created)[0]
    assert proof(updated)[1] != proof(created)[1]


def test_the_same_bytes_change_nothing(side: Side) -> None:
    same = document()

    assert proof(apply(side, same)) == proof(apply(side, same))


def test_a_conflict_names_the_other_manager_and_changes_nothing(side: Side) -> None:
    side.store(pull_secret(), "kubectl-create")

    refused = apply(side)

    assert (
        shape(refused)
        == refused
        == Answer(409, reason="Conflict", causes=(("FieldManagerConflict", ""),), managers=("kubectl-create",))
    )
    assert apply(side) == refused


def test_force_takes_the_field_over_and_the_next_apply_needs_none(side: Side) -> None:
    side.store(pull_secret(), "kubectl-create")

    forced = apply(side, force=True)
    updated = apply(side)

    assert (shape(forced), shape(updated)) == (Answer(200), Answer(200))
    assert proof(forced)[0] == proof(updated)[0]


def test_the_values_that_another_manager_wrote_are_no_conflict(side: Side) -> None:
    granted = logins(password="the-same-password")
    side.store(pull_secret(password="the-same-password"), "kubectl-create")

    assert shape(apply(side, document(granted))) == Answer(200)


def test_a_conflict_over_a_value_both_wrote_comes_at_the_next_change(side: Side) -> None:
    granted = logins(password="the-same-password")
    side.store(pull_secret(password="the-same-password"), "kubectl-create")
    apply(side, document(granted))

    assert apply(side).managers == ("kubectl-create",)


def test_an_immutable_secret_is_refused_even_with_force(side: Side) -> None:
    side.store(pull_secret(immutable=True), "kubectl-create")

    assert apply(side).is_conflict_of_managers
    assert apply(side, force=True) == Answer(
        422, reason="Invalid", kind="Secret", causes=(("FieldValueForbidden", "data"),)
    )


def test_a_manager_of_our_name_that_does_not_apply_is_another_manager(side: Side) -> None:
    side.store(pull_secret(), FIELD_MANAGER)

    assert apply(side).managers == (FIELD_MANAGER,)


def test_another_type_is_refused_even_with_force(side: Side) -> None:
    side.store({"metadata": {"name": SECRET}, "type": "Opaque", "data": {"key": "dmFsdWU="}}, "kubectl-create")

    assert apply(side).is_conflict_of_managers
    assert apply(side, force=True) == Answer(
        422, reason="Invalid", kind="Secret", causes=(("FieldValueInvalid", "type"),)
    )


def test_an_old_copy_in_an_annotation_is_reported_until_it_is_removed(side: Side) -> None:
    body = pull_secret()
    body["metadata"] = {"name": SECRET, "annotations": {LAST_APPLIED: "{}"}}
    side.store(body, "kubectl-client-side-apply")

    forced = apply(side, force=True)
    removed = side.cluster.remove_last_applied(side.namespace, SECRET, dry_run=False)
    again = side.cluster.remove_last_applied(side.namespace, SECRET, dry_run=False)

    assert shape(forced) == Answer(200, holds_last_applied=True)
    assert shape(removed) == Answer(200)
    assert proof(removed)[0] == proof(forced)[0]
    assert proof(removed)[1] != proof(forced)[1]
    assert proof(again) == proof(removed)
    assert shape(apply(side)) == Answer(200)


def test_a_dry_run_of_a_removal_removes_nothing(side: Side) -> None:
    body = pull_secret()
    body["metadata"] = {"name": SECRET, "annotations": {LAST_APPLIED: "{}"}}
    side.store(body, "kubectl-client-side-apply")
    apply(side, force=True)

    removed = side.cluster.remove_last_applied(side.namespace, SECRET, dry_run=True)
    after = apply(side, dry_run=True)

    assert shape(removed) == Answer(200)
    assert shape(after) == Answer(200, holds_last_applied=True)
    assert proof(after) == proof(removed)


def test_a_dry_run_of_a_creation_creates_nothing(side: Side) -> None:
    would_create = apply(side, dry_run=True)

    assert shape(would_create) == Answer(201)
    assert (bool(would_create.uid), would_create.resource_version) == (True, "")
    assert apply(side).status == 201


def test_a_dry_run_of_an_update_shows_the_unchanged_version(side: Side) -> None:
    created = apply(side)

    assert proof(apply(side, dry_run=True)) == proof(created)
    assert shape(apply(side, dry_run=True)) == Answer(200)


def test_a_dry_run_meets_the_conflict_that_the_real_one_would(side: Side) -> None:
    side.store(pull_secret(), "kubectl-create")

    assert apply(side, dry_run=True).is_conflict_of_managers
    assert shape(apply(side, dry_run=True, force=True)) == Answer(200)
    assert apply(side).is_conflict_of_managers


def test_a_terminating_namespace_takes_no_new_secret(side: Side) -> None:
    side.terminate()

    assert apply(side) == Answer(403, reason="Forbidden", kind="secrets", causes=(("NamespaceTerminating", ""),))


def test_a_terminating_namespace_still_updates_the_secret_it_has(side: Side) -> None:
    created = apply(side)
    side.terminate()

    updated = apply(side)

    assert shape(updated) == Answer(200)
    assert proof(updated)[0] == proof(created)[0]


def test_a_full_quota_refuses_a_new_secret_and_not_an_update(side: Side) -> None:
    apply(side)
    side.fill_quota()

    assert shape(apply(side)) == Answer(200)


def test_a_full_quota_refuses_a_new_secret(side: Side) -> None:
    side.fill_quota()

    assert apply(side) == Answer(403, reason="Forbidden", kind="secrets", over_quota=True)


def test_a_namespace_that_is_not_there_is_named_as_what_is_missing(side: Side) -> None:
    answer = side.cluster.apply("not-there", SECRET, document(), force=False, dry_run=False)

    assert answer == Answer(404, reason="NotFound", kind="namespaces")


def test_a_removal_in_a_namespace_without_the_secret_is_not_found(side: Side) -> None:
    assert side.cluster.remove_last_applied(side.namespace, SECRET, dry_run=False) == Answer(
        404, reason="NotFound", kind="secrets"
    )


def test_namespaces_are_selected_by_label(side: Side) -> None:
    assert side.cluster.namespaces(f"contract={side.namespace}") == [side.namespace]
    assert side.namespace in side.cluster.namespaces("")


def test_namespaces_can_be_asked_for_by_name(side: Side) -> None:
    wanted = [side.namespace, "not-there"]

    assert side.cluster.namespaces("", wanted) == [side.namespace]
    assert side.cluster.namespaces(f"contract={side.namespace}", wanted) == [side.namespace]
    assert side.cluster.namespaces("contract=another", wanted) == []


def test_a_terminating_namespace_is_still_listed(side: Side) -> None:
    side.terminate()

    assert side.namespace in side.cluster.namespaces("")


def test_a_selector_that_is_none_is_named_with_its_field(side: Side) -> None:
    with pytest.raises(SettingsError, match="NAMESPACE_SELECTOR: the API server does not understand '=,='"):
        side.cluster.namespaces("=,=")


def test_every_request_is_counted(side: Side) -> None:
    before = side.cluster.requests
    side.cluster.namespaces("")
    apply(side)
    apply(side, force=True)
    side.cluster.remove_last_applied(side.namespace, SECRET, dry_run=True)

    assert side.cluster.requests - before == 4


def test_there_is_time_to_start(side: Side) -> None:
    assert side.cluster.may_start()
