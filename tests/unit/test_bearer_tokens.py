"""The bearer token of a run is renewed ahead of time, and once more when it is refused."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

from upsert.adapters.eks import BearerTokens
from upsert.core.sensitive import Sensitive

WORKERS = 16


class Tokens:
    """Numbered tokens under a clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._numbers = itertools.count(1)
        self.bearer = BearerTokens(lambda: Sensitive(f"token-{next(self._numbers)}"), lambda: self.now)

    @property
    def current(self) -> str:
        return self.bearer.current().reveal()


def test_nothing_is_signed_before_it_is_needed() -> None:
    def sign() -> Sensitive[str]:
        raise AssertionError("signed too early")

    BearerTokens(sign)


def test_a_token_is_used_again_while_it_is_good() -> None:
    tokens = Tokens()

    assert tokens.current == "token-1"
    tokens.now += 600
    assert tokens.current == "token-1"


def test_a_token_is_renewed_minutes_before_its_end_each_time() -> None:
    tokens = Tokens()
    assert tokens.current == "token-1"
    tokens.now += 601
    assert tokens.current == "token-2"
    tokens.now += 601
    assert tokens.current == "token-3"


def test_a_refused_token_is_renewed_once() -> None:
    tokens = Tokens()
    first = tokens.bearer.current()

    assert tokens.bearer.renew(first)
    assert tokens.current == "token-2"
    assert not tokens.bearer.exhausted


def test_a_second_refusal_is_final() -> None:
    tokens = Tokens()
    tokens.bearer.renew(tokens.bearer.current())

    assert not tokens.bearer.renew(tokens.bearer.current())
    assert tokens.bearer.exhausted
    assert tokens.current == "token-2"


def test_one_who_was_refused_an_older_token_gets_the_new_one() -> None:
    tokens = Tokens()
    old = tokens.bearer.current()
    tokens.bearer.renew(old)

    assert tokens.bearer.renew(old)
    assert not tokens.bearer.exhausted
    assert tokens.current == "token-2"


def test_a_renewal_ahead_of_time_does_not_use_up_the_one_after_a_refusal() -> None:
    tokens = Tokens()
    tokens.bearer.current()
    tokens.now += 601

    assert tokens.bearer.renew(tokens.bearer.current())
    assert tokens.current == "token-3"


def test_workers_refused_together_share_one_renewal() -> None:
    tokens = Tokens()
    refused = tokens.bearer.current()
    together = threading.Barrier(WORKERS)

    def worker(_: int) -> tuple[bool, str]:
        together.wait(10)
        return tokens.bearer.renew(refused), tokens.current

    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(worker, range(WORKERS)))

    assert results == [(True, "token-2")] * WORKERS
    assert not tokens.bearer.exhausted


def test_workers_that_start_together_share_one_token() -> None:
    tokens = Tokens()
    together = threading.Barrier(WORKERS)

    def worker(_: int) -> str:
        together.wait(10)
        return tokens.current

    with ThreadPoolExecutor(WORKERS) as pool:
        assert set(pool.map(worker, range(WORKERS))) == {"token-1"}
