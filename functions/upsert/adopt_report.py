"""What a run of the adopter came to as a page of Markdown, fit for the place where the change is reviewed."""

import re
from collections.abc import Iterable, Iterator

from upsert.adopt import AdoptReport
from upsert.core.adoptions import lines_of
from upsert.core.checks import place
from upsert.core.verdicts import Likeness

# A comment on GitHub holds 65,536 characters; this leaves room for some words around it.
_MOST_CHARACTERS = 60_000
_NAMED = 5
# What is to be looked at stands first.
_ORDER = (
    Likeness.MISMATCH,
    Likeness.ONLY_IN_LIVE,
    Likeness.ROTATES,
    Likeness.ONLY_IN_NEW,
    Likeness.MATCH,
)
_NOTE = "note: "

type _Row = tuple[str, ...]


def markdown(report: AdoptReport) -> str:
    """Return the report: what is concluded of each object, the verdict on each key, and the notes. No values.

    Namespaces that have a line in common share a row, and the first of them are named.
    """
    conclusions, keys, notes = _grouped(report)
    tables = (
        ("", ("object", "conclusion", "namespaces"), _rows(sorted(conclusions.items(), key=_by_conclusion))),
        ("Keys", ("object", "key", "verdict", "namespaces"), _rows(sorted(keys.items(), key=_by_verdict))),
        ("Notes", ("object", "note", "namespaces"), _rows(sorted(notes.items()))),
    )
    lines = [f"### Adopter: {report.action}", "", _counted(report)]
    room = _MOST_CHARACTERS - sum(map(len, lines))
    for title, columns, rows in tables:
        if not rows:
            continue
        head = ["", *([f"#### {title}", ""] if title else []), _line(columns), _line("---" for _ in columns)]
        room -= sum(len(line) + 1 for line in head)
        shown = list(_fitting(map(_line, rows), room))
        room -= sum(len(line) + 1 for line in shown)
        left_out = [f"{len(rows) - len(shown)} more rows are in the log."] if len(shown) < len(rows) else []
        lines += [*head, *shown, *(["", *left_out] if left_out else [])]
    return "\n".join((*lines, ""))


def _grouped(report: AdoptReport) -> tuple[dict[_Row, list[str]], dict[_Row, list[str]], dict[_Row, list[str]]]:
    """Return the namespaces by what is concluded of an object, by the verdict on a key, and by note."""
    conclusions: dict[_Row, list[str]] = {}
    keys: dict[_Row, list[str]] = {}
    notes: dict[_Row, list[str]] = {}
    for title, why in report.not_made:
        conclusions[title, f"not checked: {why}"] = []
    for title in report.unplaced:
        conclusions[title, "not checked: no namespace is in its scope"] = []
    for result in report.results:
        for line in lines_of(result):
            said = line.removeprefix(place(result.title, result.namespace))
            if said.startswith("/"):
                key, _, verdict = said[1:].partition(": ")
                keys.setdefault((result.title, key, verdict), []).append(result.namespace)
                continue
            said = said.removeprefix(": ")
            if said.startswith(_NOTE):
                notes.setdefault((result.title, said.removeprefix(_NOTE)), []).append(result.namespace)
            elif said != Likeness.MISSING:
                conclusions.setdefault((result.title, said), []).append(result.namespace)
    return conclusions, keys, notes


def _counted(report: AdoptReport) -> str:
    counts = [f"{count} {ending.replace('_', ' ')}" for ending, count in sorted(report.counts.items())]
    return f"{', '.join(counts) or 'Nothing was checked'}."


def _by_conclusion(row: tuple[_Row, list[str]]) -> tuple[bool, _Row]:
    (_, conclusion), _ = row
    return not conclusion.startswith(("not ", "refused")), row[0]


def _by_verdict(row: tuple[_Row, list[str]]) -> tuple[int, _Row]:
    (_, _, verdict), _ = row
    return next((place for place, likeness in enumerate(_ORDER) if verdict.startswith(likeness)), -1), row[0]


def _rows(groups: Iterable[tuple[_Row, list[str]]]) -> list[_Row]:
    return [(*cells, _named(namespaces)) for cells, namespaces in groups]


def _named(namespaces: list[str]) -> str:
    more = f" and {len(namespaces) - _NAMED} more" if len(namespaces) > _NAMED else ""
    return f"{', '.join(namespaces[:_NAMED])}{more}"


def _fitting(lines: Iterable[str], room: int) -> Iterator[str]:
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return
        yield line


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


# An empty comment makes no link of what GitHub would link once the rest is rendered: https://github.github.com/gfm/
_SPECIAL = re.compile(r"[\\`*_{}\[\]()+!|~]")
_LINKED = re.compile(r"[@#]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def _escaped(cell: str) -> str:
    """Return a text that shows as it is in a cell of a table: no Markdown, HTML, link or mention of anybody."""
    plain = "".join(letter if letter.isprintable() else " " for letter in cell)
    text = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LINKED.sub(r"\g<0><!-- -->", _SPECIAL.sub(r"\\\g<0>", text))
