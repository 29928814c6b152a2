"""Tables that people read in an answer: lines of text, their columns aligned."""

from collections.abc import Iterable, Sequence

# Lambda answers 6 MB at most.
_MOST_BYTES = 5 * 1024 * 1024


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines, the columns' names first. Of more than an answer holds, the last one says how many it left out.

    What stands in the last column may be of any length, and makes no other line longer.
    """
    lines = [columns, *rows]
    widths = [*(max(len(line[column]) for line in lines) for column in range(len(columns) - 1)), 0]
    found: list[str] = []
    size = 0
    for count, line in enumerate(lines):
        text = "  ".join(map(str.ljust, line, widths)).rstrip()
        size += len(text) + 4
        if size > _MOST_BYTES:
            return [*found, f"and {len(lines) - count} more, which the log has"]
        found.append(text)
    return found
