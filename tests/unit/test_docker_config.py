"""The docker config is what a kubelet reads, byte for byte."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import docker_config
from upsert.core.docker_config import Entry, Login, NotADockerConfig
from upsert.core.sensitive import Sensitive

HOSTS = st.from_regex(r"[a-z0-9]{1,12}(\.[a-z0-9]{1,12}){1,3}(:[0-9]{2,5})?", fullmatch=True)
PASSWORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
LOGINS = st.lists(
    st.builds(Login, HOSTS, st.just("AWS"), st.builds(Sensitive, PASSWORDS)),
    max_size=4,
    unique_by=lambda login: login.host,
)


def written(*logins: Login) -> bytes:
    return docker_config.write(docker_config.merge(logins)).reveal()


def test_the_bytes_are_these() -> None:
    logins = [Login("b.example", "AWS", Sensitive("two")), Login("a.example", "AWS", Sensitive("one"))]

    assert written(*logins) == (
        b'{"auths":{"a.example":{"username":"AWS","password":"one","auth":"QVdTOm9uZQ=="},'
        b'"b.example":{"username":"AWS","password":"two","auth":"QVdTOnR3bw=="}}}'
    )


def test_no_login_gives_an_empty_config() -> None:
    assert written() == b'{"auths":{}}'


@given(LOGINS)
def test_every_login_comes_out_as_it_went_in(logins: list[Login]) -> None:
    auths = json.loads(written(*logins))["auths"]

    assert list(auths) == sorted(login.host for login in logins)
    for login in logins:
        entry, password = auths[login.host], login.password.reveal()
        assert (entry["username"], entry["password"]) == ("AWS", password)
        assert base64.b64decode(entry["auth"]).decode() == f"AWS:{password}"


@given(st.data())
def test_the_order_of_logins_does_not_matter(data: st.DataObject) -> None:
    logins = data.draw(LOGINS)
    shuffled = data.draw(st.permutations(logins))

    assert written(*shuffled) == written(*logins)


def test_the_result_is_masked() -> None:
    one = Login("a.example", "AWS", Sensitive("one"))

    assert repr(docker_config.write(docker_config.merge([one]))) == "Sensitive(***)"
    assert "one" not in repr(one)
    assert "one" not in repr(docker_config.entry(one))


def entries(text: str) -> tuple[Entry, ...]:
    return docker_config.entries_of(Sensitive(text.encode()))


def test_kept_entries_come_out_in_their_order_and_with_their_fields() -> None:
    quay, hub = entries('{"auths": {"quay.io": {"auth": "eDp5"}, "docker.io": {"email": "a@b.c", "auth": "eDp5"}}}')

    assert quay == Entry("quay.io", (("auth", Sensitive("eDp5")),))
    assert (hub.host, [name for name, _ in hub.fields]) == ("docker.io", ["email", "auth"])


@pytest.mark.parametrize("text", ["", " ", "\n\t", "{}", '{"auths": {}}'])
def test_a_text_without_entries_holds_none(text: str) -> None:
    assert entries(text) == ()


PASSWORD = "hunter2hunter2"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "no JSON object"),
        (PASSWORD, "no JSON"),
        (f'{{"auths": {{"quay.io": "{PASSWORD}"}}}}', "an entry of auths is no object"),
        (f'{{"auths": {{"quay.io": {{"password": ["{PASSWORD}"]}}}}}}', "a field of an entry is no text"),
        (f'{{"auths": {{}}, "credsStore": "{PASSWORD}"}}', "holds more than auths"),
        (f'{{"auths": {{"": {{"password": "{PASSWORD}"}}}}}}', "has an entry without host or fields"),
        ('{"auths": {"quay.io": {}}}', "has an entry without host or fields"),
        (f'{{"auths": {{"quay.io": {{"auth": "{PASSWORD}", "auth": "x"}}}}}}', "repeated key"),
        (f'{{"auths": {{"quay.io": {{"auth": "{PASSWORD}"', "no JSON"),
    ],
)
def test_what_could_not_be_kept_whole_is_refused_and_not_quoted(text: str, why: str) -> None:
    with pytest.raises(NotADockerConfig) as refused:
        entries(text)

    assert str(refused.value) == why
