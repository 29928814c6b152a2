"""The use case: order, what one namespace's trouble does to the others, and what the report says."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.fake_cluster import FakeCluster
from tests.support.refresher import EXPIRES_AT, FIELD_MANAGER, LAST_APPLIED, SECRET, Logins, logins, pull_secret, run
from tests.support.refresher import settings as settings_with
from upsert import refresh
from upsert.core.answers import Answer
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.errors import (
    ClusterNotFound,
    ListForbidden,
    NamespacesFailed,
    NoNamespaceMatches,
    RegistryError,
    Unauthorized,
)
from upsert.settings import OnConflict, Request


def cluster_of(*names: str) -> FakeCluster:
    fake = FakeCluster()
    for name in names:
        fake.add(name)
    return fake


def held_by_kubectl_apply() -> dict[str, object]:
    return pull_secret(metadata={"name": SECRET, "annotations": {LAST_APPLIED: "the old Secret in full"}})


def test_every_namespace_gets_the_same_secret() -> None:
    cluster = cluster_of("a", "b", "c")

    result = run(cluster)

    report = result.report
    assert set(result.outcomes) == {"a", "b", "c"}
    assert len({frozenset(place.secrets[SECRET].fields.items()) for place in cluster.contents.values()}) == 1
    assert (report.applied, report.created, report.skipped, report.failures) == (3, 3, 0, ())
    assert report.error() is None


def test_an_outcome_carries_the_servers_proof() -> None:
    cluster = cluster_of("a")

    outcome = run(cluster).outcomes["a"]

    stored = cluster.contents["a"].secrets[SECRET]
    assert isinstance(outcome, Applied)
    assert (outcome.uid, outcome.resource_version, outcome.status) == (stored.uid, str(stored.version), 201)
    assert outcome.duration_ms >= 0


def test_one_list_and_one_write_per_namespace_is_all_that_is_asked() -> None:
    cluster = cluster_of("a", "b")
    run(cluster)
    cluster.calls.clear()

    report = run(cluster).report

    assert sorted(cluster.calls) == ["apply a", "apply b", "list"]
    assert report.api_requests == 3


def test_the_login_comes_before_the_cluster_and_both_before_any_write() -> None:
    cluster = cluster_of("a")
    order: list[str] = []

    def granted() -> Logins:
        order.append("logins")
        return logins()

    def connect() -> FakeCluster:
        order.append("connect")
        cluster.calls = order
        return cluster

    refresh.refresh(settings_with(), Request(), logins=granted, connect=connect, record=lambda _: None)

    assert order == ["logins", "connect", "list", "apply a"]


def no_cluster() -> FakeCluster:
    raise AssertionError("the cluster was looked up")


def no_record(outcome: Outcome) -> None:
    raise AssertionError(f"there was an outcome: {outcome}")


def test_without_a_login_the_cluster_is_not_even_looked_up() -> None:
    def denied() -> Logins:
        raise RegistryError("denied")

    with pytest.raises(RegistryError, match="denied"):
        refresh.refresh(settings_with(), Request(), logins=denied, connect=no_cluster, record=no_record)


def test_without_a_cluster_nothing_is_recorded() -> None:
    def not_found() -> FakeCluster:
        raise ClusterNotFound("none")

    with pytest.raises(ClusterNotFound):
        refresh.refresh(settings_with(), Request(), logins=logins, connect=not_found, record=no_record)


def test_without_a_list_nothing_is_written() -> None:
    class Forbidding(FakeCluster):
        def namespaces(self, selector: str, names: Sequence[str] = ()) -> list[str]:
            raise ListForbidden(f"403 for {selector}{names}")

    cluster = Forbidding()
    cluster.add("a")

    with pytest.raises(ListForbidden):
        run(cluster)

    assert cluster.calls == []


@pytest.mark.parametrize(
    ("changes", "requested"),
    [
        ({"include_namespaces": ("nothing-*",)}, ()),
        ({"exclude_namespaces": ("*",)}, ()),
        ({}, ("a", "unknown")),
        ({"exclude_namespaces": ("a",)}, ("a",)),
    ],
)
def test_without_a_plan_nothing_is_written(changes: dict[str, Any], requested: tuple[str, ...]) -> None:
    cluster = cluster_of("a", "b")

    with pytest.raises(NoNamespaceMatches):
        run(cluster, namespaces=requested, **changes)

    assert cluster.calls == ["list"]


def test_the_selector_include_exclude_and_request_all_have_to_agree() -> None:
    cluster = cluster_of("team-c")
    for name in ("team-a", "team-b", "other", "team-x"):
        cluster.add(name, env="prod")

    outcomes = run(
        cluster,
        namespaces=["*-a", "team-b"],
        include_namespaces=("team-*",),
        exclude_namespaces=("*-x",),
        namespace_selector="env=prod",
    ).outcomes

    assert set(outcomes) == {"team-a", "team-b"}


def test_a_secret_of_another_manager_is_taken_over_by_one_forced_write() -> None:
    cluster = cluster_of("a")
    stored = cluster.store("a", pull_secret(), "helm")

    result = run(cluster)

    assert cluster.calls == ["list", "apply a", "apply a forced"]
    outcome = result.outcomes["a"]
    assert isinstance(outcome, Applied)
    assert (outcome.change, outcome.took_over_from, outcome.uid) == ("updated", ("helm",), stored.uid)
    assert result.report.took_over == 1
    assert stored.managers["data/.dockerconfigjson"] == {(FIELD_MANAGER, "Apply")}


def test_under_refuse_it_fails_with_the_managers_name_and_is_left_alone() -> None:
    cluster = cluster_of("a")
    stored = cluster.store("a", pull_secret(), "helm")
    before = dict(stored.fields)

    result = run(cluster, on_conflict=OnConflict.REFUSE)

    failed = result.outcomes["a"]
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("contested", 409)
    assert failed.remedy.startswith("helm writes this Secret too")
    assert (stored.fields, cluster.calls) == (before, ["list", "apply a"])


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_old_copy_is_removed_by_one_more_request_once(dry_run: bool) -> None:
    cluster = cluster_of("a")
    stored = cluster.store("a", held_by_kubectl_apply(), "kubectl-client-side-apply")
    old = stored.version

    outcome = run(cluster, dry_run=dry_run).outcomes["a"]

    dry = " dry" if dry_run else ""
    assert cluster.calls == ["list", f"apply a{dry}", f"apply a forced{dry}", f"remove a{dry}"]
    assert isinstance(outcome, Applied)
    assert outcome.resource_version == str(stored.version)
    assert (stored.version == old) is dry_run
    assert (f"annotations/{LAST_APPLIED}" in stored.fields) is dry_run


def test_an_old_copy_that_cannot_be_removed_is_a_failure() -> None:
    cluster = cluster_of("a")
    cluster.store("a", held_by_kubectl_apply(), "kubectl-client-side-apply")
    cluster.remove_last_applied = lambda *_, **__: Answer(403)  # type: ignore[method-assign]

    failed = run(cluster).outcomes["a"]

    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("stale-copy", 403)


def test_namespaces_that_go_away_are_skipped_and_no_failure() -> None:
    cluster = cluster_of("ending", "gone", "stays")
    cluster.contents["ending"].terminating = True
    cluster.instead["gone"] = lambda: Answer(404, kind="namespaces")

    result = run(cluster)

    assert result.outcomes["ending"] == Skipped("ending", "terminating")
    assert result.outcomes["gone"] == Skipped("gone", "gone")
    assert (result.report.applied, result.report.skipped, result.report.error()) == (1, 2, None)


def test_one_failure_stops_none_of_the_others() -> None:
    cluster = cluster_of(*(f"ns-{number:02}" for number in range(20)))
    cluster.instead["ns-00"] = lambda: Answer(403, missing_verb="patch")
    cluster.instead["ns-07"] = lambda: Answer(0, trouble="timeout")

    result = run(cluster, concurrency=3)

    assert result.report.applied == 18
    assert [(failed.namespace, failed.reason) for failed in result.report.failures] == [
        ("ns-00", "forbidden"),
        ("ns-07", "unavailable"),
    ]


def test_a_bug_met_by_one_namespace_stops_none_of_the_others() -> None:
    cluster = cluster_of("a", "b", "c")

    def bug() -> Answer:
        raise ZeroDivisionError("a text that could quote a value")

    cluster.instead["b"] = bug

    result = run(cluster)

    failed = result.outcomes["b"]
    assert isinstance(failed, Failed)
    assert failed.reason == "internal"
    assert "ZeroDivisionError" in failed.remedy
    assert "quote" not in failed.remedy
    assert result.report.applied == 2


def test_outcomes_are_recorded_as_they_come_and_not_at_the_end() -> None:
    cluster = cluster_of("fast", "slow")
    recorded = threading.Event()
    waited: list[bool] = []

    def slow() -> Answer:
        waited.append(True)
        return Answer(201, uid="u", resource_version="1")

    cluster.instead["slow"] = slow
    # The lock of the fake is held while `slow` answers, so it waits outside of it.
    original = cluster.apply

    def apply(namespace: str, *arguments: object, **options: object) -> Answer:
        if namespace == "slow":
            assert recorded.wait(10), "the fast one was not recorded before the slow one ended"
        return original(namespace, *arguments, **options)  # type: ignore[arg-type]

    cluster.apply = apply  # type: ignore[method-assign]
    refresh.refresh(settings_with(), Request(), logins=logins, connect=lambda: cluster, record=lambda _: recorded.set())

    assert waited == [True]


def test_no_more_requests_run_at_once_than_the_settings_allow() -> None:
    cluster = cluster_of(*(f"ns-{number}" for number in range(12)))
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Barrier(3)
    original = cluster.apply

    def apply(*arguments: object, **options: object) -> Answer:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(10)
        answer = original(*arguments, **options)  # type: ignore[arg-type]
        with lock:
            running -= 1
        return answer

    cluster.apply = apply  # type: ignore[method-assign]
    run(cluster, concurrency=3)

    assert most == 3


def test_without_time_nothing_is_written_and_every_namespace_says_so() -> None:
    cluster = cluster_of("a", "b")
    cluster.time_is_up = True

    result = run(cluster)

    assert cluster.calls == ["list"]
    assert [failed.reason for failed in result.report.failures] == ["deadline", "deadline"]


def test_time_that_ends_during_the_run_spares_what_was_not_started() -> None:
    cluster = cluster_of("a", "b", "c")

    def last() -> Answer:
        cluster.time_is_up = True
        return Answer(200, uid="u", resource_version="1")

    cluster.instead["a"] = last

    result = run(cluster, concurrency=1)

    assert cluster.calls == ["list", "apply a"]
    assert (result.report.applied, [failed.namespace for failed in result.report.failures]) == (1, ["b", "c"])


def test_the_error_counts_and_names_the_first_failures() -> None:
    cluster = cluster_of(*(f"ns-{number}" for number in range(9)))
    for number in range(7):
        cluster.instead[f"ns-{number}"] = lambda: Answer(429)

    error = run(cluster).report.error()

    assert isinstance(error, NamespacesFailed)
    assert str(error) == (
        "7 of 9 namespaces failed: ns-0: throttled, ns-1: throttled, ns-2: throttled, ns-3: throttled, "
        "ns-4: throttled, and 2 more; the log has every one with its remedy"
    )


def test_a_single_failure_is_named_without_more() -> None:
    cluster = cluster_of("a", "b")
    cluster.instead["b"] = lambda: Answer(422, causes=(("FieldValueInvalid", "type"),))

    assert str(run(cluster).report.error()) == (
        "1 of 2 namespaces failed: b: wrong-type; the log has every one with its remedy"
    )


def test_an_identity_refused_during_the_run_is_an_error_of_its_own() -> None:
    cluster = cluster_of("a", "b")
    cluster.instead["b"] = lambda: Answer(401)

    error = run(cluster).report.error()

    assert isinstance(error, Unauthorized)
    assert "check its access entry. 1 of 2 namespaces failed: b: unauthorized" in str(error)


def test_a_dry_run_writes_nothing_and_says_so() -> None:
    cluster = cluster_of("a", "b")
    stored = cluster.store("b", pull_secret(), "helm")
    before = dict(stored.fields)

    result = run(cluster, dry_run=True)

    assert SECRET not in cluster.contents["a"].secrets
    assert stored.fields == before
    assert all(" dry" in call for call in cluster.calls if call.startswith("apply"))
    assert (result.report.dry_run, result.report.applied, result.report.created) == (True, 2, 1)


def test_the_report_carries_when_the_token_ends_and_how_long_it_took() -> None:
    report = run(cluster_of("a"), logins(expires_at=EXPIRES_AT)).report

    assert report.token_expires_at == EXPIRES_AT
    assert report.duration_ms >= 0
    assert report.dry_run is False
