"""Records and metrics have exactly these names and fields, and hold no secret."""

import json
import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.ecr_standin import new_password
from tests.support.refresher import EXPIRES_AT, settings
from upsert import telemetry
from upsert.core.outcomes import Applied, Failed, Skipped
from upsert.core.sensitive import Sensitive
from upsert.errors import ListForbidden, NamespacesFailed, SettingsError, UpsertError
from upsert.refresh import Report
from upsert.telemetry import Telemetry

APPLIED = Applied("team-a", "u-1", "42", "updated", ("helm",), 200, 12)
SKIPPED = Skipped("team-b", "terminating")
FAILED = Failed("team-c", "immutable", 422, "delete it")
REPORT = Report(
    applied=3,
    created=1,
    took_over=1,
    skipped=1,
    failures=(FAILED,),
    token_expires_at=EXPIRES_AT,
    api_requests=6,
    duration_ms=1234,
    every_namespace=True,
    dry_run=False,
)
SUMMARY = {
    "applied": 3,
    "newly_created": 1,
    "took_over": 1,
    "skipped": 1,
    "failed": 1,
    "token_expires_at": "2030-01-02T03:04:05Z",
    "api_requests": 6,
    "duration_ms": 1234,
    "every_namespace": True,
    "dry_run": False,
}


@dataclass
class Invocation:
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


@pytest.fixture(autouse=True)
def cold_start() -> None:
    """Forget the logger of earlier tests, as in a new environment: it writes to the standard output of its time."""
    logging.Logger.manager.loggerDict.pop(telemetry.SERVICE, None)


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> "Written":
    return Written(capsys)


class Written:
    """What went to standard output, each line decoded."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def lines(self) -> list[dict[str, Any]]:
        captured = self._capsys.readouterr()
        assert captured.err == ""
        return [json.loads(line) for line in captured.out.splitlines()]

    def records(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if "_aws" not in line]

    def metrics(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if "_aws" in line]


def started(**changes: Any) -> Telemetry:
    running = Telemetry(Invocation())
    running.configure(settings(**changes))
    return running


def body(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what every record has."""
    common = {"timestamp", "service", "request_id", "cluster", "secret"}
    assert set(record) >= common
    assert (record["service"], record["request_id"]) == ("eks-upsert", "request-1")
    assert (record["cluster"], record["secret"]) == ("test", "aws-ecr-token")
    assert datetime.fromisoformat(record["timestamp"]).utcoffset() == timedelta(0)
    return {key: value for key, value in record.items() if key not in common}


@pytest.mark.parametrize(
    ("outcome", "record"),
    [
        (
            APPLIED,
            {
                "level": "INFO",
                "message": "object.applied",
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
            {"level": "INFO", "message": "object.skipped", "namespace": "team-b", "reason": "terminating"},
        ),
        (
            FAILED,
            {
                "level": "ERROR",
                "message": "object.failed",
                "namespace": "team-c",
                "reason": "immutable",
                "status": 422,
                "remedy": "delete it",
            },
        ),
    ],
    ids=["applied", "skipped", "failed"],
)
def test_the_record_of_a_namespace_has_these_fields(
    written: Written, outcome: Applied | Skipped | Failed, record: dict[str, Any]
) -> None:
    started().outcome(outcome)

    assert [body(line) for line in written.records()] == [record]


def test_the_summary_has_these_fields(written: Written) -> None:
    started().completed(REPORT)

    assert body(written.records()[0]) == {"level": "INFO", "message": "refresh.completed", **SUMMARY}


def test_the_return_value_has_the_fields_of_the_summary() -> None:
    assert telemetry.summary(REPORT) == SUMMARY


def test_a_token_that_ends_before_the_next_run_is_a_warning_with_these_fields(written: Written) -> None:
    soon = datetime.now(UTC) + timedelta(hours=5)

    started(schedule=timedelta(hours=6)).token(soon, settings(schedule=timedelta(hours=6)))

    record = body(written.records()[0])
    assert 17_990 <= record.pop("seconds_to_expiry") <= 18_000
    assert record == {
        "level": "WARNING",
        "message": "token.expires_early",
        "token_expires_at": soon.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "remedy": "the registry token ends before the next scheduled refresh; shorten Schedule",
    }


def test_a_token_that_outlives_the_next_run_is_no_record(written: Written) -> None:
    started().token(datetime.now(UTC) + timedelta(hours=7), settings(schedule=timedelta(hours=6)))

    assert written.records() == []


@pytest.mark.parametrize("error", [ListForbidden("apply the RBAC file"), SettingsError(["CONCURRENCY: wrong"])])
def test_an_error_that_stops_the_run_is_a_record_with_these_fields(written: Written, error: UpsertError) -> None:
    with pytest.raises(type(error)), started():
        raise error

    assert [body(line) for line in written.records()] == [
        {"level": "ERROR", "message": "refresh.stopped", "error": type(error).__name__, "remedy": str(error)}
    ]


def test_an_error_about_the_settings_is_written_before_the_cluster_is_known(written: Written) -> None:
    with pytest.raises(SettingsError), Telemetry(Invocation()):
        raise SettingsError(["CLUSTER_NAME: wrong"])

    (record,) = written.records()
    record.pop("timestamp")
    assert record == {
        "level": "ERROR",
        "message": "refresh.stopped",
        "service": "eks-upsert",
        "request_id": "request-1",
        "error": "SettingsError",
        "remedy": "CLUSTER_NAME: wrong",
    }


def test_failed_namespaces_have_their_own_records_and_no_other(written: Written) -> None:
    with pytest.raises(NamespacesFailed), started():
        raise NamespacesFailed("1 of 2 namespaces failed")

    assert written.records() == []


def test_the_metrics_are_these_under_the_cluster_alone(written: Written) -> None:
    with started() as running:
        running.token(datetime.now(UTC) + timedelta(hours=12), settings())
        running.completed(REPORT)

    (metrics,) = written.metrics()
    (definition,) = metrics["_aws"]["CloudWatchMetrics"]
    assert definition["Namespace"] == "EksUpsert"
    assert definition["Dimensions"] == [["cluster"]]
    assert {metric["Name"]: metric["Unit"] for metric in definition["Metrics"]} == {
        "TokenSecondsToExpiry": "Seconds",
        "NamespacesApplied": "Count",
        "NamespacesSkipped": "Count",
        "NamespacesFailed": "Count",
        "TokenSecondsToSpare": "Seconds",
        "RefreshDuration": "Milliseconds",
        "FullRefreshes": "Count",
    }
    assert metrics["cluster"] == "test"
    assert 43_190 <= metrics["TokenSecondsToExpiry"][0] <= 43_200
    assert 21_590 <= metrics["TokenSecondsToSpare"][0] <= 21_600
    values = {name: metrics[name] for name in ("NamespacesApplied", "NamespacesSkipped", "NamespacesFailed")}
    assert values == {"NamespacesApplied": [3.0], "NamespacesSkipped": [1.0], "NamespacesFailed": [1.0]}
    assert metrics["RefreshDuration"] == [1234.0]
    assert metrics["FullRefreshes"] == [1.0]
    assert set(metrics) == {"_aws", "cluster", *(metric["Name"] for metric in definition["Metrics"])}


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({}, {"NamespacesApplied": 3, "NamespacesSkipped": 1, "NamespacesFailed": 1, "FullRefreshes": 1}),
        ({"failures": ()}, {"NamespacesApplied": 3, "NamespacesSkipped": 1, "NamespacesFailed": 0, "FullRefreshes": 1}),
        ({"applied": 0}, {"NamespacesApplied": 0, "NamespacesSkipped": 1, "NamespacesFailed": 1, "FullRefreshes": 0}),
        ({"every_namespace": False}, {"NamespacesApplied": 3, "NamespacesSkipped": 1, "NamespacesFailed": 1}),
        ({"every_namespace": False, "failures": ()}, {"NamespacesApplied": 3, "NamespacesSkipped": 1}),
        ({"dry_run": True}, {}),
    ],
)
def test_only_what_a_run_proves_is_counted(written: Written, changes: dict[str, Any], measured: dict[str, int]) -> None:
    with started() as running:
        running.completed(replace(REPORT, **changes))

    counted = [line for line in written.lines() if "_aws" in line]
    assert {name: value for line in counted for name, (value,) in counts_of(line).items()} == measured


def counts_of(metrics: dict[str, Any]) -> dict[str, list[float]]:
    return {name: value for name, value in metrics.items() if name.startswith(("Namespaces", "Full"))}


def test_the_metrics_are_written_also_when_the_run_stops(written: Written) -> None:
    running = started()
    running.token(datetime.now(UTC) + timedelta(hours=12), settings())
    with pytest.raises(ListForbidden), running:
        raise ListForbidden("403")

    (metrics,) = written.metrics()
    assert {metric["Name"] for metric in metrics["_aws"]["CloudWatchMetrics"][0]["Metrics"]} == {
        "TokenSecondsToExpiry",
        "TokenSecondsToSpare",
    }


def test_a_run_that_measured_nothing_writes_no_metrics(written: Written) -> None:
    with started():
        pass

    assert written.lines() == []


def test_a_record_that_holds_a_part_of_a_secret_is_withheld(written: Written) -> None:
    password = new_password()
    running = started()
    running.conceal(Sensitive(password))

    running.outcome(Failed("team-a", "rejected", 400, f"the server said {password[100:140]}"))
    running.outcome(SKIPPED)

    withheld, other = written.records()
    assert withheld == {"level": "ERROR", "message": "telemetry.withheld", "service": "eks-upsert"}
    assert other["message"] == "object.skipped"


def test_the_guard_knows_the_secrets_of_the_invocation_in_a_warm_environment_too(written: Written) -> None:
    started().conceal(Sensitive(new_password()))
    password = new_password()
    second = started()
    second.conceal(Sensitive(password))

    second.outcome(Failed("team-a", "rejected", 400, password))

    assert [record["message"] for record in written.records()] == ["telemetry.withheld"]


def test_a_warm_environment_keeps_nothing_of_the_invocation_before(written: Written) -> None:
    with started(log_level="ERROR", cluster_name="before") as running:
        running.completed(REPORT)
    written.lines()

    with started() as running:
        running.outcome(APPLIED)
        running.completed(REPORT)

    lines = written.lines()
    records = [line for line in lines if "_aws" not in line]
    metrics = [line for line in lines if "_aws" in line]
    assert [record["message"] for record in records] == ["object.applied", "refresh.completed"]
    assert {record["cluster"] for record in records} == {"test"}
    assert [metric["cluster"] for metric in metrics] == ["test"]
    assert metrics[0]["NamespacesApplied"] == [3.0]


def test_a_run_that_stopped_before_it_measured_leaves_the_next_one_nothing(written: Written) -> None:
    with pytest.raises(ListForbidden), started(cluster_name="before"):
        raise ListForbidden("403")
    written.lines()

    with started() as running:
        running.completed(REPORT)

    assert [metric["cluster"] for metric in written.metrics()] == ["test"]


def test_settings_that_fail_in_a_warm_environment_are_not_filed_under_the_cluster_before(written: Written) -> None:
    started(log_level="ERROR")
    with pytest.raises(SettingsError), Telemetry(Invocation("request-2")):
        raise SettingsError(["CLUSTER_NAME: wrong"])

    (record,) = written.records()
    assert "cluster" not in record
    assert record["request_id"] == "request-2"


@pytest.mark.parametrize(("level", "messages"), [("INFO", 2), ("WARNING", 1), ("ERROR", 1)])
def test_the_log_level_is_obeyed(written: Written, level: str, messages: int) -> None:
    running = started(log_level=level)

    running.outcome(APPLIED)
    running.outcome(FAILED)

    assert len(written.records()) == messages


def test_libraries_say_nothing_at_any_level(
    written: Written, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in telemetry.FOREIGN_LOGGERS:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
    started(log_level="DEBUG")

    with caplog.at_level(logging.DEBUG):
        for name in ("botocore.parsers", "urllib3.connectionpool", "kubernetes.client.rest", "boto3.resources"):
            logging.getLogger(name).debug("a body with its token")
            logging.getLogger(name).info("a body with its token")
            # urllib3 quotes a malformed header of an answer in a warning.
            logging.getLogger(name).warning("a header with its token")

    assert caplog.messages == []
    assert written.lines() == []
