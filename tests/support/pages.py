"""The commands that the documents print, found in their pages in the order that a reader meets them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.template import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_COMMANDS = "make|sam|aws|kubectl|git|curl|python3\\.13|tar|cd|sha256sum|echo|pip"
# At the begin of a line, behind the assignment of what it prints, or behind what a loop asks for.
_COMMAND = re.compile(rf"^[ ]*(?:[A-Z]+=\$\()?(?:{_COMMANDS}) ", re.MULTILINE)
_MARK = re.compile(r"^[ ]*<!-- needs (.+?): (.*?) *-->$")
_HEADING = re.compile(r"^#+ (.*)$")
_FENCE = re.compile(r"^([ ]*)```(\w*)")
_INDENTED = re.compile(r"^[ ]{4,}\S")


@dataclass(frozen=True)
class Block:
    """Some lines that a reader pastes into a shell at once."""

    page: str
    section: str
    line: int
    text: str
    needs: tuple[str, str] | None
    """What the page says that it needs and no test has, and why; None if a test runs it."""

    @property
    def commands(self) -> list[str]:
        """The commands, each with the lines that it goes on in."""
        lines = re.split(r"(?<!\\)(?<!\|)\n(?![ ])", self.text)
        return [line for line in lines if not line.startswith(("#", "done"))]

    def filled(self, words: Mapping[str, str]) -> str:
        """Return the text with a reader's own words in the places of those that the page holds for them."""
        if not words:
            return self.text
        places = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        return re.sub(rf"(?<![\w$])(?:{places})(?![\w=])", lambda found: words[found[0]], self.text)

    def __str__(self) -> str:
        """Return where it is."""
        return f"{self.page}:{self.line}"


class MarkWithoutBlock(Exception):
    """A page marks what follows as one that needs something, and no commands follow."""


def blocks(page: Path, root: Path = ROOT) -> list[Block]:
    """Return the blocks of commands of a page below `root`; raises `MarkWithoutBlock`."""
    found, mark = [], None
    for kind, section, line, text in _parts(page.read_text()):
        marked = _MARK.match(text)
        if marked:
            if mark is not None:
                break
            mark = (marked[1], marked[2])
        elif kind in ("sh", "indented") and _COMMAND.search(text):
            found.append(Block(str(page.relative_to(root)), section, line, text, mark))
            mark = None
        elif mark is not None:
            break
    else:
        if mark is None:
            return found
    raise MarkWithoutBlock(f"{page.relative_to(root)}: what needs {mark} is no block of commands")


def _parts(text: str) -> Iterator[tuple[str, str, int, str]]:
    """Yield what a page consists of: the kind (a fence's language, "indented", or ""), section, line, and text."""
    lines = text.splitlines()
    section, at = "", 0
    while at < len(lines):
        start, fence = at, _FENCE.match(lines[at])
        at += 1
        if fence:
            while at < len(lines) and not lines[at].strip().startswith("```"):
                at += 1
            yield fence[2], section, start + 2, _dedented(lines[start + 1 : at])
            at += 1
        elif _INDENTED.match(lines[start]) and not (start and lines[start - 1].strip()):
            while at < len(lines) and _INDENTED.match(lines[at]):
                at += 1
            yield "indented", section, start + 1, _dedented(lines[start:at])
        elif lines[start].strip():
            if heading := _HEADING.match(lines[start]):
                section = heading[1]
            yield "", section, start + 1, lines[start]


def _dedented(lines: list[str]) -> str:
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[depth:] for line in lines)
