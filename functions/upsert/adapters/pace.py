"""How many requests are under way at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

# A server that is overloaded but names no time gets this much before it is asked for less once more.
_LEAST_WINDOW_SECONDS = 1.0


class Pace:
    """Lets fewer requests through at once when the server asks for it, and more again while it answers.

    Shared by all workers. It halves at most once per window, since the requests that were under way together are
    refused together, and comes back by one for each full round of answers, as TCP does (RFC 5681). It never stands
    still: one request is always let through. `answers` counts the requests that the server worked on.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`most` is the highest number of requests at once; `clock` counts seconds."""
        self._most = float(most)
        self._limit = float(most)
        self._clock = clock
        self._changed = Condition()
        self._under_way = 0
        self._halved_until = float("-inf")
        self.answers = 0

    @property
    def limit(self) -> int:
        """Return how many requests may be under way at once now."""
        return int(self._limit)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until one more request may be under way, and count it as such while the block lasts."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way < self.limit)
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def slow_down(self, seconds: float) -> None:
        """Halve the number of requests at once, unless that was done within the last `seconds` already."""
        with self._changed:
            now = self._clock()
            if now >= self._halved_until:
                self._limit = max(1.0, self._limit / 2)
                self._halved_until = now + max(seconds, _LEAST_WINDOW_SECONDS)

    def answered(self) -> None:
        """Note that the server did its work on a request."""
        with self._changed:
            self.answers += 1
            self._limit = min(self._most, self._limit + 1 / self._limit)
            self._changed.notify_all()
