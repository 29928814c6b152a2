"""Every row of the error table: which outcome an answer amounts to, and what its owner is told."""

import pytest

from upsert.core import outcomes
from upsert.core.answers import Answer
from upsert.core.outcomes import Applied, Failed, Skipped

CONFLICT = (("FieldManagerConflict", ""),)
WROTE_NOTHING_NEW = "the Secret holds the old or the new value"


@pytest.mark.parametrize(("status", "change"), [(200, "updated"), (201, "created")])
def test_a_success_is_applied_with_the_servers_own_proof(status: int, change: str) -> None:
    answer = Answer(status, uid="u-1", resource_version="42")

    assert outcomes.applied("team-a", answer, took_over_from=("helm",), duration_ms=12) == Applied(
        "team-a", "u-1", "42", change, ("helm",), status, 12
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(403, reason="Forbidden", causes=(("NamespaceTerminating", ""),)), "terminating"),
        (Answer(404, kind="namespaces"), "gone"),
    ],
)
def test_a_namespace_that_goes_away_is_skipped(answer: Answer, reason: str) -> None:
    assert outcomes.not_applied("team-a", answer) == Skipped("team-a", reason)


@pytest.mark.parametrize(
    ("answer", "reason", "remedy"),
    [
        (Answer(0, trouble="timeout"), "unavailable", f"did not answer in time; {WROTE_NOTHING_NEW}. Check its load"),
        (Answer(0, trouble="connection"), "unavailable", f"failed each time; {WROTE_NOTHING_NEW}. Check the endpoint"),
        (Answer(0, trouble="untrusted"), "untrusted", "look for a proxy that opens TLS"),
        (Answer(0, trouble="no-time"), "deadline", "raise Timeout, MemorySize or CONCURRENCY"),
        (Answer(200, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(201, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(302, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(401), "unauthorized", "check the access entry of its role"),
        (
            Answer(403, missing_verb="patch"),
            "forbidden",
            "may not patch this Secret; apply rbac/refresher.yaml",
        ),
        (Answer(403, missing_verb="create"), "forbidden", "may not create this Secret; apply cluster/refresher-rbac"),
        (Answer(403, over_quota=True), "forbidden", "ResourceQuota for Secrets is full; raise it, or remove a Secret"),
        (Answer(403, denied_by_webhook=True), "forbidden", "ask its owner to let the field manager eks-upsert"),
        (Answer(403), "forbidden", "check its admission policies and rbac/refresher.yaml"),
        (Answer(404, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(404, kind="secrets", reason="NotFound"), "rejected", "status 404 (NotFound)"),
        (Answer(409, causes=CONFLICT, managers=("argocd", "helm")), "contested", "argocd, helm writes this Secret too"),
        (Answer(409, causes=CONFLICT), "contested", "a field manager whose name cannot be shown writes this Secret"),
        (Answer(409, reason="Conflict"), "conflict", "find them in its managedFields"),
        (Answer(422, causes=(("FieldValueForbidden", "data"),)), "immutable", "its owner has to delete it"),
        (Answer(422, causes=(("FieldValueForbidden", "immutable"),)), "immutable", "its owner has to delete it"),
        (Answer(422, causes=(("FieldValueInvalid", "type"),)), "wrong-type", "its owner has to rename it"),
        # A webhook's codes are its own words: they skip no namespace, and end no run.
        (Answer(401, denied_by_webhook=True), "forbidden", "an admission webhook refused"),
        (Answer(404, kind="namespaces", denied_by_webhook=True), "forbidden", "an admission webhook refused"),
        (Answer(403, causes=(("NamespaceTerminating", ""),), denied_by_webhook=True), "forbidden", "an admission"),
        (Answer(422, causes=(("", "type"),), denied_by_webhook=True), "forbidden", "an admission webhook refused"),
        (Answer(422, reason="Invalid", causes=(("FieldValueInvalid", ""),)), "rejected", "status 422 (Invalid)"),
        (Answer(422, reason="Invalid", causes=(("FieldValueTooLong", "data"),)), "rejected", "status 422 (Invalid)"),
        (Answer(429), "throttled", "lower CONCURRENCY or raise its limits"),
        (Answer(500), "unavailable", WROTE_NOTHING_NEW),
        (Answer(502), "unavailable", WROTE_NOTHING_NEW),
        (Answer(503), "unavailable", WROTE_NOTHING_NEW),
        (Answer(504), "unavailable", WROTE_NOTHING_NEW),
        (Answer(400, denied_by_webhook=True), "rejected", "an admission webhook rejected the Secret with status 400;"),
        (Answer(413), "rejected", "the API server rejected the Secret with status 413;"),
    ],
)
def test_any_other_answer_is_a_failure_with_a_remedy(answer: Answer, reason: str, remedy: str) -> None:
    failed = outcomes.not_applied("team-a", answer)

    assert isinstance(failed, Failed)
    assert (failed.namespace, failed.reason, failed.status) == ("team-a", reason, answer.status)
    assert remedy in failed.remedy


def test_refusing_says_how_to_stop_refusing() -> None:
    failed = outcomes.not_applied("team-a", Answer(409, causes=CONFLICT, managers=("helm",)))

    assert failed == Failed(
        "team-a",
        "contested",
        409,
        "helm writes this Secret too and ON_CONFLICT is refuse; stop that writer, or set take-over",
    )


def test_no_time_left_says_that_nothing_was_written() -> None:
    failed = outcomes.deadline("team-a")

    assert (failed.namespace, failed.reason, failed.status) == ("team-a", "deadline", 0)
    assert "nothing was written" in failed.remedy


def test_an_old_copy_that_stays_says_how_to_remove_it() -> None:
    failed = outcomes.stale_copy("team-a", Answer(409))

    assert (failed.namespace, failed.reason, failed.status) == ("team-a", "stale-copy", 409)
    assert "kubectl annotate secret NAME kubectl.kubernetes.io/last-applied-configuration-" in failed.remedy


def test_an_identity_refused_while_the_copy_is_removed_is_unauthorized() -> None:
    assert outcomes.stale_copy("team-a", Answer(401)).reason == "unauthorized"
