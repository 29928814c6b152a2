"""How many requests are under way at once."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

# More young requests than these at once gain nothing: the time goes into TLS and JSON, on one processor.
CONCURRENCY = 16
# A server that refuses so many requests in a row gets the time that it asks for, or this much if it names none.
_REFUSED_IN_A_ROW = 16
_LEAST_PAUSE_SECONDS = 1.0
# A request that takes longer hangs, as on an admission webhook that is dead: it is no load for anybody else, so more
# may be started beside it.
_YOUNG_SECONDS = 1.0
# So many hang at most, for each that may be young. The API server gives every one of them a seat of its fair share:
# https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
_IN_ALL = 4


class Pace:
    """Lets fewer requests through at once when the server asks for it, and more again while it answers.

    Shared by all workers. Its limit is on requests that are young, and, four times as high, on all. It falls by one
    with each refusal, so that it is soon what the server takes, and rises by one for each full round of answers. One
    request is always let through, unless nothing but refusals came for a while: then none is, for as long as the server
    asks.
    `answers` counts the requests that the server worked on.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`most` is the highest number of young requests at once; `clock` counts seconds."""
        self.most_in_all = most * _IN_ALL
        self.answers = 0
        self._most = float(most)
        self._limit = float(most)
        self._clock = clock
        self._changed = Condition()
        self._turns = itertools.count()
        self._under_way: dict[int, float] = {}
        self._refused_in_a_row = 0
        self._paused_until = float("-inf")

    @property
    def limit(self) -> int:
        """Return how many young requests may be under way at once now."""
        return int(self._limit)

    def wait(self) -> float:
        """Return the seconds until one more may be started: 0 for now, infinity if only the end of one allows it."""
        with self._changed:
            return self._wait()

    def start(self) -> int:
        """Count one more as under way, and return its turn."""
        with self._changed:
            return self._start()

    def finish(self, turn: int) -> None:
        """Count it as under way no more."""
        with self._changed:
            del self._under_way[turn]
            self._changed.notify_all()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until one more may be started, and count it as under way while the block lasts."""
        with self._changed:
            while (seconds := self._wait()) > 0:
                self._changed.wait(None if seconds == float("inf") else seconds)
            turn = self._start()
        try:
            yield
        finally:
            self.finish(turn)

    def slow_down(self, seconds: float) -> None:
        """Note that the server refused a request, and asks for so many seconds."""
        with self._changed:
            self._limit = max(1.0, self._limit - 1)
            self._refused_in_a_row += 1
            if self._refused_in_a_row >= _REFUSED_IN_A_ROW:
                self._paused_until = self._clock() + max(seconds, _LEAST_PAUSE_SECONDS)

    def answered(self) -> None:
        """Note that the server did its work on a request."""
        with self._changed:
            self.answers += 1
            self._refused_in_a_row = 0
            self._limit = min(self._most, self._limit + 1 / self._limit)
            self._changed.notify_all()

    def _start(self) -> int:
        turn = next(self._turns)
        self._under_way[turn] = self._clock()
        return turn

    def _wait(self) -> float:
        if len(self._under_way) >= self.limit * _IN_ALL:
            return float("inf")
        now = self._clock()
        if now < self._paused_until:
            return self._paused_until - now
        if len(self._under_way) < self.limit:
            return 0.0
        young = [age for began in self._under_way.values() if (age := now - began) < _YOUNG_SECONDS]
        return 0.0 if len(young) < self.limit else _YOUNG_SECONDS - max(young)
