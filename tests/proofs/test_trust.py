"""TLS and proxies, with the whole function before a real API server."""

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

import pytest
import urllib3

from tests.proofs.conftest import Crowd
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.invocation import Aws, invoke
from upsert.kube.pace import CONCURRENCY


class ConnectProxy(ThreadingTCPServer):
    """An HTTP proxy that opens tunnels; `opened` names the targets, `heads` what it was told in clear."""

    daemon_threads = True

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.heads: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Tunnel)

    @property
    def url(self) -> str:
        """Return the value for HTTPS_PROXY."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Tunnel(StreamRequestHandler):
    server: ConnectProxy
    rbufsize = 0

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.rfile.read(1)
        method, target, _ = head.decode().split(" ", 2)
        assert method == "CONNECT"
        self.server.opened.append(target)
        self.server.heads.append(head)
        host, _, port = target.rpartition(":")
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with closing(socket.create_connection((host, int(port)))) as upstream:
            ends = {self.connection: upstream, upstream: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)


@pytest.fixture
def connect_proxy() -> Iterator[ConnectProxy]:
    """A proxy that is the only way out."""
    with ConnectProxy() as proxy:
        threading.Thread(target=proxy.serve_forever, args=(0.02,), daemon=True).start()
        yield proxy
        proxy.shutdown()


@pytest.mark.parametrize(("no_proxy", "tunnels"), [("", True), ("127.0.0.1", False), ("elsewhere.example", True)])
def test_a_run_goes_through_the_proxy_that_the_environment_names_and_tells_it_nothing(
    no_proxy: str, tunnels: bool, aws: Aws, plane: ControlPlane, connect_proxy: ConnectProxy, crowd: Crowd
) -> None:
    namespaces = list(crowd(40))
    event = {"namespaces": namespaces}
    seen = invoke(aws, event, HTTPS_PROXY=connect_proxy.url, NO_PROXY=no_proxy)
    assert seen.error is None
    assert seen.result is not None
    assert seen.result["applied"] == 40
    assert set(connect_proxy.opened) == ({urlsplit(plane.endpoint).netloc} if tunnels else set())
    assert len(connect_proxy.opened) <= CONCURRENCY
    assert not any(b"authorization" in head.lower() for head in connect_proxy.heads)


def test_an_authority_without_a_key_identifier_is_trusted_though_python_is_strict(
    aws: Aws, plane: ControlPlane, crowd: Crowd
) -> None:
    strict = ssl.create_default_context(cadata=plane.ca_pem)
    with (
        pytest.raises(urllib3.exceptions.SSLError, match="Missing Authority Key Identifier"),
        urllib3.PoolManager(ssl_context=strict) as http,
    ):
        http.request("GET", plane.endpoint, retries=False)
    assert invoke(aws, {"namespaces": list(crowd(1))}).error is None


def test_an_authority_of_the_same_name_with_another_key_is_not_trusted(aws: Aws, plane: ControlPlane) -> None:
    aws.point_at(plane.endpoint, make_serving_certificate().ca_pem)
    known = len(aws.bearers)
    seen = invoke(aws)
    assert type(seen.error).__name__ == "ClusterNotTrusted"
    assert len(aws.bearers) == known, "a bearer token was sent to a server that is not trusted"
