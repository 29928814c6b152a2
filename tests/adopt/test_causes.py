"""By what two values differ: for each cause a table of inputs that it explains and of ones that it does not.

The inputs are what the usual tools make, as recorded; a test runs each tool that is at hand and compares.
"""

import base64
import itertools
import json
import random
import shutil
import subprocess
import time
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support import assets
from tests.support.template import ROOT
from upsert.core import differences
from upsert.core.causes import CAUSES

PASSWORD = b"correct-horse-battery"
LINES = b"LEVEL=info\nCOLOUR=blue\n"
SETTINGS = b'{"name":"api","n":[1,2],"url":"https://a.io/b"}'
ACCENTED = "café-à-la-crème".encode()
LONG = b"".join(b"%06d\n" % number for number in range(20_000))
KEY = (
    b"-----BEGIN EC PRIVATE KEY-----\n"
    b"MHcCAQEEIBkg4LVWM9nuwNSk3yByxZpYRTBnVpk3oYdPNvCmXfZloAoGCCqGSM49\n"
    b"AwEHoUQDQgAE6O9q2Yv3cE0Jq8ZBR+J4mbe3V4ZQO4y5o4eIh4RpI1M4cFj6hXnJ\n"
    b"-----END EC PRIVATE KEY-----\n"
)
LEAF = b"-----BEGIN CERTIFICATE-----\nTGVhZiBvZiBhIGNoYWlu\n-----END CERTIFICATE-----\n"
ISSUER = b"-----BEGIN CERTIFICATE-----\nSXNzdWVyIG9mIGEgbGVhZg==\n-----END CERTIFICATE-----\n"

# A shell's script in an empty folder with the files below, the programs that it needs, and what it prints.
FILES = {
    "password": PASSWORD,
    "lines": LINES,
    "settings.json": SETTINGS,
    "accented": ACCENTED,
    "long": LONG,
    "key.pem": KEY,
    "leaf.pem": LEAF,
    "issuer.pem": ISSUER,
    "quoted.env": b'PASSWORD="correct-horse-battery"\n',
}
GIT = "git init --quiet . && git add {file} && git -c user.name=x -c user.email=x@example.com commit --quiet -m x"
SECRET = "kubectl create secret generic x --dry-run=client -o go-template='{{{{.data.{key} | base64decode}}}}'"
TOOLS: Mapping[str, tuple[str, tuple[str, ...], bytes]] = {
    "echo": ("echo correct-horse-battery", (), PASSWORD + b"\n"),
    "printf": ("printf %s correct-horse-battery", (), PASSWORD),
    "ed": (r"printf 'a\ncorrect-horse-battery\n.\nw new\nq\n' | ed -s; cat new", ("ed",), PASSWORD + b"\n"),
    "vim": ("vim -es -u NONE -c wq password; cat password", ("vim",), PASSWORD + b"\n"),
    "vim with a BOM": (
        "vim -es -u NONE -c 'set encoding=utf-8 bomb nofixendofline' -c wq password; cat password",
        ("vim",),
        b"\xef\xbb\xbf" + PASSWORD,
    ),
    "--from-file of an editor's file": (
        f"echo correct-horse-battery > it; {SECRET.format(key='it')} --from-file=it",
        ("kubectl",),
        PASSWORD + b"\n",
    ),
    "--from-env-file with quotes": (
        f"{SECRET.format(key='PASSWORD')} --from-env-file=quoted.env",
        ("kubectl",),
        b'"' + PASSWORD + b'"',
    ),
    "--from-literal of base64": (
        f"{SECRET.format(key='it')} --from-literal=it=$(printf %s correct-horse-battery | base64)",
        ("kubectl", "base64"),
        base64.b64encode(PASSWORD),
    ),
    "echo | base64": ("echo correct-horse-battery | base64", ("base64",), base64.b64encode(PASSWORD + b"\n") + b"\n"),
    "base64 in lines": ("base64 key.pem", ("base64",), b"".join(base64.encodebytes(KEY).splitlines(keepends=True))),
    "base64 in one line": ("base64 -w0 key.pem", ("base64",), base64.b64encode(KEY)),
    "git with autocrlf": (
        f"{GIT.format(file='lines')} && rm lines && git -c core.autocrlf=true checkout --quiet -- lines && cat lines",
        ("git",),
        LINES.replace(b"\n", b"\r\n"),
    ),
    "unix2dos": ("unix2dos --quiet lines && cat lines", ("unix2dos",), LINES.replace(b"\n", b"\r\n")),
    "sed": (r"sed 's/$/\r/' lines", ("sed",), LINES.replace(b"\n", b"\r\n")),
    "Out-File of an old PowerShell": (
        r"printf '\377\376'; iconv -f UTF-8 -t UTF-16LE accented",
        ("iconv",),
        b"\xff\xfe" + ACCENTED.decode().encode("utf-16-le"),
    ),
    "a file name of a Mac": (
        "uconv -x any-nfd accented",
        ("uconv",),
        unicodedata.normalize("NFD", ACCENTED.decode()).encode(),
    ),
    "jq": ("jq . settings.json", ("jq",), json.dumps(json.loads(SETTINGS), indent=2).encode() + b"\n"),
    "jq with its own order": (
        "jq -cSj . settings.json",
        ("jq",),
        json.dumps(json.loads(SETTINGS), sort_keys=True, separators=(",", ":")).encode(),
    ),
    "awk for one line": (r"awk '{printf \"%s\\n\", $0}' key.pem", ("awk",), KEY.replace(b"\n", rb"\n")),
    "head at 64 KiB": ("head -c 65536 long", ("head",), LONG[:65_536]),
    "a line of a terminal": ("head -c 4095 long", ("head",), LONG[:4095]),
    "cat in the other order": ("cat issuer.pem leaf.pem", ("cat",), ISSUER + LEAF),
    "cat with a blank line": ("(cat leaf.pem; echo; cat issuer.pem)", ("cat",), LEAF + b"\n" + ISSUER),
    "cat of $(cat)": (
        'printf %s%s "$(cat leaf.pem)" "$(cat issuer.pem)"',
        ("cat",),
        LEAF.rstrip(b"\n") + ISSUER.rstrip(b"\n"),
    ),
    "tr for one line": (r"tr '\n' ' ' < key.pem", ("tr",), KEY.replace(b"\n", b" ")),
    "a field of one line": (r"tr -d '\n' < key.pem", ("tr",), KEY.replace(b"\n", b"")),
    "echo of what is not quoted": ("echo $(cat key.pem)", ("cat",), KEY.rstrip(b"\n").replace(b"\n", b" ") + b"\n"),
}
MADE = {name: made for name, (_, _, made) in TOOLS.items()}


@pytest.mark.parametrize("name", TOOLS)
def test_the_tool_makes_what_is_recorded(name: str, tmp_path: Path) -> None:
    script, programs, recorded = TOOLS[name]
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    folders = f"{assets.locate()}:/usr/local/bin:/usr/bin:/bin"
    if missing := [program for program in programs if shutil.which(program, path=folders) is None]:
        pytest.skip(f"{', '.join(missing)} is not on this machine")
    script = script.replace('\\"', '"')
    environment = {"PATH": folders, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert done.stdout == recorded


def scalar(text: str) -> bytes:
    """Return the value that a manifest has under ``it``."""
    value = yaml.safe_load(f"it: {text}")["it"]
    return str(value).encode()


# A page's text area submits line ends as CRLF: https://html.spec.whatwg.org/multipage/#multipart-form-data
FORM = LINES.replace(b"\n", b"\r\n")

type Pairs = list[tuple[bytes, bytes]]

TABLES: Mapping[str, tuple[Pairs, Pairs]] = {
    "trailing newline": (
        [
            (MADE["echo"], MADE["printf"]),
            (MADE["ed"], PASSWORD),
            (MADE["vim"], PASSWORD),
            (MADE["--from-file of an editor's file"], PASSWORD),
            (scalar("|\n  correct-horse-battery\n"), scalar("|-\n  correct-horse-battery\n")),
            (b"a\n\n", b"a\n"),
            (b"", b"\n"),
            (b"\xff\x00\n", b"\xff\x00"),
        ],
        [
            (PASSWORD + b"\n", PASSWORD + b"."),
            (PASSWORD + b"\n", b"Correct-horse-battery"),
            (b"\n" + PASSWORD, PASSWORD),
            (PASSWORD + b"\r", PASSWORD),
            (PASSWORD + b"\x00", PASSWORD),
            (PASSWORD + rb"\t", PASSWORD),
        ],
    ),
    "CRLF": (
        [
            (MADE["git with autocrlf"], LINES),
            (MADE["unix2dos"], LINES),
            (MADE["sed"], LINES),
            (FORM, LINES),
            (b"a\r\nb\n", b"a\nb\r\n"),
        ],
        [
            (LINES.replace(b"\n", b"\r"), LINES),
            (LINES.replace(b"\n", b"\n\r"), LINES),
            (FORM, LINES.replace(b"blue", b"grey")),
            (LINES.replace(b"\n", b"\r\r\n"), LINES),
        ],
    ),
    "trailing white space": (
        [(PASSWORD + b" ", PASSWORD), (PASSWORD + b"\t", PASSWORD), (PASSWORD + b" \n", PASSWORD), (b"a\r", b"a")],
        [(PASSWORD + b"\n", PASSWORD), ((PASSWORD + "\u00a0".encode()), PASSWORD), (b"a b", b"ab"), (b"a ", b"b")],
    ),
    "leading white space": (
        [(b" " + PASSWORD, PASSWORD), (b"\t" + PASSWORD, PASSWORD), (b" \n" + PASSWORD, PASSWORD)],
        [("\u2003".encode() + PASSWORD, PASSWORD), (b" a", b"b"), (b" a", b"a "), (b"x a", b"a")],
    ),
    "leading and trailing white space": (
        [(b" " + PASSWORD + b" ", PASSWORD), (b"\t" + PASSWORD + b" \n", PASSWORD), (b" a", b"a ")],
        [(b" " + PASSWORD, PASSWORD), (PASSWORD + b" ", PASSWORD), (b" a b ", b"ab")],
    ),
    "BOM": (
        [(MADE["vim with a BOM"], PASSWORD), ("a".encode("utf-8-sig"), b"a")],
        [(b"\xef\xbb" + PASSWORD, PASSWORD), (PASSWORD + b"\xef\xbb\xbf", PASSWORD), (b"\xef\xbb\xbfa", b"b")],
    ),
    "quotes": (
        [
            (MADE["--from-env-file with quotes"], PASSWORD),
            (scalar("'\"correct-horse-battery\"'"), scalar('"correct-horse-battery"')),
            (b"'a'", b"a"),
            (b'""', b""),
        ],
        [(b"\"a'", b"a"), (b'"a', b"a"), (b"`a`", b"a"), (b'"a"', b"b"), (b'"', b""), ("“a”".encode(), b"a")],
    ),
    "base64 twice": (
        [
            (MADE["--from-literal of base64"], PASSWORD),
            (MADE["base64 in lines"], KEY),
            (MADE["base64 in one line"], KEY),
            (base64.b64encode(b"\xff\x00"), b"\xff\x00"),
        ],
        [
            (base64.b64encode(PASSWORD)[:-1] + b"!", PASSWORD),
            (base64.b64encode(PASSWORD + b"."), PASSWORD),
            (PASSWORD.hex().encode(), PASSWORD),
            (base64.b64encode(PASSWORD)[:-4], PASSWORD),
            (base64.b32encode(PASSWORD), PASSWORD),
        ],
    ),
    r"escaped \n": (
        [
            (MADE["awk for one line"], KEY),
            (json.dumps(KEY.decode()).strip('"').encode(), KEY),
            (rb"a\r\nb", b"a\r\nb"),
        ],
        [(rb"a\nb", b"a\tb"), (b"a/nb", b"a\nb"), (rb"a\\b", rb"a\b"), (rb"a\nb", b"anb")],
    ),
    "Unicode normalisation": (
        [(MADE["a file name of a Mac"], ACCENTED), ("\u212b".encode(), "\u00c5".encode())],
        [
            (b"cafe", "café".encode()),
            ("\ufb01".encode(), b"fi"),
            ("é".encode("latin-1"), "é".encode()),
            ("\u0430".encode(), b"a"),
        ],
    ),
    "cut at 64 KiB": (
        [(MADE["head at 64 KiB"], LONG), (LONG[:65_535], LONG)],
        [
            (LONG[:65_534], LONG),
            (LONG[:65_537], LONG),
            (LONG[:65_535] + b"x", LONG),
            (LONG[7 : 7 + 65_536], LONG),
        ],
    ),
    "cut at 4 KiB": (
        [(MADE["a line of a terminal"], LONG), (LONG[:4096], LONG)],
        [(LONG[:4094], LONG), (LONG[:4097], LONG), (LONG[:4095] + b"x", LONG)],
    ),
    "JSON layout": (
        [
            (MADE["jq"], SETTINGS),
            (MADE["jq with its own order"], SETTINGS),
            (json.dumps(json.loads(SETTINGS)).encode(), SETTINGS),
            (SETTINGS.replace(b"/", rb"\/"), SETTINGS),
            (json.dumps(["é"]).encode(), '["é"]'.encode()),
            (b"[1.50, true]", b"[1.50,true]"),
        ],
        [
            (SETTINGS.replace(b"[1,2]", b"[2,1]"), SETTINGS),
            (b'{"a":1}', b'{"a":true}'),
            (b'{"a":1.5}', b'{"a":1.50}'),
            (b'{"a":1}', b'{"a":"1"}'),
            (b'{"a":{"number":"1"}}', b'{"a":1}'),
            (b'{"a":1,"a":1}', b'{"a":1}'),
            (b'{"a":"b c"}', b'{"a":"b  c"}'),
            (b'{"a":1', b'{"a": 1'),
            (b'{"a":NaN}', b'{"a":null}'),
        ],
    ),
    "PEM order": (
        [
            (MADE["cat in the other order"], LEAF + ISSUER),
            (KEY + LEAF, LEAF + KEY),
            (ISSUER + KEY + LEAF, LEAF + ISSUER + KEY),
        ],
        [
            (LEAF + ISSUER, LEAF + LEAF),
            (LEAF + ISSUER, ISSUER),
            (b"a\nb\n", b"b\na\n"),
            (LEAF + ISSUER.replace(b"SXNz", b"SXNy"), ISSUER + LEAF),
        ],
    ),
    "lines between PEM blocks": (
        [(MADE["cat with a blank line"], LEAF + ISSUER), (LEAF[:-1] + ISSUER, LEAF + ISSUER)],
        [(LEAF + b"subject=x\n" + ISSUER, LEAF + ISSUER), (LEAF + ISSUER + b"x", LEAF + ISSUER)],
    ),
    "UTF-16": (
        [
            (MADE["Out-File of an old PowerShell"], ACCENTED),
            ("a\r\n".encode("utf-16"), b"a\r\n"),
        ],
        [
            (ACCENTED.decode().encode("utf-16-le"), ACCENTED),
            (b"\xff\xfea", b"a"),
            ("é".encode("latin-1"), "é".encode()),
        ],
    ),
    "blanks for line ends": (
        [(MADE["tr for one line"], KEY), (scalar(">-\n  a\n  b\n"), scalar("|-\n  a\n  b\n"))],
        [(b"a\tb", b"a\nb"), (b"a  b", b"a\nb"), (b"a,b", b"a\nb")],
    ),
    "line ends left out": (
        [
            (MADE["a field of one line"], KEY),
            (b"ab", b"a\nb"),
            (base64.b64encode(LINES * 9), base64.encodebytes(LINES * 9)),
        ],
        [(b"ab", b"a b"), (b"ab", b"a\rb"), (b"ab", b"b\na")],
    ),
}

TOGETHER: list[tuple[bytes, bytes, tuple[str, ...]]] = [
    (MADE["echo | base64"], PASSWORD, ("trailing newline", "base64 twice")),
    (MADE["echo of what is not quoted"], KEY, ("blanks for line ends",)),
    (MADE["cat of $(cat)"], LEAF + ISSUER, ("line ends left out",)),
    (MADE["cat of $(cat)"] + b"\n", ISSUER + LEAF, ("PEM order", "lines between PEM blocks")),
    (PASSWORD + rb"\n", PASSWORD, ("trailing newline", r"escaped \n")),
    # What is in the shorter one, or in each of two that are of one length, is told with its place.
    ("漢字漢字漢字漢字".encode("utf-16"), "漢字漢字漢字漢字".encode(), ("UTF-16 in live",)),
    (scalar(">\n  a\n  b\n"), b"a\nb", ("trailing newline", "blanks for line ends")),
    (b"a\r\n", b"a", ("CRLF", "trailing newline")),
    (PASSWORD + b"\r\n", b'"' + PASSWORD + b'"', ("CRLF in live", "trailing newline in live", "quotes in new")),
    (b"\xef\xbb\xbf" + FORM, LINES.rstrip(b"\n"), ("CRLF", "trailing newline", "BOM")),
    (b'"' + PASSWORD + b'"\n', PASSWORD, ("trailing newline", "quotes")),
    (PASSWORD + b"\n", b'"' + PASSWORD + b'"', ("trailing newline in live", "quotes in new")),
    (b"'" + PASSWORD + b"'", PASSWORD + b"\n\n", ("trailing newline in new", "quotes in live")),
    (b"\xef\xbb\xbf" + MADE["jq"], SETTINGS, ("BOM", "JSON layout")),
    # Four causes are more than anybody would believe.
    (b'\xef\xbb\xbf "' + FORM + b'"', LINES.rstrip(b"\n"), ()),
]


def test_each_cause_has_a_table() -> None:
    assert set(TABLES) == {cause.name for cause in CAUSES}


def test_the_document_says_where_each_cause_comes_from() -> None:
    text = (ROOT / "docs" / "adopting.md").read_text()
    assert [cause.name for cause in CAUSES if f"`{cause.name}`" not in text] == []


@pytest.mark.parametrize(
    ("cause", "live", "new"), [(cause, *pair) for cause, (those, _) in TABLES.items() for pair in those]
)
def test_it_is(cause: str, live: bytes, new: bytes) -> None:
    assert differences.of_values(live, new) == (cause,)
    assert differences.of_values(new, live) == (cause,)


@pytest.mark.parametrize(
    ("cause", "live", "new"), [(cause, *pair) for cause, (_, others) in TABLES.items() for pair in others]
)
def test_it_is_not(cause: str, live: bytes, new: bytes) -> None:
    told = (*differences.of_values(live, new), *differences.of_values(new, live))
    assert not [one for one in told if one.removesuffix(" in live").removesuffix(" in new") == cause]


@pytest.mark.parametrize(("live", "new", "causes"), TOGETHER)
def test_causes_explain_a_difference_together(live: bytes, new: bytes, causes: tuple[str, ...]) -> None:
    told = differences.of_values(live, new)
    assert sorted(told) == sorted(causes)


def test_openssl_writes_pem_whose_order_is_told(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ed25519",
        "-nodes",
        "-subj",
        "/CN=x",
        "-keyout",
        "key",
        "-out",
        "crt",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    key, certificate = (tmp_path / "key").read_bytes(), (tmp_path / "crt").read_bytes()
    assert differences.of_values(key + certificate, certificate + key) == ("PEM order",)
    text = subprocess.run(["openssl", "x509", "-in", "crt", "-text"], cwd=tmp_path, check=True, capture_output=True)
    assert differences.of_values(text.stdout, certificate) == (), "what openssl prints before it is more than layout"


def either(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return the change, or the value itself where it cannot be made."""

    def changed(value: bytes) -> bytes:
        try:
            return change(value)
        except ValueError:
            return value

    return changed


def laid_out(value: bytes) -> bytes:
    if value.lstrip()[:1] not in (b"{", b"["):
        return value
    return json.dumps(json.loads(value, parse_int=lambda text: {"int": text}), sort_keys=True).encode()


# What each cause means, said a second time: a value without it.
WITHOUT: Mapping[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda value: value.replace(b"\r\n", b"\n"),
    "trailing newline": lambda value: value.rstrip(b"\n"),
    "trailing white space": bytes.rstrip,
    "leading white space": bytes.lstrip,
    "leading and trailing white space": bytes.strip,
    "BOM": lambda value: value.removeprefix(b"\xef\xbb\xbf"),
    "quotes": lambda value: value[1:-1],
    "base64 twice": either(lambda value: base64.b64decode(value.replace(b"\n", b""), validate=True)),
    r"escaped \n": lambda value: value.replace(rb"\r\n", b"\r\n").replace(rb"\n", b"\n"),
    "Unicode normalisation": either(lambda value: unicodedata.normalize("NFC", value.decode()).encode()),
    "JSON layout": either(laid_out),
    "UTF-16": either(lambda value: value.decode("utf-16").encode()),
    "blanks for line ends": lambda value: value.replace(b"\n", b" "),
    "line ends left out": lambda value: value.replace(b"\n", b""),
}
INFLICTED: Mapping[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda value: value.replace(b"\n", b"\r\n"),
    "trailing newline": lambda value: value + b"\n",
    "trailing white space": lambda value: value + b" ",
    "leading white space": lambda value: b"\t" + value,
    "BOM": lambda value: b"\xef\xbb\xbf" + value,
    "quotes": lambda value: b'"' + value + b'"',
    "base64 twice": base64.b64encode,
    r"escaped \n": lambda value: value.replace(b"\n", rb"\n"),
    "UTF-16": lambda value: value.decode().encode("utf-16"),
    "blanks for line ends": lambda value: value.replace(b"\n", b" "),
    "line ends left out": lambda value: value.replace(b"\n", b""),
}
VALUES = st.text(alphabet='ab\n "\\né{1:}[]', max_size=12)


def is_explained(live: bytes, new: bytes, causes: tuple[str, ...]) -> bool:
    """Return whether the values are equal without these causes, in some order, in the one or the other or both."""
    names = [cause.removesuffix(" in live").removesuffix(" in new") for cause in causes]
    for order in itertools.permutations(names):
        for sides in itertools.product(((1, 0), (0, 1), (1, 1)), repeat=len(order)):
            pair = [live, new]
            for name, which in zip(order, sides, strict=True):
                pair = [WITHOUT[name](one) if undo else one for one, undo in zip(pair, which, strict=True)]
            if pair[0] == pair[1]:
                return True
    return False


@given(VALUES, VALUES, st.lists(st.sampled_from(sorted(INFLICTED)), max_size=3), st.booleans())
def test_what_is_told_is_the_whole_difference(one: str, other: str, causes: list[str], is_same: bool) -> None:
    live, new = one.encode(), (one if is_same else other).encode()
    for cause in causes:
        try:
            live = INFLICTED[cause](live)
        except ValueError:
            return
    told = differences.of_values(live, new)
    assert is_explained(live, new, told) or not told
    assert len(told) <= 3
    assert live != new or not told


@given(st.text(alphabet="abcdé", min_size=1, max_size=30), st.sampled_from(sorted(INFLICTED)))
def test_each_cause_is_found_in_any_text(text: str, cause: str) -> None:
    value = f"{text}\nx{text}".encode()
    made = INFLICTED[cause](value)
    assert differences.of_values(made, value) == (cause,)
    assert differences.of_values(value, made) == (cause,)


def seconds(make: Callable[[int], tuple[bytes, bytes]], size: int) -> float:
    live, new = make(size)
    started = time.thread_time()
    assert differences.of_values(live, new) == ()
    return time.thread_time() - started


def _json(size: int) -> tuple[bytes, bytes]:
    members: dict[str, Any] = {f"key-{number}": {"n": number, "text": "x\n" * 8} for number in range(size // 50)}
    return json.dumps(members, indent=1).encode(), json.dumps(members | {"more": 1}).encode() + b"\n"


HARD: Mapping[str, Callable[[int], tuple[bytes, bytes]]] = {
    "JSON": _json,
    "PEM": lambda size: (LEAF * (size // len(LEAF)), ISSUER * (size // len(ISSUER))),
    "begun PEM": lambda size: (b"-----BEGIN X-----\n" * (size // 18), b"-----BEGIN Y-----\r\n" * (size // 19)),
    "dashes": lambda size: (b"-" * size, b"-" * (size - 1) + b" "),
    "blanks": lambda size: (b" x" * (size // 2), b"\n\r" * (size // 2) + b"y"),
    "base64": lambda size: (base64.encodebytes(random.Random(1).randbytes(size * 3 // 4)), b"x" * size),
}


@pytest.mark.parametrize("name", HARD)
def test_a_mebibyte_is_looked_at_in_linear_time(name: str) -> None:
    small, large = (min(seconds(HARD[name], size) for _ in range(2)) for size in (128 * 1024, 1024 * 1024))
    # Eight times as much; what grows with its square would take 64 times as long.
    assert large <= 24 * max(small, 0.01)
    assert large <= 6
