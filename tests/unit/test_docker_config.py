"""The docker config is what a kubelet reads, byte for byte."""

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

from upsert.core import docker_config
from upsert.core.docker_config import Login
from upsert.core.sensitive import Sensitive

HOSTS = st.from_regex(r"[a-z0-9]{1,12}(\.[a-z0-9]{1,12}){1,3}(:[0-9]{2,5})?", fullmatch=True)
PASSWORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
LOGINS = st.lists(
    st.builds(Login, HOSTS, st.just("AWS"), st.builds(Sensitive, PASSWORDS)),
    max_size=4,
    unique_by=lambda login: login.host,
)


def test_the_bytes_are_these() -> None:
    logins = [Login("b.example", "AWS", Sensitive("two")), Login("a.example", "AWS", Sensitive("one"))]

    assert docker_config.render(logins).reveal() == (
        b'{"auths":{"a.example":{"username":"AWS","password":"one","auth":"QVdTOm9uZQ=="},'
        b'"b.example":{"username":"AWS","password":"two","auth":"QVdTOnR3bw=="}}}'
    )


def test_no_login_gives_an_empty_config() -> None:
    assert docker_config.render([]).reveal() == b'{"auths":{}}'


@given(LOGINS)
def test_every_login_comes_out_as_it_went_in(logins: list[Login]) -> None:
    auths = json.loads(docker_config.render(logins).reveal())["auths"]

    assert list(auths) == sorted(login.host for login in logins)
    for login in logins:
        entry, password = auths[login.host], login.password.reveal()
        assert (entry["username"], entry["password"]) == ("AWS", password)
        assert base64.b64decode(entry["auth"]).decode() == f"AWS:{password}"


@given(st.data())
def test_the_order_of_logins_does_not_matter(data: st.DataObject) -> None:
    logins = data.draw(LOGINS)
    shuffled = data.draw(st.permutations(logins))

    assert docker_config.render(shuffled) == docker_config.render(logins)


def test_the_result_is_masked() -> None:
    assert repr(docker_config.render([Login("a.example", "AWS", Sensitive("one"))])) == "Sensitive(***)"
    assert "one" not in repr(Login("a.example", "AWS", Sensitive("one")))
