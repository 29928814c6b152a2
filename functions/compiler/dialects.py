"""What a text without quotes means in YAML, which depends on who reads it.

In a file of objects a text stays a text: YAML 1.1 would make true of ``on``, a date of 2024-01-01 and an octal number
of an account id. What editors take for a number, true, false or null, by the core schema of YAML 1.2, is that too.
https://yaml.org/spec/1.2.2/#103-core-schema

kubectl makes JSON of YAML 1.1 before it looks at a manifest: ``yes`` is true, ``010`` is 8 and ``1e3`` is 1000 there.
https://github.com/kubernetes-sigs/yaml/blob/v1.6.0/yaml.go, https://github.com/yaml/go-yaml/blob/v2.4.3/resolve.go
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is `expected` in a file, and what a text `means` there that stands without quotes.

    `means` raises `ValueError` if that is nothing that a file may hold. `why_no_name` says why such a text cannot be
    the name of a field, and is empty if it can.
    """

    expected: str
    means: Callable[[str], Any]
    why_no_name: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is not written as a plain integer, kept as it is written."""

    text: str

    def __repr__(self) -> str:
        return self.text


_NULLS = ("", "~", "null", "Null", "NULL")
_FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_PLAIN_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


def _in_objects(text: str) -> Any:
    if text in _NULLS:
        return None
    if text in _FLAGS:
        return _FLAGS[text]
    if _PLAIN_INTEGER.fullmatch(text):
        return int(text)
    return Number(text) if _NUMBER.fullmatch(text) else text


OBJECTS = Dialect("version: 1 and objects", _in_objects, lambda _: "")

_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]{1,99})|0[bB]([01]{1,99})|0[oO]?([0-7]{1,99})|(0|[1-9][0-9]{0,99}))")
_BASES = (16, 2, 8, 10)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# With a point first, an underscore has to stand between digits; elsewhere it may stand anywhere.
_POINT = re.compile(r"\.[0-9](_?[0-9])*([eE][-+]?[0-9](_?[0-9])*)?")
_LEAST_WITH_EXPONENT = 1e21
_MOST_SIGNED, _MOST_UNSIGNED = 2**63 - 1, 2**64 - 1


def _to_kubectl(text: str) -> Any:
    """Return what kubectl makes of a text without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _NO_NUMBER.fullmatch(text):
        raise ValueError("no number that JSON has; expected a number, or quotes around a text")
    plain = text.replace("_", "") if text[0] in "+-0123456789" or _POINT.fullmatch(text) else text
    if whole := _INTEGER.fullmatch(plain):
        sign, *digits = whole.groups()
        number = next(int(sign + found, base) for found, base in zip(digits, _BASES, strict=True) if found)
        if -_MOST_SIGNED - 1 <= number <= _MOST_SIGNED:
            return number
        if not sign and number <= _MOST_UNSIGNED:
            return _as_float(str(number))
    return _as_float(plain) if _FLOAT.fullmatch(plain) and math.isfinite(float(plain)) else text


def _as_float(text: str) -> int | float:
    """Return a number with the digits that Go writes of a float: a whole one without a point, unless it is too long."""
    number = float(text)
    is_whole = number.is_integer() and abs(number) < _LEAST_WITH_EXPONENT
    return int(Decimal(repr(number))) if is_whole else number


def _why_no_name(text: str) -> str:
    if text == "<<":
        return "a merge (<<); expected the fields themselves"
    try:
        return "" if _to_kubectl(text) == text else _NAME_NEEDS_QUOTES
    except ValueError:
        return _NAME_NEEDS_QUOTES


_NAME_NEEDS_QUOTES = "a field whose name YAML takes for a number, true, false or null; expected it in quotes"
KUBECTL = Dialect("a manifest", _to_kubectl, _why_no_name)
