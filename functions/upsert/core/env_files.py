"""Files of `KEY=value` lines, as `kubectl create configmap --from-env-file` reads them.

https://github.com/kubernetes/kubectl/blob/v0.36.3/pkg/cmd/util/env_file.go
"""

from collections.abc import Iterator
from typing import NamedTuple

from upsert.core.fields import Grammar

_MARK = "\ufeff"
# What Go takes for a blank; Python takes four control characters more. https://pkg.go.dev/unicode#IsSpace
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# The buffer of a bufio.Scanner: a longer line, and all that comes after it, is left out there without a word.
_MOST_BYTES = 64 * 1024 - 1
_KEY = Grammar(
    r"(?!\.\.)(?!\.$)[-._a-zA-Z][-._a-zA-Z0-9]*", "a name of letters, digits, -, _ and ., that starts with no digit"
)


class BadLine(NamedTuple):
    """What is wrong with a line, which is counted from 1. The text quotes nothing of it."""

    number: int
    text: str


def parse(content: bytes) -> Iterator[tuple[str, str] | BadLine]:
    """Give each key with its value, in their order, and each line that has none.

    Values are taken as they are, with quotes and final blanks. What kubectl takes from its environment, which is
    ``KEY`` without a value, and what it leaves out because it is too long, is a bad line here.
    """
    lines = content.split(b"\n")
    seen: dict[str, int] = {}
    for number, line in enumerate(lines[:-1] if lines[-1] == b"" else lines, start=1):
        found = _line(line, is_first=number == 1)
        if isinstance(found, str):
            yield BadLine(number, found)
        elif found and found[0] in seen:
            yield BadLine(number, f"has the key of line {seen[found[0]]} again; expected each key once")
        elif found:
            seen[found[0]] = number
            yield found


def _line(line: bytes, *, is_first: bool) -> tuple[str, str] | str | None:
    """Return a line's key and value, None if it is blank or a comment, or what is wrong with it."""
    if len(line) > _MOST_BYTES:
        return f"has {len(line)} bytes; expected {_MOST_BYTES} at most, since kubectl would end the file there"
    try:
        text = line.removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        return "is no UTF-8; expected text"
    text = (text.removeprefix(_MARK) if is_first else text).lstrip(_BLANKS)
    if not text or text.startswith("#"):
        return None
    key, equals, value = text.partition("=")
    if not _KEY.fits(key):
        return f"has no such key before the first =; expected {_KEY.expected}"
    if not equals:
        return "has a key without a value; expected KEY=value, since a build's environment decides nothing"
    return key, value
