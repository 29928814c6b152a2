"""A scripted HTTP or HTTPS server on the loopback interface: it answers what a test tells it to."""

import json
import os
import socket
import ssl
import struct
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from tests.support.certificates import ServingCertificate

_LINGER_ZERO = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Request:
    """One request as it came in; `client` is the address and port it came from, one per connection."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    client: tuple[str, int]


class Ending(Enum):
    """What becomes of the connection with an answer."""

    KEPT = auto()
    HALF_CLOSED = auto()
    """The answer is the last thing that is sent."""
    RESET = auto()
    """A TCP reset comes in place of the answer."""


@dataclass(frozen=True)
class Reply:
    """One answer: a mapping is sent as JSON, bytes as they are. `headers` win over those that it would have."""

    status: int = 200
    body: Mapping[str, Any] | bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = Ending.KEPT

    def content(self) -> bytes:
        """Return the bytes of the body."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


RESET = Reply(ending=Ending.RESET)


class Standin:
    """Serves `answer` on a free port while the `with` block lasts, over TLS if it is given a certificate."""

    def __init__(self, answer: Callable[[Request], Reply], certificate: ServingCertificate | None = None) -> None:
        self._script = answer
        self._tls = server_tls(certificate) if certificate else None
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """Return the address to call, which nobody answers at after the `with` block."""
        if self._server is None:
            raise RuntimeError("the stand-in is not running: use it in a `with` block")
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """Return every request so far, oldest first."""
        with self._lock:
            return list(self._requests)

    def forget(self) -> None:
        """Forget the requests so far."""
        with self._lock:
            self._requests.clear()

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
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def serve(self, request: Request) -> Reply:
        """Note a request that came in, and return the answer to it."""
        with self._lock:
            self._requests.append(request)
        return self._script(request)


class _Server(ThreadingHTTPServer):
    """Wraps each new connection in the TLS of that moment; the handshake is left to the connection's thread."""

    request_queue_size = 128

    def __init__(self, standin: Standin) -> None:
        self.standin = standin
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = self.socket.accept()
        tls = self.standin._tls
        if tls:
            connection = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._tls_at_start = self.server.standin._tls

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, ssl.SSLError):
            # The caller hung up, or never trusted us, or this side cut the connection: some tests are about that.
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: tests read `requests`."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(self.command, self.path, dict(self.headers.items()), body, self.client_address)
        self._send(self.server.standin.serve(request))

    do_CONNECT = do_GET = do_PATCH = do_POST = _serve  # noqa: N815 - the names that http.server calls

    def _send(self, reply: Reply) -> None:
        if reply.ending is Ending.RESET:
            self._reset()
        content = reply.content()
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
            self.send_header(name, value)
        if self.server.standin._tls is not self._tls_at_start:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        if reply.ending is Ending.HALF_CLOSED:
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_WR)
            self.close_connection = True

    def _reset(self) -> NoReturn:
        """End the connection with a TCP reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        os.close(self.connection.detach())
        raise ConnectionResetError


def server_tls(certificate: ServingCertificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "serving.pem"
        file.write_text(certificate.certificate_pem + certificate.key_pem)
        context.load_cert_chain(file)
    return context
