"""kubernetes.io/basic-auth, from the file to the API server."""

import base64
import json
from typing import Any

import pytest

from tests.support.controlplane import ControlPlane
from tests.support.objects import compiled
from tests.support.refresher import FIELD_MANAGER, run, writer
from upsert import kinds
from upsert.core.objects import BadMaterial, Material, Object, Part, Ref
from upsert.core.outcomes import Applied
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Likeness
from upsert.errors import InputError
from upsert.kinds import comparison

KIND = kinds.TABLE["basic-auth"]
NAME = "proxy-login"


def ref(member: str) -> Ref:
    return Ref("secret", (("member", member), ("secret", "apps/proxy")))


LOGIN = Object(NAME, "basic-auth", (Part("username", ref("user")), Part("password", ref("pass"))))


def value(text: str) -> Material:
    return Material({"value": Sensitive(text.encode())}, secrets=(Sensitive(text),))


def entry(**changes: Any) -> dict[str, Any]:
    """Return the entry of the file, with fields changed."""
    source = {"secret": "apps/proxy"}
    return {
        "name": NAME,
        "type": "basic-auth",
        "data": {"username": {**source, "member": "user"}, "password": {**source, "member": "pass"}},
        "namespaces": {"include": ["team-a"]},
        **changes,
    }


def test_the_file_says_where_each_key_comes_from() -> None:
    (one,) = json.loads(compiled(entry()))["objects"]

    assert one["type"] == "basic-auth"
    assert {part["place"]: (part["source"], part["ref"]) for part in one["parts"]} == {
        "username": ("secret", {"member": "user", "secret": "apps/proxy"}),
        "password": ("secret", {"member": "pass", "secret": "apps/proxy"}),
    }


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"data": {}}, "objects[0].data: has none of the keys username and password"),
        ({"data": {"token": {"secret": "x"}}}, "objects[0].data: has none of the keys username and password"),
        (
            {"data": {"username": {"value": "x"}}},
            "objects[0].data.username.value: is for ConfigMaps alone; expected a source",
        ),
        (
            {"data": {"username": {"secret": "x"}, "..": {"secret": "x"}}},
            "objects[0].data: has a key of 2 characters that is none",
        ),
        ({"registries": [{"ecr": {}}]}, "registries"),
        ({"data": None}, "objects[0].data: null is wrong; expected an object of keys"),
    ],
)
def test_what_is_no_basic_auth_stops_the_build(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError) as stopped:
        compiled(entry(**changes))

    assert fault in str(stopped.value)


def test_values_are_kept_byte_for_byte() -> None:
    made = KIND.build(LOGIN, {"username": value("üser\n"), "password": value(" p:w ")})

    assert {key: one.reveal() for key, one in made.data.items()} == {
        "username": "üser\n".encode(),
        "password": b" p:w ",
    }
    assert (made.type, made.name, made.expires_at) == ("kubernetes.io/basic-auth", NAME, None)


def test_more_than_the_api_server_takes_is_refused_before_it_is_asked() -> None:
    with pytest.raises(BadMaterial, match="its values have 1048577 bytes; expected at most 1048576"):
        KIND.build(LOGIN, {"username": value("u"), "password": value("p" * 1024 * 1024)})


def test_a_live_one_is_compared_key_by_key() -> None:
    made = KIND.build(LOGIN, {"username": value("u"), "password": value("p")})
    live = {"username": Sensitive(b"u"), "password": Sensitive(b"p\n"), "token": Sensitive(b"t")}

    verdicts = {verdict.key: verdict for verdict in comparison.compare(LOGIN, live, made)}

    assert verdicts["username"].likeness is Likeness.MATCH
    assert str(verdicts["password"]) == "password: MISMATCH (2 vs 1 bytes; trailing newline)"
    assert verdicts["token"].likeness is Likeness.ONLY_IN_LIVE


def test_it_is_applied_as_kubectl_would_read_it(control_plane: ControlPlane, namespace: str) -> None:
    admin = writer(control_plane, user="admin")

    result = run(admin, {ref("user"): value("u"), ref("pass"): value("p")}, LOGIN, namespaces=[namespace])

    assert isinstance(result.outcomes[namespace], Applied)
    live = control_plane.get_secret(namespace, NAME)
    assert live is not None
    assert live["type"] == "kubernetes.io/basic-auth"
    assert {key: base64.b64decode(one) for key, one in live["data"].items()} == {"username": b"u", "password": b"p"}
    assert [entry["manager"] for entry in live["metadata"]["managedFields"]] == [FIELD_MANAGER]
