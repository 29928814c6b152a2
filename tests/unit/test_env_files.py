"""Env files are read as kubectl reads them; what it takes from elsewhere, or leaves out without a word, is refused."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.files import Beside
from tests.support import assets
from upsert import sources
from upsert.core import env_files
from upsert.core.env_files import BadLine
from upsert.core.fields import Fields, Problem
from upsert.core.objects import Part, Ref

MOST = 64 * 1024 - 1
KEY = "has no such key before the first =; expected a name of letters, digits, -, _ and ., that starts with no digit"
ALONE = "has a key without a value; expected KEY=value, since a build's environment decides nothing"

GOOD = {
    "plain": (b"A=1\nB=2\n", {"A": "1", "B": "2"}),
    "without a final newline": (b"A=1\nB=2", {"A": "1", "B": "2"}),
    "nothing": (b"", {}),
    "line ends of Windows": (b"A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
    "a return at the end of the file": (b"A=1\r", {"A": "1"}),
    "two returns": (b"A=1\r\r\n", {"A": "1\r"}),
    "a return within": (b"A=1\rB=2\n", {"A": "1\rB=2"}),
    "comments and blank lines": (b"# A=1\n\n  \n \t# B=2\nC=3 # no comment\n#", {"C": "3 # no comment"}),
    "blanks before a key": (" \t\v\f\r\x85\xa0\u2003\u3000A=1\n".encode(), {"A": "1"}),
    "blanks of a value": (b"A= 1 \t\n", {"A": " 1 \t"}),
    "quotes": (b"A=\"1\"\nB='2'\n", {"A": '"1"', "B": "'2'"}),
    "an empty value": (b"A=\nB=", {"A": "", "B": ""}),
    "equals signs": (b"A==b=c=\n", {"A": "=b=c="}),
    "odd keys": (b"-A=1\n.B=2\n_C.d-e=3\n", {"-A": "1", ".B": "2", "_C.d-e": "3"}),
    "escapes and templates": (b"A=\\n$B${C}`d`\n", {"A": "\\n$B${C}`d`"}),
    "Unicode": ("A=ü\U0001f600\u2028<&>\n".encode(), {"A": "ü\U0001f600\u2028<&>"}),
    "a NUL": (b"A=a\0b\n", {"A": "a\0b"}),
    "a byte order mark": (b"\xef\xbb\xbfA=1\n", {"A": "1"}),
    "a byte order mark before a comment": (b"\xef\xbb\xbf# A=1\nB=2\n", {"B": "2"}),
    "the longest line": (b"A=" + b"x" * (MOST - 2) + b"\nB=2\n", {"A": "x" * (MOST - 2), "B": "2"}),
    "the longest last line": (b"A=" + b"x" * (MOST - 2), {"A": "x" * (MOST - 2)}),
    "the longest line with a return": (b"A=" + b"x" * (MOST - 3) + b"\r\n", {"A": "x" * (MOST - 3)}),
}
# What kubectl refuses, too.
BAD = {
    "export": (b"A=1\nexport B=2\n", 2, KEY),
    "a blank before the equals sign": (b"A =1\n", 1, KEY),
    "no key": (b"=1\n", 1, KEY),
    "a key that starts with a digit": (b"1A=1\n", 1, KEY),
    "two dots": (b"..A=1\n", 1, KEY),
    "a dot": (b".=1\n", 1, KEY),
    "an umlaut": ("Ä=1\n".encode(), 1, KEY),
    "a separator that Go takes for no blank": (b"\x1cA=1\n", 1, KEY),
    "a byte order mark further down": (b"\n\xef\xbb\xbfA=1\n", 2, KEY),
    "two byte order marks": (b"\xef\xbb\xbf" * 2 + b"A=1\n", 1, KEY),
    "a key twice": (b"A=1\n\nA=1\n", 3, "has the key of line 1 again; expected each key once"),
    "no UTF-8": (b"A=\xff\n", 1, "is no UTF-8; expected text"),
    "a comment that is no UTF-8": (b"# \xff\nA=1\n", 1, "is no UTF-8; expected text"),
    "a pasted key": (b"-----BEGIN PRIVATE KEY-----\nMIIE\n", 1, KEY),
}
# What kubectl takes from its environment, or ends the file at.
REFUSED_HERE = {
    "a key alone": (b"A=1\nHOME\n", 2, ALONE),
    "a long line": (b"B=2\nA=" + b"x" * (MOST - 1) + b"\nC=3\n", 2, f"has {MOST + 1} bytes; expected {MOST} at most"),
    "a long line with a return": (b"A=" + b"x" * (MOST - 2) + b"\r\n", 1, f"has {MOST + 1} bytes; expected {MOST}"),
    "a long comment": (b"#" + b"x" * 100_000, 1, f"has 100001 bytes; expected {MOST} at most"),
}


def parsed(content: bytes) -> tuple[dict[str, str], list[BadLine]]:
    lines = list(env_files.parse(content))
    return (
        dict(line for line in lines if not isinstance(line, BadLine)),
        [line for line in lines if isinstance(line, BadLine)],
    )


@pytest.mark.parametrize(("content", "data"), GOOD.values(), ids=GOOD)
def test_values_are_taken_as_they_are(content: bytes, data: dict[str, str]) -> None:
    assert parsed(content) == (data, [])


@pytest.mark.parametrize(
    ("content", "line", "text"), [*BAD.values(), *REFUSED_HERE.values()], ids=[*BAD, *REFUSED_HERE]
)
def test_a_bad_line_is_named_by_its_number_and_not_quoted(content: bytes, line: int, text: str) -> None:
    _, (bad, *_) = parsed(content)

    assert bad.number == line
    assert bad.text.startswith(text)


def test_every_bad_line_is_told_at_once() -> None:
    assert [bad.number for bad in parsed(b"export A=1\nB=2\nC\n\xff\nB=3\n")[1]] == [1, 3, 4, 5]


@pytest.fixture(scope="module")
def kubectl() -> Path:
    return assets.locate() / "kubectl"


def created(kubectl: Path, folder: Path, content: bytes) -> dict[str, str] | None:
    """Return what kubectl makes of an env file, or None if it refuses it."""
    (folder / "file.env").write_bytes(content)
    arguments = ("create", "configmap", "x", f"--from-env-file={folder / 'file.env'}", "--dry-run=client", "-o=json")
    environment = {"PATH": os.environ["PATH"], "HOME": "/h"}
    done = subprocess.run([str(kubectl), *arguments], capture_output=True, check=False, env=environment)
    return json.loads(done.stdout).get("data", {}) if done.returncode == 0 else None


@pytest.mark.parametrize("content", [content for content, _ in GOOD.values()], ids=GOOD)
def test_kubectl_makes_the_same_of_it(kubectl: Path, tmp_path: Path, content: bytes) -> None:
    assert created(kubectl, tmp_path, content) == parsed(content)[0]


@pytest.mark.parametrize("content", [content for content, _, _ in BAD.values()], ids=BAD)
def test_kubectl_refuses_it_too(kubectl: Path, tmp_path: Path, content: bytes) -> None:
    assert created(kubectl, tmp_path, content) is None


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a key alone", {"A": "1", "HOME": "/h"}),
        ("a long line", {"B": "2"}),
        ("a long line with a return", {}),
        ("a long comment", {}),
    ],
)
def test_what_is_refused_here_alone_is_what_kubectl_makes_up_or_leaves_out(
    kubectl: Path, tmp_path: Path, name: str, data: dict[str, str]
) -> None:
    assert created(kubectl, tmp_path, REFUSED_HERE[name][0]) == data


LINES = st.lists(
    st.tuples(
        st.sampled_from(["", " ", "\t", "\x85", "\u2003", "\x1c", "\ufeff", "#"]),
        st.sampled_from(["A", "b.c", "-", "_", "1", "..", "é", "export D", ""]),
        st.sampled_from(["=", "==", " ="]),
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=8),
        st.sampled_from(["\n", "\r\n", "\n\n", "\r"]),
    ).map("".join),
    max_size=4,
).map("".join)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(LINES)
def test_whatever_the_lines_kubectl_makes_the_same_of_them_or_refuses_them_too(
    kubectl: Path, tmp_path: Path, text: str
) -> None:
    data, bad = parsed(text.encode())

    made = created(kubectl, tmp_path, text.encode())

    # A line without = is none that these have, but for one that a return cut off.
    if any(line.text != ALONE for line in bad) or not bad:
        assert made == (None if bad else data)


def parts(entry: dict[str, Any], folder: Path | None) -> tuple[list[Part], list[str]]:
    problems: list[Problem] = []
    found = sources.Reader(Beside(folder)).parts(Fields(entry, ("entry",), problems), may_be_plain=True)
    return list(found), [str(problem) for problem in problems]


def test_each_key_of_a_file_is_a_value_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "defaults.env").write_bytes(b"LEVEL=info\nEMPTY=\n")

    assert parts({"env_file": "defaults.env"}, tmp_path) == (
        [Part("LEVEL", Ref("value", (("text", "info"),))), Part("EMPTY", Ref("value", (("text", ""),)))],
        [],
    )


def test_faults_of_a_file_name_it_and_the_line(tmp_path: Path) -> None:
    (tmp_path / "defaults.env").write_bytes(b"LEVEL=info\nexport A=1\nHOME\n")

    assert parts({"env_file": "defaults.env"}, tmp_path)[1] == [
        f"entry.env_file: line 2 of 'defaults.env' {KEY}",
        f"entry.env_file: line 3 of 'defaults.env' {ALONE}",
    ]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"env_file": "../x"}, "entry.env_file: '../x' is wrong; expected the path of a file beside the file of obj"),
        ({"env_file": None}, "entry.env_file: null is wrong; expected the path of a file beside the file of objects"),
        ({"env_file": "nowhere"}, "entry.env_file: 'nowhere' cannot be read (No such file or directory); expected a"),
        ({"env_file": "a", "member": "x"}, "entry: unknown field 'member'; expected env_file"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_problem(tmp_path: Path, entry: dict[str, Any], problem: str) -> None:
    (tmp_path / "a").write_bytes(b"A=1")
    (found,) = parts(entry, tmp_path)[1]

    assert found.startswith(problem)
