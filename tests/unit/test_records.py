"""Records, metrics and the answer of a refresh have exactly these names and fields."""

from copy import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.context import Context
from tests.support.objects import pull_object
from tests.support.refresher import EXPIRES_AT
from tests.support.written import Written
from upsert import records
from upsert.account_records import account_record
from upsert.core.account_outcomes import (
    AccountMissing,
    AccountOutcome,
    AccountPatched,
    AccountUnchanged,
)
from upsert.core.objects import Object, Part, Ref, Scope
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.reports import AccountCounts, ObjectCounts, RefreshReport
from upsert.errors import SourceFailed
from upsert.records import Records
from upsert.tables import table
from upsert.telemetry import Telemetry

TITLE = "secret/aws-ecr-token"
APPLIED = Applied(TITLE, "team-a", "u-1", "42", "updated", ("helm",), 200, 12)
APPLIED_RECORD = {
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
}
SKIPPED = Skipped(TITLE, "team-b", "terminating")
FAILED = Failed(TITLE, "team-c", "immutable", 422, "delete it")
ACCOUNT_FAILED = Failed("serviceaccount/default", "team-a", "service-account", 403, "apply the role")
CHANGED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
REPORT = RefreshReport(
    is_whole=True,
    dry_run=False,
    applied=3,
    created=1,
    took_over=1,
    altered=2,
    skipped=1,
    failures=(FAILED,),
    objects=1,
    expires_at=EXPIRES_AT,
    api_requests=6,
    duration_ms=1234,
    unchanged=2,
    by_object={TITLE: ObjectCounts(3, 2, 1, changed_at=CHANGED_AT, expires_at=EXPIRES_AT)},
)
SUMMARY = {
    "applied": 3,
    "newly_created": 1,
    "unchanged": 2,
    "took_over": 1,
    "altered": 2,
    "skipped": 1,
    "failed": 1,
    "objects": 1,
    "objects_not_made": [],
    "not_refreshed": [],
    "expires_at": "2030-01-02T03:04:05Z",
    "oldest_value_from": "2026-01-02T03:04:05Z",
    "api_requests": 6,
    "duration_ms": 1234,
    "is_whole": True,
    "dry_run": False,
}
SCHEDULE = timedelta(hours=3)
TOKEN = pull_object()
CERTIFICATE = Object("wildcard", "tls", (Part("data.tls.crt", Ref("secret", (("name", "tls/wildcard"),))),), Scope())


def started() -> Telemetry:
    running = Telemetry(Context(aws_request_id="request-1"))
    running.configure(level="INFO", cluster="test")
    return running


def completed(report: RefreshReport, *objects: Object, schedule: timedelta = SCHEDULE) -> dict[str, Any]:
    """Let a run be told and measured, and return its answer."""
    with started() as telemetry:
        return Records(telemetry).completed(report, schedule, objects or (TOKEN,))


def measured(written: Written, *names: str) -> dict[str, list[float]]:
    """Return what was measured under the cluster, of these metrics or of all but the seconds."""
    (line,) = [line for line in written.metrics() if "object" not in line] or [{}]
    return {
        name: values
        for name, values in line.items()
        if isinstance(values, list) and (name in names if names else "Seconds" not in name)
    }


def bodies(written: Written) -> list[dict[str, Any]]:
    """The records without what every record has."""
    common = {"timestamp", "service", "request_id", "cluster"}
    return [{key: value for key, value in record.items() if key not in common} for record in written.records()]


@pytest.mark.parametrize(
    ("outcome", "record"),
    [
        (
            APPLIED,
            APPLIED_RECORD,
        ),
        (
            replace(APPLIED, keeps_keys_of=("somebody",)),
            APPLIED_RECORD | {"keeps_keys_of": ["somebody"]},
        ),
        (
            replace(APPLIED, altered=("annotation-differs", "has-owner")),
            APPLIED_RECORD | {"level": "WARNING", "altered": ["annotation-differs", "has-owner"]},
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
    ids=["applied", "applied beside others", "applied and altered", "skipped", "failed"],
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
    account_record(started(), outcome)

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


def test_the_summary_has_these_fields_and_is_the_answer(written: Written) -> None:
    answer = completed(REPORT)

    spare = answer.pop("token_seconds_to_spare")
    assert spare > 0
    assert answer == SUMMARY | {"certificate_seconds_to_spare": None}
    *_, record = [one for one in bodies(written) if "message" in one]
    # What is None is left out of records.
    told = {name: value for name, value in answer.items() if value is not None}
    assert record == {"level": "INFO", "message": "refresh.completed", "token_seconds_to_spare": spare, **told}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, {}),
        ({"expires_at": None}, {"expires_at": None}),
        ({"by_object": {}}, {"oldest_value_from": None}),
        (
            {"not_made": (("secret/other", SourceFailed("gone")),), "objects": 2},
            {"objects": 2, "objects_not_made": ["secret/other"], "not_refreshed": ["secret/other"]},
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


def ending(title: str, expires_in: timedelta, *, applied: int = 1, failed: int = 0) -> RefreshReport:
    """Return the report of a run over one object that ends then."""
    expires_at = datetime.now(UTC) + expires_in
    counts = ObjectCounts(applied, 0, failed, expires_at=expires_at)
    return replace(REPORT, expires_at=expires_at, by_object={title: counts})


def test_a_token_that_ends_before_the_next_run_but_one_is_a_warning_with_these_fields(written: Written) -> None:
    report = ending(TITLE, timedelta(hours=5))

    completed(report)

    record = next(one for one in bodies(written) if one.get("message") == "token.expires_early")
    assert 17_990 <= record.pop("seconds_to_expiry") <= 18_000
    assert report.expires_at
    assert record == {
        "level": "WARNING",
        "message": "token.expires_early",
        "object": TITLE,
        "expires_at": report.expires_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "remedy": "the registry token ends before the next scheduled run but one; shorten Schedule",
    }


def test_a_certificate_that_ends_within_a_week_is_a_warning_with_these_fields(written: Written) -> None:
    completed(ending(CERTIFICATE.title, timedelta(days=6)), CERTIFICATE)

    record = next(one for one in bodies(written) if one.get("message") == "certificate.expires_early")
    assert (record["object"], record["remedy"]) == (
        "secret/wildcard",
        "the certificate ends soon; put a new one into its source",
    )
    assert set(record) == {"level", "message", "object", "expires_at", "seconds_to_expiry", "remedy"}


@pytest.mark.parametrize(
    ("one", "hours", "token", "certificate"),
    [
        (TOKEN, 12, 6, None),
        (TOKEN, 5, -1, None),
        (CERTIFICATE, 24 * 8, None, 24),
        (CERTIFICATE, 24 * 6, None, -24),
        (CERTIFICATE, -1, None, -24 * 7 - 1),
    ],
)
def test_what_there_is_to_spare_is_measured_of_tokens_and_certificates(
    written: Written, one: Object, hours: int, token: int | None, certificate: int | None
) -> None:
    answer = completed(ending(one.title, timedelta(hours=hours)), one)

    spares = {"token_seconds_to_spare": token, "certificate_seconds_to_spare": certificate}
    for name, expected in spares.items():
        assert (answer[name] is None) is (expected is None)
        assert expected is None or expected * 3600 - 5 <= answer[name] <= expected * 3600
    found = measured(written, "TokenSecondsToSpare", "CertificateSecondsToSpare")
    names = {
        "TokenSecondsToSpare": "token_seconds_to_spare",
        "CertificateSecondsToSpare": "certificate_seconds_to_spare",
    }
    assert found == {metric: [answer[name]] for metric, name in names.items() if answer[name] is not None}


@pytest.mark.parametrize("one", [TOKEN, CERTIFICATE])
def test_what_outlives_the_next_runs_is_no_record(written: Written, one: Object) -> None:
    completed(ending(one.title, timedelta(days=30)), one)

    assert [record["message"] for record in bodies(written) if "message" in record] == ["refresh.completed"]


def test_a_token_that_was_not_refreshed_has_nothing_to_spare(written: Written) -> None:
    assert completed(ending(TITLE, timedelta(hours=12), applied=1, failed=1))["token_seconds_to_spare"] == 0
    assert completed(ending(TITLE, timedelta(hours=12), applied=2, failed=1))["token_seconds_to_spare"] > 0
    with started() as telemetry:
        Records(telemetry).source_failed(TOKEN, SourceFailed("ECR gave no token"))
        Records(telemetry).source_failed(CERTIFICATE, SourceFailed("gone"))
    assert [line["TokenSecondsToSpare"][0] for line in written.metrics() if "TokenSecondsToSpare" in line][-1] == 0


def test_a_part_says_nothing_of_the_lives_of_the_rest_unless_it_ends_early(written: Written) -> None:
    completed(replace(ending(TITLE, timedelta(hours=12)), is_whole=False))
    assert measured(written, "TokenSecondsToSpare") == {}


def test_the_metrics_are_these_under_the_stack_and_the_cluster(written: Written) -> None:
    completed(REPORT)

    metrics, of_object = written.metrics()
    (definition,) = metrics["_aws"]["CloudWatchMetrics"]
    assert definition["Namespace"] == "EksUpsert"
    assert definition["Dimensions"] == [["stack", "cluster"]]
    assert {metric["Name"]: metric["Unit"] for metric in definition["Metrics"]} == {
        "ObjectsApplied": "Count",
        "ObjectsUnchanged": "Count",
        "ObjectsSkipped": "Count",
        "ObjectsFailed": "Count",
        "NotRefreshed": "Count",
        "SourcesFailed": "Count",
        "TokenSecondsToSpare": "Seconds",
        "FullRefreshes": "Count",
        "RunsStopped": "Count",
    }
    assert (metrics["stack"], metrics["cluster"]) == ("eks-upsert", "test")
    assert set(metrics) == {"_aws", "stack", "cluster", *(metric["Name"] for metric in definition["Metrics"])}
    (definition,) = of_object["_aws"]["CloudWatchMetrics"]
    assert definition["Dimensions"] == [["stack", "cluster", "object"]]
    age = round((datetime.now(UTC) - CHANGED_AT).total_seconds())
    assert age - 5 <= of_object["SourceAge"][0] <= age
    assert {name: value for name, value in of_object.items() if name not in ("_aws", "SourceAge")} == {
        "stack": "eks-upsert",
        "cluster": "test",
        "object": TITLE,
        "ObjectsApplied": [3.0],
        "ObjectsUnchanged": [2.0],
        "ObjectsFailed": [1.0],
    }


PART = {"ObjectsApplied": [3.0], "ObjectsUnchanged": [2.0], "ObjectsSkipped": [1.0], "ObjectsFailed": [1.0]}
ALL = PART | {"NotRefreshed": [0.0], "SourcesFailed": [0.0], "FullRefreshes": [1.0], "RunsStopped": [0.0]}
NOT_MADE = (("secret/other", SourceFailed("gone")),)
MOST = {TITLE: ObjectCounts(1, 0, 1), "secret/b": ObjectCounts(0, 0, 3), "secret/c": ObjectCounts(2, 0, 1)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ALL),
        ({"failures": ()}, ALL | {"ObjectsFailed": [0.0]}),
        ({"applied": 0}, ALL | {"ObjectsApplied": [0.0], "FullRefreshes": [0.0]}),
        ({"not_made": NOT_MADE}, ALL | {"SourcesFailed": [1.0], "NotRefreshed": [1.0]}),
        ({"by_object": MOST}, ALL | {"NotRefreshed": [2.0]}),
        ({"accounts": AccountCounts(failures=(ACCOUNT_FAILED,))}, ALL | {"ObjectsFailed": [2.0]}),
        ({"is_whole": False}, PART),
        ({"is_whole": False, "not_made": NOT_MADE}, PART | {"SourcesFailed": [1.0], "NotRefreshed": [1.0]}),
        (
            {"is_whole": False, "failures": ()},
            {name: values for name, values in PART.items() if name != "ObjectsFailed"},
        ),
        ({"objects": 0}, {}),
    ],
)
def test_only_what_a_run_proves_is_counted(
    written: Written, changes: dict[str, Any], expected: dict[str, list[float]]
) -> None:
    completed(replace(REPORT, **changes))

    assert measured(written) == expected


def test_a_run_that_can_make_none_of_its_objects_measures_that(written: Written) -> None:
    def stop() -> None:
        with started() as telemetry:
            running = Records(telemetry)
            with running.of_sources():
                running.source_failed(TOKEN, SourceFailed("ECR gave no token"))
                raise SourceFailed("ECR gave no token")

    with pytest.raises(SourceFailed):
        stop()

    (line,) = written.metrics()
    measures = {name: values for name, values in line.items() if isinstance(values, list)}
    assert measures == {"SourcesFailed": [1.0], "NotRefreshed": [1.0], "TokenSecondsToSpare": [0.0]}


def test_a_dry_run_answers_with_a_table_of_what_would_change_where(written: Written) -> None:
    with Telemetry(Context()) as telemetry:
        telemetry.configure(level="INFO", cluster="test", dry_run=True)
        running = Records(telemetry)
        for outcome in (
            SKIPPED,
            replace(APPLIED, change="unchanged"),
            replace(APPLIED, namespace="team-d", change="created"),
            replace(APPLIED, title="configmap/settings"),
            FAILED,
        ):
            running.outcome(outcome)
        not_made = (("secret/other", SourceFailed("data.key: cannot read secret x")),)
        accounts = AccountCounts(failures=(ACCOUNT_FAILED,))
        rehearsed = replace(REPORT, dry_run=True, not_made=not_made, accounts=accounts)
        answer = running.completed(rehearsed, SCHEDULE, [TOKEN])

    assert answer["table"] == [
        "object                  namespace  change",
        "secret/aws-ecr-token    team-c     failed: immutable",
        "secret/other            -          failed: data.key: cannot read secret x",
        "serviceaccount/default  team-a     failed: service-account",
        "secret/aws-ecr-token    team-d     created",
        "configmap/settings      team-a     updated",
        "secret/aws-ecr-token    team-a     unchanged",
        "secret/aws-ecr-token    team-b     skipped: terminating",
    ]
    assert written.metrics() == []
    assert "table" not in completed(REPORT)


def test_a_table_that_no_answer_holds_says_how_much_it_leaves_out() -> None:
    lines = table(("object", "change"), [("secret/a", "x" * 1000)] * 6000)
    assert sum(len(line) + 4 for line in lines) <= 5 * 1024 * 1024 + 100
    assert lines[-1] == f"and {6001 - (len(lines) - 1)} more, which the log has"
