"""The demo's verdict can fail: every way in which a promise breaks changes the proof line or adds a problem."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.demo.verdict import Ending, Evidence, Namespace, Reads, Report, Sight, judge

OLD, NEW, ISSUED = "old", "new", frozenset({"earlier", "new"})


def created(name: str = "created") -> Namespace:
    return Namespace(
        name=name,
        state="no Secret",
        ending=Ending.CREATED,
        before=None,
        first=Sight("u1", "10", "earlier"),
        after=Sight("u1", "20", NEW),
        uids=frozenset({"u1"}),
        reports=(Report("applied", change="created", uid="u1"), Report("applied", change="updated", uid="u1")),
    )


def updated(name: str = "updated") -> Namespace:
    return replace(
        created(name),
        ending=Ending.UPDATED,
        before=Sight("u1", "5", OLD),
        first=Sight("u1", "5", OLD),
        reports=(Report("applied", change="updated", uid="u1"),) * 2,
    )


def left_alone(name: str, ending: Ending, reason: str) -> Namespace:
    there = Sight("u1", "5", OLD)
    reports = () if ending is Ending.EXCLUDED else (Report(ending, reason=reason),)
    return Namespace(name, "", ending, there, there, there, frozenset({"u1"}), reports, reason)


def skipped(name: str = "skipped") -> Namespace:
    return replace(
        left_alone(name, Ending.SKIPPED, "terminating"), before=None, first=None, after=None, uids=frozenset()
    )


def failed(name: str = "failed") -> Namespace:
    return left_alone(name, Ending.FAILED, "immutable")


def excluded(name: str = "excluded") -> Namespace:
    return left_alone(name, Ending.EXCLUDED, "")


def evidence(*namespaces: Namespace) -> Evidence:
    there = namespaces or (created(), updated(), skipped(), failed(), excluded())
    some_fail = any(namespace.ending is Ending.FAILED for namespace in there)
    return Evidence(
        namespaces=there,
        reads=Reads(answered=5000, absent=0, unanswered=0),
        issued=ISSUED,
        scheduled=(None, None),
        by_hand=("ObjectsFailed" if some_fail else None,),
        requests={("list", "namespaces"): 3, ("patch", "secrets"): 12},
    )


def test_what_ended_as_it_should_has_no_problems() -> None:
    assert judge(evidence()).problems == ()


def test_the_proof_line_has_exactly_this_form() -> None:
    assert judge(evidence()).proof == (
        "proof: namespaces=5 applied=2 created=1 skipped=1 failed=1 uid_stable=4/4 rotated=2/2 reads=5000 absent=0"
    )


def gone(namespace: Namespace) -> Namespace:
    return replace(namespace, after=None)


def another_uid(namespace: Namespace) -> Namespace:
    assert namespace.after is not None
    return replace(namespace, after=replace(namespace.after, uid="u2"))


def another_uid_for_a_moment(namespace: Namespace) -> Namespace:
    return replace(namespace, uids=namespace.uids | {"u2"})


@pytest.mark.parametrize("harm", [gone, another_uid, another_uid_for_a_moment])
@pytest.mark.parametrize("make", [created, updated, failed, excluded])
def test_a_secret_that_is_gone_or_another_object_counts_as_unstable(
    make: Callable[[], Namespace], harm: Callable[[Namespace], Namespace]
) -> None:
    verdict = judge(evidence(harm(make())))
    assert "uid_stable=0/1" in verdict.proof
    assert f"{make().name}: the Secret is gone or another object than before" in verdict.problems


@pytest.mark.parametrize("make", [created, updated])
def test_a_password_that_stays_is_not_rotated(make: Callable[[], Namespace]) -> None:
    namespace = make()
    verdict = judge(evidence(replace(namespace, after=namespace.first)))
    assert "rotated=0/1" in verdict.proof
    assert f"{namespace.name}: the password did not change" in verdict.problems


def test_a_password_that_ecr_never_issued_is_a_problem() -> None:
    verdict = judge(replace(evidence(), issued=frozenset()))
    assert "updated: the password is none that ECR handed out" in verdict.problems


def test_an_old_password_that_stays_in_an_annotation_is_a_problem() -> None:
    namespace = replace(updated(), after=Sight("u1", "20", NEW, old_copy=True))
    assert judge(evidence(namespace)).problems == ("updated: an annotation still holds an old password",)


@pytest.mark.parametrize("make", [skipped, failed, excluded])
def test_a_secret_that_should_have_been_left_alone_but_changed_is_a_problem(make: Callable[[], Namespace]) -> None:
    namespace = replace(make(), after=Sight("u1", "6", OLD))
    assert (
        f"{namespace.name}: the Secret should not have been touched, but it changed"
        in judge(evidence(namespace)).problems
    )


@pytest.mark.parametrize("make", [created, updated, skipped, failed])
def test_a_namespace_that_the_function_never_mentioned_is_a_problem(make: Callable[[], Namespace]) -> None:
    namespace = replace(make(), reports=())
    assert f"{namespace.name}: the function never mentioned it" in judge(evidence(namespace)).problems


def test_an_excluded_namespace_that_the_function_worked_on_is_a_problem() -> None:
    namespace = replace(excluded(), reports=updated().reports)
    assert "excluded: excluded, but the function worked on it" in judge(evidence(namespace)).problems


def test_one_run_that_failed_where_all_should_have_applied_is_a_problem() -> None:
    namespace = replace(updated(), reports=(Report("failed", reason="throttled"), *updated().reports))
    assert "updated: the function said failed throttled, expected applied" in judge(evidence(namespace)).problems


def test_a_failure_for_another_reason_is_a_problem() -> None:
    namespace = replace(failed(), reports=(Report("failed", reason="forbidden"),))
    assert (
        "failed: the function said failed forbidden, expected failed immutable" in judge(evidence(namespace)).problems
    )


def test_a_logged_uid_that_is_not_the_secrets_is_a_problem() -> None:
    namespace = replace(updated(), reports=(Report("applied", change="updated", uid="u9"),))
    assert "updated: the function logged another uid than the Secret has" in judge(evidence(namespace)).problems


def test_a_secret_created_twice_is_a_problem() -> None:
    namespace = replace(created(), reports=(Report("applied", change="created", uid="u1"),) * 2)
    assert "created: the function logged the changes created, created" in judge(evidence(namespace)).problems


def test_reads_that_found_nothing_are_counted_and_fail() -> None:
    verdict = judge(replace(evidence(), reads=Reads(answered=4998, absent=2, unanswered=0)))
    assert verdict.proof.endswith("reads=5000 absent=2")
    assert "2 reads found no Secret where one had been" in verdict.problems


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        ({"reads": Reads(999, 0, 0)}, "999 reads are too few"),
        ({"reads": Reads(5000, 0, 1)}, "1 reads got no answer"),
        ({"scheduled": (None,)}, "the schedule fired 1 times"),
        ({"by_hand": ()}, "0 runs by hand"),
        ({"requests": {("list", "namespaces"): 3}}, "the API server saw no patch secrets"),
        (
            {"requests": {("list", "namespaces"): 3, ("patch", "secrets"): 12, ("get", "secrets"): 1}},
            "the function sent get secrets",
        ),
    ],
)
def test_too_little_evidence_or_a_forbidden_request_fails(harm: dict[str, object], problem: str) -> None:
    problems = judge(replace(evidence(), **harm)).problems  # type: ignore[arg-type]
    assert [found for found in problems if re.match(re.escape(problem), found)]


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (
            {"scheduled": (None, "ObjectsFailed")},
            "a scheduled run ended with ObjectsFailed, but where only objects fail",
        ),
        ({"scheduled": ("SourceFailed", None)}, "a scheduled run ended with SourceFailed"),
        ({"by_hand": (None,)}, "a run by hand ended with nothing, expected ObjectsFailed"),
        ({"by_hand": ("Unauthorized",)}, "a run by hand ended with Unauthorized, expected ObjectsFailed"),
    ],
)
def test_a_run_that_ended_otherwise_than_it_should_fails(harm: dict[str, object], problem: str) -> None:
    (found,) = judge(replace(evidence(), **harm)).problems  # type: ignore[arg-type]
    assert found.startswith(problem)


def test_where_nothing_should_fail_a_run_by_hand_that_says_so_is_a_problem() -> None:
    harmed = replace(evidence(created(), updated()), by_hand=("ObjectsFailed",))
    assert judge(harmed).problems == ("a run by hand ended with ObjectsFailed, expected nothing",)
