"""A server on bare sockets, for what no HTTP library would send."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.certificates import ServingCertificate
from tests.support.standin import server_tls


@contextmanager
def raw_server(handle: Callable[[socket.socket], None], certificate: ServingCertificate | None = None) -> Iterator[str]:
    """Let `handle` have each connection, over TLS if there is a certificate, and give the server's address.

    Each connection has a thread, and is closed when `handle` returns. What goes wrong on it ends it alone.
    """
    tls = server_tls(certificate) if certificate else None

    def serve(accepted: socket.socket) -> None:
        try:
            with tls.wrap_socket(accepted, server_side=True) if tls else accepted as connection:
                handle(connection)
        except OSError:
            accepted.close()

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:

        def accept() -> None:
            while True:
                try:
                    accepted, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(accepted,), daemon=True).start()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
