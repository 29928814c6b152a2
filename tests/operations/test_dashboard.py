"""The dashboard of the template shows what runs measure and log, and nothing that no run ever writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.contents import contents
from tests.evidence.insights import read, run
from tests.support.alarms import points_of
from tests.support.invocation import CLUSTER
from tests.support.objects import SECRET
from tests.support.recording import CONTESTED, FROZEN, TEAMS, Recording
from tests.support.template import Stack


@pytest.fixture(scope="module")
def widgets(stack: Stack) -> list[dict[str, Any]]:
    """The widgets, as the dashboard's body has them."""
    (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
    found: list[dict[str, Any]] = json.loads(dashboard["DashboardBody"])["widgets"]
    return found


def of_kind(widgets: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {widget["properties"]["title"]: widget["properties"] for widget in widgets if widget["type"] == kind}


def named(widgets: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    """Return the metrics that widgets name: namespace, name, and the names and values of the dimensions."""
    metrics = [metric for widget in of_kind(widgets, "metric").values() for metric in widget["metrics"]]
    return {tuple(metric[:-1]) for metric in metrics if len(metric) > 1}


def test_every_metric_is_one_that_runs_measure_or_lambda_itself_does(
    widgets: list[dict[str, Any]], recording: Recording
) -> None:
    points = points_of(recording.records)
    measured = {
        (one.namespace, one.name, *(text for pair in sorted(one.dimensions, reverse=True) for text in pair))
        for one in points
        if len(one.dimensions) == 2
    }
    assert named(widgets) - measured == {
        ("AWS/Lambda", "Errors", "FunctionName", "RefreshFunction"),
        ("AWS/Lambda", "Duration", "FunctionName", "RefreshFunction"),
        # The story has no certificate.
        ("EksUpsert", "CertificateSecondsToSpare", "stack", "eks-upsert", "cluster", CLUSTER),
    }
    assert measured <= named(widgets), "a metric that nobody sees costs money for nothing"


def test_a_search_finds_what_is_measured_of_each_object(stack: Stack, recording: Recording) -> None:
    (widget,) = [one for one in contents(stack, recording) if one["title"].startswith("Each object")]
    # A registry token has no version of which there would be an age.
    assert [series["label"] for series in widget["series"]] == [f"secret/{SECRET}: ObjectsFailed"]
    assert max(value for _, value in widget["series"][0]["points"]) == 2


def test_a_fleets_dashboard_shows_what_is_measured_of_the_whole() -> None:
    fleet = Stack(ClusterName=CLUSTER, Fleet="true").of_type("AWS::CloudWatch::Dashboard")["Dashboard"]
    shown = named(json.loads(fleet["DashboardBody"])["widgets"])
    assert {one[2:] for one in shown if one[0] == "EksUpsert"} == {("stack", "eks-upsert")}


def test_a_table_has_a_row_for_each_cluster_as_of_its_newest_run_over_everything(
    widgets: list[dict[str, Any]], recording: Recording
) -> None:
    query = of_kind(widgets, "log")["Clusters, as of their newest run over everything"]["query"]
    of_fleet = [
        {"message": "fleet.cluster", "cluster": "blue", "objects": 2, "applied": 9, "failed": 1, "is_whole": True},
        {"message": "fleet.cluster", "cluster": "red", "error": "ClusterUnreachable", "failed": 0, "is_whole": True},
        {"message": "fleet.cluster", "cluster": "blue", "objects": 9, "applied": 9, "failed": 0, "is_whole": False},
    ]
    more = [
        json.dumps(one | {"timestamp": f"2026-01-01T00:00:0{n}+00:00", "dry_run": False})
        for n, one in enumerate(of_fleet)
    ]
    rows = {row["cluster"]: row for row in run(query, read([*recording.lines, *more]))}
    assert set(rows) == {CLUSTER, "blue", "red"}
    assert (rows["blue"]["applied"], rows["blue"]["failed"], rows["blue"]["objects"]) == (9, 1, 2)
    assert rows["red"]["error"] == "ClusterUnreachable"
    (newest,) = recording.named("repaired").seen.named("refresh.completed")
    assert (rows[CLUSTER]["applied"], rows[CLUSTER]["failed"]) == (newest["applied"], 0)


def test_every_alarm_is_shown(widgets: list[dict[str, Any]], stack: Stack) -> None:
    (shown,) = of_kind(widgets, "alarm").values()
    assert shown["alarms"] == [f"{name}.Arn" for name in stack.of_type("AWS::CloudWatch::Alarm")]


def test_the_newest_full_runs_are_those_over_all_namespaces(
    widgets: list[dict[str, Any]], recording: Recording
) -> None:
    rows = run(of_kind(widgets, "log")["Newest full runs"]["query"], read(recording.lines))
    (done,) = recording.named("repaired").seen.named("refresh.completed")
    assert (rows[0]["applied"], rows[0]["failed"]) == (done["applied"], 0)
    assert rows[0]["expires_at"] == done["expires_at"]
    assert len(rows) == 5
    assert all(row["applied"] > len(TEAMS) for row in rows), "a run by hand over one namespace is none over all"


def test_take_overs_are_counted_by_manager(widgets: list[dict[str, Any]], recording: Recording) -> None:
    rows = run(of_kind(widgets, "log")["Take-overs by field manager"]["query"], read(recording.lines))
    assert [(row["manager"], row["times"], row["namespaces"]) for row in rows] == [("old-cron-job", 2, 1)]
    assert CONTESTED in {record.get("namespace") for record in recording.records if record.get("took_over_from")}


def test_the_newest_failures_say_what_to_do(widgets: list[dict[str, Any]], recording: Recording) -> None:
    rows = run(of_kind(widgets, "log")["Newest failures"]["query"], read(recording.lines))
    assert rows[0]["why"] == "InputError"
    assert {row["namespace"] for row in rows} >= {FROZEN, None}
    assert all(row["remedy"] for row in rows)


def test_no_widget_lies_on_another_and_all_are_in_the_grid(widgets: list[dict[str, Any]]) -> None:
    taken: set[tuple[int, int]] = set()
    for widget in widgets:
        x, y, width, height = (widget[key] for key in ("x", "y", "width", "height"))
        cells = {(column, row) for column in range(x, x + width) for row in range(y, y + height)}
        assert x + width <= 24
        assert not cells & taken, widget["properties"]["title"]
        taken |= cells
    assert len(taken) == 24 * max(row + 1 for _, row in taken)


def test_the_picture_of_the_readme_has_something_to_draw_in_every_widget(stack: Stack, recording: Recording) -> None:
    for widget in contents(stack, recording):
        drawn = widget.get("states") or widget.get("rows") or [series["points"] for series in widget["series"]]
        assert any(drawn), widget["title"]


def test_the_picture_of_the_readme_is_there_and_small() -> None:
    picture = Path(__file__).parents[2] / "docs" / "images" / "dashboard.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000
