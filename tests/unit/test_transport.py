"""Connections trust one CA, and go through the proxy that the environment names, as other tools read it."""

import base64
from collections.abc import Iterator, Mapping

import pytest

from tests.support import standin
from tests.support.certificates import make_serving_certificate
from tests.support.standin import Request, Standin
from upsert.errors import ClusterNotTrusted
from upsert.kube.transport import Connections, Reply

ENDPOINT = "https://cluster.example:8443"
CA_PEM = make_serving_certificate().ca_pem


@pytest.fixture
def proxy() -> Iterator[Standin]:
    """A proxy that lets nothing through."""
    with Standin(lambda _: standin.Reply(403)) as proxy:
        yield proxy


def asked_of(proxy: Standin, variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Return what is asked of the proxy, whose address takes the place of ``PROXY`` in the variables."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("PROXY", proxy.url.removeprefix("http://")))
    headers = {"Authorization": "Bearer a-token", "User-Agent": "us"}
    reply = Connections(ENDPOINT, CA_PEM).take().send("GET", "/api", headers, None, seconds=5, longest=10)
    assert reply.trouble == "connection"
    return proxy.requests


@pytest.mark.parametrize(
    ("variables", "is_asked"),
    [
        ({}, False),
        ({"HTTPS_PROXY": "http://PROXY"}, True),
        ({"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "cluster.example"}, False),
        ({"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "cluster.example:8443"}, False),
        ({"HTTPS_PROXY": "http://PROXY", "NO_PROXY": "other.example"}, True),
        ({"HTTP_PROXY": "http://PROXY"}, False),
        ({"ALL_PROXY": "http://PROXY"}, False),
        ({"https_proxy": "http://PROXY", "HTTPS_PROXY": "http://127.0.0.1:1"}, True),
        ({"https_proxy": "", "HTTPS_PROXY": "http://PROXY"}, False),
        # As curl does, without a scheme.
        ({"HTTPS_PROXY": "PROXY"}, True),
        ({"HTTPS_PROXY": "//PROXY"}, True),
        ({"HTTPS_PROXY": "http://PROXY/path"}, True),
        ({"HTTPS_PROXY": "me:secret@PROXY"}, True),
        ({"HTTPS_PROXY": "PROXY", "no_proxy": ".example"}, False),
        ({"HTTPS_PROXY": "PROXY", "NO_PROXY": "*"}, False),
        # What is no host of ours in any way of writing it.
        ({"HTTPS_PROXY": "PROXY", "NO_PROXY": "10.0.0.0/99,[::,€,*.other, ,:,http://x"}, True),
    ],
)
def test_a_proxy_is_used_as_other_tools_use_it_and_told_nothing(
    variables: Mapping[str, str], is_asked: bool, proxy: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_of(proxy, variables, monkeypatch)

    assert [(request.method, request.path) for request in asked] == [("CONNECT", "cluster.example:8443")] * is_asked
    assert not any("Authorization" in request.headers for request in asked)


@pytest.mark.parametrize("scheme", ["http://", "", "//"])
@pytest.mark.parametrize(
    ("login", "sent"),
    [
        ("me:p%40ss", b"me:p@ss"),
        ("me:p@ss:word", b"me:p@ss:word"),
        ("corp%5Cme:p%3As", b"corp\\me:p:s"),
        ("me", b"me:"),
        ("me:", b"me:"),
    ],
)
def test_a_proxy_that_asks_who_we_are_is_told(
    scheme: str, login: str, sent: bytes, proxy: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_of(proxy, {"HTTPS_PROXY": f"{scheme}{login}@PROXY"}, monkeypatch)

    assert [request.headers["Proxy-Authorization"] for request in asked] == ["Basic " + base64.b64encode(sent).decode()]


@pytest.mark.parametrize("ca_pem", ["not a certificate", ""])
def test_what_is_no_certificate_is_not_trusted(ca_pem: str) -> None:
    with pytest.raises(ClusterNotTrusted, match="no certificate"):
        Connections(ENDPOINT, ca_pem)


def test_a_reply_shows_nothing_of_its_body() -> None:
    assert "hunter2" not in repr(Reply(200, {}, b"hunter2"))
