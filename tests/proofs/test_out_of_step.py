"""A server whose answers do not follow the requests: no answer is ever taken for that of another request."""

import json
import random
import re
import socket
import threading
import time
from collections import Counter

import pytest

from tests.support.certificates import ServingCertificate, make_serving_certificate
from tests.support.raw_server import raw_server
from tests.support.refresher import connect, run
from upsert import rounds
from upsert.core.outcomes import Applied, Failed
from upsert.kube import api
from upsert.kube.writer import KubeWriter

NAMESPACES = [f"team-{number:02}" for number in range(40)]
IMMUTABLE = set(NAMESPACES[::4])
FAULTS = (
    *("interim", "interim twice", "doubled", "swapped", "late"),
    *("of another namespace", "of another name", "without a name"),
)
RUNS = 20
MOST_LATE = 2  # in each run, since each takes its time
# The client waits so long for an answer, and a late one comes after that.
PATIENCE_SECONDS = 0.5

_REQUEST_LINE = re.compile(rb"(GET|PATCH) (\S+) HTTP/1\.1\r\n")
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.IGNORECASE)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.0)
    monkeypatch.setattr(rounds, "_TRIES", 40)
    monkeypatch.setattr(api, "_TIMEOUT_SECONDS", PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def certificate() -> ServingCertificate:
    return make_serving_certificate()


class Muddle:
    """Talks HTTP on connections, and gets its answers out of step as the seed says."""

    def __init__(self, seed: int) -> None:
        self.faults: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def talk(self, connection: socket.socket) -> None:
        """Answer the requests of one connection."""
        kept = b""
        stale = b""
        while request := _receive(connection, kept):
            method, path, kept = request
            answer = _listed() if method == "GET" else _answer(path)
            connection.sendall(self._muddled(answer, stale) if method == "PATCH" else answer)
            stale = answer

    def _muddled(self, answer: bytes, stale: bytes) -> bytes:
        with self._lock:
            fault = self._random.choice(FAULTS) if self._random.random() < 0.4 else ""
            if fault == "late" and self.faults[fault] >= MOST_LATE:
                fault = "doubled"
            status = self._random.choice((100, 101, 102, 103, 199))
            other = self._random.choice(sorted(set(NAMESPACES) - IMMUTABLE))
            self.faults[fault] += bool(fault)
        if fault == "late":
            time.sleep(PATIENCE_SECONDS + 0.1)
        interim = f"HTTP/1.1 {status} Early\r\n\r\n".encode()
        path = f"/api/v1/namespaces/{other}/secrets/aws-ecr-token"
        return {
            "": answer,
            "late": answer,
            "interim": interim + answer,
            "interim twice": interim + interim + answer,
            "doubled": answer + answer,
            "swapped": (stale or answer) + answer,
            "of another namespace": _answer(path),
            "of another name": _answer(path.replace("aws-ecr-token", "another")),
            "without a name": _http(200, {"metadata": {"uid": "uid-of-nobody", "resourceVersion": "1"}}),
        }[fault]


def _answer(path: str) -> bytes:
    """Return the true answer to a PATCH: some Secrets are immutable, and each has a uid that tells its namespace."""
    *_, namespace, _, name = path.partition("?")[0].split("/")
    if namespace in IMMUTABLE:
        cause = {"reason": "FieldValueForbidden", "field": "data", "message": "immutable"}
        details = {"name": name, "kind": "Secret", "causes": [cause]}
        return _http(422, {"kind": "Status", "reason": "Invalid", "code": 422, "details": details})
    metadata = {"namespace": namespace, "name": name, "uid": f"uid-of-{namespace}", "resourceVersion": "1"}
    return _http(200, {"kind": "PartialObjectMetadata", "metadata": metadata})


def _listed() -> bytes:
    return _http(200, {"metadata": {}, "items": [{"metadata": {"name": name}} for name in NAMESPACES]})


def _http(status: int, body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def _receive(connection: socket.socket, received: bytes) -> tuple[str, str, bytes] | None:
    """Return method and path of the next request, and what came after it."""
    while True:
        head, found, rest = received.partition(b"\r\n\r\n")
        if found:
            length = _LENGTH.search(head + b"\r\n")
            size = int(length[1]) if length else 0
            if len(rest) >= size:
                line = _REQUEST_LINE.match(head + b"\r\n")
                assert line is not None, head
                return line[1].decode(), line[2].decode(), rest[size:]
        piece = connection.recv(65536)
        if not piece:
            return None
        received += piece


def test_no_answer_is_taken_for_that_of_another_request(certificate: ServingCertificate) -> None:
    faults: Counter[str] = Counter()
    applied = 0
    for seed in range(RUNS):
        muddle = Muddle(seed)
        with raw_server(muddle.talk, certificate) as endpoint:
            outcomes = run(KubeWriter(connect(endpoint, certificate.ca_pem, concurrency=8))).outcomes
        faults += muddle.faults
        assert set(outcomes) == set(NAMESPACES)
        for namespace, outcome in outcomes.items():
            if isinstance(outcome, Applied):
                assert outcome.uid == f"uid-of-{namespace}"
                assert namespace not in IMMUTABLE
                applied += 1
            else:
                assert isinstance(outcome, Failed)
                assert namespace in IMMUTABLE or outcome.reason in ("immutable", "unreadable", "unavailable")
    print(f"\nproof: out of step: runs={RUNS} faults={dict(faults)} applied={applied} wrongly=0")
    assert set(faults) == set(FAULTS)
    assert applied > RUNS * len(NAMESPACES) / 2
