"""The local evaluator of Logs Insights queries does what the language's reference says, and refuses all else."""

from typing import Any

import pytest

from tests.evidence.insights import QueryError, read, run

ROWS = read(
    [
        '{"timestamp": "2026-01-01T00:00:01.000+00:00", "message": "a", "ms": 10, "tags": ["x", "y"], "ok": true}',
        '{"timestamp": "2026-01-01T00:00:03.000+00:00", "message": "a", "ms": 30, "tags": []}',
        '{"timestamp": "2026-01-01T01:00:02.000+01:00", "message": "b", "ms": 20, "why": "it said \\"no\\""}',
    ]
)


def column(query: str, name: str) -> list[Any]:
    return [row[name] for row in run(query, ROWS)]


def test_nested_fields_are_joined_by_dots_and_booleans_are_numbers() -> None:
    assert (ROWS[0]["tags.0"], ROWS[0]["tags.1"], ROWS[0]["ok"]) == ("x", "y", 1)
    assert "tags.0" not in ROWS[1]


def test_the_time_of_a_record_is_in_utc_whatever_its_offset() -> None:
    assert [row["@timestamp"][-12:] for row in ROWS] == ["00:00:01.000", "00:00:03.000", "00:00:02.000"]


def test_lines_without_a_record_are_left_out_and_what_precedes_one_is_cut_off() -> None:
    lines = ["START RequestId: 1", "", "[1, 2]", "{broken", '2026-01-01 stream {"message": "c"}', '{"message": "d"}']
    assert [row["message"] for row in read(lines)] == ["c", "d"]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('message = "a"', [10, 30]),
        ("message = 'b'", [20]),
        ('message != "a"', [20]),
        ("ms > 10", [30, 20]),
        ("ms >= 20 and ms < 30", [20]),
        ("ms <= 10 or ms = 30", [10, 30]),
        ('message = "b" or message = "a" and ms = 30', [30, 20]),
        ('(message = "b" or message = "a") and ms = 30', [30]),
        ("not ispresent(why)", [10, 30]),
        ("ispresent(tags.0)", [10]),
        ("ok = 1", [10]),
        ('missing = "a"', []),
        ('missing != "a"', []),
        ('message in ["b", "c"]', [20]),
        ("ms in [10, 20]", [10, 20]),
        ("message like /^[b-z]/", [20]),
        ("@message like '\"ok\": true'", [10]),
        ('why like "\\"no\\""', [20]),
    ],
)
def test_a_condition_selects_rows(condition: str, found: list[int]) -> None:
    assert column(f"filter {condition} | fields ms", "ms") == found


@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        ("count(*)", 3),
        ("count(why)", 1),
        ("count_distinct(message)", 2),
        ("sum(ms)", 60),
        ("avg(ms)", 20),
        ("min(ms)", 10),
        ("max(@timestamp)", "2026-01-01 00:00:03.000"),
        ("pct(ms, 50)", 20),
        ("pct(ms, 99)", 30),
        ("earliest(ms)", 10),
        ("latest(ms)", 30),
        ("latest(missing)", None),
    ],
)
def test_an_aggregate_of_all_rows(aggregate: str, value: object) -> None:
    assert column(f"stats {aggregate} as it", "it") == [value]


def test_groups_filters_after_stats_order_and_limit() -> None:
    grouped = run("stats count(*) as n, sum(ms) as total by message as event | sort total desc", ROWS)
    assert grouped == [{"event": "a", "n": 2, "total": 40}, {"event": "b", "n": 1, "total": 20}]
    assert run("stats count(*) as n by message | filter n > 1", ROWS) == [{"message": "a", "n": 2}]
    assert column("fields ms | sort message desc, ms desc | limit 2", "ms") == [20, 30]
    assert column("fields ms | sort ms asc", "ms") == [10, 20, 30]


def test_only_the_fields_asked_for_are_shown() -> None:
    assert run('filter message = "b" | fields ms, coalesce(nothing, why) as because', ROWS) == [
        {"ms": 20, "because": 'it said "no"'}
    ]


def test_a_source_and_comments_are_read_over() -> None:
    assert column("SOURCE '/aws/lambda/refresh' \n# which\n| filter ms = 10\n  # why\n| fields ms", "ms") == [10]


@pytest.mark.parametrize(
    "query",
    [
        "parse @message /x/",
        "filter strlen(message) > 1",
        "stats stddev(ms)",
        "filter ms ~ 1",
        "filter message = ",
        "fields ms limit 1",
        "stats count(* by message",
        "",
    ],
)
def test_what_it_does_not_know_it_refuses(query: str) -> None:
    with pytest.raises(QueryError):
        run(query, ROWS)
