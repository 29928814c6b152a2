"""Reads YAML into plain values and remembers the line of each."""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from compiler.dialects import OBJECTS, Dialect
from upsert.core.fields import Path, spelled

MOST_BYTES = 1024 * 1024
# With what aliases stand for. A file of a thousand objects has about twenty thousand.
MOST_VALUES = 100_000


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in a line of the file."""

    line: int
    text: str


class Unreadable(Exception):
    """The text is no YAML that can be read to its end."""

    def __init__(self, line: int, text: str) -> None:
        self.fault = Fault(line, text)
        super().__init__(text)


@dataclass(slots=True)
class Loaded:
    """The values of a file, the line of each path, and what was wrong already while they were read.

    `spoilt` are the paths whose values mean nothing, so that nothing more is said about them.
    """

    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    spoilt: set[Path] = field(default_factory=set)

    def line(self, path: Path) -> int:
        """Return the line of a path, or of what it would be in if it is not there."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)

    def is_spoilt(self, path: Path) -> bool:
        """Return whether nothing can be said about the value at a path."""
        return any(path[:length] in self.spoilt for length in range(len(path) + 1))


def load(text: bytes, dialect: Dialect = OBJECTS) -> Loaded:
    """Return what the one YAML document in `text` holds, a file of objects unless told otherwise.

    Raises `Unreadable`.
    """
    if len(text) > MOST_BYTES:
        raise Unreadable(1, f"the file has more than {MOST_BYTES} bytes; expected at most that many")
    try:
        # PyYAML passes over a byte order mark, which editors on Windows may write.
        characters = text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, f"byte {error.start + 1} is no UTF-8; expected a file in UTF-8") from None
    try:
        root = yaml.compose(characters, Loader=_Loader)
        if root is None or (isinstance(root, yaml.ScalarNode) and root.tag == _PLAIN and not root.value):
            raise Unreadable(1, f"the file is empty; expected {dialect.expected}")
        reader = _Reader(dialect)
        reader.loaded.value = reader.value(root, ())
    except yaml.reader.ReaderError as error:
        line = characters.count("\n", 0, error.position) + 1
        raise Unreadable(line, f"the character U+{error.character:04X} is in it; expected text") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(mark.line + 1 if mark else 1, _why(error.problem or "")) from None
    except RecursionError:
        raise Unreadable(1, f"values are nested too deep; expected {dialect.expected}") from None
    return reader.loaded


_PLAIN, _QUOTED, _LIST, _MAPPING = "plain", "quoted", "list", "mapping"


class _Loader(yaml.SafeLoader):
    """Tells plain texts from quoted ones, where PyYAML would guess a type. Any other tag stands in the file."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._count = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._count += 1
        if self._count > MOST_VALUES:
            raise _too_many(self.line + 1)
        return super().compose_node(parent, index)

    def resolve(self, kind: type[yaml.Node], _value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _QUOTED
        return _LIST if kind is yaml.SequenceNode else _MAPPING


def _too_many(line: int) -> Unreadable:
    return Unreadable(line, f"more than {MOST_VALUES} values, with aliases; expected at most that many")


# A text may be written so, but no UTF-8 can hold it.
_HALF = re.compile("[\ud800-\udfff]")
_WHOLE = r"half of a character, such as \ud83d; expected it whole, such as \U0001f600"


class _Reader:
    """Makes plain values of nodes."""

    def __init__(self, dialect: Dialect) -> None:
        self.loaded = Loaded()
        self._dialect = dialect
        self._within: list[int] = []
        self._count = 0

    def value(self, node: yaml.Node, path: Path, line: int | None = None) -> Any:
        """Return the value of a node, and note its line, which is that of its key if it has one."""
        line = node.start_mark.line + 1 if line is None else line
        self.loaded.lines[path] = line
        self._count += 1
        if self._count > MOST_VALUES:
            raise _too_many(line)
        if id(node) in self._within:
            self._spoil(path, line, "an alias for what it is in; expected an alias for something else")
            return None
        if node.tag not in (_PLAIN, _QUOTED, _LIST, _MAPPING):
            # It is not quoted: a password may start with an exclamation mark.
            self._spoil(
                path, line, "a tag (!); expected the value without one, or quotes around a text that starts with !"
            )
            return None
        self._within.append(id(node))
        try:
            return self._value(node, path)
        finally:
            self._within.pop()

    def _value(self, node: yaml.Node, path: Path) -> Any:
        match node:
            case yaml.SequenceNode():
                return [self.value(one, (*path, index)) for index, one in enumerate(node.value)]
            case yaml.MappingNode():
                return self._mapping(node, path)
            case _ if _HALF.search(node.value):
                self._spoil(path, self.loaded.lines[path], _WHOLE)
                return None
            case _:
                return self._plain(node.value, path) if node.tag == _PLAIN else node.value

    def _plain(self, text: str, path: Path) -> Any:
        try:
            return self._dialect.means(text)
        except ValueError as error:
            self._spoil(path, self.loaded.lines[path], str(error))
            return None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._spoil(path, line, "a field whose name is a list or an object; expected a text")
            elif _HALF.search(key.value):
                self._spoil(path, line, _WHOLE)
            elif key.tag not in (_PLAIN, _QUOTED):
                self._spoil(path, line, "a field whose name has a tag (!); expected the name without one")
            elif key.value in found:
                at = (*path, key.value)
                self._note(at, line, f"is there twice, first in line {self.loaded.lines[at]}; expected once")
            elif key.tag == _PLAIN and (why := self._dialect.why_no_name(key.value)):
                self._spoil(path, line, why)
            else:
                found[key.value] = self.value(value, (*path, key.value), line)
        return found

    def _spoil(self, path: Path, line: int, text: str) -> None:
        self.loaded.spoilt.add(path)
        self._note(path, line, text)

    def _note(self, path: Path, line: int, text: str) -> None:
        self.loaded.faults.append(Fault(line, f"{spelled(path)}: {text}" if path else text))


# What PyYAML says, and what it means to whoever wrote the file.
_MEANINGS = (
    ("found character '\\t'", "a tab; expected spaces"),
    (
        "found undefined alias",
        "an alias (*) whose anchor (&) is missing; expected one before it, or quotes around the text",
    ),
    (
        "second occurrence",
        "an anchor (&) of a name that is taken; expected another name, or quotes around the text",
    ),
    ("but found another document", "a second document; expected one"),
    (
        "expected alphabetic or numeric character",
        'a * or & without a name behind it; expected quotes around the text, such as "*"',
    ),
)
# It quotes single characters and the names of tokens, but also tags.
_QUOTATION = re.compile(r"'(?!<)[^']{2,}'")


def _why(problem: str) -> str:
    for said, meaning in _MEANINGS:
        if problem.startswith(said):
            return meaning
    return f"no YAML: {_QUOTATION.sub('…', problem)}; expected YAML"
