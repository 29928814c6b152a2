"""ConfigMaps, from the file to the API server."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import ApiException

from compiler.compiled import compile_objects
from compiler.files import Beside
from tests.support.controlplane import ControlPlane
from tests.support.objects import written
from tests.support.refresher import FIELD_MANAGER, run, writer
from upsert import kinds
from upsert.core.objects import BadMaterial, Material, Object, OnConflict, Part, Ref
from upsert.core.outcomes import Applied, Failed, Outcome
from upsert.core.sensitive import Sensitive
from upsert.errors import InputError

NAME = "settings"
MOST = 1024 * 1024


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "ConfigMap",
        "name": NAME,
        "data": {"LEVEL": {"value": "info"}},
        "namespaces": {"include": ["team-a"]},
        **changes,
    }


def compiled(folder: Path, **changes: Any) -> Any:
    (one,) = json.loads(compile_objects(written(entry(**changes)), "objects.yaml", Beside(folder)))["objects"]
    return one


def config_map(**values: bytes) -> tuple[Object, dict[Ref, Material]]:
    """Return a ConfigMap of these keys, and what its sources give."""
    refs = {key: Ref("file", (("key", key),)) for key in values}
    one = Object(NAME, "", tuple(Part(key, ref) for key, ref in refs.items()), kind="ConfigMap")
    return one, {ref: Material({"value": Sensitive(values[key])}) for key, ref in refs.items()}


def apply(
    control_plane: ControlPlane, namespace: str, values: dict[str, bytes], *, takes_over: bool = False
) -> Outcome:
    one, readings = config_map(**values)
    if takes_over:
        one = Object(one.name, "", one.parts, kind="ConfigMap", on_conflict=OnConflict.TAKE_OVER)
    return run(writer(control_plane, user="admin"), readings, one, namespaces=[namespace]).outcomes[namespace]


def live(control_plane: ControlPlane, namespace: str) -> dict[str, Any]:
    return control_plane.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{NAME}")


def test_values_stand_in_the_file_or_beside_it(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"\xff\n")

    one = compiled(tmp_path, data={"LEVEL": {"value": "info"}, "ca": {"file": "ca.pem"}})

    assert (one["kind"], one["type"]) == ("ConfigMap", "")
    assert {part["place"]: (part["source"], part["ref"]) for part in one["parts"]} == {
        "LEVEL": ("value", {"text": "info"}),
        "ca": ("file", {"base64": "/wo="}),
    }


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"type": "generic"}, "type: is for Secrets alone; expected a ConfigMap without one"),
        (
            {"data": {"a b": {"value": "x"}}},
            "data: has a key of 3 characters that is none; expected a key of letters, digits, -, _ and .",
        ),
        ({"data": {"..a": {"value": "x"}}}, "data: has a key of 3 characters that is none; expected a key of letters"),
        ({"data": {"ä": {"value": "x"}}}, "data: has a key of 1 characters that is none; expected a key of letters"),
        ({"data": {"k" * 254: {"value": "x"}}}, "a key of 254 characters that is none; expected a key of letters"),
        ({"data": {"a": {"value": 5}}}, "data.a.value: a number is no text; expected a text, in quotes"),
        ({"service_accounts": ["default"]}, "service_accounts: is wrong for ConfigMap; expected it in pull Secrets"),
        ({"data": {"a": {"file": "missing.txt"}}}, "data.a.file: 'missing.txt' cannot be read"),
    ],
)
def test_what_is_no_config_map_stops_the_build(tmp_path: Path, changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError) as stopped:
        compiled(tmp_path, **changes)

    assert fault in str(stopped.value)


def test_a_value_too_large_stops_the_build_where_the_build_knows_it(tmp_path: Path) -> None:
    (tmp_path / "most").write_bytes(b"x" * MOST)
    assert compiled(tmp_path, data={"a": {"file": "most"}})

    with pytest.raises(InputError, match=r"objects\[0\].data: its values have 1048577 bytes; expected at most 1048576"):
        compiled(tmp_path, data={"a": {"file": "most"}, "b": {"value": "x"}})


def test_bytes_that_are_no_text_are_told_apart() -> None:
    one, readings = config_map(text="ü\r\n\0".encode(), binary=b"\xff", empty=b"", cut="ü".encode()[:1])

    made = kinds.build(one, {part.place: readings[part.ref] for part in one.parts})

    assert made.binary_keys == {"binary", "cut"}


# What JSON and YAML, which the API server reads an apply as, write in ways of their own.
TEXTS = {
    "plain": "info",
    "empty": "",
    "blanks": " \t\n\r\n ",
    "controls": "".join(map(chr, range(0x20))),
    "delete": "\x7f",
    "c1": "".join(map(chr, range(0x80, 0xA0))),
    "lines": "a\u2028b\u2029c\x85d",
    "mark": "\ufeffa\ufeff",
    "nothing": "\ufffe\uffff\ufffd\U0001fffe\U0010ffff",
    "astral": "\U0001f600\U00010000",
    "quotes": "\"'\\<>&/`",
    "written": "\\ud83d\\ude00 \\n \\u0000",
    "looks": "true",
    "number": "0x1f",
    "merge": "<<: *a",
    "y": "no",
}


def test_every_text_arrives_as_it_is(control_plane: ControlPlane, namespace: str) -> None:
    outcome = apply(control_plane, namespace, {key: text.encode() for key, text in TEXTS.items()})

    assert isinstance(outcome, Applied), outcome
    found = live(control_plane, namespace)
    assert found["data"] == TEXTS
    assert "binaryData" not in found
    assert [one["manager"] for one in found["metadata"]["managedFields"]] == [FIELD_MANAGER]


def test_a_value_may_go_from_text_to_bytes_and_back(control_plane: ControlPlane, namespace: str) -> None:
    for data, binary in [({"a": b"x", "b": b"y"}, {}), ({"b": b"y"}, {"a": b"\xff\0"}), ({"a": b"x", "b": b"y"}, {})]:
        assert isinstance(apply(control_plane, namespace, {**data, **binary}), Applied)
        found = live(control_plane, namespace)
        assert found.get("data", {}) == {key: value.decode() for key, value in data.items()}
        assert {key: base64.b64decode(one) for key, one in found.get("binaryData", {}).items()} == binary


def test_one_without_keys_is_there_and_leaves_those_of_others(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    assert compiled(tmp_path, data={})["parts"] == []
    assert isinstance(apply(control_plane, namespace, {"ours": b"x"}), Applied)
    patch = json.dumps({"data": {"theirs": "y"}})
    control_plane.kubectl("patch", "configmap", NAME, "-n", namespace, "--type=merge", "-p", patch)

    assert isinstance(apply(control_plane, namespace, {}), Applied)

    assert live(control_plane, namespace)["data"] == {"theirs": "y"}


def test_the_api_server_counts_values_alone(control_plane: ControlPlane, namespace: str) -> None:
    """At the limit, whatever the key is, in text as in bytes, and however much longer the text is when it is sent."""
    for value in (b"\xff" * MOST, b"x" * MOST, b'"' * MOST, "é".encode() * (MOST // 2)):
        outcome = apply(control_plane, namespace, {"k" * 253: value})
        assert isinstance(outcome, Applied), (value[:2], outcome)

    one, readings = config_map(a=b"x" * MOST, b=b"y")
    with pytest.raises(BadMaterial, match="its values have 1048577 bytes; expected at most 1048576"):
        kinds.build(one, {part.place: readings[part.ref] for part in one.parts})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "x" * MOST, "b": "y"}}
    with pytest.raises(ApiException) as refused:
        control_plane.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)
    assert (refused.value.status, "Too long" in refused.value.body) == (422, True)


@pytest.mark.parametrize("values", [{"a": b"new"}, {"a": b"\xff"}], ids=["text", "bytes"])
def test_an_immutable_one_fails_by_name(control_plane: ControlPlane, namespace: str, values: dict[str, bytes]) -> None:
    assert isinstance(apply(control_plane, namespace, {"a": b"old"}), Applied)
    control_plane.kubectl("patch", "configmap", NAME, "-n", namespace, "--type=merge", "-p", '{"immutable":true}')

    outcome = apply(control_plane, namespace, values)

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("immutable", 422)
    assert outcome.remedy.startswith("the ConfigMap is immutable, so nobody can rotate it")


def test_bytes_in_an_immutable_one_fail_by_name(control_plane: ControlPlane, namespace: str) -> None:
    assert isinstance(apply(control_plane, namespace, {"a": b"\xff"}), Applied)
    control_plane.kubectl("patch", "configmap", NAME, "-n", namespace, "--type=merge", "-p", '{"immutable":true}')

    outcome = apply(control_plane, namespace, {"a": b"\xfe"})

    assert isinstance(outcome, Failed)
    assert outcome.reason == "immutable"


@pytest.mark.parametrize(("theirs", "ours"), [("data", b"\xff"), ("binaryData", b"text")])
def test_a_key_that_another_has_in_the_other_place_fails_by_name(
    control_plane: ControlPlane, namespace: str, theirs: str, ours: bytes
) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, theirs: {"a": "eHl6"}}
    control_plane.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)

    outcome = apply(control_plane, namespace, {"a": ours}, takes_over=True)

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("rejected", 422)
    assert "has a key under data that it is to have under binaryData" in outcome.remedy
