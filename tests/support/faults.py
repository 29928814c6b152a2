"""A proxy before the API server that breaks some of what passes through it.

It ends TLS with a certificate of its own, so the client has to trust that. Which request meets which fault is decided
by the test, from the request and how often it has come, so that a seed gives the same faults whatever the threads do.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import TracebackType

import urllib3

from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.standin import RESET, Ending, Reply, Request, Standin

_MEGABYTE = 1024 * 1024
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_OF_ITS_OWN_CONNECTION = ("content-length", "transfer-encoding", "connection", "date")


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


class FaultProxy(Standin):
    """Forwards to a control plane, with faults, while the `with` block lasts.

    `url` and `ca_pem` are what a client needs. `choose` may be replaced at any time. `history` holds every request
    with its fault, `injected` counts the faults, `passed` the requests that went through whole.
    """

    def __init__(self, control_plane: ControlPlane, choose: Choice, *, stall_seconds: float = 2.0) -> None:
        certificate = make_serving_certificate()
        super().__init__(self._answer, certificate)
        self.ca_pem = certificate.ca_pem
        self.choose = choose
        self.injected: Counter[Fault] = Counter()
        self.history: list[tuple[Passage, Fault | None]] = []
        self.passed = 0
        self._upstream = urllib3.HTTPSConnectionPool(
            "127.0.0.1",
            int(control_plane.endpoint.rpartition(":")[2]),
            maxsize=64,
            ssl_context=control_plane.tls_context(),
        )
        self._stall_seconds = stall_seconds
        self._over = threading.Event()
        self._counting = threading.Lock()
        self._seen: Counter[tuple[str, str]] = Counter()

    @property
    def endpoint(self) -> str:
        """Where the proxy listens."""
        return self.url

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        super().__exit__(kind, error, trace)
        self._upstream.close()

    def _answer(self, request: Request) -> Reply:
        passage, fault = self._take(request)
        if fault is Fault.RESET_BEFORE:
            return RESET
        if fault in STATUSES:
            return _refusal(fault, passage)
        return self._disturbed(fault, self._forward(passage))

    def _take(self, request: Request) -> tuple[Passage, Fault | None]:
        """Count a request in and decide on its fault."""
        with self._counting:
            self._seen[request.method, request.path] += 1
            nth = self._seen[request.method, request.path]
            passage = Passage(request.method, request.path, request.headers, request.body, nth)
            fault = self.choose(passage)
            self.history.append((passage, fault))
            if fault is None:
                self.passed += 1
            else:
                self.injected[fault] += 1
        return passage, fault

    def _forward(self, passage: Passage) -> Reply:
        """Return the API server's answer."""
        headers = {name: value for name, value in passage.headers.items() if name.lower() not in ("host", "connection")}
        answer = self._upstream.request(passage.method, passage.path, body=passage.body, headers=headers, retries=False)
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in _OF_ITS_OWN_CONNECTION}
        return Reply(answer.status, answer.data, kept)

    def _disturbed(self, fault: Fault | None, reply: Reply) -> Reply:
        """Return what the fault leaves of the API server's answer."""
        data = reply.content()
        half = data[: len(data) // 2]
        match fault:
            case Fault.RESET_AFTER:
                return RESET
            case Fault.STALL:
                self._over.wait(self._stall_seconds)
                return RESET
            case Fault.HALF_CLOSED:
                whole = {"Content-Length": str(len(data))}
                return replace(reply, body=half, headers={**reply.headers, **whole}, ending=Ending.HALF_CLOSED)
            case Fault.TRUNCATED:
                return replace(reply, body=half)
            case Fault.WRONG_TYPE:
                return replace(reply, body=b"k8s\0" + data, headers={"Content-Type": _PROTOBUF})
            case _:
                return reply


def _refusal(fault: Fault | None, passage: Passage) -> Reply:
    assert fault is not None
    status = STATUSES[fault]
    if fault is Fault.HTML:
        page = f"<html><body><h1>503 Service Unavailable</h1><pre>{passage.echo}</pre></body></html>"
        return Reply(status, page.encode(), {"Content-Type": "text/html"})
    if fault is Fault.ECHO:
        return Reply(status, passage.echo.encode(), {"Content-Type": "text/plain"})
    message = passage.echo
    if fault is Fault.HUGE_STATUS:
        message *= _MEGABYTE // len(message) + 1
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": status}
    patience = {"Retry-After": "1"} if status == 429 else {}
    return Reply(status, body, {"Content-Type": "application/json", **patience})
