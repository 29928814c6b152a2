"""What the second act of the demo says: the numbers as measured, and whatever is not as it should be."""

from dataclasses import replace
from typing import Any

import pytest

from tests.demo.objects_act import ObjectsEvidence

GOOD = ObjectsEvidence(
    kinds=7,
    objects=7,
    namespaces=50,
    expected=232,
    written=232,
    same_in_log=True,
    requests={("list", "namespaces"): 3, ("patch", "secrets"): 132, ("patch", "configmaps"): 100},
    source_reads=2,
    woken_seconds=0.4321,
    woken=frozenset({"secret/api-config"}),
    uids_kept=True,
    reads=900,
    absent=0,
)


def test_the_line_has_the_numbers_as_measured() -> None:
    assert GOOD.line == ("objects: kinds=7 objects=7 namespaces=50 applied=232 source_reads=2 woken_in_ms=432 absent=0")
    assert list(GOOD.problems()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"written": 231},
        {"same_in_log": False},
        {"requests": {("list", "namespaces"): 3, ("patch", "secrets"): 231}},
        {"requests": {("list", "namespaces"): 2, ("patch", "secrets"): 232}},
        {"requests": {("list", "namespaces"): 3, ("patch", "secrets"): 232, ("get", "secrets"): 1}},
        {"source_reads": 3},
        {"woken_seconds": 5.1},
        {"woken": frozenset()},
        {"woken": frozenset({"secret/api-config", "secret/proxy-login"})},
        {"uids_kept": False},
        {"absent": 1},
        {"reads": 0},
    ],
)
def test_whatever_is_wrong_is_said(change: dict[str, Any]) -> None:
    assert len(list(replace(GOOD, **change).problems())) == 1
