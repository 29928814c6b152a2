"""Members of a JSON text that holds several values, by their exact names; and the bytes that a text stands for."""

import base64
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

from upsert.core.sensitive import Sensitive


class NotUsable(Exception):
    """There is no such member, or its text is of no use. The text says why, and quotes nothing.

    `is_there` is whether the JSON text has a member of that name.
    """

    def __init__(self, text: str, *, is_there: bool = False) -> None:
        self.is_there = is_there
        super().__init__(text)


def member(text: Sensitive[str], name: str) -> Sensitive[str]:
    """Return the member of that name: a string as it is, a number, true or false as its own JSON text.

    Raises `NotUsable` for null, a list or an object, and for a text that is no JSON object (RFC 8259), or one in which
    any object, at whatever depth, has a member twice: which of the two is meant, readers decide differently.
    """
    return reader(text)(name)


def reader(text: Sensitive[str]) -> Callable[[str], Sensitive[str]]:
    """Return what gives the members of a text by their names, like `member`. The text is read once for all of them."""
    try:
        document, fault = _document(text.reveal()), ""
    except NotUsable as wrong:
        document, fault = {}, str(wrong)

    def read(name: str) -> Sensitive[str]:
        if fault:
            raise NotUsable(fault)
        if name not in document:
            raise NotUsable("is missing")
        return Sensitive(_text(document[name]))

    return read


def names(text: Sensitive[str]) -> Collection[str]:
    """Return the names of a text's members. Raises `NotUsable` like `member` if none can be read of it."""
    return _document(text.reveal()).keys()


def _document(plain: str) -> Mapping[str, Any]:
    try:
        # Numbers are kept as they are written: 1.50 is not 1.5 to whoever reads the text.
        document = json.loads(
            plain,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_Number,
            parse_int=_Number,
        )
    except _Repeated:
        raise NotUsable("is in a JSON text with a repeated member") from None
    except json.JSONDecodeError as error:
        raise NotUsable(f"is looked for in a text that is no JSON{_fault(plain, error)}") from None
    except (ValueError, RecursionError):
        raise NotUsable("is looked for in a text that is no JSON") from None
    if not isinstance(document, dict):
        raise NotUsable("is looked for in a JSON text that is no object")
    return document


def to_bytes(text: Sensitive[str], *, decode: bool) -> Sensitive[bytes]:
    """Return the UTF-8 bytes of a text, or those that it is the base64 of.

    That is the one of RFC 4648, section 4, alone: padded, without line breaks, no bit set that no byte needs. Raises
    `NotUsable` for any other, and for a text with half of a surrogate pair, which JSON can write and UTF-8 cannot.
    """
    plain = text.reveal()
    if not decode:
        try:
            return Sensitive(plain.encode())
        except UnicodeEncodeError:
            raise NotUsable(r"has half of a surrogate pair (\ud800 to \udfff); expected text", is_there=True) from None
    try:
        decoded = base64.b64decode(plain, validate=True)
    except ValueError:
        decoded = None
    if decoded is None or base64.b64encode(decoded).decode() != plain:
        raise NotUsable("is no base64; expected it padded, without line breaks", is_there=True)
    return Sensitive(decoded)


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
        case None:
            raise NotUsable("is null; expected a string, number, true or false", is_there=True)
        case _:
            raise NotUsable("is a list or an object; expected a string, number, true or false", is_there=True)


def _fault(text: str, error: json.JSONDecodeError) -> str:
    """Return what of a text that is no JSON can be told without quoting it."""
    if text.startswith("\ufeff"):
        return ": it starts with a byte order mark"
    if error.msg.startswith("Invalid control character"):
        return ": a string in it has a raw line break or another control character"
    if error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip()) > 0:
        return ": it is cut off"
    return ""


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class _Repeated(ValueError):
    """A member is there twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Repeated
    return found


def _no_constant(_: str) -> NoReturn:
    raise ValueError("no JSON")
