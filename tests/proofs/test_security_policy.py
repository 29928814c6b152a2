"""SECURITY.md names a test for each promise; each of them has to be there."""

import ast
import re

from tests.support.controlplane import REPOSITORY

POLICY = (REPOSITORY / "SECURITY.md").read_text()
NAMED = re.compile(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")
FILE = re.compile(r"`(tests/[a-z0-9_/]+\.py)`")


def rows() -> list[str]:
    section = POLICY.partition("## Promises and the tests that hold them")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| promise")]


def test_every_test_that_the_policy_names_exists() -> None:
    named = NAMED.findall(POLICY)
    assert len(named) >= 20
    for file, test in named:
        tree = ast.parse((REPOSITORY / file).read_text())
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, f"{file}::{test}"


def test_every_promise_names_a_test() -> None:
    assert len(rows()) >= 20
    for row in rows():
        promise, tests, *_ = row.strip("| ").split(" | ")
        assert NAMED.search(tests), promise


def test_every_file_of_tests_that_the_readme_names_exists() -> None:
    named = FILE.findall((REPOSITORY / "README.md").read_text())
    assert named
    assert [file for file in named if not (REPOSITORY / file).is_file()] == []
