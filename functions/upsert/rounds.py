"""The same work on many things at once, in rounds: each gets one try before any gets a second one.

What has to wait for another try waits here and not in a worker, so that it never takes the place of what could go on.
"""

import heapq
import itertools
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Final, Protocol

from upsert.border import place_of

# With the waits between them, six tries take about 8 seconds.
_TRIES = 6
_PATIENCE_SECONDS = 60.0
# What is begun with less time than this would be cut off.
_LEAST_SECONDS = 1.0


class Pacing(Protocol):
    """How many may be under way at once; `answers` counts those that were dealt with so far."""

    most_in_all: int
    answers: int

    def wait(self) -> float: ...
    def start(self) -> int: ...
    def finish(self, turn: int) -> None: ...


class Again[R]:
    """What a try came to that may well succeed later; `result` is what it comes to if it is the last one.

    `wait` is how many seconds the other side asks for. While it `is_outage` for everybody, the fault is not in the
    work; `is_throttled` says that the other side asks for patience.
    """

    def __init__(self, result: R, wait: float = 0.0, is_outage: bool = False, is_throttled: bool = False) -> None:
        # Final, or mypy would take R for invariant.
        self.result: Final = result
        self.wait: Final = wait
        self.is_outage: Final = is_outage
        self.is_throttled: Final = is_throttled


class _Task[T, R]:
    __slots__ = ("answers", "began", "item", "last", "tries")

    def __init__(self, item: T) -> None:
        self.item = item
        self.tries = 0
        self.began = 0.0
        self.answers = 0
        self.last: R | None = None


class _Rounds[T, R]:
    """The state of one run: what was never tried, what waits for another try, and what is under way."""

    def __init__(self, items: Iterable[T], pace: Pacing, time_left: Callable[[], float]) -> None:
        self.fresh = deque(_Task[T, R](item) for item in items)
        self.later: list[tuple[float, int, _Task[T, R]]] = []
        self.under_way = 0
        self._order = itertools.count()
        self._pace = pace
        self._time_left = time_left

    def is_over(self) -> bool:
        """Return whether every item came to its end."""
        return not (self.fresh or self.later or self.under_way)

    def next(self) -> _Task[T, R] | None:
        """Return the next to be tried now, if any: one that was never tried, or one whose wait is over."""
        if self.fresh:
            return self.fresh.popleft()
        if self.later and (self.later[0][0] <= time.monotonic() or self._time_left() < _LEAST_SECONDS):
            return heapq.heappop(self.later)[2]
        return None

    def pause(self) -> float | None:
        """Return the seconds until there may be something to start, None if only an answer can change that."""
        now = time.monotonic()
        due = 0.0 if self.fresh else max(0.0, self.later[0][0] - now) if self.later else None
        wait = self._pace.wait()
        return None if due is None or wait == float("inf") else max(due, wait)

    def put_back(self, task: _Task[T, R], again: Again[R]) -> bool:
        """Let the task wait for another try; return false if this was its last one."""
        task.last = again.result
        is_out = again.is_outage and task.answers == self._pace.answers > 0
        task.tries += not is_out
        task.answers = self._pace.answers
        now = time.monotonic()
        # The wait grows, is jittered, and is that much longer than what the other side asks for.
        wait = again.wait + backoff(task.tries)
        is_enough = task.tries >= _TRIES or now + wait - task.began > _PATIENCE_SECONDS
        if wait > self._time_left() - _LEAST_SECONDS or (is_enough and not again.is_throttled):
            return False
        heapq.heappush(self.later, (now + wait, next(self._order), task))
        return True


def in_rounds[T, R](
    attempt: Callable[[T], R | Again[R]],
    items: Iterable[T],
    *,
    pace: Pacing,
    time_left: Callable[[], float],
    late: Callable[[T], R],
    broken: Callable[[T, str], R],
) -> Iterator[R]:
    """Yield what each item comes to, as it comes, after as many tries as it is worth and `time_left` allows.

    One try that fails while others succeed gets a few more. While nobody is answered, though somebody was before, the
    fault is not in the item and a try does not count, for a minute. Who asks for patience gets it until the time is
    over. `late` makes the result of an item that was never tried, `broken` that of one that met a bug, with its place.
    """
    rounds = _Rounds[T, R](items, pace, time_left)
    finished: SimpleQueue[tuple[_Task[T, R], int, Future[R | Again[R]]]] = SimpleQueue()
    with ThreadPoolExecutor(pace.most_in_all, thread_name_prefix="worker") as pool:

        def start(task: _Task[T, R]) -> None:
            task.began = task.began or time.monotonic()
            task.answers = task.answers or pace.answers
            rounds.under_way += 1
            turn = pace.start()
            future = pool.submit(attempt, task.item)
            future.add_done_callback(lambda done: finished.put((task, turn, done)))

        while not rounds.is_over():
            while pace.wait() <= 0 and (task := rounds.next()):
                if time_left() >= _LEAST_SECONDS:
                    start(task)
                else:
                    yield late(task.item) if task.last is None else task.last
            if rounds.is_over():
                break
            try:
                task, turn, done = finished.get(timeout=rounds.pause())
            except Empty:
                continue
            rounds.under_way -= 1
            pace.finish(turn)
            if bug := done.exception():
                yield broken(task.item, place_of(bug))
                continue
            result = done.result()
            if not isinstance(result, Again):
                yield result
            elif not rounds.put_back(task, result):
                yield result.result


def backoff(tries: int) -> float:
    """Return the seconds to wait after so many tries: more each time, at most some ten, and never the same."""
    return min(0.2 * 2.0 ** max(0, tries - 1), 10.0) + random.uniform(0, 0.5)  # noqa: S311 - jitter is no secret
