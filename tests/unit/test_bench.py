"""The benchmark's verdicts cannot be met by nonsense, and the page of its figures is made of the committed run."""

import json
import math
import re

import pytest

from bench import page
from bench.figures import Figure, Figures, Target, closing_line
from bench.parts import TRIAL, Sizes, parts


@pytest.mark.parametrize(
    ("target", "value", "verdict"),
    [
        (Target("<=", 1.2), 1.2, "met"),
        (Target("<=", 1.2), 1.21, "missed"),
        (Target("<=", 1.2), 0.0, "missed"),
        (Target("<=", 1.2), -3.0, "missed"),
        (Target("<=", 1.25, above=0.5), 0.5, "missed"),
        (Target("<=", 1.25, above=0.5), 0.9, "met"),
        (Target(">=", 0.95), 0.95, "met"),
        (Target(">=", 0.95), 0.94, "missed"),
        (Target(">=", 80), math.inf, "missed"),
        (Target("<=", 100), math.nan, "missed"),
        (Target("==", 0), 0, "met"),
        (Target("==", 0), -1, "missed"),
        (Target("==", 2004), 2003, "missed"),
        (Target("==", 2004), None, "missed"),
        (None, 1.0, "-"),
    ],
)
def test_a_target_is_met_by_what_can_be_a_result_alone(
    target: Target | None, value: float | None, verdict: str
) -> None:
    assert Figure("figure", value, "ratio", target).verdict == verdict


def test_a_target_of_which_no_figure_comes_is_missed() -> None:
    told: list[str] = []
    figures = Figures({"there": Target("<=", 2), "left_out": Target("<=", 2)}, told.append)
    figures.say("there", 1.5, "ratio")
    figures.say("beside", 3.0, "s")

    assert [figure.verdict for figure in figures.all()] == ["met", "-", "missed"]
    assert closing_line(figures.all()) == "bench: 1 met, 1 missed"
    assert [line.split() for line in told] == [["there", "1.50", "ratio", "<=2", "met"], ["beside", "3", "s", "-", "-"]]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_no_figure(value: float) -> None:
    with pytest.raises(ValueError, match="wall"):
        Figures({}).say("wall", value, "s")


def test_a_figure_is_said_once() -> None:
    figures = Figures({}, lambda _: None)
    figures.say("wall", 1.0, "s")
    with pytest.raises(ValueError, match="already"):
        figures.say("wall", 2.0, "s")


@pytest.mark.parametrize("sizes", [Sizes(), TRIAL])
def test_parts_come_in_the_order_of_their_clusters_and_after_what_they_need(sizes: Sizes) -> None:
    known = parts(sizes)
    names = [part.name for part in known]
    targets = [name for part in known for name in part.targets]
    asked = [part.size for part in known if part.size]
    assert len(set(names)) == len(names)
    assert len(set(targets)) == len(targets)
    assert asked == sorted(asked)
    assert all(names.index(need) < names.index(part.name) for part in known for need in part.needs)


def test_the_targets_are_those_that_the_project_promises() -> None:
    targets = {name: str(target) for part in parts(Sizes()) for name, target in part.targets.items()}
    assert targets.items() >= {
        ("requests_2000", "==2004"),
        ("requests_10000", "==10020"),
        ("requests_two_selectors", "==54"),
        ("source_reads", "==9"),
        ("own_time_vs_bare_urllib3", "<=1.2"),
        ("faster_than_create_apply_loop", ">=80"),
        ("many_objects_vs_one", ">=0.95"),
        ("many_objects_requests", "==10020"),
        ("many_objects_memory_peak", "<=100"),
        ("dead_webhook_healthy_lost", "==0"),
        ("dead_webhook_last_healthy", "<=3"),
        ("cold_start_vs_boto3_alone", "<=1.4"),
        ("memory_peak_10000", "<=100"),
        ("growth_10000_vs_1000", "<=11"),
        ("check_400_hosts", "<=100"),
        ("check_memory_peak", "<=200"),
    }


def test_the_page_has_the_figures_of_the_committed_run() -> None:
    text, results = page.PAGE.read_text(), json.loads(page.RESULTS.read_text())
    assert re.findall(r"<!-- figures: (\w+) -->", text) == ["run", "targets", "told"]
    assert page.rendered(text, results) == text, "make figures"


def test_the_page_shows_another_run_otherwise_and_says_what_was_missed() -> None:
    results = json.loads(page.RESULTS.read_text())
    figures = {figure["name"]: figure for figure in results["figures"]}
    figures["memory_peak_10000"] |= {"value": 123.4, "target": "<=100", "verdict": "missed"}
    assert "| peak memory at 10,000 namespaces | 123 MB | ≤ 100, **missed** |" in page.rendered(
        page.PAGE.read_text(), results
    )


def test_every_row_of_the_page_is_a_figure_of_some_part() -> None:
    targets = {name for part in parts(Sizes()) for name in part.targets}
    assert targets >= page.TARGETS.keys()
    assert targets.isdisjoint(page.TOLD)
