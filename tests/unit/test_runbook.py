"""The runbook has a section for everything that the function, an alarm or an operator can point at, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.template import Stack
from upsert import errors

ROOT = Path(__file__).parents[2]
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
SECTIONS = re.findall(r"^## (.*)$", RUNBOOK, re.MULTILINE)
STACK = Stack(ClusterName="demo")

# Bases that are never raised themselves.
BASES = {errors.UpsertError, errors.ClusterError}


def entries(section: str) -> list[str]:
    """Return the names that have a heading of their own in the section."""
    text = RUNBOOK.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^### `([^`]+)`$", text, re.MULTILINE)


def reasons() -> Iterator[str]:
    """Yield the reason of every `Failed` that the code makes."""
    for file in (ROOT / "functions" / "upsert").rglob("*.py"):
        tree = ast.parse(file.read_text())
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Failed":
                reason = node.args[1]
                yield str(reason.value if isinstance(reason, ast.Constant) else constants[reason.id])  # type: ignore[attr-defined]


def leaves(base: type[Exception]) -> set[type[Exception]]:
    return {base, *(leaf for child in base.__subclasses__() for leaf in leaves(child))}


def test_every_reason_of_a_failed_namespace_has_its_remedy_and_no_other_does() -> None:
    assert sorted(entries("Reasons of a failed namespace")) == sorted(set(reasons()))


def test_every_error_that_a_run_can_end_with_has_its_remedy_and_no_other_does() -> None:
    raised = {error.__name__ for error in leaves(errors.UpsertError) - BASES if error.__module__ == errors.__name__}
    assert sorted(entries("Errors that stop a run")) == sorted(raised)


def test_every_alarm_names_a_section_that_is_there_and_each_section_has_its_alarm() -> None:
    named = [
        re.findall(r'docs/runbook\.md, section "([^"]+)"', alarm["AlarmDescription"])
        for alarm in STACK.of_type("AWS::CloudWatch::Alarm").values()
    ]
    assert sorted(named) == sorted([section] for section in SECTIONS if section.startswith("Alarm: "))


def test_an_alarm_says_what_it_means_what_to_do_and_of_which_cluster_within_what_cloudwatch_allows() -> None:
    for alarm in STACK.of_type("AWS::CloudWatch::Alarm").values():
        assert "demo" in alarm["AlarmDescription"]
        assert len(alarm["AlarmDescription"]) <= 1024


def test_every_saved_query_is_explained() -> None:
    names = [query["Name"].rpartition("/")[2] for query in STACK.of_type("AWS::Logs::QueryDefinition").values()]
    table = re.findall(r"^\| ([A-Z][^|]*) \|", RUNBOOK.partition("## Questions to the logs")[2], re.MULTILINE)
    assert sorted(table) == sorted(names)


@pytest.mark.parametrize("document", ["runbook", "architecture", "upgrading"])
def test_every_link_leads_somewhere(document: str) -> None:
    folder = ROOT / "docs"
    text = (folder / f"{document}.md").read_text()
    for target in re.findall(r"\]\((?!https:)([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        linked = folder / file if file else folder / f"{document}.md"
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, target


def test_every_parameter_that_the_documents_name_is_one_of_the_template() -> None:
    template = (ROOT / "template.yaml").read_text()
    for parameter in re.findall(r"`([A-Z][A-Za-z]+)=", RUNBOOK):
        assert re.search(rf"^  {parameter}:$", template, re.MULTILINE), parameter
