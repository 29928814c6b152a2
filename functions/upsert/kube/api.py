"""One cluster's API server: requests sent, paced, and tried again as long as it is worth it and the time allows.

No value is ever decoded.
"""

import time
from collections.abc import Callable
from threading import Lock

from upsert.core import parsing
from upsert.core.answers import Answer, Page
from upsert.core.identity import FIELD_MANAGER, Identity
from upsert.core.sensitive import Sensitive
from upsert.kube.access import ClusterAccess
from upsert.kube.bearer import BearerTokens
from upsert.kube.calls import Call
from upsert.kube.pace import CONCURRENCY, Pace
from upsert.kube.transport import Connections
from upsert.rounds import backoff

_PAGE = 500
# The server may hold a request in its queue for 15 seconds and work on a write for 34.
# https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go
_TIMEOUT_SECONDS = 50.0
_LEAST_TIMEOUT_SECONDS = 1.0
# With the waits between them, six tries take about 8 seconds.
_TRIES = 6
_PATIENCE_SECONDS = 60.0
RESTARTS = 3

# What a run keeps back of the function's time: for the last answers to come in and for the report to be written.
SAFETY_MARGIN_SECONDS = 10.0


class Api:
    """One cluster's API server, for one run of one function. Threads may share it."""

    def __init__(
        self,
        access: ClusterAccess,
        bearer: BearerTokens,
        identity: Identity,
        *,
        remaining: Callable[[], float],
        concurrency: int = CONCURRENCY,
    ) -> None:
        """`remaining` gives the seconds that the function has left, `concurrency` is the number of connections kept."""
        self.endpoint = access.endpoint
        self.identity = identity
        self.concurrency = concurrency
        self._bearer = bearer
        self._remaining = remaining
        self.pace = Pace(concurrency)
        self._connections = Connections(access.endpoint, access.ca_pem)
        self._lock = Lock()
        self._requests = 0

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far, retries included."""
        return self._requests

    def time_left(self) -> float:
        """Return the seconds until nothing more may be started: less than the function has, so that it can report."""
        return self._remaining() - SAFETY_MARGIN_SECONDS

    def may_start(self) -> bool:
        """Return whether enough of the function's time is left to start on something else."""
        return self.time_left() >= 0

    def pages[I](self, page_of: Callable[[str, str], Call[Page[I]]]) -> list[Answer[Page[I]]]:
        """Return the pages of a list, the last of which tells whether it is whole.

        `page_of` makes the request for a page, of the most items that it may hold and the token to go on with.
        """
        pages: list[Answer[Page[I]]] = []
        for _ in range(RESTARTS):
            pages, token, limit = [], "", _PAGE
            while not pages or token:
                page = self.send(page_of(str(limit), token))
                if page.trouble == "too-long" and limit > 1:
                    # Annotations, which anybody who owns a namespace may have filled: ask for fewer at once.
                    limit //= 4
                    continue
                pages.append(page)
                token = page.value.continue_token if page.value else ""
            # 410: the snapshot that the token points into is gone from the server, and what was read may be old.
            if pages[-1].status != 410:
                break
        return pages

    def try_once[T](self, call: Call[T]) -> Answer[T]:
        """Return the answer to one try, for who decides about pace and further tries."""
        return self._attempt(call) or Answer(0, trouble="no-time")

    def send[T](self, call: Call[T]) -> Answer[T]:
        """Return the last answer to the request, after as many tries as it is worth and the time allows.

        A request that fails while others succeed gets a few tries. While the server answers nobody, though it did
        before, the fault is not in the request and a try does not count, for a minute. A server that asks for patience
        gets it until the time is over.
        """
        last: Answer[T] = Answer(0, trouble="no-time")
        tries, answered, began = 0, self.pace.answers, time.monotonic()
        while True:
            with self.pace.turn():
                # With no time for another try, what the try before came to is what is known.
                last = self._attempt(call) or last
            if not last.is_worth_retrying:
                return last
            is_out = last.is_outage and answered == self.pace.answers > 0
            tries, answered = tries + (not is_out), self.pace.answers
            # The wait grows, is jittered, and is that much longer than the server's Retry-After.
            wait = last.retry_after + backoff(tries)
            is_enough = tries >= _TRIES or time.monotonic() - began + wait > _PATIENCE_SECONDS
            if self.time_left() < wait or (is_enough and not last.is_throttled):
                return last
            time.sleep(wait)

    def _attempt[T](self, call: Call[T]) -> Answer[T] | None:
        """Return the answer to one try, or None if no time was left to send anything."""
        token = self._bearer.current()
        if self._bearer.exhausted:
            return Answer(401)
        answer = self._send(token, call)
        if answer and answer.is_unauthenticated and self._bearer.renew(token):
            answer = self._send(self._bearer.current(), call)
        if answer and answer.asks_for_less:
            self.pace.slow_down(answer.retry_after)
        elif answer and not answer.is_worth_retrying:
            self.pace.answered()
        return answer

    def _send[T](self, token: Sensitive[str], call: Call[T]) -> Answer[T] | None:
        if not self.may_start():
            return None
        with self._lock:
            self._requests += 1
        left = max(_LEAST_TIMEOUT_SECONDS, self._remaining() - SAFETY_MARGIN_SECONDS / 2)
        connection = self._connections.take()
        reply = connection.send(
            call.method,
            call.path,
            {**call.headers, "Authorization": f"Bearer {token.reveal()}", "User-Agent": FIELD_MANAGER},
            call.body.reveal() if call.body else None,
            seconds=min(_TIMEOUT_SECONDS, left),
            longest=parsing.LONGEST_BODY,
        )
        # A connection that is not given back is closed.
        if reply.trouble:
            return Answer(reply.status if reply.trouble == "too-long" else 0, trouble=reply.trouble)
        answer = call.answer(reply.status, reply.headers, reply.body)
        if not answer.is_out_of_step:
            self._connections.give_back(connection)
        return answer
