"""The Kubernetes API server: namespaces listed, one Secret applied.

The official client brings the connection pool, TLS and the proxy rules. Its generated models are left alone: every
request here asks for metadata only, and no value is ever decoded.
"""

import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from urllib.parse import urlencode

import boto3
from tenacity import RetryCallState, Retrying, retry_if_result, wait_exponential_jitter
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError, SSLError
from urllib3.util import Timeout

from upsert.adapters import eks, transport
from upsert.adapters.eks import BearerTokens, ClusterAccess
from upsert.adapters.pace import Pace
from upsert.core import answers
from upsert.core.answers import Answer
from upsert.core.manifest import FIELD_MANAGER, WITHOUT_LAST_APPLIED
from upsert.core.sensitive import Sensitive
from upsert.errors import (
    ClusterError,
    ClusterNotTrusted,
    ClusterUnreachable,
    ListForbidden,
    SettingsError,
    Unauthorized,
    UnexpectedAnswer,
)

# Metadata only: the server itself leaves the values out. Plain JSON is the fallback that every server knows.
# https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"

_PAGE = 500
_CONNECT_TIMEOUT_SECONDS = 5.0
_READ_TIMEOUT_SECONDS = 20.0
_LEAST_TIMEOUT_SECONDS = 1.0
# An endpoint's name can have as many addresses; each is tried for the whole connect timeout.
_ADDRESSES = 3
# With the waits between them, six tries take about 8 seconds.
_TRIES = 6
_PATIENCE_SECONDS = 60.0
_RESTARTS = 3

# What a run keeps back of the function's time: for the last answers to come in and for the report to be written.
SAFETY_MARGIN_SECONDS = 10.0

# What makes an answer out of status, headers and body.
type _Reader = Callable[[int, Mapping[str, str], bytes], Answer]


class Cluster:
    """One cluster's API server, for one run. Threads may share it.

    `role` names the Kubernetes group that the function is in; `role_file` says what that group may do.
    """

    role = "eks-upsert"
    role_file = "rbac/refresher.yaml"

    def __init__(
        self, access: ClusterAccess, bearer: BearerTokens, *, concurrency: int, remaining: Callable[[], float]
    ) -> None:
        """`concurrency` is the number of connections kept; `remaining` gives the seconds that the function has left."""
        self._endpoint = access.endpoint.rstrip("/")
        self._bearer = bearer
        self._remaining = remaining
        self._pool = transport.connections(self._endpoint, access.ca_pem, concurrency)
        self._pace = Pace(concurrency)
        self._lock = Lock()
        self._requests = 0

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far, retries included."""
        return self._requests

    def may_start(self) -> bool:
        """Return whether enough of the function's time is left to start on another namespace."""
        return self._remaining() >= SAFETY_MARGIN_SECONDS

    def namespaces(self, selector: str, names: Sequence[str] = ()) -> list[str]:
        """Return the names of all namespaces that match the label selector, empty for all, read in pages.

        If `names` are given, only these are asked for, by the label that every namespace has:
        https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name
        Raises a `ClusterError`, or a `SettingsError` if the server does not understand the selector.
        """
        by_name = f"kubernetes.io/metadata.name in ({','.join(names)})" if names else ""
        wanted = ",".join(part for part in (selector, by_name) if part)
        pages = self._pages("/api/v1/namespaces", {"labelSelector": wanted}, _METADATA_LIST)
        if pages[-1].status == 410:
            raise UnexpectedAnswer(
                f"{self._endpoint} let a list of namespaces expire {_RESTARTS} times; it is overloaded, or its etcd is "
                "compacted too often. No namespace was touched"
            )
        if not pages[-1].succeeded:
            raise self._why_no_list(pages[-1], selector)
        return [name for page in pages for name in page.names]

    def apply(self, namespace: str, name: str, manifest: Sensitive[bytes], *, force: bool, dry_run: bool) -> Answer:
        """Return the answer to one server-side apply of `manifest` as the Secret `name`.

        Unforced, it changes no field that another field manager holds:
        https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
        """
        query = {"fieldManager": FIELD_MANAGER, "force": "true" if force else "false"}
        return self._patch(namespace, name, query, "application/apply-patch+yaml", manifest.reveal(), dry_run=dry_run)

    def remove_last_applied(self, namespace: str, name: str, *, dry_run: bool) -> Answer:
        """Return the answer to the removal of kubectl's annotation, which holds an older value in full."""
        query = {"fieldManager": FIELD_MANAGER}
        content_type = "application/merge-patch+json"
        return self._patch(namespace, name, query, content_type, WITHOUT_LAST_APPLIED, dry_run=dry_run)

    def _patch(
        self, namespace: str, name: str, query: dict[str, str], content_type: str, body: bytes, *, dry_run: bool
    ) -> Answer:
        query |= {"dryRun": "All"} if dry_run else {}
        headers = {"Accept": METADATA, "Content-Type": content_type}
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}?{urlencode(query)}"
        return self._call("PATCH", path, headers, body)

    def _pages(
        self, path: str, query: Mapping[str, str], accept: str, read: _Reader = answers.read_page
    ) -> list[Answer]:
        """Return the pages of a list, the last of which tells whether it is whole."""
        pages: list[Answer] = []
        for _ in range(_RESTARTS):
            pages, token, limit = [], "", _PAGE
            while not pages or token:
                asked = {"limit": str(limit), **query, "continue": token}
                whole = f"{path}?{urlencode({key: value for key, value in asked.items() if value})}"
                page = self._call("GET", whole, {"Accept": accept}, None, read)
                if page.trouble == "too-long" and limit > 1:
                    # Annotations, which anybody who owns a namespace may have filled: ask for fewer at once.
                    limit //= 4
                    continue
                pages.append(page)
                token = page.continue_token
            # 410: the snapshot that the token points into is gone from the server, and what was read may be old.
            if pages[-1].status != 410:
                break
        return pages

    def _call(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, read: _Reader = answers.read
    ) -> Answer:
        """Return the last answer to the request, after as many tries as it is worth and the time allows.

        A request that fails while others succeed gets a few tries. While the server answers nobody, though it did
        before, the fault is not in the request and a try does not count, for a minute. A server that asks for patience
        gets it until the time is over.
        """
        last = Answer(0, trouble="no-time")
        tries, answered = 0, self._pace.answers

        def attempt() -> Answer:
            nonlocal last
            # With no time for another try, what the try before came to is what is known.
            last = self._attempt(method, path, headers, body, read) or last
            return last

        # Nearly every request ends here. Setting up the retries costs as much as a tenth of the whole request.
        if not attempt().is_worth_retrying:
            return last
        made = [last]

        def gives_up(state: RetryCallState) -> bool:
            nonlocal tries, answered
            is_out = last.is_outage and answered == self._pace.answers > 0
            tries, answered = tries + (not is_out), self._pace.answers
            waited = time.monotonic() - state.start_time + state.upcoming_sleep
            is_enough = tries >= _TRIES or waited > _PATIENCE_SECONDS
            is_late = self._remaining() - state.upcoming_sleep < SAFETY_MARGIN_SECONDS
            return is_late or (is_enough and not last.is_throttled)

        return Retrying(
            retry=retry_if_result(lambda answer: answer.is_worth_retrying),
            # A growing, jittered time, and that much more than the server's Retry-After.
            wait=lambda state: last.retry_after + _backoff(state),
            stop=gives_up,
            retry_error_callback=lambda _: last,
        )(lambda: made.pop() if made else attempt())

    def _attempt(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None, read: _Reader
    ) -> Answer | None:
        """Return the answer to one try, or None if no time was left to send anything."""
        with self._pace.turn():
            token = self._bearer.current()
            if self._bearer.exhausted:
                return Answer(401)
            answer = self._send(token, method, path, headers, body, read)
            if answer and answer.is_unauthenticated and self._bearer.renew(token):
                answer = self._send(self._bearer.current(), method, path, headers, body, read)
        if answer and answer.asks_for_less:
            self._pace.slow_down(answer.retry_after)
        elif answer and not answer.is_worth_retrying:
            self._pace.answered()
        return answer

    def _send(  # noqa: PLR0911 - one case per way in which an answer does not come
        self,
        token: Sensitive[str],
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        read: _Reader,
    ) -> Answer | None:
        if not self.may_start():
            return None
        with self._lock:
            self._requests += 1
        left = max(_LEAST_TIMEOUT_SECONDS, self._remaining() - SAFETY_MARGIN_SECONDS / 2)
        try:
            response = self._pool.urlopen(
                method,
                path,
                headers={**headers, "Authorization": f"Bearer {token.reveal()}", "User-Agent": FIELD_MANAGER},
                body=body,
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
            content = response.read(answers.LONGEST_BODY + 1)
            if len(content) > answers.LONGEST_BODY:
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
        if len(content) > answers.LONGEST_BODY:
            return Answer(response.status, trouble="too-long")
        return read(response.status, response.headers, content)

    def _why_no_list(  # noqa: PLR0911 - one case per answer reads best in one place
        self, page: Answer, selector: str
    ) -> ClusterError | SettingsError:
        match page.status, page.trouble:
            case 400, "":
                return SettingsError([f"NAMESPACE_SELECTOR: the API server does not understand {selector!r}"])
            case 401, _:
                return Unauthorized(
                    f"{self._endpoint} does not accept the function's role (401); create its access entry (or its "
                    f"aws-auth mapping), with the Kubernetes group {self.role}. No namespace was touched"
                )
            case 403, _:
                return ListForbidden(
                    f"{self._endpoint} knows the function's role but lets it not list namespaces (403); apply "
                    f"{self.role_file}, and check that the access entry names the group {self.role}. No namespace was "
                    "touched"
                )
            case 0, "no-time":
                return ClusterUnreachable(
                    f"the function's time was nearly over before {self._endpoint} had listed its namespaces; raise "
                    "Timeout. No namespace was touched"
                )
            case 0, "timeout":
                return ClusterUnreachable(
                    f"{self._endpoint} did not answer in time; a private endpoint is reached only from its VPC: set "
                    "SubnetIds and SecurityGroupIds, and let the cluster's security group admit them on port 443. "
                    "No namespace was touched"
                )
            case 0, "untrusted":
                return ClusterNotTrusted(
                    f"the certificate of {self._endpoint} is not signed by the cluster's certificate authority; look "
                    "for a proxy that opens TLS, or a cluster that was created anew under the same name. No namespace "
                    "was touched"
                )
            case 0, _:
                return ClusterUnreachable(
                    f"no connection to {self._endpoint}: refused, reset, or the name does not resolve; check the "
                    "endpoint, the proxy variables and the VPC's DNS. No namespace was touched"
                )
            case 429 | 500 | 502 | 503 | 504 as status, _:
                return ClusterUnreachable(
                    f"{self._endpoint} answered the list of namespaces with status {status} each time; it, or the load "
                    "balancer before it, is overloaded or down. No namespace was touched"
                )
            case status, _:
                return UnexpectedAnswer(
                    f"{self._endpoint} answered the list of namespaces with status {status}, not with what a "
                    "Kubernetes API server sends; look for a proxy or load balancer. No namespace was touched"
                )


def connect[C: Cluster](
    session: boto3.Session,
    cluster_name: str,
    *,
    concurrency: int,
    remaining: Callable[[], float],
    conceal: Callable[[Sensitive[str]], None],
    kind: type[C] = Cluster,  # type: ignore[assignment] # a default of a type variable, python/mypy#3737
) -> C:
    """Return the EKS cluster of that name, to be called with the session's identity; `conceal` gets its bearer tokens.

    Raises a `ClusterError` if EKS does not tell where it is.
    """

    def sign() -> Sensitive[str]:
        token = eks.sign_bearer_token(session, cluster_name)
        conceal(token)
        return token

    access = eks.describe(session, cluster_name)
    return kind(access, eks.BearerTokens(sign), concurrency=concurrency, remaining=remaining)


_backoff = wait_exponential_jitter(multiplier=0.2, max=10.0, jitter=0.5)
