"""One cluster's API server: requests sent, paced, and tried again as long as it is worth it and the time allows.

The official client brings the connection pool, TLS and the proxy rules. Its generated models are left alone: no value
is ever decoded.
"""

import ssl
import time
from collections.abc import Callable
from functools import partial
from threading import Lock

from tenacity import RetryCallState, Retrying, retry_if_result, wait_exponential_jitter
from urllib3 import HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError, SSLError
from urllib3.util import Timeout

from upsert.core import parsing
from upsert.core.answers import Answer, Page
from upsert.core.identity import FIELD_MANAGER, Identity
from upsert.core.sensitive import Sensitive
from upsert.kube import transport
from upsert.kube.access import ClusterAccess
from upsert.kube.bearer import BearerTokens
from upsert.kube.calls import Call
from upsert.kube.pace import CONCURRENCY, Pace

_PAGE = 500
_CONNECT_TIMEOUT_SECONDS = 5.0
# The server may hold a request in its queue for 15 seconds and work on a write for 34.
# https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go
_READ_TIMEOUT_SECONDS = 50.0
_LEAST_TIMEOUT_SECONDS = 1.0
# An endpoint's name can have that many addresses; each is tried for the whole connect timeout.
_ADDRESSES = 3
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
        self._connections = partial(transport.connections, access.endpoint, access.ca_pem, self.pace.most_in_all)
        self._pool = self._connections()
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
        tries, answered = 0, self.pace.answers

        def attempt() -> Answer[T]:
            nonlocal last
            # With no time for another try, what the try before came to is what is known.
            with self.pace.turn():
                last = self._attempt(call) or last
            return last

        # Nearly every request ends here. Setting up the retries costs as much as a tenth of the whole request.
        if not _is_worth_retrying(call, attempt()):
            return last
        made = [last]

        def gives_up(state: RetryCallState) -> bool:
            nonlocal tries, answered
            is_out = last.is_outage and answered == self.pace.answers > 0
            tries, answered = tries + (not is_out), self.pace.answers
            waited = time.monotonic() - state.start_time + state.upcoming_sleep
            is_enough = tries >= _TRIES or waited > _PATIENCE_SECONDS
            is_late = self.time_left() < state.upcoming_sleep
            return is_late or (is_enough and not last.is_throttled)

        return Retrying(
            retry=retry_if_result(lambda answer: _is_worth_retrying(call, answer)),
            # A growing, jittered time, and that much more than the server's Retry-After.
            wait=lambda state: last.retry_after + _backoff(state),
            stop=gives_up,
            retry_error_callback=lambda _: last,
        )(lambda: made.pop() if made else attempt())

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

    def _send[T](  # noqa: PLR0911 - one case per way in which an answer does not come
        self, token: Sensitive[str], call: Call[T]
    ) -> Answer[T] | None:
        if not self.may_start():
            return None
        with self._lock:
            self._requests += 1
        left = max(_LEAST_TIMEOUT_SECONDS, self._remaining() - SAFETY_MARGIN_SECONDS / 2)
        pool = self._pool
        try:
            response = pool.urlopen(
                call.method,
                call.path,
                headers={**call.headers, "Authorization": f"Bearer {token.reveal()}", "User-Agent": FIELD_MANAGER},
                body=call.body.reveal() if call.body else None,
                timeout=Timeout(
                    connect=min(_CONNECT_TIMEOUT_SECONDS, left / _ADDRESSES),
                    read=min(_READ_TIMEOUT_SECONDS, left),
                    total=left,
                ),
                # Retries are decided above, on what the answer says; a redirect is never followed, since the request
                # carries the bearer token and the Secret.
                retries=False,
                redirect=False,
                preload_content=False,
            )
            content = response.read(parsing.LONGEST_BODY + 1)
            if len(content) > parsing.LONGEST_BODY:
                response.close()
        except SSLError as error:
            # Only a certificate that fails verification is a matter of trust; the rest is a connection that broke.
            untrusted = isinstance(error.args[0], ssl.SSLCertVerificationError)
            return Answer(0, trouble="untrusted" if untrusted else "connection")
        except NewConnectionError:
            # Refused, or no such name; urllib3 derives it from ConnectTimeoutError all the same.
            return Answer(0, trouble="connection")
        except (ConnectTimeoutError, ReadTimeoutError):
            return Answer(0, trouble="timeout")
        except HTTPError:
            return Answer(0, trouble="connection")
        if len(content) > parsing.LONGEST_BODY:
            return Answer(response.status, trouble="too-long")
        answer = call.answer(response.status, response.headers, content)
        if response.status < 200 or answer.is_out_of_step:
            # An interim answer (103 Early Hints, say) is read as if it were the answer, and the real one is left for
            # the next request on that connection.
            self._abandon(pool)
            return answer if response.status >= 200 else Answer(0, trouble="connection")
        return answer

    def _abandon(self, pool: HTTPSConnectionPool) -> None:
        """Use no connection of a pool again: the bad one went back to it when it was read, for anybody to take."""
        with self._lock:
            if self._pool is pool:
                self._pool = self._connections()
        pool.close()


def _is_worth_retrying[T](call: Call[T], answer: Answer[T]) -> bool:
    return answer.is_worth_retrying and not (call.is_conditional and answer.is_precondition_failed)


_backoff = wait_exponential_jitter(multiplier=0.2, max=10.0, jitter=0.5)
