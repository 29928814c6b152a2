"""The saved queries of the template find in the log of a real run what was planted there."""

import io
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.evidence.__main__ import main, queries
from tests.evidence.insights import Row, read, run
from tests.support.recording import CONTESTED, FROZEN, LEAVING, OTHER_TYPE, RECREATED, TEAMS, Recording

QUERIES = queries()
type Ask = Callable[[str], Sequence[Row]]


@pytest.fixture
def ask(recording: Recording) -> Ask:
    """Run a saved query by its name over the recorded log."""
    rows = read(recording.lines)
    return lambda name: run(QUERIES[name], rows)


def test_the_five_questions_are_there() -> None:
    assert sorted(QUERIES) == [
        "Contested namespaces",
        "Failures by reason",
        "Namespaces never refreshed",
        "Slowest namespaces",
        "Uids per namespace",
    ]


def test_a_secret_that_was_deleted_and_created_anew_has_two_uids(ask: Ask) -> None:
    rows = {row["namespace"]: row for row in ask("Uids per namespace")}
    assert {name for name, row in rows.items() if row["uids"] > 1} == {RECREATED}
    assert rows[RECREATED]["uids"] == 2
    assert rows[RECREATED]["first_uid"] != rows[RECREATED]["last_uid"]


def test_the_recreated_one_comes_first(ask: Ask) -> None:
    assert ask("Uids per namespace")[0]["namespace"] == RECREATED


def test_a_secret_that_was_only_refreshed_has_one_uid_however_often(ask: Ask) -> None:
    rows = {row["namespace"]: row for row in ask("Uids per namespace")}
    for team in TEAMS:
        assert rows[team]["uids"] == 1
        assert rows[team]["refreshes"] >= 5
        assert rows[team]["first_seen"] < rows[team]["last_seen"]


def test_a_dry_run_is_no_evidence_of_a_uid(recording: Recording) -> None:
    with_dry_runs = QUERIES["Uids per namespace"].replace(" and not ispresent(dry_run)", "")
    rows = {row["namespace"]: row for row in run(with_dry_runs, read(recording.lines))}
    assert rows[RECREATED]["uids"] == 3, "the recording holds no dry run whose uid would mislead"


def test_a_contested_namespace_is_named_with_who_contests_it(ask: Ask) -> None:
    rows = ask("Contested namespaces")
    assert [(row["namespace"], row["contested_by"], row["times"]) for row in rows] == [(CONTESTED, "old-cron-job", 2)]


def test_failures_are_counted_by_reason_with_an_example_and_the_remedy(ask: Ask) -> None:
    rows = {row["why"]: row for row in ask("Failures by reason")}
    assert set(rows) == {"immutable", "wrong-type", "ClusterNotActive", "InputError", "SourceFailed", "source.failed"}
    assert (rows["immutable"]["times"], rows["immutable"]["for_example"]) == (3, FROZEN)
    assert (rows["wrong-type"]["namespaces"], rows["wrong-type"]["for_example"]) == (1, OTHER_TYPE)
    assert rows["ClusterNotActive"]["namespaces"] == 0
    assert all(row["what_to_do"] for row in rows.values())


def test_the_slowest_namespaces_come_first(ask: Ask) -> None:
    rows = ask("Slowest namespaces")
    slowest = [row["slowest_ms"] for row in rows]
    assert slowest == sorted(slowest, reverse=True)
    assert all(row["slowest_ms"] >= row["median_ms"] >= 0 for row in rows)


def test_a_namespace_that_was_only_ever_skipped_was_never_refreshed(ask: Ask) -> None:
    rows = {row["namespace"]: row for row in ask("Namespaces never refreshed")}
    assert set(rows) == {LEAVING}
    assert (rows[LEAVING]["refreshes"], rows[LEAVING]["last_reason"]) == (0, "terminating")


def test_a_namespace_that_fails_was_never_refreshed_until_it_is_repaired(recording: Recording) -> None:
    before = [line for one in recording.runs if one.name != "repaired" for line in one.seen.output.splitlines()]
    rows = {row["namespace"]: row for row in run(QUERIES["Namespaces never refreshed"], read(before))}
    assert set(rows) == {FROZEN, OTHER_TYPE, LEAVING}
    assert rows[FROZEN]["last_reason"] == "immutable"


@pytest.mark.parametrize("name", QUERIES)
def test_every_field_that_a_query_reads_is_one_that_runs_write(recording: Recording, name: str) -> None:
    text = re.sub(r"#.*|\"[^\"]*\"", "", QUERIES[name])
    words = set(re.findall(r"@?[A-Za-z_][\w.@]*(?!\w*\()", text))
    made = set(re.findall(r"\bas (\w+)", text))
    language = {
        *("filter", "fields", "stats", "sort", "limit", "by", "as", "and", "or", "not", "in", "asc", "desc"),
        *re.findall(r"(\w+)\(", text),
    }
    known = {field for row in read(recording.lines) for field in row}
    assert words - made - language <= known


def test_make_evidence_prints_the_same_from_a_file(recording: Recording, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("START RequestId: 5a0c4a3e\n" + "\n".join(f"2026-01-01T00:00:00 {line}" for line in recording.lines))
    with redirect_stdout(io.StringIO()) as printed:
        assert main([str(log)]) == 0
    text = printed.getvalue()
    assert all(name in text for name in QUERIES)
    assert re.search(rf"{RECREATED} +2 ", text)
    assert re.search(rf"{CONTESTED} +old-cron-job +2 ", text)


@pytest.mark.parametrize("arguments", [[], ["no-such-file"], ["a", "b"]])
def test_without_a_log_it_says_how_to_name_one(arguments: list[str]) -> None:
    with redirect_stderr(io.StringIO()) as said:
        assert main(arguments) == 2
    assert "LOG=" in said.getvalue()


def test_standard_input_that_holds_no_record_is_an_error() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.evidence", "-"], input="nothing\n", capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (2, "no JSON record in it\n")
