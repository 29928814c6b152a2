"""The costs in docs/architecture.md and docs/fleets.md are what their formulas give, with the sizes of real records."""

import re
from pathlib import Path

import pytest

from tests.support.alarms import points_of
from tests.support.recording import Recording
from tests.support.template import Stack

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "architecture.md").read_text()
FLEETS = (DOCS / "fleets.md").read_text()
TABLE = re.search(r"<!-- costs -->\n(.*?)<!-- /costs -->", TEXT, re.DOTALL)
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")] for line in (TABLE[1] if TABLE else "").splitlines()[2:]
]

RUNS = 8 * 365 / 12
BYTES_PER_NAMESPACE, BYTES_PER_RUN = 460, 2000
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


def test_a_fleets_costs_are_what_the_formulas_give(recording: Recording) -> None:
    metrics = len({(point.name, point.dimensions) for point in points_of(recording.records)})
    runs = CLUSTERS * RUNS
    assert f"{runs:,.0f} runs" in FLEETS
    assert f"{runs * TRANSITIONS_PER_CLUSTER * PRICE_PER_TRANSITION:.2f} $" in FLEETS
    assert f"{metrics} metrics in the hours with a run: {metrics * PRICE_PER_METRIC * runs / 730:.0f} $" in FLEETS
    every_five_hours = CLUSTERS * 24 / 5 * 365 / 12
    assert f"`rate(5 hours)` it is {metrics * PRICE_PER_METRIC * every_five_hours / 730:.0f} $" in FLEETS
