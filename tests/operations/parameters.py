"""`make parameters`: makes docs/parameters.md of the template, which is where parameters and outputs are described."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support import template

PAGE = template.ROOT / "docs" / "parameters.md"

_HEAD = """\
# Parameters and outputs of the stack

<!-- `make parameters` makes this page of template.yaml. Change the descriptions there. -->

What is written where is no parameter: the [file of objects](objects.md) says it. The parameters hold what the
deployment itself needs.

    sam deploy --parameter-overrides ClusterName=NAME AlarmEmail=YOU@EXAMPLE.COM

A parameter that you leave out keeps the value that the stack has, and only a new stack takes the default. So leaving
out `ScheduleState` does not switch a schedule on again: say `ScheduleState=ENABLED`. A list is written with commas and
without blanks. A value with a blank in it needs quotes of its own, or it is cut there: `'Schedule="rate(1 hour)"'`.
"""


def page() -> str:
    """Return the page for the template as it is now."""
    found = template.load()
    parameters = found["Parameters"]
    parts = [_HEAD]
    for group in found["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]:
        rows = (_row(name, parameters[name]) for name in group["Parameters"])
        parts.append(_table(group["Label"]["default"], ("parameter", "default", "may be", "meaning"), rows))
    outputs = ((f"`{name}`", _line(rules["Description"])) for name, rules in found["Outputs"].items())
    parts.append(_table("Outputs", ("output", "meaning"), outputs))
    return "\n".join(parts)


def _row(name: str, rules: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return f"`{name}`", _default(rules), _accepted(rules), _line(rules["Description"])


def _default(rules: Mapping[str, Any]) -> str:
    if "Default" not in rules:
        return "(required)"
    return f"`{rules['Default']}`" if str(rules["Default"]) else "empty"


def _accepted(rules: Mapping[str, Any]) -> str:
    if "AllowedValues" in rules:
        return ", ".join(f"`{value}`" for value in rules["AllowedValues"])
    if "MinValue" in rules:
        return f"{rules['MinValue']} to {rules['MaxValue']}"
    return _line(rules["ConstraintDescription"]).removeprefix("must be ").removesuffix(".")


def _table(title: str, columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    return f"## {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("*", r"\*")


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE, file=sys.stderr)
