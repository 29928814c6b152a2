"""Certificates and keys, good and bad, for `kubectl create secret tls`."""

import base64
import datetime as dt
import random
from collections.abc import Iterator

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.parity.cases import NAME, Case, text
from tests.support.pairs import DAY, NOW, Pair, pair

_MARK = "\ufeff".encode()
_CUT, _NO_BASE64 = "has a block that is cut or damaged", "whose content is no base64"

_ALWAYS, _NEVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)

# Whatever a text may get in the middle of PEM.
_PIECES = (
    *(
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"\t",
        b"  \n",
        b"=",
        b"==",
        b"A",
        b"AAAA",
        b"-",
        b"-----",
        b"\\n",
        b"\0",
        b"\xff",
        _MARK,
    ),
    *(
        b"\n\n",
        b"a: b\n",
        b"# ca\n",
        b"\n-----BEGIN CERTIFICATE-----\n",
        b"\n-----END CERTIFICATE-----\n",
        b"BEGIN",
        b":",
    ),
)


def case(name: str, crt: bytes, key: bytes, *, stricter: str = "") -> Case:
    """Return the case of a certificate and a key: kept in a secret each, as bytes if they are no text."""
    secrets = {part: value for part, value in (("crt", crt), ("key", key)) if value}
    # No secret can be empty, but one of its members can.
    empty = {"secret": "empty", "member": "value"}
    data = {f"tls.{part}": {"secret": part} if part in secrets else empty for part in ("crt", "key")}
    return Case(
        name,
        {"name": NAME, "type": "tls", "namespaces": {"include": ["apps"]}, "data": data},
        ["secret", "tls", NAME, "--cert=tls.crt", "--key=tls.key"],
        {"tls.crt": crt, "tls.key": key},
        {**secrets, "empty": b'{"value":""}'},
        stricter,
    )


def cases() -> Iterator[Case]:
    """Give a case for each fault, and for each that is none."""
    yield from _sorts()
    yield from _chains()
    yield from _texts()
    yield from _keys()


def mutations(count: int) -> Iterator[Case]:
    """Give that many pairs in which something was put, or from which something is gone."""
    first, second = pair(starts_at=_ALWAYS, ends_at=_NEVER), pair(number=1, starts_at=_ALWAYS, ends_at=_NEVER)
    chain = pair(starts_at=_ALWAYS, ends_at=_NEVER, signer=second)
    for number in range(count):
        chance = random.Random(f"pair {number}")
        crt = chance.choice((first.crt, chain.crt + second.crt))
        key = first.as_key(chance.choice((PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL)))
        if chance.random() < 0.6:
            crt = _mutated(crt, chance)
        else:
            key = _mutated(key, chance)
        yield case(f"pair {number}", crt, key)


def is_meant(theirs: str, ours: str) -> bool:
    """Return whether a difference between two answers, of which one refuses, is one of those that are meant to be.

    We refuse a block that is damaged, where kubectl passes over it, and a key in which OpenSSL finds a fault that Go
    passes over. Go finds faults in a certificate that OpenSSL does not look for.
    """
    reasons = (_CUT, _NO_BASE64, "has \\n as two", "cannot be read", "is no private key")
    return any(why in ours for why in reasons) if not theirs else not ours and "x509: " in theirs


def _mutated(value: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randrange(1, 3)):
        at = chance.choice((0, value.find(b"\n") + 1, len(value), chance.randrange(len(value) + 1)))
        gone = chance.choice((0, 0, 1, 4, 64, chance.randrange(len(value) + 1)))
        value = value[:at] + chance.choice((b"", *_PIECES, text(chance).encode())) + value[at + gone :]
    return value


def _sorts() -> Iterator[Case]:
    for sort in ("RSA-2048", "RSA-1024", "P-224", "P-256", "P-384", "P-521", "Ed25519", "Ed448", "secp256k1", "DSA"):
        yield case(sort, pair(sort).crt, pair(sort).key)
    for name, ends_at in {
        "expired": NOW - DAY / 2,
        "in the year 2049": dt.datetime(2049, 12, 31, 23, 59, 59, tzinfo=dt.UTC),
        "in the year 2050": dt.datetime(2050, 1, 1, tzinfo=dt.UTC),
        "never": _NEVER,
    }.items():
        yield case(f"ends: {name}", pair(ends_at=ends_at).crt, pair().key)
    yield case("not yet valid", pair(starts_at=NOW + DAY).crt, pair().key)
    yield case("no alternative name", pair(has_name=False).crt, pair().key)


def _chains() -> Iterator[Case]:
    root = pair(number=9)
    middle = pair(number=8, signer=root)
    leaf = pair("RSA-2048", signer=middle)
    whole = [leaf.crt, middle.crt, root.crt]
    yield case("chain: whole", b"".join(whole), leaf.key)
    yield case("chain: with blank lines and comments", b"\n\n# the leaf\n".join(whole), leaf.key)
    yield case("chain: leaf twice", leaf.crt * 2, leaf.key)
    yield case("chain: leaf last", b"".join(whole[::-1]), leaf.key)
    yield case("chain: root first", root.crt + leaf.crt, leaf.key)
    yield case("chain: of others", middle.crt + root.crt, leaf.key)
    yield case("chain: not in one line's end", whole[0].rstrip() + whole[1], leaf.key)
    yield case("chain: second is cut", whole[0] + whole[1][:300], leaf.key, stricter=_CUT)
    yield case("chain: second has no end", whole[0] + whole[1].rpartition(b"-----END")[0], leaf.key, stricter=_CUT)
    damaged = whole[1].replace(b"\nMII", b"\nM*I")
    yield case("chain: second is no base64", whole[0] + damaged, leaf.key, stricter=_NO_BASE64)
    empty = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    yield case("chain: second is no certificate", whole[0] + empty, leaf.key, stricter="certificate 2 cannot be read")
    yield case("chain: first is no certificate", empty + whole[0], leaf.key)
    yield case("chain: with a key in it", leaf.crt + leaf.key, leaf.key)
    yield case("chain: with a key before it", leaf.key + leaf.crt, leaf.crt + leaf.key)


def _texts() -> Iterator[Case]:
    crt, key = pair().crt, pair().key
    lines = crt.splitlines()
    for name, wrong in {
        "empty": b"",
        "blank": b" \n",
        "a word": b"hunter2",
        "JSON": b'{"crt": ""}',
        "literal \\n": crt.replace(b"\n", b"\\n"),
        "CRLF": crt.replace(b"\n", b"\r\n"),
        "CR": crt.replace(b"\n", b"\r"),
        "LF lost": crt.replace(b"\n", b" "),
        "byte order mark": _MARK + crt,
        "base64 of PEM": base64.b64encode(crt),
        "DER": pair().certificate.public_bytes(Encoding.DER),
        "indented": b"".join(b"  %b\n" % line for line in lines),
        "in one line of base64": b"\n".join((lines[0], b"".join(lines[1:-1]), lines[-1])),
        "blanks behind lines": b"".join(b"%b \t\n" % line for line in lines),
        "blanks in lines": crt.replace(b"M", b"M "),
        "no line end": crt.rstrip(),
        "text before": b"hello\n" + crt,
        "text on the line before": b"hello " + crt,
        "text behind": crt + b"hello",
        "text on the line behind": crt.rstrip() + b" hello\n",
        "a header": b"\n".join((lines[0], b"a: b", b"", *lines[1:])),
        "cut": crt[:300],
        "without its first line": b"\n".join(lines[1:]),
        "without padding": crt.replace(b"=", b""),
        "too much padding": crt.replace(b"\n-----END", b"====\n-----END"),
        "another label": crt.replace(b"CERTIFICATE", b"X509 CERTIFICATE"),
        "labels that differ": crt.replace(b"END CERTIFICATE", b"END CERTIFICATES"),
        "in lower case": crt.lower(),
        "UTF-16": crt.decode().encode("utf-16"),
        "behind a NUL": b"\0" + crt,
        "a trusted one": crt.replace(b"CERTIFICATE", b"TRUSTED CERTIFICATE"),
        "an empty block": b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "a begin before": b"-----BEGIN CERTIFICATE-----\n" + crt,
    }.items():
        stricter = _CUT if name == "a begin before" else ""
        yield case(f"certificate: {name}", wrong, key, stricter=stricter)
    yield case("exchanged", key, crt)
    yield case("a certificate for a key", crt, crt)
    yield case("a key for a certificate", key, key)


def _keys() -> Iterator[Case]:
    one = pair()
    rsa, ed = pair("RSA-2048"), pair("Ed25519")
    yield case("key: of another one", one.crt, pair(number=1).key)
    yield case("key: of another sort", one.crt, rsa.key)
    yield case("key: of a third sort", ed.crt, one.key)
    yield case("key: of another curve", one.crt, pair("P-384").key)
    for name, form in (("PKCS #8", PrivateFormat.PKCS8), ("a form of its own", PrivateFormat.TraditionalOpenSSL)):
        for sort, two in (("RSA", rsa), ("EC", one)):
            yield case(f"key: {sort} in {name}", two.crt, two.as_key(form))
            yield case(f"key: {sort} in {name}, encrypted", two.crt, two.as_key(form, b"hunter2"))
    traditional = rsa.as_key(PrivateFormat.TraditionalOpenSSL)
    for name, wrong in {
        "empty": b"",
        "literal \\n": one.key.replace(b"\n", b"\\n"),
        "CRLF": one.key.replace(b"\n", b"\r\n"),
        "byte order mark": _MARK + one.key,
        "cut": one.key[:100],
        "garbage in a block": b"-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
        "nothing in a block": b"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
        "behind parameters": b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        + one.key,
        "behind a certificate": one.crt + one.key,
        "twice": one.key * 2,
        "another one behind": one.key + rsa.key,
        "another one before": rsa.key + one.key,
        "for OpenSSH": one.as_key(PrivateFormat.OpenSSH),
        "a public one": one.key.replace(b"PRIVATE", b"PUBLIC"),
        "a header": one.key.replace(b"KEY-----\n", b"KEY-----\nComment: x\n\n", 1),
    }.items():
        yield case(f"key: {name}", one.crt, wrong)
    yield case("key: PKCS #8 under the label of PKCS #1", rsa.crt, rsa.key.replace(b"PRIVATE", b"RSA PRIVATE"))
    yield case("key: PKCS #1 under the label of PKCS #8", rsa.crt, traditional.replace(b"RSA PRIVATE", b"PRIVATE"))
    yield case("key: PKCS #1 under no known label", rsa.crt, traditional.replace(b"RSA PRIVATE", b"MY PRIVATE"))
    yield case("key: PKCS #8 of two parts", ed.crt, _with_public_part(ed))


def _with_public_part(ed: Pair) -> bytes:
    """Return an Ed25519 key as other tools write it: version 1 of RFC 5958, with the public key behind it."""
    raw = ed.private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    public = ed.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    content = bytes.fromhex("020101300506032b657004220420") + raw + bytes.fromhex("812100") + public
    encoded = base64.b64encode(bytes([0x30, len(content)]) + content).decode()
    return f"-----BEGIN PRIVATE KEY-----\n{encoded}\n-----END PRIVATE KEY-----\n".encode()
