"""The use case: order, what one object's trouble in one namespace does to the others, and what the report says."""

import base64
import json
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from copy import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.fake_cluster import FakeCluster
from tests.support.objects import ARN, pull_object
from tests.support.refresher import EXPIRES_AT, FIELD_MANAGER, LAST_APPLIED, SECRET, Run, login, pull_secret, run
from upsert import kinds, refresh, rounds
from upsert.core.answers import Answer, Refusal, Written
from upsert.core.objects import Material, Object, OnConflict, Part, Ref, Scope, Target
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.sensitive import Sensitive
from upsert.errors import (
    ClusterNotFound,
    ClusterNotTrusted,
    InputError,
    ListForbidden,
    NoNamespaceMatches,
    ObjectsFailed,
    SourceFailed,
    Unauthorized,
    UpsertError,
)
from upsert.kube.pace import Pace
from upsert.refresh import Parts
from upsert.request import Request

TITLE = f"secret/{SECRET}"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, unless the server asks for patience."""
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.0)


def cluster_of(*names: str, concurrency: int = 4) -> FakeCluster:
    fake = FakeCluster()
    fake.pace = Pace(concurrency)
    for name in names:
        fake.add(name)
    return fake


def held_by_kubectl_apply() -> dict[str, object]:
    return pull_secret(metadata={"name": SECRET, "annotations": {LAST_APPLIED: "the old Secret in full"}})


def answered(status: int, *causes: tuple[str, str], **refusal: Any) -> Answer[Written]:
    return Answer(status, refusal=Refusal(causes=causes, **refusal))


def done() -> Answer[Written]:
    return Answer(200, value=Written("u", "1"))


def by_hand(*objects: Object, **fields: Any) -> Request:
    return Request(Target("test"), objects or (pull_object(),), is_by_hand=True, **fields)


class Told:
    """The parts of a refresh of `cluster`, all of whose sources give a login; `events` are what happened, in order."""

    def __init__(self, cluster: FakeCluster, readings: Mapping[Ref, Material | SourceFailed] | None = None) -> None:
        self.events: list[Any] = []
        self._cluster = cluster
        self._readings = readings or {}

    def parts(self) -> Parts[FakeCluster]:
        return Parts(
            read=self._read,
            build=kinds.build,
            connect=self._connect,
            record=self.events.append,
            source_failed=lambda one, why: self.events.append((one.name, str(why))),
            unplaced=lambda one: self.events.append(("unplaced", one.name)),
        )

    def _read(self, refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
        self.events.append(("read", tuple(refs)))
        return {ref: self._readings.get(ref) or login() for ref in refs}

    def _connect(self) -> FakeCluster:
        self.events.append("connect")
        self._cluster.calls = self.events
        return self._cluster


def test_every_namespace_gets_the_same_secret() -> None:
    cluster = cluster_of("a", "b", "c")

    result = run(cluster)

    report = result.report
    assert set(result.outcomes) == {"a", "b", "c"}
    assert len({frozenset(place.secrets[SECRET].fields.items()) for place in cluster.contents.values()}) == 1
    assert (report.applied, report.created, report.skipped, report.failures) == (3, 3, 0, ())
    assert report.error(is_by_hand=True) is None


def test_an_outcome_carries_the_servers_proof() -> None:
    cluster = cluster_of("a")

    outcome = run(cluster).outcomes["a"]

    stored = cluster.contents["a"].secrets[SECRET]
    assert isinstance(outcome, Applied)
    assert outcome.title == TITLE
    assert (outcome.uid, outcome.resource_version, outcome.status) == (stored.uid, str(stored.version), 201)
    assert outcome.duration_ms >= 0


def test_one_list_and_one_write_per_namespace_is_all_that_is_asked() -> None:
    cluster = cluster_of("a", "b")
    run(cluster)
    cluster.calls.clear()

    report = run(cluster).report

    assert sorted(cluster.calls) == ["apply a", "apply b", "list"]
    assert report.api_requests == 3


def test_the_sources_come_before_the_cluster_and_both_before_any_write() -> None:
    told = Told(cluster_of("a"))

    refresh.refresh(by_hand(), told.parts())

    assert told.events[:-1] == [("read", (Ref("ecr"),)), "connect", "list", "apply a"]
    assert isinstance(told.events[-1], Applied)


def no_cluster() -> FakeCluster:
    raise AssertionError("the cluster was looked up")


def no_record(outcome: Outcome) -> None:
    raise AssertionError(f"there was an outcome: {outcome}")


def test_without_a_login_the_cluster_is_not_even_looked_up() -> None:
    told = Told(cluster_of("a"), {Ref("ecr"): SourceFailed("denied")})

    with pytest.raises(SourceFailed, match=r"^registries\[0\]: denied$"):
        refresh.refresh(by_hand(), replace(told.parts(), connect=no_cluster, record=no_record))

    assert told.events == [("read", (Ref("ecr"),)), (SECRET, "registries[0]: denied")]


def test_without_a_cluster_nothing_is_recorded() -> None:
    def not_found() -> FakeCluster:
        raise ClusterNotFound("none")

    parts = replace(Told(cluster_of("a")).parts(), connect=not_found, record=no_record)
    with pytest.raises(ClusterNotFound):
        refresh.refresh(by_hand(), parts)


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
        ({"include": ("nothing-*",)}, ()),
        ({"exclude": ("*",)}, ()),
        ({}, ("a", "unknown")),
        ({"exclude": ("a",)}, ("a",)),
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
        cluster, namespaces=["*-a", "team-b"], include=("team-*",), exclude=("*-x",), selector="env=prod"
    ).outcomes

    assert set(outcomes) == {"team-a", "team-b"}


# Several objects.

KEPT = Ref("secret", (("secret", ARN),))
OTHER = pull_object(name="other", include=["b", "c"], parts=(Part("registries[0].auths", KEPT),))


def auths(host: str = "quay.io") -> Material:
    config = {"auths": {host: {"auth": base64.b64encode(b"me:correct-horse").decode()}}}
    return Material({"value": Sensitive(json.dumps(config).encode())})


def test_each_object_goes_to_its_own_namespaces_with_one_list_for_each_selector() -> None:
    cluster = cluster_of("a", "b")
    cluster.add("c", env="prod")
    chosen = replace(OTHER, name="chosen", scope=pull_object(selector="env=prod").scope)

    report = run(cluster, {Ref("ecr"): login(), KEPT: auths()}, pull_object(), OTHER, chosen).report

    there = {name: sorted(place.secrets) for name, place in cluster.contents.items()}
    assert there == {"a": [SECRET], "b": [SECRET, "other"], "c": [SECRET, "chosen", "other"]}
    assert (report.applied, report.objects, report.error(is_by_hand=True)) == (6, 3, None)
    assert cluster.calls.count("list") == 2


def test_each_ref_is_read_once_whatever_objects_need_it() -> None:
    told = Told(cluster_of("a"), {KEPT: auths()})
    both = replace(OTHER, name="both", parts=(Part("registries[0]", Ref("ecr")), Part("registries[1].auths", KEPT)))

    refresh.refresh(by_hand(pull_object(), both, pull_object(name="third")), told.parts())

    assert told.events[0] == ("read", (Ref("ecr"), KEPT))


def test_a_source_that_fails_costs_its_own_objects_alone_and_ends_the_run_after_the_rest_is_written() -> None:
    cluster = cluster_of("a", "b")
    told = Told(cluster, {KEPT: SourceFailed("cannot read secret x")})

    report = refresh.refresh(by_hand(pull_object(), OTHER), told.parts())

    assert (OTHER.name, "registries[0].auths: cannot read secret x") in told.events
    assert {name: list(place.secrets) for name, place in cluster.contents.items()} == {"a": [SECRET], "b": [SECRET]}
    assert (report.applied, report.failures, report.objects) == (2, (), 2)
    assert [title for title, _ in report.not_made] == ["secret/other"]
    for is_by_hand in (True, False):
        error = report.error(is_by_hand=is_by_hand)
        assert isinstance(error, SourceFailed)
        assert str(error) == "registries[0].auths: cannot read secret x"


def test_what_is_no_object_of_its_kind_is_a_failed_source_and_is_told_by_its_place() -> None:
    told = Told(cluster_of("a"), {KEPT: Material({"value": Sensitive(b"correct-horse")})})

    report = refresh.refresh(by_hand(pull_object(), OTHER), told.parts())

    (why,) = [event[1] for event in told.events if isinstance(event, tuple) and event[0] == "other"]
    assert why.startswith("secret/other: registries[0].auths: no JSON; expected ")
    assert "correct-horse" not in why
    assert report.applied == 1


def test_when_every_source_fails_each_is_told_once() -> None:
    first, second = SourceFailed("no token"), SourceFailed("no secret")
    told = Told(cluster_of("a"), {Ref("ecr"): first, KEPT: second})

    with pytest.raises(SourceFailed, match=r"^registries\[0\]: no token; registries\[0\].auths: no secret$"):
        refresh.refresh(by_hand(pull_object(), OTHER, pull_object(name="third")), told.parts())


def test_the_first_to_expire_counts() -> None:
    sooner, later = datetime(2030, 1, 1, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)
    abroad = Ref("ecr", (("region", "us-east-1"),))
    readings = {Ref("ecr"): login(expires_at=later), abroad: login(expires_at=sooner), KEPT: auths()}
    second = replace(OTHER, name="second", parts=(Part("registries[0]", abroad),))

    report = run(cluster_of("b"), readings, pull_object(), OTHER, second).report

    assert report.expires_at == sooner


def test_what_never_expires_has_no_end() -> None:
    assert run(cluster_of("b"), {KEPT: auths()}, OTHER).report.expires_at is None


def test_where_two_objects_of_one_name_meet_neither_is_written_and_both_are_elsewhere() -> None:
    cluster = cluster_of("a", "b", "c")
    first, second = pull_object(include=["a", "b"]), pull_object(include=["b", "c"])

    result = run(cluster, None, first, second)

    assert sorted(call for call in cluster.calls if call != "list") == ["apply a", "apply c"]
    failed = result.outcomes["b"]
    assert isinstance(failed, Failed)
    assert (failed.title, failed.reason) == (TITLE, "overlap")
    assert result.report.failures == (failed,)
    assert result.report.applied == 2


def test_an_object_that_could_not_be_made_still_overlaps() -> None:
    cluster = cluster_of("a")
    broken = pull_object(parts=OTHER.parts)

    result = run(cluster, {Ref("ecr"): login(), KEPT: SourceFailed("gone")}, pull_object(), broken)

    assert cluster.calls == ["list"]
    assert [failed.reason for failed in result.report.failures] == ["overlap"]


def woken(one: Object, *rivals: Object) -> Request:
    return Request(Target("test"), (one,), rivals=rivals, is_woken=True, is_whole=False)


def test_what_is_woken_is_not_written_where_another_of_its_name_goes_that_nothing_woke() -> None:
    cluster = cluster_of("a", "b", "c")
    told = Told(cluster, {KEPT: auths()})
    rival = pull_object(name=OTHER.name, include=["b", "c"])

    report = refresh.refresh(woken(replace(OTHER, scope=Scope(("a", "b"))), rival), told.parts())

    assert told.events[0] == ("read", (KEPT,))
    assert [event for event in told.events if isinstance(event, str) and event != "connect"] == ["list", "apply a"]
    assert [(failed.namespace, failed.reason) for failed in report.failures] == [("b", "overlap")]
    assert (report.applied, report.objects) == (1, 1)


def test_what_is_woken_and_has_no_namespace_yet_is_told_and_stops_nothing() -> None:
    told = Told(cluster_of("a"), {KEPT: auths()})
    nowhere = replace(OTHER, scope=Scope(("later",)))

    report = refresh.refresh(woken(nowhere, replace(nowhere, scope=Scope(("later-too",)))), told.parts())

    assert told.events[1:] == ["connect", "list", ("unplaced", OTHER.name)]
    assert (report.applied, report.error(is_by_hand=False)) == (0, None)


def test_an_object_without_a_namespace_is_told_and_stops_no_other() -> None:
    told = Told(cluster_of("a"), {KEPT: auths()})

    report = refresh.refresh(by_hand(pull_object(), OTHER), told.parts())

    assert ("unplaced", "other") in told.events
    assert (report.applied, report.error(is_by_hand=True)) == (1, None)


def test_one_object_that_is_refused_stops_no_other_in_its_namespace() -> None:
    cluster = cluster_of("b")
    stored = cluster.store("b", pull_secret(), "helm")

    result = run(cluster, {Ref("ecr"): login(), KEPT: auths()}, pull_object(on_conflict=OnConflict.REFUSE), OTHER)

    assert [(failed.title, failed.reason) for failed in result.report.failures] == [(TITLE, "contested")]
    assert stored.managers["type"] == {("helm", "Update")}
    assert "other" in cluster.contents["b"].secrets


# What answers to a write come to.


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


def test_what_is_not_as_it_was_sent_is_applied_and_counted() -> None:
    cluster = cluster_of("a", "b", "c")
    cluster.store("b", pull_secret(metadata={"name": SECRET, "ownerReferences": [{"kind": "ConfigMap"}]}), "helm")
    cluster.instead["c"] = lambda: Answer(200, value=Written("u", "1"))

    result = run(cluster)

    altered = {name: outcome.altered for name, outcome in result.outcomes.items() if isinstance(outcome, Applied)}
    assert altered == {"a": (), "b": ("has-owner",), "c": ("annotation-differs",)}
    assert result.report.altered == 2


def test_what_has_no_annotation_misses_none() -> None:
    cluster = cluster_of("a")

    result = run(cluster, login(expires_at=None))

    assert isinstance(outcome := result.outcomes["a"], Applied)
    assert (outcome.altered, result.report.altered) == ((), 0)


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
    assert outcome.uid == stored.uid
    # The apply's own: the removal comes after it.
    assert outcome.resource_version == str(stored.version if dry_run else stored.version - 1)
    assert (stored.version == old) is dry_run
    assert (f"annotations/{LAST_APPLIED}" in stored.fields) is dry_run


def test_a_secret_that_somebody_replaces_before_the_old_copy_is_removed_keeps_the_proof_of_the_apply() -> None:
    cluster = cluster_of("a")
    stored = cluster.store("a", held_by_kubectl_apply(), "kubectl-client-side-apply")
    remove = cluster.remove_last_applied

    def replaced_first(*arguments: Any, **options: Any) -> Answer[Written]:
        cluster.store("a", held_by_kubectl_apply(), "cron-job")
        return remove(*arguments, **options)

    cluster.remove_last_applied = replaced_first  # type: ignore[method-assign]

    outcome = run(cluster).outcomes["a"]

    anew = cluster.contents["a"].secrets[SECRET]
    assert isinstance(outcome, Applied)
    assert (outcome.uid, outcome.uid != anew.uid) == (stored.uid, True)
    assert f"annotations/{LAST_APPLIED}" in anew.fields, "the next refresh looks again"


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_secret_that_somebody_deletes_before_the_old_copy_is_removed_is_created_anew(comes_back: bool) -> None:
    cluster = cluster_of("a")
    stored = cluster.store("a", held_by_kubectl_apply(), "kubectl-client-side-apply")
    remove = cluster.remove_last_applied

    def deleted_first(*arguments: Any, **options: Any) -> Answer[Written]:
        del cluster.contents["a"].secrets[SECRET]
        cluster.time_is_up = not comes_back
        return remove(*arguments, **options)

    cluster.remove_last_applied = deleted_first  # type: ignore[method-assign]

    result = run(cluster)

    outcome = result.outcomes["a"]
    assert isinstance(outcome, Applied), "nothing holds an old value any more"
    if comes_back:
        assert (outcome.change, outcome.uid) == ("created", cluster.contents["a"].secrets[SECRET].uid)
    else:
        assert (outcome.change, outcome.uid) == ("updated", stored.uid)
    assert result.report.failures == ()


def test_an_old_copy_that_cannot_be_removed_is_a_failure() -> None:
    cluster = cluster_of("a")
    cluster.store("a", held_by_kubectl_apply(), "kubectl-client-side-apply")
    cluster.remove_last_applied = lambda *_, **__: Answer(403)  # type: ignore[method-assign]

    failed = run(cluster).outcomes["a"]

    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("stale-copy", 403)


BLIND = Written("u", "1", blind_keys=(("helm", frozenset({".dockerconfigjson"})), ("notes", frozenset({"notes"}))))


def test_one_who_writes_our_key_as_string_data_is_taken_over_from_by_name() -> None:
    cluster = cluster_of("a")
    cluster.instead["a"] = lambda: Answer(200, value=BLIND)

    outcome = run(cluster).outcomes["a"]

    assert isinstance(outcome, Applied)
    assert outcome.took_over_from == ("helm",)


def test_under_refuse_one_who_writes_our_key_as_string_data_is_a_failure_and_one_who_writes_another_is_none() -> None:
    cluster = cluster_of("a", "b")
    cluster.instead["a"] = lambda: Answer(200, value=BLIND)
    cluster.instead["b"] = lambda: Answer(200, value=replace(BLIND, blind_keys=BLIND.blind_keys[1:]))

    outcomes = run(cluster, on_conflict=OnConflict.REFUSE).outcomes

    failed, applied = outcomes["a"], outcomes["b"]
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("contested", 200)
    assert failed.remedy.startswith("helm writes this Secret too")
    assert "It was written over" in failed.remedy
    assert isinstance(applied, Applied)
    assert applied.took_over_from == ()


def test_a_secret_that_is_being_deleted_is_never_applied() -> None:
    cluster = cluster_of("a")
    cluster.store("a", pull_secret(), FIELD_MANAGER).is_being_deleted = True

    result = run(cluster)

    failed = result.outcomes["a"]
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("being-deleted", 200)
    assert (result.report.applied, result.report.failures) == (0, (failed,))


def test_a_secret_whose_deletion_ends_meanwhile_is_created_anew() -> None:
    cluster = cluster_of("a")
    cluster.store("a", pull_secret(), FIELD_MANAGER).is_being_deleted = True
    original = cluster.apply
    tries = []

    def apply(*arguments: Any, **options: Any) -> Answer[Written]:
        tries.append(1)
        if len(tries) == 4:
            del cluster.contents["a"].secrets[SECRET]
        return original(*arguments, **options)

    cluster.apply = apply  # type: ignore[method-assign]

    outcome = run(cluster).outcomes["a"]

    assert isinstance(outcome, Applied)
    assert outcome.change == "created"


def test_namespaces_that_go_away_are_skipped_and_no_failure() -> None:
    cluster = cluster_of("ending", "gone", "stays")
    cluster.contents["ending"].terminating = True
    cluster.instead["gone"] = lambda: answered(404, kind="namespaces")

    result = run(cluster)

    assert result.outcomes["ending"] == Skipped(TITLE, "ending", "terminating")
    assert result.outcomes["gone"] == Skipped(TITLE, "gone", "gone")
    assert (result.report.applied, result.report.skipped) == (1, 2)
    assert result.report.error(is_by_hand=True) is None


def test_one_failure_stops_none_of_the_others() -> None:
    cluster = cluster_of(*(f"ns-{number:02}" for number in range(20)), concurrency=3)
    cluster.instead["ns-00"] = lambda: answered(403, missing_verb="patch")
    cluster.instead["ns-07"] = lambda: Answer(0, trouble="timeout")

    result = run(cluster)

    assert result.report.applied == 18
    assert [(failed.namespace, failed.reason) for failed in result.report.failures] == [
        ("ns-00", "forbidden"),
        ("ns-07", "unavailable"),
    ]


def test_every_namespace_gets_one_try_before_any_gets_a_second_one() -> None:
    names = [f"ns-{number:02}" for number in range(20)]
    cluster = cluster_of(*names, concurrency=1)
    for name in names[::2]:
        cluster.instead[name] = lambda: Answer(503)

    result = run(cluster)

    assert sorted(cluster.calls[1:21]) == [f"apply {name}" for name in names]
    assert {failed.reason for failed in result.report.failures} == {"unavailable"}
    assert result.report.applied == 10


def test_what_passes_at_a_later_try_is_no_failure() -> None:
    cluster = cluster_of("a", "b")
    answers = [Answer[Written](503), Answer[Written](0, trouble="timeout"), done()]
    cluster.instead["a"] = lambda: answers.pop(0)

    result = run(cluster)

    assert (result.report.applied, result.report.failures) == (2, ())
    assert cluster.calls.count("apply a") == 3


def test_a_take_over_of_an_earlier_try_is_told() -> None:
    cluster = cluster_of("a")
    conflict = Answer[Written](409, refusal=Refusal(causes=(("FieldManagerConflict", ""),), managers=("helm",)))
    answers = [conflict, Answer[Written](503), done()]
    cluster.instead["a"] = lambda: answers.pop(0)

    outcome = run(cluster).outcomes["a"]

    assert isinstance(outcome, Applied)
    assert outcome.took_over_from == ("helm",)


def test_a_bug_met_by_one_namespace_stops_none_of_the_others() -> None:
    cluster = cluster_of("a", "b", "c")

    def bug() -> Answer[Written]:
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

    def slow() -> Answer[Written]:
        waited.append(True)
        return done()

    cluster.instead["slow"] = slow
    # The lock of the fake is held while `slow` answers, so it waits outside of it.
    original = cluster.apply

    def apply(path: str, *arguments: Any, **options: Any) -> Answer[Written]:
        if "/slow/" in path:
            assert recorded.wait(10), "the fast one was not recorded before the slow one ended"
        return original(path, *arguments, **options)

    cluster.apply = apply  # type: ignore[method-assign]
    refresh.refresh(by_hand(), replace(Told(cluster).parts(), record=lambda _: recorded.set()))

    assert waited == [True]


def test_no_more_requests_run_at_once_than_the_pace_allows() -> None:
    cluster = cluster_of(*(f"ns-{number}" for number in range(12)), concurrency=3)
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Barrier(3)
    original = cluster.apply

    def apply(*arguments: Any, **options: Any) -> Answer[Written]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(10)
        answer = original(*arguments, **options)
        with lock:
            running -= 1
        return answer

    cluster.apply = apply  # type: ignore[method-assign]
    run(cluster)

    assert most == 3


def test_without_time_nothing_is_written_and_every_namespace_says_so() -> None:
    cluster = cluster_of("a", "b")
    cluster.time_is_up = True

    result = run(cluster)

    assert cluster.calls == ["list"]
    assert [failed.reason for failed in result.report.failures] == ["deadline", "deadline"]


def test_time_that_ends_during_the_run_spares_what_was_not_started() -> None:
    cluster = cluster_of("a", "b", "c", concurrency=1)
    original = cluster.apply

    def last(*arguments: Any, **options: Any) -> Answer[Written]:
        cluster.time_is_up = True
        return original(*arguments, **options)

    cluster.apply = last  # type: ignore[method-assign]

    result = run(cluster)

    assert len(cluster.calls) == 2
    assert result.report.applied == 1
    assert [failed.reason for failed in result.report.failures] == ["deadline", "deadline"]


# What the run ends with.


def failing(**instead: Answer[Written]) -> FakeCluster:
    cluster = cluster_of("a", *instead)
    for name, answer in instead.items():
        cluster.instead[name] = lambda answer=answer: answer  # type: ignore[misc]
    return cluster


def test_the_error_counts_and_names_the_first_failures() -> None:
    report = run(
        failing(**{f"ns-{number}": answered(422, ("FieldValueInvalid", "type")) for number in range(7)})
    ).report

    error = report.error(is_by_hand=True)

    assert isinstance(error, ObjectsFailed)
    named = ", ".join(f"{TITLE} in ns-{number}: wrong-type" for number in range(5))
    assert str(error) == f"7 of 8 writes failed: {named}, and 2 more; the log has every one with its remedy"


def test_a_single_failure_is_named_without_more() -> None:
    report = run(failing(b=answered(422, ("FieldValueInvalid", "type")))).report

    assert str(report.error(is_by_hand=True)) == (
        f"1 of 2 writes failed: {TITLE} in b: wrong-type; the log has every one with its remedy"
    )


def test_a_run_that_nobody_waits_for_ends_well_where_only_objects_failed() -> None:
    report = run(failing(b=answered(422, ("FieldValueInvalid", "type")))).report

    assert len(report.failures) == 1
    assert report.error(is_by_hand=False) is None


@pytest.mark.parametrize("is_by_hand", [True, False])
def test_an_identity_refused_during_the_run_is_an_error_of_its_own(is_by_hand: bool) -> None:
    error = run(failing(b=Answer(401))).report.error(is_by_hand=is_by_hand)

    assert isinstance(error, Unauthorized)
    assert f"check its access entry. 1 of 2 writes failed: {TITLE} in b: unauthorized" in str(error)


@pytest.mark.parametrize("is_by_hand", [True, False])
def test_a_certificate_that_is_not_trusted_during_the_run_is_an_error_of_its_own(is_by_hand: bool) -> None:
    error = run(failing(b=Answer(0, trouble="untrusted"))).report.error(is_by_hand=is_by_hand)

    assert isinstance(error, ClusterNotTrusted)
    assert f"opens TLS. 1 of 2 writes failed: {TITLE} in b: untrusted" in str(error)


def test_a_dry_run_writes_nothing_and_says_so() -> None:
    cluster = cluster_of("a", "b")
    stored = cluster.store("b", pull_secret(), "helm")
    before = dict(stored.fields)

    result = run(cluster, dry_run=True)

    assert SECRET not in cluster.contents["a"].secrets
    assert stored.fields == before
    assert all(" dry" in call for call in cluster.calls if call.startswith("apply"))
    assert (result.report.dry_run, result.report.applied, result.report.created) == (True, 2, 1)


@pytest.mark.parametrize("is_by_hand", [True, False])
def test_a_dry_run_ends_well_whatever_would_fail_and_its_report_has_it(is_by_hand: bool) -> None:
    cluster = failing(b=answered(422, ("FieldValueInvalid", "type")))
    told = Told(cluster, {KEPT: SourceFailed("cannot read secret x")})

    report = refresh.refresh(by_hand(pull_object(), OTHER, dry_run=True), told.parts())

    assert [failed.namespace for failed in report.failures] == ["b"]
    assert [title for title, _ in report.not_made] == ["secret/other"]
    assert report.error(is_by_hand=is_by_hand) is None


@pytest.mark.parametrize(
    ("answer", "error"), [(Answer(401), Unauthorized), (Answer(0, trouble="untrusted"), ClusterNotTrusted)]
)
def test_a_dry_run_ends_with_the_error_that_would_stop_a_real_one(
    answer: Answer[Written], error: type[UpsertError]
) -> None:
    assert isinstance(run(failing(b=answer), dry_run=True).report.error(is_by_hand=True), error)


def test_a_dry_run_of_which_no_object_can_be_made_ends_with_the_error_of_the_sources() -> None:
    told = Told(cluster_of("a"), {KEPT: SourceFailed("cannot read secret x")})

    with pytest.raises(SourceFailed, match="cannot read secret x"):
        refresh.refresh(by_hand(OTHER, dry_run=True), told.parts())


def test_the_report_carries_when_the_token_ends_and_how_long_it_took() -> None:
    report = run(cluster_of("a"), login(expires_at=EXPIRES_AT)).report

    assert report.expires_at == EXPIRES_AT
    assert report.duration_ms >= 0
    assert report.dry_run is False


@pytest.mark.parametrize("namespaces", [(), ("a",)])
def test_a_report_says_whether_it_is_of_all(namespaces: tuple[str, ...]) -> None:
    result: Run = run(cluster_of("a"), namespaces=namespaces)

    assert result.report.is_whole is not bool(namespaces)


def test_many_objects_in_many_namespaces_take_no_time_of_their_own() -> None:
    objects = [pull_object(name=f"object-{number}") for number in range(10)]
    cluster = cluster_of(*(f"ns-{number:03}" for number in range(100)), concurrency=16)
    started = time.process_time()

    report = run(cluster, None, *objects).report

    assert report.applied == 1000
    assert time.process_time() - started < 10


def test_an_object_of_many_keys_takes_no_more_time_in_each_namespace() -> None:
    parts = tuple(Part(f"KEY_{number}", Ref("value", (("text", "x"),))) for number in range(20_000))
    one = Object("settings", "", parts, kind="ConfigMap")
    started = time.process_time()

    found = {replace(one, parts=parts): one}
    for _ in range(1_000):
        assert found[one] is one

    assert time.process_time() - started < 5


def test_a_selector_that_the_server_does_not_understand_fails_its_own_object_alone() -> None:
    cluster = FakeCluster()
    cluster.add("team-a")
    bad, good = pull_object(name="bad", selector="=,="), pull_object()

    result = run(cluster, None, bad, good)

    assert {name: type(outcome) for name, outcome in result.outcomes.items()} == {"team-a": Applied}
    assert [title for title, _ in result.report.not_made] == ["secret/bad"]
    assert "does not understand '=,='" in str(result.report.error(is_by_hand=False))


def test_a_run_without_any_selector_that_the_server_understands_is_stopped() -> None:
    cluster = FakeCluster()
    cluster.add("team-a")

    with pytest.raises(InputError, match="does not understand '=,='"):
        run(cluster, selector="=,=")
