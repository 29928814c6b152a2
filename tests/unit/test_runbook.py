"""The runbook has a section for everything that the function, an alarm or an operator can point at, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.template import ROOT, Stack
from upsert import errors

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
SECTIONS = re.findall(r"^## (.*)$", RUNBOOK, re.MULTILINE)
STACK = Stack(ClusterName="demo")
FLEET = Stack(ClusterName="demo", Fleet="true")

# Bases that are never raised themselves.
BASES = {errors.UpsertError, errors.ClusterError}

RECORD = re.compile(r"[a-z_]+\.[a-z_]+")


def section(title: str) -> str:
    return RUNBOOK.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def entries(title: str) -> list[str]:
    """Return the names that have a heading of their own in the section."""
    return re.findall(r"^### `([^`]+)`$", section(title), re.MULTILINE)


def sources() -> Iterator[ast.Module]:
    for file in (ROOT / "functions" / "upsert").rglob("*.py"):
        yield ast.parse(file.read_text())


def reasons() -> Iterator[str]:
    """Yield every reason that the code gives: to `Failed`, or from a function that tells a reason and its remedy."""
    for tree in sources():
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="Failed"), args=[_, _, ast.Constant(value=str(reason)), *_]):
                    yield reason
                case ast.Call(func=ast.Name(id="Failed"), args=[_, _, ast.Name(id=name), *_]) if name in constants:
                    yield str(constants[name])
                case ast.FunctionDef(returns=ast.expr() as returns) if ast.unparse(returns) == "tuple[str, str]":
                    yield from told_by(node)


def told_by(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Return(value=ast.Tuple(elts=[ast.Constant(value=str(reason)), _])):
                yield reason


def records() -> Iterator[str]:
    """Yield the name of every record that the code writes."""
    for tree in sources():
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="info" | "warning" | "error"), args=[ast.Constant(value=str(name)), *_]
                ):
                    yield name
                case ast.Dict():
                    for key, value in zip(node.keys, node.values, strict=True):
                        match key, value:
                            case ast.Constant(value="message"), ast.Constant(value=str(name)):
                                yield name


def leaves(base: type[Exception]) -> set[type[Exception]]:
    return {base, *(leaf for child in base.__subclasses__() for leaf in leaves(child))}


def test_every_reason_of_a_failed_object_has_its_remedy_and_no_other_does() -> None:
    assert sorted(entries("Reasons of a failed object")) == sorted(set(reasons()))


def test_every_error_that_a_run_can_end_with_has_its_remedy_and_no_other_does() -> None:
    raised = {error.__name__ for error in leaves(errors.UpsertError) - BASES if error.__module__ == errors.__name__}
    assert sorted(entries("Errors that stop a run")) == sorted(raised)


def test_every_record_is_explained_and_no_other_is() -> None:
    listed = re.findall(r"^\| (`[^|]+`) \|", section("Records"), re.MULTILINE)
    named = {name for row in listed for name in re.findall(r"`([^`]+)`", row)}
    # The telemetry puts this name together, of the function's own.
    stopped = {"refresh.stopped", "adopt.stopped"}
    assert sorted(named) == sorted({name for name in records() if RECORD.fullmatch(name)} | stopped)


ALARMS = {
    **STACK.of_type("AWS::CloudWatch::Alarm"),
    **{f"fleet's {name}": one for name, one in FLEET.of_type("AWS::CloudWatch::Alarm").items()},
}


def test_every_alarm_links_a_section_that_is_there_and_each_section_has_its_alarm() -> None:
    linked = {
        name: re.findall(r"docs/runbook\.md#([a-z-]+)$", alarm["AlarmDescription"]) for name, alarm in ALARMS.items()
    }
    assert {name: len(links) for name, links in linked.items()} == dict.fromkeys(ALARMS, 1)
    headings = {title.lower().replace(":", "").replace(" ", "-") for title in SECTIONS if title.startswith("Alarm: ")}
    assert {link for (link,) in linked.values()} == headings
    for name, (link,) in linked.items():
        assert ALARMS[name]["AlarmName"] == f"eks-upsert-{link.removeprefix('alarm-')}"


@pytest.mark.parametrize("name", sorted(ALARMS))
def test_an_alarm_says_what_to_do_and_of_which_cluster_within_what_cloudwatch_allows(name: str) -> None:
    text = ALARMS[name]["AlarmDescription"]
    assert "demo" in text
    assert len(text) <= 1024
    # What to do is a sentence that begins with a verb, or the record or query that says it.
    assert re.search(r"(Refresh|Read|Find|Raise|Mend|Put|follow|See|names? )", text)


def test_every_saved_query_is_explained() -> None:
    names = [query["Name"].rpartition("/")[2] for query in STACK.of_type("AWS::Logs::QueryDefinition").values()]
    table = re.findall(r"^\| ([A-Z][^|]*) \|", section("Questions to the logs"), re.MULTILINE)
    assert sorted(table) == sorted(names)


def test_every_metric_is_explained_and_no_other_is() -> None:
    code = "".join(file.read_text() for file in sorted((ROOT / "functions" / "upsert").glob("*.py")))
    measured = set(re.findall(r'measure\(\s*"(\w+)"', code))
    text = (ROOT / "docs" / "architecture.md").read_text().partition("\n## Metrics\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == measured


def test_the_command_of_an_emergency_is_the_one_that_the_stack_gives() -> None:
    (shown,) = re.findall(r"^    (echo .* aws lambda invoke .*\n.*)$", RUNBOOK, re.MULTILINE)
    given = STACK.outputs["RefreshNow"]["Value"]
    words = re.sub(r"\\\n", " ", shown).replace("REGION", "eu-central-1").replace("FUNCTION", "RefreshFunction").split()
    assert words == given.split()


def test_an_alarm_names_pages_that_are_there() -> None:
    """Alarms are read in the night: what they name is a file of the repository."""
    for alarm in STACK.of_type("AWS::CloudWatch::Alarm").values():
        for file in re.findall(r"docs/[\w.-]+\.md", alarm["AlarmDescription"]):
            assert Path(ROOT / file).is_file()
