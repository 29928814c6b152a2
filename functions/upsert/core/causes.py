"""What makes two values differ that are meant to be the same, and what they are like without it."""

import base64
import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import normalize

type Pair = tuple[bytes, bytes]
# Gives a live and a new value without what a cause does to one of them, or to both: each way in which it may be so.
type Undo = Callable[[bytes, bytes], Iterable[Pair]]


@dataclass(frozen=True, slots=True)
class Cause:
    """What makes two values differ, and how to undo it. `has_carrier` is whether it is in one of them alone."""

    name: str
    undo: Undo
    has_carrier: bool = True


def _of_both(change: Callable[[bytes], bytes]) -> Undo:
    """Return what undoes a cause that both values may have in them, more or less."""
    return lambda live, new: [(change(live), change(new))]


def _of_either(change: Callable[[bytes], bytes | None]) -> Undo:
    """Return what undoes a cause that the one value has and the other has not."""

    def undo(live: bytes, new: bytes) -> Iterator[Pair]:
        if (changed := change(live)) is not None:
            yield changed, new
        if (changed := change(new)) is not None:
            yield live, changed

    return undo


def _stripped(strip: Callable[[bytes], bytes], end: Callable[[bytes, bytes], bytes]) -> Undo:
    """Return what undoes white space at an end, if there is other than line ends in it."""

    def undo(live: bytes, new: bytes) -> Iterator[Pair]:
        bare = strip(live), strip(new)
        ends = (end(value, rest) for value, rest in zip((live, new), bare, strict=True))
        if any(space.replace(b"\r\n", b"").strip(b"\n") for space in ends):
            yield bare

    return undo


def _behind(value: bytes, rest: bytes) -> bytes:
    return value[len(rest) :]


def _before(value: bytes, rest: bytes) -> bytes:
    return value[: len(value) - len(rest)]


def _around(value: bytes, rest: bytes) -> bytes:
    start = len(value) - len(value.lstrip())
    return value[:start] + value[start + len(rest) :]


def _unquoted(value: bytes) -> bytes | None:
    is_quoted = len(value) > 1 and value[:1] == value[-1:] and value[:1] in (b'"', b"'")
    return value[1:-1] if is_quoted else None


def _decoded(value: bytes) -> bytes | None:
    """Return what a value is the base64 of, which programs break into lines."""
    text = value.replace(b"\r\n", b"").replace(b"\n", b"")
    try:
        return base64.b64decode(text, validate=True) if text else None
    except ValueError:
        return None


def _unescaped(value: bytes) -> bytes | None:
    if rb"\n" not in value:
        return None
    return value.replace(rb"\r\n", b"\r\n").replace(rb"\n", b"\n")


def _from_utf_16(value: bytes) -> bytes | None:
    if not value.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    try:
        return value.decode("utf-16").encode()
    except ValueError:
        return None


def _composed(live: bytes, new: bytes) -> Iterator[Pair]:
    """Give both values in one form, where a letter with an accent has one spelling: https://unicode.org/reports/tr15/."""
    try:
        yield normalize("NFC", live.decode()).encode(), normalize("NFC", new.decode()).encode()
    except ValueError:
        return


def _cut(limit: int) -> Undo:
    """Return what undoes that one of the values ends where a limit is, which may count the end of the line."""

    def undo(live: bytes, new: bytes) -> Iterator[Pair]:
        short, long = sorted((live, new), key=len)
        if len(short) in (limit, limit - 1) and len(long) > len(short) and long.startswith(short):
            yield short, short

    return undo


def _laid_out(live: bytes, new: bytes) -> Iterator[Pair]:
    """Give both values in one layout if both are JSON: order, spacing and escapes are what is lost."""
    if (one := _json(live)) is not None and (other := _json(new)) is not None:
        yield one, other


def _json(text: bytes) -> bytes | None:
    if text.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        # A number is what is written: to its readers 1.50 may be another one than 1.5, and true is not 1.
        value = json.loads(
            text.decode(), object_pairs_hook=_object, parse_constant=_number, parse_float=_number, parse_int=_number
        )
        return json.dumps(value, sort_keys=True).encode()
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("repeated member")
    return {"members": members}


def _number(text: str) -> dict[str, str]:
    return {"number": text}


# https://www.rfc-editor.org/rfc/rfc7468
_PEM_LINE = re.compile(rb"-----(BEGIN|END) ([A-Z0-9 ]+)-----")


def _in_order(text: bytes) -> bytes:
    """Return a text with its PEM blocks sorted, and what stands between them where it stands."""
    spans = [
        (begin.start(), end.end())
        for begin, end in pairwise(_PEM_LINE.finditer(text))
        if (begin[1], end[1], begin[2]) == (b"BEGIN", b"END", end[2])
    ]
    parts, place = [], 0
    for block, (start, end_of_block) in zip(sorted(text[slice(*span)] for span in spans), spans, strict=True):
        parts += [text[place:start], block]
        place = end_of_block
    return b"".join((*parts, text[place:]))


def _next_to_one_another(text: bytes) -> bytes:
    """Return a text with one line end between its PEM blocks."""
    return re.sub(rb"(?<=-----)\s*(?=-----BEGIN )", b"\n", text)


JSON_LAYOUT = "JSON layout"

# What is more usual stands first, since the first one that explains a difference is told.
CAUSES = (
    Cause("CRLF", _of_both(lambda value: value.replace(b"\r\n", b"\n"))),
    Cause("trailing newline", _of_both(lambda value: value.rstrip(b"\n"))),
    Cause("trailing white space", _stripped(bytes.rstrip, _behind)),
    Cause("leading white space", _stripped(bytes.lstrip, _before)),
    Cause("leading and trailing white space", _stripped(bytes.strip, _around)),
    Cause("BOM", _of_both(lambda value: value.removeprefix(codecs.BOM_UTF8))),
    Cause("quotes", _of_either(_unquoted)),
    Cause("base64 twice", _of_either(_decoded)),
    Cause(r"escaped \n", _of_either(_unescaped)),
    Cause("Unicode normalisation", _composed),
    Cause("cut at 64 KiB", _cut(64 * 1024), has_carrier=False),
    Cause("cut at 4 KiB", _cut(4 * 1024), has_carrier=False),
    Cause(JSON_LAYOUT, _laid_out, has_carrier=False),
    Cause("PEM order", _of_both(_in_order), has_carrier=False),
    Cause("lines between PEM blocks", _of_both(_next_to_one_another), has_carrier=False),
    Cause("UTF-16", _of_either(_from_utf_16)),
    Cause("blanks for line ends", _of_both(lambda value: value.replace(b"\n", b" ")), has_carrier=False),
    Cause("line ends left out", _of_both(lambda value: value.replace(b"\n", b"")), has_carrier=False),
)
