"""The logger, its guard and the metrics: what every record has, what is withheld, what a warm environment keeps."""

import base64
import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.canary import Canary
from tests.support.context import Context
from tests.support.ecr_standin import new_password
from tests.support.written import Written
from upsert import telemetry
from upsert.core.sensitive import Sensitive
from upsert.errors import InputError, ListForbidden, ObjectsFailed, SourceFailed, UpsertError
from upsert.telemetry import Detail, Telemetry, Unit


def started(*, level: str = "INFO", cluster: str = "test", dry_run: bool = False, run: str = "refresh") -> Telemetry:
    running = Telemetry(Context(aws_request_id="request-1"), run)
    running.configure(level=level, cluster=cluster, dry_run=dry_run)
    return running


def body(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what every record has."""
    common = {"timestamp", "service", "request_id", "cluster"}
    assert set(record) >= common
    assert (record["service"], record["request_id"]) == ("eks-upsert", "request-1")
    assert record["cluster"] == "test"
    assert datetime.fromisoformat(record["timestamp"]).utcoffset() == timedelta(0)
    return {key: value for key, value in record.items() if key not in common}


def test_a_record_has_its_level_its_name_and_its_fields(written: Written) -> None:
    running = started()

    running.info("a.b", one=1)
    running.warning("c.d", two=["x"])
    running.error("e.f", three={"x": 1.5})

    assert [body(record) for record in written.records()] == [
        {"level": "INFO", "message": "a.b", "one": 1},
        {"level": "WARNING", "message": "c.d", "two": ["x"]},
        {"level": "ERROR", "message": "e.f", "three": {"x": 1.5}},
    ]


def test_every_record_of_a_dry_run_says_so(written: Written) -> None:
    started(dry_run=True).info("a.b")

    assert [body(record) for record in written.records()] == [{"level": "INFO", "message": "a.b", "dry_run": True}]


@pytest.mark.parametrize("run", ["refresh", "adopt"])
@pytest.mark.parametrize("error", [ListForbidden("apply the RBAC file"), InputError(["SCHEDULE: wrong"])])
def test_an_error_that_stops_the_run_is_a_record_with_these_fields(
    written: Written, error: UpsertError, run: str
) -> None:
    with pytest.raises(type(error)), started(run=run):
        raise error

    assert [body(line) for line in written.records()] == [
        {"level": "ERROR", "message": f"{run}.stopped", "error": type(error).__name__, "remedy": str(error)}
    ]


def test_an_error_about_the_input_is_written_before_the_cluster_is_known(written: Written) -> None:
    with pytest.raises(InputError), Telemetry(Context(aws_request_id="request-1")):
        raise InputError(["CLUSTER_NAME: wrong"])

    (record,) = written.records()
    record.pop("timestamp")
    assert record == {
        "level": "ERROR",
        "message": "refresh.stopped",
        "service": "eks-upsert",
        "request_id": "request-1",
        "error": "InputError",
        "remedy": "CLUSTER_NAME: wrong",
    }


def test_failed_objects_have_their_own_records_and_no_other(written: Written) -> None:
    with pytest.raises(ObjectsFailed), started():
        raise ObjectsFailed("1 of 2 writes failed")

    assert written.records() == []


def test_metrics_have_the_stack_and_the_cluster_as_their_dimensions(written: Written) -> None:
    with started() as running:
        running.measure("Things", 3)
        running.measure("Duration", 1234, Unit.MILLISECONDS)
        running.measure("Left", 5, Unit.SECONDS)

    (metrics,) = written.metrics()
    (definition,) = metrics["_aws"]["CloudWatchMetrics"]
    assert definition["Namespace"] == "EksUpsert"
    assert definition["Dimensions"] == [["stack", "cluster"]]
    assert {metric["Name"]: metric["Unit"] for metric in definition["Metrics"]} == {
        "Things": "Count",
        "Duration": "Milliseconds",
        "Left": "Seconds",
    }
    assert {key: value for key, value in metrics.items() if key != "_aws"} == {
        "stack": "eks-upsert",
        "cluster": "test",
        "Things": [3.0],
        "Duration": [1234.0],
        "Left": [5.0],
    }


def dimensions(written: Written) -> dict[str, list[str]]:
    """Return the values of the dimensions by the name of the metric."""
    return {
        metric["Name"]: [line[name] for name in definition["Dimensions"][0]]
        for line in written.metrics()
        for definition in line["_aws"]["CloudWatchMetrics"]
        for metric in definition["Metrics"]
    }


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("object", {"Things": ["blue", "test"], "Parts": ["blue", "test", "secret/a"]}),
        ("cluster", {"Things": ["blue", "test"]}),
        ("fleet", {"Things": ["blue", "test"]}),
    ],
)
def test_objects_have_metrics_of_their_own_where_they_are_asked_for(
    written: Written, monkeypatch: pytest.MonkeyPatch, detail: str, expected: dict[str, list[str]]
) -> None:
    monkeypatch.setenv("STACK", "blue")
    with Telemetry(Context()) as running:
        running.configure(level="INFO", cluster="test", detail=Detail(detail))
        running.measure("Things", 3)
        running.measure("Parts", 1, title="secret/a")

    assert dimensions(written) == expected


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("object", {"Sum": ["blue"], "Things": ["blue", "test"], "Parts": ["blue", "test", "secret/a"]}),
        ("cluster", {"Sum": ["blue"], "Things": ["blue", "test"]}),
        ("fleet", {"Sum": ["blue"]}),
    ],
)
def test_a_fleet_as_a_whole_is_measured_under_the_stack_and_always(
    written: Written, monkeypatch: pytest.MonkeyPatch, detail: str, expected: dict[str, list[str]]
) -> None:
    for name, value in {"STACK": "blue", "FLEET": "true", "CLUSTER_NAME": "home"}.items():
        monkeypatch.setenv(name, value)
    with Telemetry(Context()) as running:
        running.configure(level="INFO", detail=Detail(detail))
        running.measure("Sum", 3)
    with Telemetry(Context()) as running:
        running.configure(level="INFO", cluster="test", detail=Detail(detail))
        running.measure("Things", 3)
        running.measure("Parts", 1, title="secret/a")

    assert dimensions(written) == expected


def test_a_dry_run_measures_nothing(written: Written) -> None:
    running = Telemetry(Context(), is_watched=True)
    running.configure(level="INFO", cluster="test", dry_run=True)
    running.measure("Things", 3)
    running.measure("Parts", 3, title="secret/a")
    with pytest.raises(ListForbidden), running:
        raise ListForbidden("403")

    assert written.metrics() == []


@pytest.mark.parametrize(
    ("error", "is_watched", "expected"),
    [
        (ListForbidden("403"), True, [[1.0]]),
        (InputError(["SCHEDULE: is wrong"]), True, [[1.0]]),
        (RuntimeError("a fault of this function"), True, [[1.0]]),
        (SourceFailed("ECR gave no token"), True, []),
        (ObjectsFailed("1 of 2 writes failed"), True, []),
        (ListForbidden("403"), False, []),
    ],
)
def test_a_run_that_stops_is_measured_where_nobody_waits_for_its_answer(
    written: Written, error: Exception, is_watched: bool, expected: list[list[float]]
) -> None:
    with pytest.raises(type(error)), Telemetry(Context(), is_watched=is_watched):
        raise error

    assert [line["RunsStopped"] for line in written.metrics()] == expected


def test_a_run_that_stops_before_it_knows_its_cluster_has_the_names_of_its_deployment(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACK", "blue")
    monkeypatch.setenv("CLUSTER_NAME", "home")
    with pytest.raises(InputError), Telemetry(Context(), is_watched=True):
        raise InputError(["SCHEDULE: is wrong"])

    assert dimensions(written) == {"RunsStopped": ["blue", "home"]}


def test_the_metrics_are_written_also_when_the_run_stops(written: Written) -> None:
    running = started()
    running.measure("Things", 3)
    with pytest.raises(ListForbidden), running:
        raise ListForbidden("403")

    (metrics,) = written.metrics()
    assert metrics["Things"] == [3.0]


def test_a_run_that_measured_nothing_writes_no_metrics(written: Written) -> None:
    with started():
        pass

    assert written.lines() == []


def is_masked(text: str) -> bool:
    """Return whether it is `the server said` and a mask, which may take three characters more than the secret."""
    return text.startswith("the server s") and text.endswith("***") and len(text) <= len("the server said ***")


def test_a_part_of_a_secret_is_masked_in_its_record_and_the_rest_of_it_is_told(written: Written) -> None:
    password = new_password()
    running = started()
    running.conceal(Sensitive(password))

    running.error("object.failed", namespace="team-a", remedy=f"the server said {password[100:140]}", status=400)
    running.info("object.skipped", namespace="team-b")

    masked, other = (body(record) for record in written.records())
    assert is_masked(masked.pop("remedy"))
    assert masked == {
        "level": "ERROR",
        "message": "object.failed",
        "namespace": "team-a",
        "status": 400,
        "masked": ["remedy"],
    }
    assert other == {"level": "INFO", "message": "object.skipped", "namespace": "team-b"}


class Printed:
    """What is no JSON is written as its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


@pytest.mark.parametrize(
    "field",
    [
        lambda secret: secret,
        lambda secret: [secret, "and more"],
        lambda secret: {"inside": [secret]},
        lambda secret: {secret: 1},
        lambda secret: base64.b64encode(f"AWS:{secret}".encode()).decode(),
        Printed,
    ],
    ids=["text", "list", "object", "name", "base64", "object of ours"],
)
def test_a_secret_is_masked_wherever_it_stands(written: Written, field: Callable[[str], object]) -> None:
    password = new_password()
    running = started()
    running.conceal(Sensitive(password))

    running.error("object.failed", remedy=field(password))

    ((line,), canary) = written.lines(), Canary()
    canary.learn("password", password)
    assert line["message"] == "object.failed"
    assert line["masked"] == ["remedy"]
    assert canary.leaks(json.dumps(line)) == set()


def test_a_secret_that_is_spread_over_values_masks_them_all(written: Written) -> None:
    running = started()
    running.conceal(Sensitive('correct-horse", "two": "battery-staple'))

    running.error("object.failed", one="correct-horse", two="battery-staple")

    (line,) = written.lines()
    assert (line["one"], line["two"], line["message"]) == ("***", "***", "object.failed")


def test_a_credential_that_is_called_like_its_cluster_hides_no_record(written: Written) -> None:
    running = started(cluster="production-eu-central-1")
    running.conceal(Sensitive("production-eu-central-1"))

    running.info("object.applied", object="secret/production-eu-central-1", namespace="production-eu-central-1")

    (line,) = written.lines()
    assert line["message"] == "object.applied"
    assert (line["cluster"], line["namespace"]) == ("production-eu-central-1", "production-eu-central-1")
    assert line["object"] == "secret/production-eu-central-1"


def test_an_error_that_holds_a_part_of_a_secret_is_masked_too(written: Written) -> None:
    password = new_password()
    running = started()
    running.conceal(Sensitive(password))

    with pytest.raises(ListForbidden), running:
        raise ListForbidden(f"the server said {password}")

    (record,) = written.records()
    assert (record["message"], record["error"]) == ("refresh.stopped", "ListForbidden")
    assert is_masked(record["remedy"])


def test_the_guard_knows_the_secrets_of_the_invocation_in_a_warm_environment_too(written: Written) -> None:
    started().conceal(Sensitive(new_password()))
    password = new_password()
    second = started()
    second.conceal(Sensitive(password))

    second.error("object.failed", remedy=password)

    assert [record["remedy"] for record in written.records()] == ["***"]


def test_a_warm_environment_keeps_nothing_of_the_invocation_before(written: Written) -> None:
    with started(level="ERROR", cluster="before", dry_run=True) as running:
        running.measure("Things", 1)
    written.lines()

    with started() as running:
        running.info("a.b")
        running.measure("Things", 3)

    lines = written.lines()
    (record,) = [line for line in lines if "_aws" not in line]
    (metrics,) = [line for line in lines if "_aws" in line]
    assert body(record) == {"level": "INFO", "message": "a.b"}
    assert (metrics["cluster"], metrics["Things"]) == ("test", [3.0])


def test_a_run_that_stopped_before_it_measured_leaves_the_next_one_nothing(written: Written) -> None:
    with pytest.raises(ListForbidden), started(cluster="before"):
        raise ListForbidden("403")
    written.lines()

    with started() as running:
        running.measure("Things", 3)

    assert [metric["cluster"] for metric in written.metrics()] == ["test"]


def test_input_that_is_wrong_in_a_warm_environment_is_not_filed_under_the_cluster_before(written: Written) -> None:
    started(level="ERROR")
    with pytest.raises(InputError), Telemetry(Context(aws_request_id="request-2")):
        raise InputError(["CLUSTER_NAME: wrong"])

    (record,) = written.records()
    assert "cluster" not in record
    assert record["request_id"] == "request-2"


@pytest.mark.parametrize(("level", "messages"), [("DEBUG", 3), ("INFO", 3), ("WARNING", 2), ("ERROR", 1)])
def test_the_log_level_is_obeyed(written: Written, level: str, messages: int) -> None:
    running = started(level=level)

    running.info("a.b")
    running.warning("c.d")
    running.error("e.f")

    assert len(written.records()) == messages


def test_libraries_say_nothing_at_any_level(
    written: Written, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in telemetry.FOREIGN_LOGGERS:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
    started(level="DEBUG")

    with caplog.at_level(logging.DEBUG):
        for name in ("botocore.parsers", "urllib3.connectionpool", "boto3.resources"):
            logging.getLogger(name).debug("a body with its token")
            logging.getLogger(name).info("a body with its token")
            # urllib3 quotes a malformed header of an answer in a warning.
            logging.getLogger(name).warning("a header with its token")

    assert caplog.messages == []
    assert written.lines() == []
