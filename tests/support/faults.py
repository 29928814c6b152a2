"""A proxy before the API server that breaks some of what passes through it.

It ends TLS with a certificate of its own, so the client has to trust that. Which request meets which fault is decided
by the test, from the request and how often it has come, so that a seed gives the same faults whatever the threads do.
"""

import json
import os
import random
import socket
import ssl
import struct
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3

from tests.support.certificates import ServingCertificate, make_serving_certificate
from tests.support.controlplane import ControlPlane

_LINGER_ZERO = struct.pack("ii", 1, 0)
_MEGABYTE = 1024 * 1024


class Fault(StrEnum):
    """What can happen to a request on its way."""

    THROTTLED = "429 with Retry-After"
    INTERNAL = "500"
    BAD_GATEWAY = "502"
    UNAVAILABLE = "503"
    GATEWAY_TIMEOUT = "504"
    RESET_BEFORE = "reset before the write"
    RESET_AFTER = "reset after the write"
    HALF_CLOSED = "half-closed response"
    STALL = "stall"
    UNAUTHORIZED = "401"
    TRUNCATED = "truncated JSON"
    WRONG_TYPE = "wrong content type"
    HTML = "HTML page that echoes the request"
    ECHO = "plain echo of the request"
    HUGE_STATUS = "Status with a message of 1 MB"


STATUSES = {
    Fault.THROTTLED: 429,
    Fault.INTERNAL: 500,
    Fault.BAD_GATEWAY: 502,
    Fault.UNAVAILABLE: 503,
    Fault.GATEWAY_TIMEOUT: 504,
    Fault.UNAUTHORIZED: 401,
    Fault.HTML: 503,
    Fault.ECHO: 500,
    Fault.HUGE_STATUS: 500,
}
# With these the server has done what it was asked, and the client does not learn of it.
WRITTEN_BUT_LOST = frozenset({Fault.RESET_AFTER, Fault.HALF_CLOSED, Fault.STALL, Fault.TRUNCATED, Fault.WRONG_TYPE})
PASSING = tuple(fault for fault in Fault if fault is not Fault.UNAUTHORIZED)


@dataclass(frozen=True)
class Passage:
    """One request as it came to the proxy; `nth` counts from 1 how often this method and path have come."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    nth: int

    @property
    def namespace(self) -> str:
        """The namespace that the path names, or nothing."""
        parts = self.path.split("/")
        return parts[4] if len(parts) > 5 else ""

    @property
    def echo(self) -> str:
        """The whole request as text."""
        return f"{self.method} {self.path}\n{dict(self.headers)}\n{self.body.decode(errors='replace')}"


type Choice = Callable[[Passage], Fault | None]


def seeded(seed: int, share: float, faults: Sequence[Fault]) -> Choice:
    """Return a choice that breaks about `share` of all requests, the same ones each time for one seed."""

    def choose(passage: Passage) -> Fault | None:
        draw = random.Random(f"{seed} {passage.method} {passage.path} {passage.nth}")
        return draw.choice(faults) if draw.random() < share else None

    return choose


class FaultProxy:
    """Forwards to a control plane, with faults, while the `with` block lasts.

    `endpoint` and `ca_pem` are what a client needs. `choose` may be replaced at any time. `history` holds every request
    with its fault, `injected` counts the faults, `passed` the requests that went through whole.
    """

    def __init__(self, control_plane: ControlPlane, choose: Choice, *, stall_seconds: float = 2.0) -> None:
        self.choose = choose
        self.injected: Counter[Fault] = Counter()
        self.history: list[tuple[Passage, Fault | None]] = []
        self.passed = 0
        self._certificate = make_serving_certificate()
        self._upstream = urllib3.HTTPSConnectionPool(
            "127.0.0.1",
            int(control_plane.endpoint.rpartition(":")[2]),
            maxsize=64,
            ssl_context=control_plane.tls_context(),
        )
        self._stall_seconds = stall_seconds
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._seen: Counter[tuple[str, str]] = Counter()
        self._tls = server_tls(self._certificate)

    @property
    def endpoint(self) -> str:
        """Where the proxy listens."""
        return f"https://127.0.0.1:{self._server.server_address[1]}"

    @property
    def ca_pem(self) -> str:
        """The authority that signed the proxy's certificate."""
        return self._certificate.ca_pem

    def present(self, certificate: ServingCertificate) -> None:
        """Show another certificate from now on; connections that are open end with their next answer."""
        self._tls = server_tls(certificate)

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._upstream.close()

    def tls(self) -> ssl.SSLContext:
        """Return the context of new connections."""
        return self._tls

    def take(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[Passage, Fault | None]:
        """Count a request in and decide on its fault."""
        with self._lock:
            self._seen[method, path] += 1
            passage = Passage(method, path, headers, body, self._seen[method, path])
            fault = self.choose(passage)
            self.history.append((passage, fault))
            if fault is None:
                self.passed += 1
            else:
                self.injected[fault] += 1
        return passage, fault

    def forward(self, passage: Passage) -> urllib3.BaseHTTPResponse:
        """Return the API server's answer."""
        headers = {name: value for name, value in passage.headers.items() if name.lower() not in ("host", "connection")}
        return self._upstream.request(passage.method, passage.path, body=passage.body, headers=headers, retries=False)

    def stall(self) -> None:
        """Wait for the time of a stall, or until the proxy ends."""
        self._over.wait(self._stall_seconds)


class _Server(ThreadingHTTPServer):
    """Wraps each new connection in the proxy's TLS of that moment; the handshake is left to the connection's thread."""

    request_queue_size = 128

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[ssl.SSLSocket, Any]:
        """Accept a connection."""
        connection, address = self.socket.accept()
        wrapped = self.proxy.tls().wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return wrapped, address


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._tls_at_start = self.server.proxy.tls()

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):
            # The client hung up or never trusted us, or this side cut the connection on purpose.
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: tests read the counts."""

    def _serve(self) -> None:
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        passage, fault = proxy.take(self.command, self.path, dict(self.headers.items()), body)
        if fault is Fault.RESET_BEFORE:
            self._reset()
        elif fault in STATUSES:
            self._answer(*_refusal(fault, passage))
        else:
            response = proxy.forward(passage)
            self._disturb(fault, response.status, dict(response.headers), response.data)

    do_GET = do_PATCH = do_POST = _serve  # noqa: N815 - the names that http.server calls

    def _disturb(self, fault: Fault | None, status: int, headers: dict[str, str], data: bytes) -> None:
        match fault:
            case Fault.RESET_AFTER:
                self._reset()
            case Fault.STALL:
                self.server.proxy.stall()
                self._reset()
            case Fault.HALF_CLOSED:
                self._answer(status, headers, data[: len(data) // 2], length=len(data))
                self.connection.shutdown(socket.SHUT_WR)
                self.close_connection = True
            case Fault.TRUNCATED:
                self._answer(status, headers, data[: len(data) // 2])
            case Fault.WRONG_TYPE:
                self._answer(status, {"Content-Type": "application/vnd.kubernetes.protobuf"}, b"k8s\0" + data)
            case _:
                self._answer(status, headers, data)

    def _answer(self, status: int, headers: Mapping[str, str], data: bytes, *, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        if self.server.proxy.tls() is not self._tls_at_start:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _reset(self) -> None:
        """End the connection with a TCP reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        os.close(self.connection.detach())
        self.close_connection = True


def _refusal(fault: Fault | None, passage: Passage) -> tuple[int, dict[str, str], bytes]:
    assert fault is not None
    status = STATUSES[fault]
    if fault is Fault.HTML:
        page = f"<html><body><h1>503 Service Unavailable</h1><pre>{passage.echo}</pre></body></html>"
        return status, {"Content-Type": "text/html"}, page.encode()
    if fault is Fault.ECHO:
        return status, {"Content-Type": "text/plain"}, passage.echo.encode()
    message = passage.echo
    if fault is Fault.HUGE_STATUS:
        message *= _MEGABYTE // len(message) + 1
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": status}
    headers = {"Content-Type": "application/json"}
    return status, headers | ({"Retry-After": "1"} if status == 429 else {}), json.dumps(body).encode()


def server_tls(certificate: ServingCertificate) -> ssl.SSLContext:
    """Return a context to serve with a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "serving.pem"
        file.write_text(certificate.certificate_pem + certificate.key_pem)
        context.load_cert_chain(file)
    return context
