"""The number of requests at once falls when the server asks for it, comes back, and is never none."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from upsert.kube.pace import Pace


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock at zero."""
    return Clock()


def test_each_refusal_lowers_it_by_one_and_never_below_one(clock: Clock) -> None:
    pace = Pace(6, clock)
    limits = []
    for _ in range(8):
        pace.slow_down(2.0)
        limits.append(pace.limit)
    assert limits == [5, 4, 3, 2, 1, 1, 1, 1]
    with pace.turn():
        pass


@pytest.mark.parametrize(("asked", "pause"), [(5.0, 5.0), (0.0, 1.0)])
def test_after_nothing_but_refusals_the_server_gets_the_time_that_it_asks_for(
    clock: Clock, asked: float, pause: float
) -> None:
    pace = Pace(16, clock)
    for _ in range(15):
        pace.slow_down(asked)
    assert pace.wait() == 0.0
    pace.slow_down(asked)
    assert pace.wait() == pause
    clock.now = pause
    assert pace.wait() == 0.0
    pace.slow_down(asked)
    assert pace.wait() == pause


def test_refusals_of_some_among_answers_pause_nobody(clock: Clock) -> None:
    pace = Pace(16, clock)
    for _ in range(100):
        for _ in range(15):
            pace.slow_down(30.0)
        pace.answered()
    assert pace.wait() == 0.0


def test_it_grows_by_one_for_each_round_of_answers_up_to_where_it_began(clock: Clock) -> None:
    pace = Pace(6, clock)
    for _ in range(3):
        pace.slow_down(1.0)
    assert pace.limit == 3
    for _ in range(4):
        pace.answered()
    assert pace.limit == 4
    for _ in range(100):
        pace.answered()
    assert pace.limit == 6
    assert pace.answers == 104


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_than_the_limit_are_under_way_and_all_get_their_turn(limit: int) -> None:
    pace = Pace(limit)
    under_way = highest = 0
    lock = threading.Lock()

    def work(_: int) -> None:
        nonlocal under_way, highest
        with pace.turn():
            with lock:
                under_way += 1
                highest = max(highest, under_way)
            threading.Event().wait(0.002)
            with lock:
                under_way -= 1

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(work, range(60)))) == 60
    assert highest == limit


def test_a_turn_ends_with_its_block_also_when_that_raises() -> None:
    pace = Pace(1)
    for _ in range(3):
        with pytest.raises(KeyError), pace.turn():
            raise KeyError
