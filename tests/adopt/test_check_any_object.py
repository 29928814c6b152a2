"""The check of any object, on a real API server, as kubectl made it: every verdict, note and reason with its line."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import adopter, keyed
from tests.support.adopter import cluster
from tests.support.controlplane import ControlPlane, KubectlFailed
from tests.support.keyed import body, keyed_object
from tests.support.objects import roles
from upsert.adopt_request import Action
from upsert.core.objects import Material, Object, OnConflict, Part, Ref
from upsert.core.sensitive import Sensitive

NAME = "api-config"
SETTINGS = "settings"
VALUES = {"PASSWORD": b"correct-horse-battery", "LINES": b"a=b\nc=d\n", "TOKEN": b"one-more-token", "same": b"\x00\xff"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SETTINGS}}
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "baseline"}}
MISPLACED = "LEVEL is in binaryData, expected in data"
REFUSES = "a refresh refuses to write another value (on_conflict is refuse) until it is adopted"


@pytest.fixture(autouse=True, scope="module")
def _granted(control_plane: ControlPlane) -> Iterator[None]:
    entries = [keyed.entry(NAME, {"key": b""}), keyed.entry(SETTINGS, {"key": b""}, kind="ConfigMap")]
    control_plane.apply_roles(roles(*entries, is_adopter=True))
    yield
    control_plane.apply_roles(roles(is_adopter=True))


def check(
    plane: ControlPlane, namespace: str, values: Mapping[str, bytes], user: str = "adopter", **fields: Any
) -> list[str]:
    """Return the lines of a check, without the namespace and object that each starts with."""
    one = keyed_object(**{"name": NAME, "values": values} | fields)
    run = adopter.run(cluster(plane, user), Action.CHECK, namespace, objects=[one], read=keyed.read_from(values))
    return [line.removeprefix(f"{namespace}/{one.name}").removeprefix("/") for line in run.lines]


def config_map(plane: ControlPlane, namespace: str, values: Mapping[str, bytes]) -> list[str]:
    return check(plane, namespace, values, name=SETTINGS, kind="ConfigMap", type="")


def create(plane: ControlPlane, path: str, document: Mapping[str, Any], manager: str = "kubectl-create") -> None:
    plane.request("POST", path, document, query={"fieldManager": manager})


def test_a_secret_of_kubectl_s_has_a_line_for_each_key_with_its_cause(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    made = {
        "PASSWORD": VALUES["PASSWORD"] + b"\n",
        "LINES": VALUES["LINES"].replace(b"\n", b"\r\n"),
        "same": VALUES["same"],
        "old": b"left over",
    }
    for key, value in made.items():
        (tmp_path / key).write_bytes(value)
    (tmp_path / "env").write_text('QUOTED="a word"\n')
    files = [f"--from-file={tmp_path / key}" for key in made]
    control_plane.kubectl("create", "secret", "generic", NAME, f"--namespace={namespace}", *files)
    assert check(control_plane, namespace, VALUES) == [
        "LINES: MISMATCH (10 vs 8 bytes; CRLF)",
        "PASSWORD: MISMATCH (22 vs 21 bytes; trailing newline)",
        "TOKEN: ONLY IN NEW",
        "old: ONLY IN LIVE",
        "same: MATCH",
        f": note: data is managed by kubectl-create; {REFUSES}",
        ": not adoptable: only in live: old; differs: LINES, PASSWORD",
    ]


def test_a_writer_of_other_keys_is_in_nobody_s_way(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, body(NAME, {"PASSWORD": b"x"}), "kubectl-create")
    control_plane.kubectl(
        "patch",
        "secret",
        NAME,
        f"--namespace={namespace}",
        "--field-manager=reloader",
        '--patch={"stringData":{"more":"y"}}',
    )
    lines = check(control_plane, namespace, {"PASSWORD": b"x"}, on_conflict=OnConflict.TAKE_OVER)
    assert lines == [
        "PASSWORD: MATCH",
        "more: ONLY IN LIVE",
        ": note: data is managed by kubectl-create; the next refresh takes it over",
        ": not adoptable: only in live: more",
    ]


def test_a_type_of_ones_own_is_told_in_full(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, body(NAME, {"PASSWORD": b"x"}, type="example.com/token"), "kubectl-create")
    lines = check(control_plane, namespace, {"PASSWORD": b"x"}, type="example.com/other")
    assert lines[-1] == ": not adoptable: type is example.com/token, expected example.com/other"
    assert check(control_plane, namespace, {"PASSWORD": b"x"}, type="example.com/token")[-1] == ": adoptable"


def test_one_with_two_owners_goes_with_the_last_of_them(control_plane: ControlPlane, namespace: str) -> None:
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"5d7e9c1e-0000-4000-8000-00000000000{number}"}
        for number, name in enumerate(("one", "other"), 1)
    ]
    document = CONFIG_MAP | {"metadata": {"name": SETTINGS, "ownerReferences": owners}, "data": {"LEVEL": "info"}}
    create(control_plane, f"/api/v1/namespaces/{namespace}/configmaps", document)
    owned = "ConfigMap/one, ConfigMap/other"
    assert config_map(control_plane, namespace, {"LEVEL": b"info"}) == [
        "LEVEL: MATCH",
        f": note: owned by {owned}: deleting all of them deletes this ConfigMap; adopt leaves it so",
        f": note: data is managed by kubectl-create; {REFUSES}",
        ": adoptable",
    ]


def test_a_config_map_has_its_keys_where_a_refresh_would_put_them(control_plane: ControlPlane, namespace: str) -> None:
    binary = {"LEVEL": base64.b64encode(b"info").decode(), "logo": base64.b64encode(b"\x89PNG").decode()}
    document = CONFIG_MAP | {"data": {"text": "x\n"}, "binaryData": binary, "immutable": True}
    create(control_plane, f"/api/v1/namespaces/{namespace}/configmaps", document)
    assert config_map(control_plane, namespace, {"LEVEL": b"info", "logo": b"\x89PNG", "text": b"\xffx\n"}) == [
        "LEVEL: MATCH",
        "logo: MATCH",
        "text: MISMATCH (2 vs 3 bytes)",
        f": note: data is managed by kubectl-create; {REFUSES}",
        f": not adoptable: immutable; differs: text; text is in data, expected in binaryData; {MISPLACED}",
    ]
    lines = config_map(control_plane, namespace, {"LEVEL": b"info", "logo": b"\x89PNG", "text": b"x\n"})
    assert lines[-1] == f": not adoptable: immutable; {MISPLACED}"


def test_the_api_server_refuses_a_key_in_the_other_place_even_if_forced(
    control_plane: ControlPlane, namespace: str
) -> None:
    binary = {"LEVEL": base64.b64encode(b"info").decode()}
    create(control_plane, f"/api/v1/namespaces/{namespace}/configmaps", CONFIG_MAP | {"binaryData": binary})
    with pytest.raises(KubectlFailed, match="Invalid value"):
        keyed.apply(
            control_plane, namespace, CONFIG_MAP | {"data": {"LEVEL": "info"}}, "--server-side", "--force-conflicts"
        )


def test_kubectl_s_copy_of_a_config_map_is_read_as_what_it_is(control_plane: ControlPlane, namespace: str) -> None:
    keyed.apply(control_plane, namespace, CONFIG_MAP | {"data": {"LEVEL": "info"}})
    note = ": note: last-applied-configuration holds a {} copy of the data; adopt removes the annotation"
    assert note.format("current") in config_map(control_plane, namespace, {"LEVEL": b"info"})
    patch = json.dumps({"data": {"LEVEL": "debug"}})
    control_plane.kubectl("patch", "configmap", SETTINGS, f"--namespace={namespace}", f"--patch={patch}")
    assert note.format("stale") in config_map(control_plane, namespace, {"LEVEL": b"debug"})


def test_a_quota_is_compared_field_by_field(control_plane: ControlPlane, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    create(control_plane, path, QUOTA | {"spec": {"hard": {"pods": "10", "limits.cpu": "2", "secrets": "5"}}})
    rest = {"spec": {"hard": {"pods": "20", "limits.cpu": "2000m", "configmaps": "7"}}}
    ref = Ref("manifest")
    one = Object("baseline", "", (Part("manifest", ref),), kind="ResourceQuota")
    material = Material({"value": Sensitive(json.dumps(rest).encode())})
    run = adopter.run(
        cluster(control_plane, "admin"), Action.CHECK, namespace, objects=[one], read=lambda _: {ref: material}
    )
    assert run.lines == [
        f"{namespace}/baseline/spec.hard.configmaps: ONLY IN NEW",
        f"{namespace}/baseline/spec.hard.pods: MISMATCH (4 vs 4 bytes)",
        f"{namespace}/baseline/spec.hard.secrets: ONLY IN LIVE",
        f'{namespace}/baseline/spec.hard["limits.cpu"]: MATCH',
        f"{namespace}/baseline: note: content is managed by kubectl-create; {REFUSES}",
        f"{namespace}/baseline: not adoptable: differs: spec.hard.pods",
    ]
