"""Eyes on the Secrets while they are rotated: readers that GET them all the time, and one watch on all of them."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self

import urllib3

from tests.support.controlplane import ControlPlane

_READERS = 4
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class Eyes:
    """Read the object `name` of each namespace from all sides while the `with` block lasts; `plural` is its resource.

    Every namespace must have it before. `reads` counts answers, `absent` those that were 404, `uids` what was seen in
    each namespace, `events` the watch's events by type. Secrets elsewhere do not count.
    """

    def __init__(
        self, control_plane: ControlPlane, name: str, namespaces: Sequence[str], *, plural: str = "secrets"
    ) -> None:
        root = f"{control_plane.endpoint}/api/v1"
        self._paths = [f"{root}/namespaces/{space}/{plural}/{name}" for space in namespaces]
        self._watch = f"{root}/{plural}?watch=true&fieldSelector=metadata.name%3D{name}"
        self._pool = urllib3.PoolManager(
            maxsize=_READERS + 1,
            ssl_context=control_plane.tls_context(),
            headers={"Authorization": f"Bearer {control_plane.token_of('admin')}", "Accept": _METADATA},
            retries=False,
        )
        self._namespaces = tuple(namespaces)
        self._threads = ThreadPoolExecutor(_READERS + 1, thread_name_prefix="eyes")
        self._running: list[Future[None]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.answers: Counter[int] = Counter()
        self.events: Counter[str] = Counter()
        self.uids: dict[str, set[str]] = defaultdict(set)

    @property
    def reads(self) -> int:
        """How many times a reader was told whether the Secret is there."""
        return self.answers[200] + self.answers[404]

    @property
    def absent(self) -> int:
        """How many times it was not."""
        return self.answers[404]

    def wait_for_reads(self, count: int) -> None:
        """Wait until there have been that many reads."""
        while self.reads < count and not any(reader.done() for reader in self._running):
            self._stop.wait(0.01)

    def wait_for_events(self, kind: str, count: int, timeout: float = 10.0) -> None:
        """Wait until the watch has told of that many events of a kind, at most `timeout` seconds."""
        for _ in range(round(timeout / 0.05)):
            if self.events[kind] >= count:
                return
            self._stop.wait(0.05)

    def __enter__(self) -> Self:
        self._stream = self._pool.request(
            "GET", self._watch, preload_content=False, timeout=urllib3.Timeout(connect=5, read=300)
        )
        self._running = [self._threads.submit(self._read, reader) for reader in range(_READERS)]
        self._running.append(self._threads.submit(self._follow))
        self.wait_for_events("ADDED", len(self._namespaces))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        # A watch that ended early has nothing to shut down; what ended it is raised below.
        with suppress(RuntimeError):
            self._stream.shutdown()
        self._threads.shutdown()
        self._pool.clear()
        if error is None:
            for eye in self._running:
                eye.result()  # an eye that closed early must not pass unnoticed

    def _read(self, reader: int) -> None:
        turn = reader * len(self._paths) // _READERS
        while not self._stop.is_set():
            index = turn % len(self._paths)
            turn += 1
            response = self._pool.request("GET", self._paths[index], timeout=urllib3.Timeout(connect=5, read=30))
            with self._lock:
                self.answers[response.status] += 1
                if response.status == 200:
                    self.uids[self._namespaces[index]].add(json.loads(response.data)["metadata"]["uid"])

    def _follow(self) -> None:
        rest = b""
        try:
            for chunk in self._stream.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    metadata = event["object"]["metadata"]
                    if metadata["namespace"] in self._namespaces:
                        with self._lock:
                            self.events[event["type"]] += 1
                            self.uids[metadata["namespace"]].add(metadata["uid"])
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            if not self._stop.is_set():
                raise
