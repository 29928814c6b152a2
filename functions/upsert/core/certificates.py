"""Certificates and private keys as texts (PEM) and in their parts (DER), without what checks signatures.

What is a block of PEM is decided as Go's encoding/pem does, which kubectl and most of what reads the Secret use: it
begins and ends at the start of a line, text around blocks is passed over, blanks in lines too. One thing is stricter on
purpose: a block that is cut or damaged is passed over by Go, and is a fault here.
"""

import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

_BEGIN, _END = b"-----BEGIN ", b"-----END "
_BLOCK = re.compile(
    rb"^-----BEGIN (?P<label>[^\n]*?)-----[ \t]*\r?\n"
    rb"(?P<body>(?:(?!-----)[^\n]*\n)*)"
    rb"-----END (?P=label)-----[ \t]*\r?$",
    re.MULTILINE,
)
# What base64 of a PEM text starts with.
_ENCODED = b"LS0tLS1CRUdJTi"

_INTEGER, _OCTETS, _NAME, _SEQUENCE, _VERSION = 0x02, 0x04, 0x06, 0x30, 0xA0
_TIMES = {
    0x17: re.compile(r"[0-9]{10}(?:[0-9]{2})?(?:Z|[+-][0-9]{4})"),
    0x18: re.compile(r"[0-9]{14}(?:Z|[+-][0-9]{4})"),
}

# RFC 3279, section 2.3, RFC 5480 and RFC 8410, and the curves that Go's crypto/x509 knows.
_RSA, _EC, _ED25519 = (bytes.fromhex(name) for name in ("2a864886f70d010101", "2a8648ce3d0201", "2b6570"))
_CURVES = {bytes.fromhex(name) for name in ("2b81040021", "2a8648ce3d030107", "2b81040022", "2b81040023")}

_PKCS8, _PKCS1, _SEC1 = "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"
_FIRST_VERSION = b"\x02\x01\x00"


class Unreadable(Exception):
    """It is no PEM, or not what is in there. The text says why, and quotes nothing."""


class Block(NamedTuple):
    """One block of a PEM text: its label, what it holds, and whether that is encrypted."""

    label: str
    content: bytes
    is_encrypted: bool


class Certificate(NamedTuple):
    """When a certificate ends, and whether its key is of a kind that Go knows: RSA, ECDSA or Ed25519."""

    expires_at: datetime
    has_common_key: bool


def blocks(text: bytes) -> list[Block]:
    """Return the blocks of a PEM text, one at least. Raises `Unreadable`."""
    found = list(_BLOCK.finditer(text))
    rest = _BLOCK.sub(b"", text)
    if not found or _BEGIN in rest or _END in rest:
        raise Unreadable(_why_no_pem(text))
    return [_block(one["label"], one["body"]) for one in found]


def certificate(content: bytes) -> Certificate:
    """Return what a certificate says (RFC 5280, section 4.1). Raises `Unreadable`."""
    try:
        (whole,) = _elements(content)
        fields = list(_elements(next(_elements(whole.content)).content))
        _, _, _, validity, _, key, *_ = fields[1:] if fields[0].tag == _VERSION else fields
        _, end = _elements(validity.content)
        algorithm = list(_elements(next(_elements(key.content)).content))
        return Certificate(_time(end), _is_common(algorithm))
    except (ValueError, OverflowError, IndexError, StopIteration):
        raise Unreadable("is no certificate") from None


def private_key(content: bytes) -> tuple[str, bytes]:
    """Return the label that a private key has in PEM by its form, whatever it had, and the key. Raises `Unreadable`.

    What PKCS #8 (RFC 5958) has behind the key itself, such as a copy of the public one, is left out: not every OpenSSL
    takes it.
    """
    try:
        (whole,) = _elements(content)
        parts = list(_elements(whole.content))
        match parts[1].tag:
            case 0x30 if parts[2].tag == _OCTETS:
                return _PKCS8, _sequence(_FIRST_VERSION + parts[1].whole + parts[2].whole)
            case 0x02:
                return _PKCS1, content
            case 0x04:
                return _SEC1, content
    except (ValueError, IndexError):
        pass
    raise Unreadable("is no private key")


def armoured(label: str, content: bytes) -> bytes:
    """Return one block as PEM."""
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (
        label.encode(),
        b"".join(binascii.b2a_base64(content[at : at + 48]) for at in range(0, len(content), 48)),
        label.encode(),
    )


def _block(label: bytes, body: bytes) -> Block:
    lines = body.split(b"\n")
    headers = []
    while b":" in lines[0]:
        headers.append(lines.pop(0))
    try:
        content = binascii.a2b_base64(re.sub(rb"[ \t\r\n]", b"", b"".join(lines)), strict_mode=True)
    except ValueError:
        raise Unreadable("has a block whose content is no base64") from None
    is_encrypted = label.startswith(b"ENCRYPTED ") or any(b"ENCRYPTED" in header for header in headers)
    return Block(label.decode(errors="replace"), content, is_encrypted)


def _why_no_pem(text: bytes) -> str:
    """Return how a text that is no PEM came to be so, as far as it tells."""
    has_begin = _BEGIN in text
    reasons = (
        (not text.strip(), "is empty"),
        (text.startswith(b"\xef\xbb\xbf"), "starts with a byte order mark"),
        (has_begin and b"\\n" in text, "has \\n as two characters where a line should end"),
        (text.startswith(_ENCODED), "is base64 of PEM (decode: base64 gives what is in it)"),
        (text.startswith(b"\x30"), "is binary, such as DER or PKCS #12"),
        (not has_begin, "is no PEM"),
        (b"\n" not in text.strip(), "has lost its line ends"),
    )
    cut = "has a block that is cut or damaged: each begins and ends at the start of a line"
    return next((why for holds, why in reasons if holds), cut)


class _Element(NamedTuple):
    """One value of DER (ITU-T X.690, section 8.1): its tag, what it holds, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes


def _elements(data: bytes) -> Iterator[_Element]:
    """Give the values that stand one after the other. Raises `ValueError` or `IndexError` if they are cut."""
    at = 0
    while at < len(data):
        length, start = data[at + 1], at + 2
        if length >= 0x80:
            start += length - 0x80
            length = int.from_bytes(data[at + 2 : start])
        if not start <= start + length <= len(data):
            raise ValueError("cut")
        yield _Element(data[at], data[start : start + length], data[at : start + length])
        at = start + length


def _sequence(content: bytes) -> bytes:
    size = len(content)
    long = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([_SEQUENCE, size] if size < 0x80 else [_SEQUENCE, 0x80 + len(long), *long]) + content


def _time(one: _Element) -> datetime:
    """Return a time (RFC 5280, section 4.1.2.5). Raises `ValueError` or `OverflowError`."""
    text = one.content.decode("ascii")
    if one.tag not in _TIMES or not _TIMES[one.tag].fullmatch(text):
        raise ValueError("no time")
    if one.tag == 0x17:
        text = f"{'19' if text[:2] >= '50' else '20'}{text}"
    digits = text.rstrip("Z").partition("+")[0].partition("-")[0]
    return datetime.strptime(text, "%Y%m%d%H%M%S%z" if len(digits) == 14 else "%Y%m%d%H%M%z").astimezone(UTC)


def _is_common(algorithm: list[_Element]) -> bool:
    name = algorithm[0].content
    if name == _EC:
        return algorithm[1].tag == _NAME and algorithm[1].content in _CURVES
    return name in (_RSA, _ED25519)
