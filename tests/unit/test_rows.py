"""The tables of kinds and sources: each row is what its word says, and is imported when it is first asked for."""

import tomllib
from pathlib import Path

import pytest

from upsert import kinds, sources
from upsert.core.rows import Rows
from upsert.errors import SourceFailed, UpsertError

ROOT = Path(__file__).parents[2]


def rows() -> Rows[type[UpsertError]]:
    return Rows("upsert", {"failed": "errors.SourceFailed", "absent": "errors.Nothing", "here": UpsertError})


def test_a_row_is_what_stands_in_its_module() -> None:
    table = rows()
    assert (table["failed"], table["here"]) == (SourceFailed, UpsertError)
    assert (list(table), len(table)) == (["failed", "absent", "here"], 3)
    assert (table.get("other"), "other" in table) == (None, False)


def test_a_row_that_is_not_asked_for_is_not_looked_for() -> None:
    table = rows()
    assert table["failed"] is SourceFailed
    with pytest.raises(AttributeError, match="Nothing"):
        table["absent"]


def test_a_row_can_be_put_in_and_taken_out() -> None:
    table = rows()
    table["failed"] = UpsertError
    del table["absent"]
    assert dict(table) == {"failed": UpsertError, "here": UpsertError}


def test_each_row_is_called_as_its_module_calls_itself() -> None:
    assert {word: row.word for word, row in kinds.TABLE.items()} == {word: word for word in kinds.TABLE}
    assert {name: row.type for name, row in kinds._BY_TYPE.items()} == {name: name for name in kinds._BY_TYPE}
    assert {word: row.word for word, row in sources.TABLE.items()} == {word: word for word in sources.TABLE}


def test_what_rows_import_is_held_to_import_nothing_of_the_adopter() -> None:
    """The linter sees no import by name, so it is told of each module that there is."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (one for one in contracts if one["name"] == "The refresher imports nothing of the adopter")
    there = {
        f"upsert.{package}.{path.stem}"
        for package in ("kinds", "sources")
        for path in (ROOT / "functions" / "upsert" / package).glob("[!_]*.py")
    }
    assert there - set(contract["forbidden_modules"]) <= set(contract["source_modules"])
