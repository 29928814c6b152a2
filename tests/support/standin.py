"""A scripted HTTP or HTTPS server on the loopback interface: it answers what a test tells it to."""

import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.certificates import ServingCertificate


@dataclass(frozen=True)
class Request:
    """One request as it came in; `client` is the address and port it came from, one per connection."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    client: tuple[str, int]


@dataclass(frozen=True)
class Reply:
    """One answer: a mapping is sent as JSON, bytes as they are."""

    status: int = 200
    body: Mapping[str, Any] | bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        """Return the bytes of the body."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Standin:
    """Serves `answer` on a free port while the `with` block lasts, over TLS if it is given a certificate."""

    def __init__(self, answer: Callable[[Request], Reply], certificate: ServingCertificate | None = None) -> None:
        self._answer = answer
        self._certificate = certificate
        self._lock = threading.Lock()
        self._requests: list[Request] = []

    @property
    def url(self) -> str:
        """Return the address to call."""
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """Return every request so far, oldest first."""
        with self._lock:
            return list(self._requests)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if self._certificate:
            self._server.socket = _tls(self._certificate).wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        standin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                try:
                    super().handle()
                except (ConnectionError, ssl.SSLError):
                    # The caller hung up, or never trusted us: that is what some tests are about.
                    self.close_connection = True

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Request(self.command, self.path, dict(self.headers.items()), body, self.client_address)
                with standin._lock:
                    standin._requests.append(request)
                reply = standin._answer(request)
                content = reply.content()
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_CONNECT = do_GET = do_PATCH = do_POST = _serve  # noqa: N815 - the names that http.server calls

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                """Say nothing: tests read `requests`."""

        return Handler


def _tls(certificate: ServingCertificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "serving.pem"
        file.write_text(certificate.certificate_pem + certificate.key_pem)
        context.load_cert_chain(file)
    return context
