"""Free ports of the loopback interface."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """Hold a free port of 127.0.0.1 while the block runs, and yield its number.

    The socket is bound but does not listen. While it exists the kernel gives the port to nobody who asks for "any
    port", yet a server that sets SO_REUSEADDR (Go and asyncio do) can bind it by number. So hold it until that server
    is ready, and no other process can take the port in between.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
