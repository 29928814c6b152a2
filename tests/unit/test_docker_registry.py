"""A pull Secret is made of logins and kept entries, or refused with which part is wrong and why."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from compiler.files import NOWHERE
from tests.compiler.cases import VALUES
from tests.support.objects import HOST, pull_object
from tests.support.refresher import login
from upsert import kinds, sources
from upsert.core.fields import Fields, Problem
from upsert.core.objects import BadMaterial, Desired, Material, NothingYet, Part, Ref
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive

KIND = kinds.TABLE["docker-registry"]
PASSWORD = "hunter2hunter2"
FORM = 'expected {"auths": {"HOST": {"username": "…", "password": "…", "auth": "…"}}} with at least one host'
NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)


def kept(text: str) -> Material:
    return Material({"value": Sensitive(text.encode())})


def auths(**entries: Mapping[str, str]) -> Material:
    return kept(json.dumps({"auths": entries}))


def entry(password: str = PASSWORD) -> dict[str, str]:
    return {"auth": base64.b64encode(f"me:{password}".encode()).decode()}


def build(**materials: Material) -> Desired:
    """Return the Secret that is made of these materials, by their place."""
    return kinds.build(pull_object(), materials)


def written(desired: Desired) -> dict[str, dict[str, str]]:
    ((key, value),) = desired.data.items()
    assert key == ".dockerconfigjson"
    found: dict[str, dict[str, str]] = json.loads(value.reveal())["auths"]
    return found


def test_logins_and_kept_entries_are_one_docker_config() -> None:
    desired = build(
        a=login(password="one"), b=auths(**{"quay.io": entry(), "ghcr.io": {"username": "x", "password": "y"}})
    )

    assert written(desired) == {
        HOST: {"username": "AWS", "password": "one", "auth": base64.b64encode(b"AWS:one").decode()},
        "ghcr.io": {"username": "x", "password": "y"},
        "quay.io": entry(),
    }
    assert list(written(desired)) == sorted(written(desired))


def test_it_is_a_secret_of_the_type_that_a_kubelet_pulls_with() -> None:
    desired = build(a=login())

    assert (desired.resource, desired.name) == (SECRETS, "aws-ecr-token")
    assert desired.type == KIND.type == "kubernetes.io/dockerconfigjson"


def test_only_a_login_rotates() -> None:
    assert build(a=login("a.example"), b=auths(**{"quay.io": entry()})).rotating == {"a.example"}
    assert build(b=auths(**{"quay.io": entry()})).rotating == frozenset()


def test_the_first_login_to_expire_counts() -> None:
    lives = {"a.example": 9, "b.example": 3, "c.example": 6}
    logins = {host: login(host, expires_at=NOON + timedelta(hours=hours)) for host, hours in lives.items()}

    assert build(**logins, kept=auths(**{"quay.io": entry()})).expires_at == NOON + timedelta(hours=3)
    assert build(kept=auths(**{"quay.io": entry()})).expires_at is None


def test_a_login_shows_no_password() -> None:
    assert PASSWORD not in repr(build(a=login(password=PASSWORD), b=auths(**{"quay.io": entry()})))


SPELLINGS = [
    *(HOST, f"https://{HOST}", f"http://{HOST}/", f"HTTPS://{HOST.upper()}/", f"{HOST}/"),
    *(f"{HOST}:443", f"https://{HOST}:443/", f"{HOST}/v1/", f"https://{HOST.upper()}:443/v2/"),
]


@pytest.mark.parametrize("host", SPELLINGS)
def test_a_login_wins_over_an_entry_that_is_kept_for_its_host_in_any_spelling(host: str) -> None:
    desired = build(a=auths(**{host: entry(), "quay.io": entry()}), b=login(password="new"))

    found = written(desired)
    assert list(found) == sorted([HOST, "quay.io"])
    assert found[HOST]["password"] == "new"


@pytest.mark.parametrize("host", SPELLINGS)
def test_two_logins_for_one_host_in_any_spelling_are_refused(host: str) -> None:
    with pytest.raises(BadMaterial) as refused:
        build(a=login(), b=login(host))

    assert str(refused.value) == f"the host {HOST} is there more than once; expected one entry per host"


@pytest.mark.parametrize(
    "host", ["quay.io", "https://quay.io", "QUAY.io/", "http://Quay.IO/", "quay.io:443", "quay.io/v2/"]
)
def test_a_host_that_is_kept_twice_in_any_spelling_is_refused(host: str) -> None:
    with pytest.raises(BadMaterial, match=r"the host quay\.io is there more than once; expected one entry per host"):
        build(a=auths(**{"quay.io": entry()}), b=auths(**{host: entry("another")}))


@pytest.mark.parametrize("host", ["https://quay.io", "QUAY.io/", "quay.io:443", "https://quay.io/v1/"])
def test_nor_may_one_value_hold_it_twice(host: str) -> None:
    with pytest.raises(BadMaterial, match=r"the host quay\.io is there more than once"):
        build(a=auths(**{"quay.io": entry(), host: entry("another")}))


@pytest.mark.parametrize("host", ["quay.io:8443", "quay.io/team-a", "quay.io/v2", "v1.quay.io", "quay.io:4430", "quay"])
def test_another_port_path_or_name_is_another_host(host: str) -> None:
    assert set(written(build(a=auths(**{"quay.io": entry(), host: entry("another")})))) == {"quay.io", host}


@pytest.mark.parametrize("again", ["Password", "PASSWORD", "pa\u017fsword"])
def test_a_field_that_is_there_twice_to_a_kubelet_is_refused(again: str) -> None:
    with pytest.raises(BadMaterial, match="a: repeated key; expected"):
        build(a=auths(**{"quay.io": {"username": "me", "password": PASSWORD, again: "another"}}))


def test_a_host_that_may_be_a_password_is_not_quoted() -> None:
    with pytest.raises(BadMaterial, match="the host <unprintable host 1> is there more than once"):
        build(a=auths(**{PASSWORD: entry()}), b=auths(**{PASSWORD: entry()}))


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"auths": {}}'])
def test_what_holds_no_entry_yet_is_told_by_its_place(text: str) -> None:
    with pytest.raises(NothingYet) as refused:
        KIND.build(pull_object(), {"registries[0]": login(), "registries[1].auths": kept(text)})

    assert refused.value.place == "registries[1].auths"
    assert str(refused.value) == f"registries[1].auths: holds no entry; {FORM}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PASSWORD, "no JSON"),
        (f'["{PASSWORD}"]', "no JSON object"),
        (f'{{"auths": "{PASSWORD}"}}', "auths is no object"),
        (f'{{"auths": {{"quay.io": "{PASSWORD}"}}}}', "an entry of auths is no object"),
        (f'{{"auths": {{"quay.io": {{"auth": 5, "password": "{PASSWORD}"}}}}}}', "a field of an entry is no text"),
        ('{"auths": {"quay.io": {}}}', "has an entry without host or fields"),
        (f'{{"auths": {{"": {{"password": "{PASSWORD}"}}}}}}', "has an entry without host or fields"),
        (f'{{"auths": {{}}, "HttpHeaders": {{"Authorization": "{PASSWORD}"}}}}', "holds more than auths"),
        (f'{{"auths": {{"quay.io": {{"password": "{PASSWORD}", "password": "x"}}}}}}', "repeated key"),
        (f'{{"auths": {{"quay.io": {{"password": "{PASSWORD}', "no JSON"),
        (f'\ufeff{{"auths": {{"quay.io": {{"password": "{PASSWORD}"}}}}}}', "byte order mark"),
    ],
)
def test_what_a_kubelet_could_not_read_is_refused_and_not_quoted(text: str, why: str) -> None:
    with pytest.raises(BadMaterial) as refused:
        KIND.build(pull_object(), {"registries[0]": login(), "registries[1].auths": kept(text)})

    assert str(refused.value) == f"registries[1].auths: {why}; {FORM}"
    assert not isinstance(refused.value, NothingYet)


def parts(entry: dict[str, Any]) -> tuple[list[Part], list[str]]:
    problems: list[Problem] = []
    found = KIND.parts(Fields(entry, ("objects", 0), problems), sources.Reader(NOWHERE))
    return list(found), [str(problem) for problem in problems]


def test_each_registry_of_the_file_is_a_part() -> None:
    registries = [{"ecr": {}}, {"ecr": {"region": "us-east-1"}}, {"ecr_public": {}}, {"auths": {"secret": "others"}}]

    assert parts({"registries": registries}) == (
        [
            Part("registries[0]", Ref("ecr")),
            Part("registries[1]", Ref("ecr", (("region", "us-east-1"),))),
            Part("registries[2]", Ref("ecr_public")),
            Part("registries[3].auths", Ref("secret", (("secret", "others"),))),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("registries", "problem"),
    [
        ([], "objects[0].registries: a list of 0 is wrong; expected a list of registries, such as {ecr: {}}"),
        (
            {"ecr": {}},
            "objects[0].registries: an object of 1 is wrong; expected a list of registries, such as {ecr: {}}",
        ),
        ([5], "objects[0].registries[0]: a number is wrong; expected registries, such as {ecr: {}}"),
        ([{"ecr": {}}, {"ecr": {}}], "objects[0].registries[1]: is there twice; expected each registry once"),
        ([{"ecr_public": {}}] * 2, "objects[0].registries[1]: is there twice; expected each registry once"),
        (
            [{"auths": {"secret": "a"}}] * 2,
            "objects[0].registries[1]: is there twice; expected each registry once",
        ),
        ([{"secret": "a"}], "objects[0].registries[0]: names no source; expected one of ecr, ecr_public"),
        ([{"auths": {"ecr": {}}}], f"objects[0].registries[0].auths: names no source; expected one of {VALUES}"),
        ([{"auths": None}], "objects[0].registries[0].auths: null is wrong; expected a source, such as {secret: NAME}"),
        ([{"auths": {"secret": "a"}, "ecr": {}}], "objects[0].registries[0]: unknown field 'ecr'; expected auths"),
    ],
)
def test_a_registry_that_is_none_is_one_problem_at_its_place(registries: object, problem: str) -> None:
    assert parts({"registries": registries})[1] == [problem]


def test_registries_are_needed() -> None:
    assert parts({})[1] == ["objects[0].registries: is missing; expected a list of registries, such as {ecr: {}}"]
