"""Prints what the template's saved queries find in a log file, or in standard input for ``-``."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.evidence.insights import Row, read, run
from tests.support.template import Stack


def queries() -> dict[str, str]:
    """Return the text of each saved query by its name, as the template has them."""
    saved = Stack(ClusterName="local").of_type("AWS::Logs::QueryDefinition").values()
    return {query["Name"].rpartition("/")[2]: query["QueryString"] for query in saved}


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table of text."""
    if not rows:
        return "  (nothing)"
    lines = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def main(arguments: Sequence[str]) -> int:
    """Print every query's answer; return 0, or 2 if there is nothing to ask."""
    match arguments:
        case ["-"]:
            text = sys.stdin.read()
        case [name] if Path(name).is_file():
            text = Path(name).read_text()
        case _:
            print("say which log file: make evidence LOG=file, or LOG=- for standard input", file=sys.stderr)
            return 2
    rows = read(text.splitlines())
    if not rows:
        print("no JSON record in it", file=sys.stderr)
        return 2
    print(f"{len(rows)} records")
    for name, query in queries().items():
        print(f"\n{name}\n{table(run(query, rows))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
