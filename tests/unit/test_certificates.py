"""Certificates and keys in PEM and DER. Beside kubectl they are in tests/parity."""

import time
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from tests.support.pairs import DAY, NOW, pair
from upsert.core import certificates
from upsert.core.certificates import Unreadable

DER = pair().certificate.public_bytes(Encoding.DER)
(KEY,) = certificates.blocks(pair().key)


def with_end(end: bytes) -> bytes:
    """Return a certificate that ends then, in whatever form, with nothing else in its place."""
    start = b"\x17\x0d200101000000Z"
    parts = [b"\x02\x01\x01", b"\x30\x00", b"\x30\x00", sequence(start, end), b"\x30\x00"]
    key = sequence(sequence(b"\x06\x03\x2b\x65\x70"), b"\x03\x01\x00")
    return sequence(sequence(*parts, key), b"\x30\x00", b"\x03\x01\x00")


def sequence(*parts: bytes) -> bytes:
    content = b"".join(parts)
    assert len(content) < 0x80
    return bytes([0x30, len(content)]) + content


def trouble(read: Callable[[bytes], object], content: bytes) -> str:
    """Return why it cannot be read, or nothing if it gives something."""
    try:
        assert read(content)
    except Unreadable as wrong:
        return str(wrong)
    return ""


def test_when_a_certificate_ends() -> None:
    found = certificates.certificate(DER)

    assert (found.expires_at, found.has_common_key) == (NOW + 30 * DAY, True)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (b"\x17\x0d491231235959Z", "2049-12-31T23:59:59+00:00"),
        (b"\x17\x0d500101000000Z", "1950-01-01T00:00:00+00:00"),
        (b"\x17\x0b4912312359Z", "2049-12-31T23:59:00+00:00"),
        (b"\x17\x11260102030405+0200", "2026-01-02T01:04:05+00:00"),
        (b"\x17\x11260102030405-0130", "2026-01-02T04:34:05+00:00"),
        (b"\x18\x0f99991231235959Z", "9999-12-31T23:59:59+00:00"),
        (b"\x18\x0f20500101000000Z", "2050-01-01T00:00:00+00:00"),
    ],
)
def test_a_time_in_each_of_its_forms(end: bytes, expected: str) -> None:
    assert certificates.certificate(with_end(end)).expires_at.isoformat() == expected


@pytest.mark.parametrize(
    "end",
    [
        b"\x17\x0d491331235959Z",
        b"\x17\x0d49123123595Z9",
        b"\x18\x1399991231235959-0100",
        b"\x18\x0f00000101000000Z",
        b"\x18\x1120500101000000.5Z",
        b"\x17\x0d\xff91231235959Z",
        b"\x0c\x0d491231235959Z",
        b"\x17\x00",
    ],
)
def test_what_is_no_time_makes_no_certificate(end: bytes) -> None:
    with pytest.raises(Unreadable, match="is no certificate"):
        certificates.certificate(with_end(end))


@given(st.integers(0, len(DER)), st.integers(0, 5), st.binary(max_size=5))
def test_whatever_is_done_to_a_certificate_it_is_read_or_refused(at: int, gone: int, new: bytes) -> None:
    assert trouble(certificates.certificate, DER[:at] + new + DER[at + gone :]) in ("", "is no certificate")


@given(st.integers(0, len(KEY.content)), st.integers(0, 5), st.binary(max_size=5))
def test_whatever_is_done_to_a_key_it_is_read_or_refused(at: int, gone: int, new: bytes) -> None:
    changed = KEY.content[:at] + new + KEY.content[at + gone :]
    assert trouble(certificates.private_key, changed) in ("", "is no private key")


@given(st.lists(st.sampled_from([*pair().crt.splitlines(keepends=True), b"-----", b"\n", b"A: b\n", b"\r", b"="])))
def test_whatever_the_lines_they_are_blocks_or_refused(lines: list[bytes]) -> None:
    assert "MII" not in trouble(certificates.blocks, b"".join(lines))


def test_what_is_written_is_what_was_read() -> None:
    (block,) = certificates.blocks(certificates.armoured("CERTIFICATE", DER))

    assert (block.label, block.content, block.is_encrypted) == ("CERTIFICATE", DER, False)


@pytest.mark.parametrize(
    "line", [b"-----BEGIN A-----\n", b"-----END A-----\n", b"-----BEGIN A-----\nA: b\n", b"\n-----"]
)
def test_a_mebibyte_of_nonsense_takes_no_time(line: bytes) -> None:
    started = time.process_time()
    with pytest.raises(Unreadable):
        certificates.blocks(line * (1024 * 1024 // len(line)))

    assert time.process_time() - started < 2
