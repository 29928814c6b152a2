"""Readers that GET the Secrets all the time, as kubelets do, and remember every sight that matters."""

import base64
import hashlib
import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

from tests.demo.verdict import Reads, Sight
from tests.support.controlplane import ControlPlane

# Two readers with this pause make some hundred reads a second, and leave a small machine room for the function.
_READERS = 2
_PAUSE_S = 0.005


def fingerprint(password: str) -> str:
    """Return a short digest, by which passwords can be compared and shown."""
    return hashlib.sha256(password.encode()).hexdigest()[:12]


def sight(secret: dict[str, Any]) -> Sight:
    """Return what the demo keeps of a Secret."""
    metadata, data = secret["metadata"], secret["data"]
    old_copy = "kubectl.kubernetes.io/last-applied-configuration" in metadata.get("annotations", {})
    return Sight(metadata["uid"], metadata["resourceVersion"], fingerprint(_password(data)), old_copy)


def look(control_plane: ControlPlane, namespace: str, name: str) -> Sight | None:
    """Return the Secret as it is now, or None."""
    secret = control_plane.get_secret(namespace, name)
    return None if secret is None else sight(secret)


def _password(data: dict[str, str]) -> str:
    config = data.get(".dockerconfigjson")
    if config is None:
        return json.dumps(data, sort_keys=True)
    logins = json.loads(base64.b64decode(config))["auths"].values()
    return " ".join(sorted(login["password"] for login in logins))


class Readers:
    """Threads that read while the `with` block lasts."""

    def __init__(self, control_plane: ControlPlane, name: str, namespaces: Sequence[str]) -> None:
        """Prepare readers of the Secret `name` in all `namespaces`."""
        self._control_plane = control_plane
        self._name = name
        self._namespaces = tuple(namespaces)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._answered = self._absent = self._unanswered = 0
        self._first: dict[str, Sight] = {}
        self._uids: dict[str, set[str]] = {}
        self._passwords: dict[str, set[str]] = {}
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
        self._running: list[Future[None]] = []

    @property
    def reads(self) -> Reads:
        """The counts so far."""
        with self._lock:
            return Reads(self._answered, self._absent, self._unanswered)

    def first(self, namespace: str) -> Sight | None:
        """The first sight of a namespace's Secret, or None if it was never there."""
        return self._first.get(namespace)

    def uids(self, namespace: str) -> frozenset[str]:
        """Every uid seen in a namespace."""
        return frozenset(self._uids.get(namespace, ()))

    def passwords(self, namespace: str) -> int:
        """How many different passwords were seen in a namespace."""
        return len(self._passwords.get(namespace, ()))

    def __enter__(self) -> Self:
        self._running = [self._pool.submit(self._read, reader) for reader in range(_READERS)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._pool.shutdown()
        if error is None:
            for reader in self._running:
                reader.result()  # raises what a reader stumbled over: one that stopped early must not pass unnoticed

    def _read(self, reader: int) -> None:
        turn = reader * len(self._namespaces) // _READERS
        while not self._stop.wait(_PAUSE_S):
            namespace = self._namespaces[turn % len(self._namespaces)]
            turn += 1
            known = namespace in self._first
            try:
                found = look(self._control_plane, namespace, self._name)
            except (ApiException, HTTPError):
                with self._lock:
                    self._unanswered += known
                continue
            with self._lock:
                self._note(namespace, found, known=known)

    def _note(self, namespace: str, found: Sight | None, *, known: bool) -> None:
        """Count one answer. A 404 counts only if the Secret was known to exist before the request was sent."""
        if found is None:
            self._absent += known
            return
        self._answered += 1
        self._first.setdefault(namespace, found)
        self._uids.setdefault(namespace, set()).add(found.uid)
        self._passwords.setdefault(namespace, set()).add(found.password)
