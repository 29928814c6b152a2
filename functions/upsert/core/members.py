"""Members of a JSON text that holds several values, by their exact names."""

import json
from typing import Any, NoReturn

from upsert.core.sensitive import Sensitive


class NoMember(Exception):
    """There is no such member that can be used. The text says why, and quotes nothing."""


def member(text: Sensitive[str], name: str) -> Sensitive[str]:
    """Return the member of that name: a string as it is, a number, true or false as its own JSON text.

    Raises `NoMember` for null, a list or an object, and for a text that is no JSON object without repeated members.
    """
    try:
        # Numbers are kept as they are written: 1.50 is not 1.5 to whoever reads the text.
        document = json.loads(
            text.reveal(),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_Number,
            parse_int=_Number,
        )
    except _Repeated:
        raise NoMember("is in a JSON text with a repeated member") from None
    except (ValueError, RecursionError):
        raise NoMember("is looked for in a text that is no JSON") from None
    if not isinstance(document, dict):
        raise NoMember("is looked for in a JSON text that is no object")
    if name not in document:
        raise NoMember("is missing")
    return Sensitive(_text(document[name]))


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
        case None:
            raise NoMember("is null; expected a string, number, true or false")
        case _:
            raise NoMember("is a list or an object; expected a string, number, true or false")


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
