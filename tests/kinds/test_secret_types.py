"""Secrets of every other type: what the API server demands, what a kubelet reads, and what stops the build."""

import base64
import json
from copy import replace
from typing import Any

import pytest
from kubernetes.client import ApiException

from tests.kubelet.configs import cases
from tests.support.controlplane import ControlPlane
from tests.support.kubelet import Question, ask
from tests.support.objects import compiled
from tests.support.refresher import run, writer
from upsert import kinds
from upsert.core.objects import BadMaterial, Desired, Material, Object, OnConflict, Part, Ref
from upsert.core.outcomes import Applied, Failed
from upsert.core.sensitive import Sensitive
from upsert.errors import InputError

NAME = "any"
JSON, LEGACY = "kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"
KEY_OF = {JSON: ".dockerconfigjson", LEGACY: ".dockercfg"}
READABLE = b'{"auths":{"quay.io":{"auth":"dTpw"}}}'


def entry(word: str, *keys: str, **changes: Any) -> dict[str, Any]:
    data = {key: {"secret": "apps/any", "member": key} for key in keys}
    return {"name": NAME, "type": word, "data": data, "namespaces": {"include": ["apps"]}, **changes}


def one_of(word: str, **values: bytes) -> tuple[Object, dict[Ref, Material]]:
    refs = {key: Ref("secret", (("member", key), ("secret", "apps/any"))) for key in values}
    one = Object(NAME, word, tuple(Part(key, ref) for key, ref in refs.items()))
    return one, {ref: Material({"value": Sensitive(values[key])}) for key, ref in refs.items()}


def build(word: str, **values: bytes) -> Desired:
    one, readings = one_of(word, **values)
    return kinds.build(one, {part.place: readings[part.ref] for part in one.parts})


def is_taken(word: str, **values: bytes) -> bool:
    try:
        build(word, **values)
    except BadMaterial:
        return False
    return True


def is_taken_by_the_api_server(control_plane: ControlPlane, kind_type: str, **values: bytes) -> bool:
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "type": kind_type, "data": data}
    try:
        control_plane.request("POST", "/api/v1/namespaces/default/secrets", body, query={"dryRun": "All"})
    except ApiException as error:
        if error.status != 422:
            raise
        return False
    return True


@pytest.mark.parametrize(
    ("word", "keys", "fault"),
    [
        ("ssh-auth", ("known_hosts",), "data: lacks ssh-privatekey; expected ssh-privatekey"),
        ("kubernetes.io/ssh-auth", ("known_hosts",), "data: lacks ssh-privatekey; expected ssh-privatekey"),
        ("kubernetes.io/basic-auth", ("x",), "data: has none of the keys username and password"),
        ("kubernetes.io/tls", ("tls.crt",), "data: lacks tls.key; expected tls.crt and tls.key"),
        (JSON, ("config.json",), "data: lacks .dockerconfigjson; expected .dockerconfigjson"),
        (LEGACY, (".dockerconfigjson",), "data: lacks .dockercfg; expected .dockercfg"),
        ("kubernetes.io/service-account-token", ("token",), "type: is filled by the cluster's own controller"),
        ("no-such-type", ("x",), "type: 'no-such-type' is wrong; expected docker-registry or generic or tls"),
        (
            "generic",
            ("a b",),
            "data: has a key of 3 characters that is none; expected a key of letters, digits, -, _ and .",
        ),
    ],
)
def test_what_the_type_does_not_allow_stops_the_build(word: str, keys: tuple[str, ...], fault: str) -> None:
    with pytest.raises(InputError) as stopped:
        compiled(entry(word, *keys))

    (told,) = stopped.value.problems
    assert fault in told


@pytest.mark.parametrize("word", ["generic", "Opaque", "example.com/token", "bootstrap.kubernetes.io/token"])
def test_other_types_may_have_any_keys_and_none(word: str) -> None:
    for keys in ((), ("a",), ("b", "tls.crt")):
        (one,) = json.loads(compiled(entry(word, *keys)))["objects"]
        assert [part["place"] for part in one["parts"]] == list(keys)


def test_service_accounts_may_name_a_docker_config_of_one_value() -> None:
    (one,) = json.loads(compiled(entry(JSON, ".dockerconfigjson", service_accounts=["default"])))["objects"]
    assert (one["type"], one["service_accounts"]) == (JSON, ["default"])
    with pytest.raises(InputError, match="service_accounts: is wrong for generic; expected it in pull Secrets alone"):
        compiled(entry("generic", "a", service_accounts=["default"]))


# Each is tried on the API server, too: what it refuses is refused before it is asked.
VALUES: list[tuple[str, str, dict[str, bytes]]] = [
    ("ssh-auth", "kubernetes.io/ssh-auth", {"ssh-privatekey": b""}),
    ("ssh-auth", "kubernetes.io/ssh-auth", {"ssh-privatekey": b"x"}),
    ("basic-auth", "kubernetes.io/basic-auth", {"username": b"", "password": b""}),
    ("basic-auth", "kubernetes.io/basic-auth", {"password": b""}),
    ("generic", "Opaque", {}),
    ("generic", "Opaque", {"a": b"", "b": b"\xff\0"}),
    ("generic", "Opaque", {"a": b"x" * 1024 * 1024}),
    ("generic", "Opaque", {"a": b"x" * 1024 * 1024, "b": b"y"}),
    ("generic", "Opaque", {"k" * 253: b"x"}),
    ("example.com/token", "example.com/token", {"a": b"x"}),
    ("bootstrap.kubernetes.io/token", "bootstrap.kubernetes.io/token", {"anything": b"x"}),
    ("helm.sh/release.v1", "helm.sh/release.v1", {}),
]


@pytest.mark.parametrize(("word", "kind_type", "values"), VALUES)
def test_values_are_taken_as_by_the_api_server(
    control_plane: ControlPlane, word: str, kind_type: str, values: dict[str, bytes]
) -> None:
    assert is_taken(word, **values) == is_taken_by_the_api_server(control_plane, kind_type, **values)


def test_the_api_server_demands_what_only_a_controller_gives(control_plane: ControlPlane) -> None:
    assert not is_taken_by_the_api_server(control_plane, "kubernetes.io/service-account-token", token=b"x")


CONFIGS = {
    **{case.name: case.config for case in cases()},
    "a number too large for a float": b'{"x":1e999,"auths":{}}',
    "a small number": b'{"x":1e-999,"auths":{}}',
    "a number of many digits": b'{"x":' + b"9" * 400 + b"}",
    "a negative number": b'{"x":-1}',
    "null": b"null",
}


@pytest.mark.parametrize("word", [JSON, LEGACY])
def test_a_docker_config_has_to_be_taken_by_the_api_server_and_read_by_a_kubelet(
    control_plane: ControlPlane, word: str
) -> None:
    """As a whole, and what each one has under ``auths`` as the legacy format, which has the hosts at its top."""
    start = b'{"auths":'
    inner = {f"{name}, inner": one[len(start) : -1] for name, one in CONFIGS.items() if one.startswith(start)}
    configs = CONFIGS | (inner if word == LEGACY else {})
    verdicts = ask([Question(config, (), is_legacy=word == LEGACY) for config in configs.values()])
    key = KEY_OF[word]

    differences = []
    taken = 0
    for (name, config), verdict in zip(configs.items(), verdicts, strict=True):
        ours = is_taken(word, **{key: config})
        theirs = verdict.error is None and is_taken_by_the_api_server(control_plane, word, **{key: config})
        taken += theirs
        if ours != theirs:
            differences.append(name)
    assert not differences
    assert 50 < taken < len(configs) - 50


@pytest.mark.parametrize("word", [JSON, LEGACY])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "is no JSON; expected a docker config"),
        (b"hunter2", "is no JSON; expected a docker config"),
        (b"\xef\xbb\xbf{}", "starts with a byte order mark; expected a docker config"),
        (b'["hunter2"]', "is no JSON object; expected a docker config"),
        (b'{"x":1e999}', "is no JSON; expected a docker config"),
        (b'{"auths":{"quay.io":{"auth":"hunter2"}}}', "a kubelet could not read it: auth of auths[0] (quay.io) is no"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_quoted(word: str, text: bytes, why: str) -> None:
    key = KEY_OF[word]
    if word == LEGACY and text.startswith(b'{"auths"'):
        text = text[len(b'{"auths":') : -1]

    with pytest.raises(BadMaterial) as refused:
        build(word, **{key: text})

    assert str(refused.value).startswith(f"{key}: {why}")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("word", "values"), [(JSON, {".dockerconfigjson": READABLE + b"\n"}), ("a.b/c", {"a": b"\xff"})]
)
def test_it_is_applied_as_it_is(
    control_plane: ControlPlane, namespace: str, word: str, values: dict[str, bytes]
) -> None:
    one, readings = one_of(word, **values)

    result = run(writer(control_plane, user="admin"), readings, one, namespaces=[namespace])

    assert isinstance(result.outcomes[namespace], Applied)
    live = control_plane.get_secret(namespace, NAME)
    assert live is not None
    assert live["type"] == word
    assert {key: base64.b64decode(value) for key, value in live["data"].items()} == values


@pytest.mark.parametrize("takes_over", [True, False])
def test_one_of_another_type_fails_by_name(control_plane: ControlPlane, namespace: str, takes_over: bool) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}, "type": "a.b/other"}
    before = control_plane.create_secret(namespace, body, "somebody")
    one, readings = one_of("example.com/token", a=b"new")
    one = replace(one, on_conflict=OnConflict.TAKE_OVER if takes_over else OnConflict.REFUSE)

    outcome = run(writer(control_plane, user="admin"), readings, one, namespaces=[namespace]).outcomes[namespace]

    assert isinstance(outcome, Failed)
    # Another type is a field that somebody else holds; only by force does it show that it cannot be changed.
    assert (outcome.reason, outcome.status) == (("wrong-type", 422) if takes_over else ("contested", 409))
    assert control_plane.get_secret(namespace, NAME) == before


def test_an_immutable_one_fails_by_name(control_plane: ControlPlane, namespace: str) -> None:
    metadata = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}}
    control_plane.create_secret(namespace, {**metadata, "type": "example.com/token", "immutable": True}, "somebody")
    one, readings = one_of("example.com/token", a=b"new")

    outcome = run(writer(control_plane, user="admin"), readings, one, namespaces=[namespace]).outcomes[namespace]

    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("immutable", 422)
