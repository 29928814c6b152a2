"""Records, metrics and the answer of a refresh have exactly these names and fields."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.context import Context
from tests.support.objects import pull_object
from tests.support.refresher import EXPIRES_AT
from tests.support.written import Written
from upsert import records
from upsert.core.account_outcomes import (
    AccountCounts,
    AccountMissing,
    AccountOutcome,
    AccountPatched,
    AccountUnchanged,
)
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.reports import RefreshReport
from upsert.errors import SourceFailed
from upsert.records import Records
from upsert.telemetry import Telemetry

TITLE = "secret/aws-ecr-token"
APPLIED = Applied(TITLE, "team-a", "u-1", "42", "updated", ("helm",), 200, 12)
SKIPPED = Skipped(TITLE, "team-b", "terminating")
FAILED = Failed(TITLE, "team-c", "immutable", 422, "delete it")
ACCOUNT_FAILED = Failed("serviceaccount/default", "team-a", "service-account", 403, "apply the role")
REPORT = RefreshReport(
    is_whole=True,
    dry_run=False,
    applied=3,
    created=1,
    took_over=1,
    skipped=1,
    failures=(FAILED,),
    objects=1,
    expires_at=EXPIRES_AT,
    api_requests=6,
    duration_ms=1234,
)
SUMMARY = {
    "applied": 3,
    "newly_created": 1,
    "took_over": 1,
    "skipped": 1,
    "failed": 1,
    "objects": 1,
    "objects_not_made": [],
    "token_expires_at": "2030-01-02T03:04:05Z",
    "api_requests": 6,
    "duration_ms": 1234,
    "is_whole": True,
    "dry_run": False,
}
SCHEDULE = timedelta(hours=3)


def started() -> Telemetry:
    running = Telemetry(Context(aws_request_id="request-1"))
    running.configure(level="INFO", cluster="test")
    return running


def bodies(written: Written) -> list[dict[str, Any]]:
    """The records without what every record has."""
    common = {"timestamp", "service", "request_id", "cluster"}
    return [{key: value for key, value in record.items() if key not in common} for record in written.records()]


@pytest.mark.parametrize(
    ("outcome", "record"),
    [
        (
            APPLIED,
            {
                "level": "INFO",
                "message": "object.applied",
                "object": TITLE,
                "namespace": "team-a",
                "uid": "u-1",
                "resource_version": "42",
                "change": "updated",
                "took_over_from": ["helm"],
                "status": 200,
                "duration_ms": 12,
            },
        ),
        (
            SKIPPED,
            {
                "level": "INFO",
                "message": "object.skipped",
                "object": TITLE,
                "namespace": "team-b",
                "reason": "terminating",
            },
        ),
        (
            FAILED,
            {
                "level": "ERROR",
                "message": "object.failed",
                "object": TITLE,
                "namespace": "team-c",
                "reason": "immutable",
                "status": 422,
                "remedy": "delete it",
            },
        ),
    ],
    ids=["applied", "skipped", "failed"],
)
def test_the_record_of_an_object_in_a_namespace_has_these_fields(
    written: Written, outcome: Outcome, record: dict[str, Any]
) -> None:
    Records(started()).outcome(outcome)

    (found,) = bodies(written)
    assert found == record
    assert list(found) == list(record), "in this order, so that people find them"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            AccountPatched("team-a", "default", "u-2", "43", 200),
            [
                {
                    "level": "INFO",
                    "message": "service_account.patched",
                    "namespace": "team-a",
                    "service_account": "default",
                    "uid": "u-2",
                    "resource_version": "43",
                    "status": 200,
                }
            ],
        ),
        (AccountUnchanged("team-a", "default"), []),
        (
            AccountMissing("team-a", "default"),
            [
                {
                    "level": "INFO",
                    "message": "service_account.missing",
                    "namespace": "team-a",
                    "service_account": "default",
                }
            ],
        ),
        (
            ACCOUNT_FAILED,
            [
                {
                    "level": "ERROR",
                    "message": "object.failed",
                    "object": "serviceaccount/default",
                    "namespace": "team-a",
                    "reason": "service-account",
                    "status": 403,
                    "remedy": "apply the role",
                }
            ],
        ),
    ],
    ids=["patched", "unchanged", "missing", "failed"],
)
def test_the_record_of_a_service_account_has_these_fields(
    written: Written, outcome: AccountOutcome, expected: list[dict[str, Any]]
) -> None:
    Records(started()).account(outcome)

    assert bodies(written) == expected


def test_the_record_of_a_source_that_failed_has_these_fields(written: Written) -> None:
    Records(started()).source_failed(pull_object(), SourceFailed("ECR in eu-central-1 gave no token"))

    assert bodies(written) == [
        {
            "level": "ERROR",
            "message": "source.failed",
            "object": TITLE,
            "remedy": "ECR in eu-central-1 gave no token",
        }
    ]


def test_the_record_of_an_object_without_a_namespace_has_these_fields(written: Written) -> None:
    Records(started()).unplaced(pull_object())

    assert bodies(written) == [
        {
            "level": "WARNING",
            "message": "object.unplaced",
            "object": TITLE,
            "remedy": "no namespace of the cluster is in its scope; check include, exclude and selector",
        }
    ]


def test_the_summary_has_these_fields(written: Written) -> None:
    Records(started()).completed(REPORT, SCHEDULE)

    assert bodies(written)[-1] == {"level": "INFO", "message": "refresh.completed", **SUMMARY}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, {}),
        ({"expires_at": None}, {"token_expires_at": None}),
        (
            {"not_made": (("secret/other", SourceFailed("gone")),), "objects": 2},
            {"objects": 2, "objects_not_made": ["secret/other"]},
        ),
        (
            {"accounts": AccountCounts(1, 2, 3, (ACCOUNT_FAILED,))},
            {
                "failed": 2,
                "service_accounts_patched": 1,
                "service_accounts_unchanged": 2,
                "service_accounts_missing": 3,
                "service_accounts_failed": 1,
            },
        ),
        ({"is_whole": False, "dry_run": True}, {"is_whole": False, "dry_run": True}),
    ],
)
def test_the_answer_has_the_fields_of_the_summary(changes: dict[str, Any], fields: dict[str, Any]) -> None:
    assert records.summary(replace(REPORT, **changes)) == {**SUMMARY, **fields}


def test_a_token_that_ends_before_the_next_run_is_a_warning_with_these_fields(written: Written) -> None:
    soon = datetime.now(UTC) + timedelta(hours=5)

    Records(started()).completed(replace(REPORT, expires_at=soon), timedelta(hours=6))

    record = bodies(written)[0]
    assert 17_990 <= record.pop("seconds_to_expiry") <= 18_000
    assert record == {
        "level": "WARNING",
        "message": "token.expires_early",
        "token_expires_at": soon.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "remedy": "the registry token ends before the next scheduled refresh; shorten Schedule",
    }


@pytest.mark.parametrize("expires_in", [timedelta(hours=7), None])
def test_a_token_that_outlives_the_next_run_is_no_record(written: Written, expires_in: timedelta | None) -> None:
    expires_at = datetime.now(UTC) + expires_in if expires_in else None

    Records(started()).completed(replace(REPORT, expires_at=expires_at), timedelta(hours=6))

    assert [record["message"] for record in bodies(written)] == ["refresh.completed"]


def test_the_metrics_are_these_under_the_cluster_alone(written: Written) -> None:
    with started() as telemetry:
        Records(telemetry).completed(
            replace(REPORT, expires_at=datetime.now(UTC) + timedelta(hours=12)), timedelta(hours=6)
        )

    (metrics,) = written.metrics()
    (definition,) = metrics["_aws"]["CloudWatchMetrics"]
    assert definition["Namespace"] == "EksUpsert"
    assert definition["Dimensions"] == [["cluster"]]
    assert {metric["Name"]: metric["Unit"] for metric in definition["Metrics"]} == {
        "TokenSecondsToExpiry": "Seconds",
        "ObjectsApplied": "Count",
        "ObjectsSkipped": "Count",
        "ObjectsFailed": "Count",
        "TokenSecondsToSpare": "Seconds",
        "RefreshDuration": "Milliseconds",
        "FullRefreshes": "Count",
    }
    assert metrics["cluster"] == "test"
    assert 43_190 <= metrics["TokenSecondsToExpiry"][0] <= 43_200
    assert 21_590 <= metrics["TokenSecondsToSpare"][0] <= 21_600
    values = {name: metrics[name] for name in ("ObjectsApplied", "ObjectsSkipped", "ObjectsFailed")}
    assert values == {"ObjectsApplied": [3.0], "ObjectsSkipped": [1.0], "ObjectsFailed": [1.0]}
    assert metrics["RefreshDuration"] == [1234.0]
    assert metrics["FullRefreshes"] == [1.0]
    assert set(metrics) == {"_aws", "cluster", *(metric["Name"] for metric in definition["Metrics"])}


ALL = {"ObjectsApplied": 3, "ObjectsSkipped": 1, "ObjectsFailed": 1, "FullRefreshes": 1}
NOT_MADE = (("secret/other", SourceFailed("gone")),)


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({}, ALL),
        ({"failures": ()}, ALL | {"ObjectsFailed": 0}),
        ({"applied": 0}, ALL | {"ObjectsApplied": 0, "FullRefreshes": 0}),
        ({"not_made": NOT_MADE}, ALL | {"FullRefreshes": 0}),
        ({"accounts": AccountCounts(failures=(ACCOUNT_FAILED,))}, ALL | {"ObjectsFailed": 2}),
        ({"is_whole": False}, {"ObjectsApplied": 3, "ObjectsSkipped": 1, "ObjectsFailed": 1}),
        ({"is_whole": False, "failures": ()}, {"ObjectsApplied": 3, "ObjectsSkipped": 1}),
        ({"dry_run": True}, {}),
        ({"objects": 0}, {}),
    ],
)
def test_only_what_a_run_proves_is_counted(written: Written, changes: dict[str, Any], measured: dict[str, int]) -> None:
    with started() as telemetry:
        Records(telemetry).completed(replace(REPORT, **changes), SCHEDULE)

    counted = written.metrics()
    assert {name: value for line in counted for name, (value,) in counts_of(line).items()} == measured


def counts_of(metrics: dict[str, Any]) -> dict[str, list[float]]:
    return {name: value for name, value in metrics.items() if name.startswith(("Objects", "Full"))}
