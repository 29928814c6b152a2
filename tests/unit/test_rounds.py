"""Rounds: everything gets one try before anything gets a second one, and who waits is in nobody's way."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from upsert import rounds
from upsert.kube.pace import Pace
from upsert.rounds import Again, in_rounds


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, unless the other side asks for patience."""
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.0)


class Log:
    """What was tried, in order. Threads may share it."""

    def __init__(self) -> None:
        self.tries: list[str] = []
        self._lock = threading.Lock()

    def note(self, item: str) -> int:
        """Note a try and return how many there were of that item before."""
        with self._lock:
            self.tries.append(item)
            return self.tries.count(item) - 1


def run(
    attempt: Callable[[str], str | Again[str]],
    items: Iterable[str],
    *,
    workers: int = 2,
    time_left: Callable[[], float] = lambda: 60.0,
    pace: Pace | None = None,
) -> list[str]:
    return list(
        in_rounds(
            attempt,
            items,
            pace=pace or Pace(workers),
            time_left=time_left,
            late=lambda item: f"{item} late",
            broken=lambda item, place: f"{item} broken at {place.partition(' ')[0]}",
        )
    )


def names(count: int) -> Sequence[str]:
    return [f"item-{number:03}" for number in range(count)]


def test_every_item_has_one_result() -> None:
    assert sorted(run(lambda item: f"{item} done", names(100))) == [f"{item} done" for item in names(100)]
    assert run(lambda item: item, []) == []


def test_no_item_gets_a_second_try_before_all_got_their_first() -> None:
    log = Log()

    def attempt(item: str) -> str | Again[str]:
        return Again("no") if log.note(item) < 2 else "yes"

    # One at a time, so that the order in which they are begun is the order of the log.
    assert run(attempt, names(50), workers=1) == ["yes"] * 50
    assert sorted(log.tries[:50]) == names(50)
    assert set(Counter(log.tries).values()) == {3}


def test_who_waits_is_in_nobodys_way() -> None:
    log = Log()

    def attempt(item: str) -> str | Again[str]:
        first = log.note(item) == 0
        return Again("no", wait=0.3) if first and item in ("item-000", "item-001") else item

    began = time.monotonic()
    found = run(attempt, names(30), workers=1)

    assert found[-2:] == ["item-000", "item-001"]
    assert time.monotonic() - began < 2.0


def test_what_does_not_pass_is_given_up_after_six_tries() -> None:
    log = Log()

    def attempt(item: str) -> Again[str]:
        log.note(item)
        return Again(f"{item} failed")

    assert run(attempt, ["a"]) == ["a failed"]
    assert len(log.tries) == 6


def test_while_nobody_is_answered_a_try_does_not_count() -> None:
    log, pace = Log(), Pace(1)
    pace.answered()

    def attempt(item: str) -> str | Again[str]:
        return Again("down", is_outage=True) if log.note(item) < 20 else "up"

    assert run(attempt, ["a"], pace=pace) == ["up"]


def test_while_others_are_answered_a_try_without_an_answer_counts() -> None:
    log, pace = Log(), Pace(1)
    pace.answered()

    def attempt(item: str) -> Again[str]:
        log.note(item)
        pace.answered()
        return Again("down", is_outage=True)

    assert run(attempt, ["a"], pace=pace) == ["down"]
    assert len(log.tries) <= 7


def test_patience_that_is_asked_for_is_given_beyond_six_tries() -> None:
    log = Log()

    def attempt(item: str) -> str | Again[str]:
        return Again("throttled", is_throttled=True) if log.note(item) < 10 else "done"

    assert run(attempt, ["a"]) == ["done"]


def test_a_wait_longer_than_the_time_left_is_not_begun() -> None:
    began = time.monotonic()

    assert run(lambda _: Again("throttled", wait=30.0, is_throttled=True), ["a"], time_left=lambda: 20.0) == [
        "throttled"
    ]
    assert time.monotonic() - began < 5.0


def test_without_time_nothing_is_begun_and_what_is_known_is_told() -> None:
    log = Log()
    end = time.monotonic() + 1.3

    def attempt(item: str) -> Again[str]:
        log.note(item)
        time.sleep(0.4)
        return Again(f"{item} failed", wait=0.1)

    found = run(attempt, ["a", "b"], workers=1, time_left=lambda: end - time.monotonic())

    assert sorted(found) == ["a failed", "b late"]
    assert log.tries == ["a"]


def test_a_bug_stays_its_own() -> None:
    def attempt(item: str) -> str:
        if item == "item-001":
            raise ValueError("a value")
        return item

    assert sorted(run(attempt, names(3))) == ["item-000", "item-001 broken at ValueError", "item-002"]


def test_what_hangs_does_not_hold_up_what_works() -> None:
    over = threading.Event()

    def attempt(item: str) -> str:
        if item < "item-008":
            over.wait(30)
        return item

    found: list[str] = []
    # Two may be young at once; eight hang, which is as many as there may be in all.
    work = in_rounds(
        attempt, names(12), pace=Pace(4), time_left=lambda: 60.0, late=str, broken=lambda item, _: f"{item} broken"
    )
    began = time.monotonic()
    for result in work:
        found.append(result)
        if len(found) == 4:
            over.set()

    assert sorted(found[:4]) == names(12)[8:]
    assert time.monotonic() - began < 10.0


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("ages", "wait"),
    [
        ([], 0.0),
        ([0.0], 0.0),
        ([0.0, 0.2], 0.8),
        ([0.0, 1.0], 0.0),
        ([1.0] * 7, 0.0),
        ([0.3, *[2.0] * 6], 0.0),
        ([0.3, 0.1, *[2.0] * 5], 0.7),
        ([5.0] * 8, float("inf")),
    ],
)
def test_a_pace_of_two_lets_two_young_ones_through_and_eight_in_all(ages: list[float], wait: float) -> None:
    clock = Clock()
    pace = Pace(2, clock)
    for age in ages:
        clock.now = 10.0 - age
        pace.start()
    clock.now = 10.0

    assert pace.wait() == pytest.approx(wait)


def test_the_end_of_one_makes_room_for_another() -> None:
    pace = Pace(1, Clock())
    turn: Any = pace.start()
    assert pace.wait() > 0

    pace.finish(turn)

    assert pace.wait() == 0.0
