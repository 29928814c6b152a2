"""SECURITY.md names a test for each promise; each of them has to be there."""

import ast
import re

from tests.support.controlplane import REPOSITORY

NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")


def test_every_test_that_the_policy_names_exists() -> None:
    named = NAMED.findall((REPOSITORY / "SECURITY.md").read_text())
    assert len(named) >= 20
    for file, test in named:
        tree = ast.parse((REPOSITORY / file).read_text())
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, f"{file}::{test}"
