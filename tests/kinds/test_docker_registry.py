"""A registry's login by its parts, from the file to the API server, byte for byte what kubectl writes."""

import base64
import json
from typing import Any

import pytest

from tests.support.controlplane import ControlPlane
from tests.support.objects import compiled
from tests.support.refresher import login as ecr_login
from tests.support.refresher import run, writer
from upsert import kinds
from upsert.core.docker_config import DATA_KEY
from upsert.core.objects import BadMaterial, Material, Object, Part, Ref
from upsert.core.outcomes import Applied
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Likeness
from upsert.errors import InputError
from upsert.kinds import comparison

NAME = "registry-login"
HUB = "https://index.docker.io/v1/"
KEPT = {"secret": "apps/registry"}


def entry(*registries: dict[str, Any]) -> dict[str, Any]:
    namespaces = {"include": ["apps"]}
    return {"name": NAME, "type": "docker-registry", "registries": list(registries), "namespaces": namespaces}


def parts(*registries: dict[str, Any]) -> dict[str, tuple[str, dict[str, str]]]:
    (one,) = json.loads(compiled(entry(*registries)))["objects"]
    return {part["place"]: (part["source"], part["ref"]) for part in one["parts"]}


def value(text: str | bytes) -> Material:
    return Material({"value": Sensitive(text.encode() if isinstance(text, str) else text)})


def config(**materials: Material) -> bytes:
    """Return the docker config of a login to Docker Hub with these parts, and what else is named by its place."""
    given = {"server": value(HUB), "username": value("ci"), "password": value("p"), **materials}
    placed = {f"registries[0].{name}" if name.isalpha() else name: one for name, one in given.items()}
    return kinds.build(Object(NAME, "docker-registry", ()), placed).data[DATA_KEY].reveal()


def test_each_part_has_a_place_and_a_source_of_its_own() -> None:
    login = {
        "server": "registry.example.com",
        "username": "ci",
        "password": {**KEPT, "member": "password"},
        "email": "ci@example.com",
    }
    assert parts({"ecr": {}}, login) == {
        "registries[0]": ("ecr", {}),
        "registries[1].server": ("value", {"text": "registry.example.com"}),
        "registries[1].username": ("value", {"text": "ci"}),
        "registries[1].password": ("secret", {"secret": "apps/registry", "member": "password"}),
        "registries[1].email": ("value", {"text": "ci@example.com"}),
    }


def test_the_server_left_out_is_docker_hub_and_a_username_may_be_kept() -> None:
    assert parts({"username": {**KEPT, "member": "user"}, "password": KEPT}) == {
        "registries[0].server": ("value", {"text": HUB}),
        "registries[0].username": ("secret", {"secret": "apps/registry", "member": "user"}),
        "registries[0].password": ("secret", KEPT),
    }


AT = "objects[0].registries[0]"


@pytest.mark.parametrize(
    ("login", "faults"),
    [
        ({"username": "ci"}, [f"{AT}.password: is missing; expected a source, such as {{secret: NAME, member: pass"]),
        ({"password": KEPT}, [f"{AT}.username: is missing; expected a username, without a colon"]),
        ({"server": "a.example.com"}, [f"{AT}.username: is missing", f"{AT}.password: is missing"]),
        ({"username": "ci", "password": "hunter2"}, [f"{AT}.password: a text of 7 characters is wrong; expected a so"]),
        ({"username": "ci", "password": {"value": "hunter2"}}, [f"{AT}.password.value: is for ConfigMaps alone"]),
        ({"username": "ci:hunter2", "password": KEPT}, [f"{AT}.username: a text of 10 characters is wrong"]),
        ({"username": 7, "password": KEPT}, [f"{AT}.username: a number is no text"]),
        ({"username": "", "password": KEPT}, [f"{AT}.username: a text of 0 characters is wrong"]),
        (
            {"username": "ci", "password": KEPT, "server": "https://ci:hunter2@a.example.com"},
            [f"{AT}.server: a text of 32 characters is wrong; expected the host of a registry"],
        ),
        ({"username": "ci", "password": KEPT, "email": "a\nb"}, [f"{AT}.email: a text of 3 characters is wrong"]),
        ({"username": "ci", "password": KEPT, "ecr": {}}, [f"{AT}: unknown field 'ecr'; expected server or"]),
    ],
)  # fmt: skip
def test_what_is_no_login_stops_the_build(login: dict[str, Any], faults: list[str]) -> None:
    with pytest.raises(InputError) as stopped:
        compiled(entry(login))

    assert len(stopped.value.problems) == len(faults)
    assert all(fault in told for fault, told in zip(sorted(faults), sorted(stopped.value.problems), strict=True))
    assert "hunter2" not in str(stopped.value)


def test_the_bytes_are_those_of_kubectl() -> None:
    """As kubectl 1.36.3 wrote them."""
    odd = '<&>\u2028é\U0001f600"\\\b\x7f\x01'
    assert config(password=value(odd), email=value("C&I <ci@example.com>")) == (
        b'{"auths":{"https://index.docker.io/v1/":{"username":"ci",'
        b'"password":"\\u003c\\u0026\\u003e\\u2028\xc3\xa9\xf0\x9f\x98\x80\\"\\\\\\b\x7f\\u0001",'
        b'"email":"C\\u0026I \\u003cci@example.com\\u003e",'
        b'"auth":"Y2k6PCY+4oCow6nwn5iAIlwIfwE="}}}'
    )


@pytest.mark.parametrize(
    ("materials", "why"),
    [
        ({"password": value(b"\xff")}, "registries[0].password: is no UTF-8; expected a text"),
        ({"password": value("")}, "registries[0].password: is empty; expected a text"),
        ({"username": value("")}, "registries[0].username: is empty; expected a text"),
        ({"username": value("ci:hunter2")}, "registries[0].username: has a colon, behind which a kubelet takes it"),
    ],
)
def test_a_part_that_is_of_no_use_is_refused_and_not_quoted(materials: dict[str, Material], why: str) -> None:
    with pytest.raises(BadMaterial) as refused:
        config(**materials)

    assert str(refused.value).startswith(why)
    assert "hunter2" not in str(refused.value)


def test_a_login_stands_beside_those_of_other_sources() -> None:
    auths = json.loads(
        config(**{"registries[1]": ecr_login(), "registries[2].auths": value('{"auths":{"q.io":{"auth":"dTpw"}}}')})
    )["auths"]

    assert [host.partition(".")[0] for host in auths] == ["123456789012", "https://index", "q"]


def test_a_login_wins_over_an_entry_that_is_kept_for_its_host() -> None:
    kept = value('{"auths":{"index.docker.io":{"auth":"dTpw"}}}')

    assert list(json.loads(config(**{"registries[1].auths": kept}))["auths"]) == [HUB]


def test_only_what_rotates_by_itself_may_differ_from_a_live_one() -> None:
    one = Object(NAME, "docker-registry", ())
    by_parts = {
        f"registries[0].{name}": value(text)
        for name, text in {"server": HUB, "username": "ci", "password": "new"}.items()
    }
    new = kinds.build(one, {**by_parts, "registries[1]": ecr_login()})
    old = kinds.build(one, {**by_parts, "registries[0].password": value("old"), "registries[1]": ecr_login()})

    verdicts = {verdict.key: verdict.likeness for verdict in comparison.compare(one, old.data, new)}

    assert verdicts[f"{HUB}/password"] is Likeness.MISMATCH
    assert Likeness.ROTATES in verdicts.values()


def test_it_is_applied_as_kubectl_would_create_it(control_plane: ControlPlane, namespace: str) -> None:
    password = Ref("secret", (("secret", "apps/registry"),))
    texts = {"server": "r.example.com:5000", "username": "ci", "email": "ci@example.com"}
    refs = {name: Ref("value", (("text", text),)) for name, text in texts.items()} | {"password": password}
    one = Object(NAME, "docker-registry", tuple(Part(f"registries[0].{name}", ref) for name, ref in refs.items()))
    readings = {ref: value(ref.get("text", "p<ss\n")) for ref in refs.values()}

    result = run(writer(control_plane, user="admin"), readings, one, namespaces=[namespace])

    assert isinstance(result.outcomes[namespace], Applied)
    arguments = ["--docker-server=r.example.com:5000", "--docker-username=ci", "--docker-password=p<ss\n"]
    created = control_plane.kubectl(
        *("create", "secret", "docker-registry", "theirs", "--namespace", namespace, "--output=json"),
        *(*arguments, "--docker-email=ci@example.com"),
    )
    live = control_plane.get_secret(namespace, NAME)
    assert live is not None
    theirs = json.loads(created)
    assert (live["type"], live["data"]) == (theirs["type"], theirs["data"])
    assert base64.b64decode(live["data"][DATA_KEY]).startswith(b'{"auths":{"r.example.com:5000":{"username":"ci","pass')
