"""Files as people and their tools write them: encodings, tabs, tags, sizes."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.hooks import test_creation_policy, test_embedded, test_merge_keys, test_patches, test_templates
from tests.hooks.conftest import Check
from tests.hooks.support import HEAD, NO_POLICY, external_secret
from upsert_hooks.creation_policy import main

FOUND = f"6: ExternalSecret database: {NO_POLICY}"
JSON = (
    '{"apiVersion": "external-secrets.io/v1",\n\t"kind": "ExternalSecret",\n\t"metadata": {"name": "\\ud83d\\ude00"},\n'
    '\t"spec": {"secretStoreRef": {"name": "a\\/b"}, "data": []}}\n'
)

CONTENTS: Mapping[str, tuple[bytes, list[str]]] = {
    "a byte order mark": (b"\xef\xbb\xbf" + HEAD.encode(), [FOUND]),
    "a byte order mark before a later document": (
        b"a: b\n---\n\xef\xbb\xbf" + HEAD.encode(),
        [f"8: ExternalSecret database: {NO_POLICY}"],
    ),
    "CRLF": (HEAD.replace("\n", "\r\n").encode(), [FOUND]),
    "CR": (HEAD.replace("\n", "\r").encode(), [FOUND]),
    "CRLF between documents": (
        ("a: b\n---\n" + HEAD).replace("\n", "\r\n").encode(),
        [f"8: ExternalSecret database: {NO_POLICY}"],
    ),
    "UTF-16 of PowerShell": (HEAD.encode("utf-16"), [FOUND]),
    "UTF-16, the other way round": (b"\xfe\xff" + HEAD.encode("utf-16-be"), [FOUND]),
    "Latin-1": (b"# \n# \xe9\n" + HEAD.encode(), ["2: is not UTF-8"]),
    "Latin-1 that merely mentions the kind": (b"# ExternalSecret\n# \xe9\n", ["2: note: skipped: is not UTF-8"]),
    "Latin-1 of a template": (
        b"# \xe9\n{{- if .a }}\n" + HEAD.encode(),
        ["1: note: skipped: a template (is not UTF-8); check what it renders to"],
    ),
    "Latin-1 of something else": (b"# \xe9\n", []),
    "half a UTF-16": (HEAD.encode("utf-16")[:-1], ["7: is not UTF-8"]),
    "something binary": (bytes(range(256)), []),
    "a control character": (b"# \x07\n" + HEAD.encode(), ["1: is not YAML: control characters are not allowed"]),
    "an emoji": (HEAD.replace("database", "\U0001f600").encode(), [FOUND.replace("database", "\U0001f600")]),
    "tags": (HEAD.replace("{name: store}", "!Ref {name: !vault store}").encode(), [FOUND]),
    "a tag of a directive": (
        b"a: b\n---\nb: c\n...\n%YAML 1.2\n%TAG !e! tag:example.com,2000:\n---\n"
        + HEAD.replace("{name: store}", "!e!a {name: store}").encode(),
        [f"13: ExternalSecret database: {NO_POLICY}"],
    ),
    "a tab after a colon": (HEAD.replace("kind: ", "kind:\t").encode(), [FOUND]),
    "a tab at the end": (HEAD.replace("v1\n", "v1\t\n").encode(), [FOUND]),
    "a tab at the begin of a block scalar": (
        external_secret("  target:\n    template: {}\n    a: |\n      \tb\n      c\n").encode(),
        [f"9: ExternalSecret database: {NO_POLICY}"],
    ),
    "tabs and surrogates in JSON": (JSON.encode(), [f"4: ExternalSecret ??: {NO_POLICY}"]),
    "long keys": (external_secret(f"  {'a' * 500}: b\n").encode(), [FOUND]),
    "nothing but a comment": (b"# ExternalSecret\n", []),
    "a list that is nested too deeply": (
        HEAD.encode() + b"  a: " + b"[" * 100_000 + b"\n",
        ["8: is not YAML: exceeded maximum nesting depth"],
    ),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_any_encoding_and_any_yaml_is_read(check: Check, case: str) -> None:
    content, found = CONTENTS[case]
    assert check(content) == found


TABLES = {
    content: found
    for table in (
        test_creation_policy.FLAGGED,
        test_creation_policy.SKIPPED,
        test_embedded.OBJECTS,
        test_embedded.TEXTS,
        test_merge_keys.CASES,
        test_patches.BY_ITSELF,
        test_templates.OPERATOR,
        test_templates.DECIDED_BY_A_TEMPLATE,
        test_templates.NO_YAML,
    )
    for content, found in table.values()
}


@pytest.mark.parametrize("content", TABLES)
def test_a_pyyaml_without_libyaml_finds_the_same(check: Check, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")

    def comparable(finding: str) -> str:
        """Leave out where and why a text is no YAML, which the two readers say in words of their own."""
        if "is not YAML" not in finding:
            return finding
        return "note" if "note: " in finding else "problem"

    assert list(map(comparable, check(content))) == list(map(comparable, TABLES[content]))


def test_what_cannot_be_read_fails_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "nowhere.yaml"
    assert main([str(missing), str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{missing}:1: cannot be read: No such file or directory",
        f"{tmp_path}:1: cannot be read: Is a directory",
        "check-creation-policy: problems: 2, skipped: 0, files: 2",
    ]


def test_a_large_file_takes_seconds(check: Check) -> None:
    other = "---\nkind: ConfigMap\ndata:\n" + "".join(f"  key-{one}: value\n" for one in range(1000))
    content = other * 300 + "---\n" + HEAD + "---\nitems:\n" + "- {kind: Pod, a: ExternalSecret}\n" * 20_000
    began = time.monotonic()
    assert check(content) == [f"{300 * 1003 + 7}: ExternalSecret database: {NO_POLICY}"]
    assert time.monotonic() - began < 30
