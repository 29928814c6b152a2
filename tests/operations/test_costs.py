"""The costs in docs/costs.md are what their formulas give, with the sizes of real records."""

import re
from pathlib import Path

import pytest

from tests.support.alarms import points_of
from tests.support.recording import Recording
from tests.support.template import Stack

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "costs.md").read_text()


def rows(mark: str) -> list[list[str]]:
    """Return the cells of the table between these marks."""
    table = re.search(rf"<!-- {mark} -->\n(.*?)<!-- /{mark} -->", TEXT, re.DOTALL)
    assert table, mark
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table[1].splitlines()[2:]]


ROWS = rows("costs")

RUNS = 8 * 365 / 12
BYTES_PER_NAMESPACE, BYTES_PER_RUN = 460, 2500
ADDED_PER_RECORD = 26  # by CloudWatch Logs, in what it charges for
PRICE_PER_METRIC, PRICE_PER_ALARM = 0.30, 0.10
CLUSTERS, TRANSITIONS_PER_CLUSTER, PRICE_PER_TRANSITION = 300, 3, 0.025 / 1000


def costs(namespaces: int, *, metrics: int, alarms: int) -> list[float]:
    function = RUNS * ((4 + 0.007 * namespaces) * 0.5 * 0.0000133334 + 0.0000002)
    logs = RUNS * (BYTES_PER_NAMESPACE * namespaces + BYTES_PER_RUN) / 2**30 * (0.50 + 0.03 * 0.15 * 3)
    each = [function, logs, metrics * PRICE_PER_METRIC * RUNS / 730, alarms * PRICE_PER_ALARM]
    return [*each, sum(each), sum(each) + 3]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_of_the_table_is_what_the_formula_gives(row: list[str], stack: Stack, recording: Recording) -> None:
    metrics = len({(point.name, point.dimensions) for point in points_of(recording.records)})
    alarms = len(stack.of_type("AWS::CloudWatch::Alarm"))
    namespaces = int(row[0].replace(",", ""))
    assert row[1:] == [f"{cost:.2f}" for cost in costs(namespaces, metrics=metrics, alarms=alarms)]


def test_the_three_sizes_are_there() -> None:
    assert [row[0] for row in ROWS] == ["10", "1,000", "10,000"]


def test_a_namespaces_record_is_no_longer_than_the_formula_says(recording: Recording) -> None:
    lines = [line for line in recording.lines if '"message": "object.applied"' in line]
    # Names of a usual length, in place of the short ones of the recording.
    longer = len("production-eu-1") - len("test") + len("customer-portal") - len("web")
    assert sum(map(len, lines)) / len(lines) + longer + ADDED_PER_RECORD <= BYTES_PER_NAMESPACE


def test_the_rest_of_a_run_is_no_longer_than_the_formula_says(recording: Recording) -> None:
    rest = [line for line in recording.named("clean").seen.output.splitlines() if "object.applied" not in line]
    lambdas_own = 3 * 150
    assert sum(len(line) + ADDED_PER_RECORD for line in rest) + lambdas_own <= BYTES_PER_RUN


def test_the_formulas_shown_have_the_numbers_that_are_counted(stack: Stack, recording: Recording) -> None:
    metrics = len({(point.name, point.dimensions) for point in points_of(recording.records)})
    alarms = len(stack.of_type("AWS::CloudWatch::Alarm"))
    assert re.findall(r"^    metrics  (\d+) . 0\.30 . R / 730", TEXT, re.MULTILINE) == [str(metrics)]
    assert f"come to at most {metrics * PRICE_PER_METRIC:.2f}" in TEXT
    assert re.findall(r"^    alarms   (\d+) . 0\.10$", TEXT, re.MULTILINE) == [str(alarms)]
    assert re.findall(r"\((\d+) . N \+ ([\d,]+)\) bytes", TEXT) == [(str(BYTES_PER_NAMESPACE), f"{BYTES_PER_RUN:,}")]


def test_a_fleets_costs_are_what_the_formulas_give(recording: Recording) -> None:
    points = {(point.name, point.dimensions) for point in points_of(recording.records)}
    of_object = sum(len(dimensions) == 3 for _, dimensions in points)
    # What alarms watch is measured of a fleet as a whole, too.
    of_cluster = of_fleet = len(points) - of_object
    expected = {
        "`object`": of_fleet + CLUSTERS * (of_cluster + of_object),
        "`cluster`": of_fleet + CLUSTERS * of_cluster,
        "`fleet`": of_fleet,
    }
    found = {row[0]: row[2:] for row in rows("fleet")}
    assert found == {
        name: [f"{metrics:,}", f"{metrics * PRICE_PER_METRIC * RUNS / 730:.2f}"] for name, metrics in expected.items()
    }
    runs = CLUSTERS * RUNS
    assert f"are {runs:,.0f} runs" in TEXT
    assert f"at most: {runs * TRANSITIONS_PER_CLUSTER * PRICE_PER_TRANSITION:.2f}," in TEXT
