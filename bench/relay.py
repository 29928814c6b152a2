"""Counts the bytes between a client and the API server, TLS and all, as the wire carries them."""

import socket
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_CHUNK = 64 * 1024


class Relay:
    """Passes connections on to `endpoint` unread and counts their bytes, while the `with` block lasts."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        self._target = (parts.hostname, parts.port)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.bytes = 0

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Shutting down wakes the thread that waits in accept; closing alone does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            with self._lock:
                self._open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while chunk := source.recv(_CHUNK):
                with self._lock:
                    self.bytes += len(chunk)
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            # The other side is gone, or the relay ends.
            return
