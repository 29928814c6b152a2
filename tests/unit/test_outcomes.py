"""Every row of the error table: which outcome an answer amounts to, and what its owner is told."""

from copy import replace
from datetime import UTC, datetime

import pytest

from upsert.core import outcomes
from upsert.core.answers import Answer, Refusal, Written
from upsert.core.identity import ADOPTER, REFRESHER
from upsert.core.outcomes import Applied, Failed, Skipped
from upsert.core.remedies import Asked

TITLE = "secret/aws-ecr-token"
ASKED = Asked(TITLE, "team-a", REFRESHER)
CONFLICT = (("FieldManagerConflict", ""),)
WROTE_NOTHING_NEW = "the Secret holds the old or the new value"


def applied(
    written: Written,
    answer: Answer[Written],
    *,
    expires_at: str = "",
    took_over_from: tuple[str, ...] = (),
    seconds: float = 0.1,
) -> Applied:
    return outcomes.applied(
        ASKED, answer, written, expires_at=expires_at, took_over_from=took_over_from, seconds=seconds
    )


@pytest.mark.parametrize(("status", "change"), [(200, "updated"), (201, "created")])
def test_a_success_is_applied_with_the_servers_own_proof(status: int, change: str) -> None:
    outcome = applied(Written("u-1", "42"), Answer(status), took_over_from=("helm",), seconds=0.012)

    assert outcome == Applied(TITLE, "team-a", "u-1", "42", change, ("helm",), status, 12)


def moment(seconds: int) -> datetime:
    return datetime(2026, 1, 1, 12, 0, seconds, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answered", "changed", "seconds", "change"),
    [
        (moment(30), moment(30), 0.1, "updated"),
        (moment(30), moment(29), 0.1, "updated"),
        (moment(30), moment(28), 0.1, "unchanged"),
        (moment(30), moment(10), 20.0, "updated"),
        (moment(30), moment(9), 20.0, "unchanged"),
        (moment(30), moment(31), 0.1, "updated"),
        (moment(30), None, 0.1, "unchanged"),
        (None, moment(1), 0.1, "updated"),
    ],
)
def test_what_was_there_before_is_unchanged(
    answered: datetime | None, changed: datetime | None, seconds: float, change: str
) -> None:
    written = Written("u-1", "42", is_dated=True, changed_at=changed)
    answer = Answer(200, value=written, at=answered)

    outcome = applied(written, answer, seconds=seconds)

    assert outcome.change == change


def test_an_answer_without_our_entry_tells_nothing() -> None:
    answer = Answer(200, value=Written("u-1", "42"), at=moment(30))
    assert applied(Written("u-1", "42"), answer).change == "updated"


SENT = "2030-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("sent", "found", "has_owner", "altered"),
    [
        (SENT, SENT, False, ()),
        (SENT, "", False, ("annotation-differs",)),
        (SENT, "2030-01-02T03:04:06Z", False, ("annotation-differs",)),
        (SENT, SENT, True, ("has-owner",)),
        (SENT, "", True, ("annotation-differs", "has-owner")),
        # No annotation was sent: what stands there is somebody else's.
        ("", "", False, ()),
        ("", SENT, False, ()),
        ("", SENT, True, ("has-owner",)),
    ],
)
def test_what_is_not_as_it_was_sent_is_applied_and_said_to_be_altered(
    sent: str, found: str, has_owner: bool, altered: tuple[str, ...]
) -> None:
    written = Written("u-1", "42", expires_at=found, has_owner=has_owner)

    outcome = applied(written, Answer(200, value=written), expires_at=sent)

    assert outcome.altered == altered


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(403, refusal=Refusal(reason="Forbidden", causes=(("NamespaceTerminating", ""),))), "terminating"),
        (Answer(404, refusal=Refusal(kind="namespaces")), "gone"),
    ],
)
def test_a_namespace_that_goes_away_is_skipped(answer: Answer[Written], reason: str) -> None:
    assert outcomes.not_done(ASKED, answer) == Skipped(TITLE, "team-a", reason)


@pytest.mark.parametrize(
    ("answer", "reason", "remedy"),
    [
        (Answer(0, trouble="timeout"), "unavailable", f"did not answer in time; {WROTE_NOTHING_NEW}. Check its load"),
        (Answer(0, trouble="connection"), "unavailable", f"failed each time; {WROTE_NOTHING_NEW}. Check the endpoint"),
        (Answer(0, trouble="untrusted"), "untrusted", "look for a proxy that opens TLS"),
        (Answer(0, trouble="no-time"), "deadline", "raise Timeout or MemorySize"),
        (Answer(200, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(201, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(302, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(401), "unauthorized", "check the access entry of its role"),
        (
            Answer(403, refusal=Refusal(missing_verb="patch")),
            "forbidden",
            "may not patch this Secret; apply rbac/refresher.yaml",
        ),
        (
            Answer(403, refusal=Refusal(missing_verb="create")),
            "forbidden",
            "may not create this Secret; apply rbac/refresher.yaml",
        ),
        (
            Answer(403, refusal=Refusal(quota="full")),
            "forbidden",
            "the ResourceQuota full of the namespace is full; raise it, or remove a Secret",
        ),
        (
            Answer(403, refusal=Refusal(denied_by="admission webhook x")),
            "denied",
            "ask its owner to let the field manager eks-upsert",
        ),
        (Answer(403), "forbidden", "check its admission policies and rbac/refresher.yaml"),
        (Answer(404, trouble="unreadable"), "unreadable", "look for a proxy or load balancer that answers"),
        (Answer(404, refusal=Refusal(kind="secrets", reason="NotFound")), "rejected", "status 404 (NotFound)"),
        (
            Answer(409, refusal=Refusal(causes=CONFLICT, managers=("argocd", "helm"))),
            "contested",
            "argocd, helm writes this Secret too",
        ),
        (
            Answer(409, refusal=Refusal(causes=CONFLICT)),
            "contested",
            "a field manager whose name cannot be shown writes this Secret",
        ),
        (Answer(409, refusal=Refusal(reason="Conflict")), "conflict", "find them in its managedFields"),
        (
            Answer(422, refusal=Refusal(causes=(("FieldValueForbidden", "data"),))),
            "immutable",
            "its owner has to delete it",
        ),
        (
            Answer(422, refusal=Refusal(causes=(("FieldValueForbidden", "immutable"),))),
            "immutable",
            "its owner has to delete it",
        ),
        (
            Answer(422, refusal=Refusal(causes=(("FieldValueForbidden", "binaryData"),))),
            "immutable",
            "its owner has to delete it",
        ),
        # Of a ConfigMap it would be a key in two places.
        (Answer(422, refusal=Refusal(causes=(("FieldValueInvalid", "data[]"),))), "rejected", "with status 422"),
        (
            Answer(422, refusal=Refusal(causes=(("FieldValueInvalid", "type"),))),
            "wrong-type",
            "its owner has to rename it",
        ),
        # A webhook's codes are its own words: they skip no namespace, and end no run.
        (
            Answer(401, refusal=Refusal(denied_by="admission webhook x")),
            "denied",
            "admission webhook x refused the Secret (status 401)",
        ),
        (
            Answer(404, refusal=Refusal(kind="namespaces", denied_by="admission webhook x")),
            "denied",
            "admission webhook x refused the Secret",
        ),
        (
            Answer(403, refusal=Refusal(causes=(("NamespaceTerminating", ""),), denied_by="admission webhook x")),
            "denied",
            "admission webhook x refused the Secret (status 403)",
        ),
        (
            Answer(422, refusal=Refusal(causes=(("", "type"),), denied_by="admission webhook x")),
            "denied",
            "admission webhook x refused the Secret",
        ),
        (
            Answer(422, refusal=Refusal(reason="Invalid", causes=(("FieldValueInvalid", ""),))),
            "rejected",
            "status 422 (Invalid)",
        ),
        (
            Answer(422, refusal=Refusal(reason="Invalid", causes=(("FieldValueTooLong", "data"),))),
            "rejected",
            "status 422 (Invalid)",
        ),
        (Answer(429), "throttled", "raise its limits, or find who else loads it"),
        (Answer(500), "unavailable", WROTE_NOTHING_NEW),
        (Answer(502), "unavailable", WROTE_NOTHING_NEW),
        (Answer(503), "unavailable", WROTE_NOTHING_NEW),
        (Answer(504), "unavailable", WROTE_NOTHING_NEW),
        (
            Answer(400, refusal=Refusal(denied_by="admission webhook x")),
            "denied",
            "admission webhook x refused the Secret (status 400); ask its owner",
        ),
        (
            Answer(500, refusal=Refusal(denied_by="admission webhook x", is_unasked=True)),
            "denied",
            "admission webhook x did not answer the API server (status 500), so the Secret was not written",
        ),
        (
            Answer(403, refusal=Refusal(quota="new", is_quota_unknown=True)),
            "forbidden",
            "nobody counts for the ResourceQuota new of the namespace yet",
        ),
        (Answer(413), "rejected", "the API server rejected the Secret with status 413;"),
    ],
)
def test_any_other_answer_is_a_failure_with_a_remedy(answer: Answer[Written], reason: str, remedy: str) -> None:
    failed = outcomes.not_done(ASKED, answer)

    assert isinstance(failed, Failed)
    assert (failed.title, failed.namespace, failed.reason, failed.status) == (TITLE, "team-a", reason, answer.status)
    assert remedy in failed.remedy


def test_refusing_says_how_to_stop_refusing() -> None:
    failed = outcomes.not_done(ASKED, Answer(409, refusal=Refusal(causes=CONFLICT, managers=("helm",))))

    assert failed == Failed(
        TITLE,
        "team-a",
        "contested",
        409,
        "helm writes this Secret too and on_conflict is refuse; stop that writer, or set take-over in the file of "
        "objects",
    )


FORBIDDEN = Answer[Written](403, refusal=Refusal(missing_verb="patch"))


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        (ASKED, "the group eks-upsert may not patch this Secret; apply rbac/refresher.yaml"),
        (replace(ASKED, identity=ADOPTER), "the group eks-upsert-adopter may not patch this Secret; apply rbac/adop"),
        (replace(ASKED, title="configmap/settings"), "the group eks-upsert may not patch this ConfigMap; apply rbac/"),
    ],
)
def test_a_remedy_follows_from_who_asked_for_what(asked: Asked, remedy: str) -> None:
    failed = outcomes.not_done(asked, FORBIDDEN)

    assert isinstance(failed, Failed)
    assert failed.remedy.startswith(remedy)
    assert failed.remedy.endswith(f"with {asked.title.partition('/')[2]} in resourceNames")


@pytest.mark.parametrize(
    ("verb", "said"),
    [("write", "the ConfigMap holds the old or the new value"), ("read", "nothing was written")],
)
@pytest.mark.parametrize("answer", [Answer[Written](0, trouble="timeout"), Answer[Written](503)])
def test_what_was_not_answered_has_written_something_only_if_it_was_a_write(
    verb: str, said: str, answer: Answer[Written]
) -> None:
    failed = outcomes.not_done(Asked("configmap/settings", "team-a", ADOPTER, verb), answer)

    assert isinstance(failed, Failed)
    assert said in failed.remedy


def test_no_time_left_says_that_nothing_was_written() -> None:
    failed = outcomes.deadline(TITLE, "team-a")

    assert (failed.title, failed.namespace, failed.reason, failed.status) == (TITLE, "team-a", "deadline", 0)
    assert "nothing was written" in failed.remedy


def test_where_two_objects_meet_the_remedy_is_in_the_file() -> None:
    failed = outcomes.overlap(TITLE, "team-a")

    assert (failed.title, failed.namespace, failed.reason, failed.status) == (TITLE, "team-a", "overlap", 0)
    assert failed.remedy.startswith("two objects of the file are secret/aws-ecr-token in this namespace, so neither")


def test_a_fault_of_the_function_says_where_it_is() -> None:
    failed = outcomes.broken(TITLE, "team-a", "ZeroDivisionError at upsert.refresh:1")

    assert (failed.title, failed.namespace, failed.reason, failed.status) == (TITLE, "team-a", "internal", 0)
    assert failed.remedy.startswith("ZeroDivisionError at upsert.refresh:1: a fault of this function")


def test_an_old_copy_that_stays_says_how_to_remove_it() -> None:
    failed = outcomes.stale_copy(ASKED, Answer[Written](409))

    assert (failed.title, failed.namespace, failed.reason, failed.status) == (TITLE, "team-a", "stale-copy", 409)
    assert "kubectl annotate secret/aws-ecr-token kubectl.kubernetes.io/last-applied-configuration-" in failed.remedy


@pytest.mark.parametrize("who", ["admission webhook a.b", "ValidatingAdmissionPolicy keeps"])
@pytest.mark.parametrize("status", [403, 409, 503])
def test_an_old_copy_that_stays_because_somebody_refuses_its_removal_says_who(who: str, status: int) -> None:
    failed = outcomes.stale_copy(ASKED, Answer[Written](status, refusal=Refusal(denied_by=who)))

    assert failed.reason == "stale-copy"
    assert f"still holds an old value ({who} refused its removal); the next refresh" in failed.remedy


def test_an_identity_refused_while_the_copy_is_removed_is_unauthorized() -> None:
    assert outcomes.stale_copy(ASKED, Answer[Written](401)).reason == "unauthorized"
