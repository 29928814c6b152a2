"""The Kubernetes API server: namespaces listed, one Secret applied.

The official client brings the connection pool, TLS and the proxy rules. Its generated models are left alone: every
request here asks for metadata only, and no value is ever decoded.
"""

import ssl
from collections.abc import Callable, Mapping
from threading import Lock
from urllib.parse import urlencode
from urllib.request import getproxies

import boto3
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt, wait_exponential_jitter
from urllib3 import PoolManager
from urllib3.exceptions import ConnectTimeoutError, HTTPError, ReadTimeoutError, SSLError
from urllib3.util import Timeout

from pullsecret.adapters import eks
from pullsecret.adapters.eks import BearerTokens, ClusterAccess
from pullsecret.core import answers
from pullsecret.core.answers import Answer
from pullsecret.core.manifest import FIELD_MANAGER, WITHOUT_LAST_APPLIED
from pullsecret.core.sensitive import Sensitive
from pullsecret.errors import (
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
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"

_PAGE = 500
_CONNECT_TIMEOUT_SECONDS = 5.0
_READ_TIMEOUT_SECONDS = 20.0
_LEAST_READ_TIMEOUT_SECONDS = 1.0
_ATTEMPTS = 8
_RESTARTS = 3

# What a run keeps back of the function's time: for the last answers to come in and for the report to be written.
SAFETY_MARGIN_SECONDS = 10.0


class Cluster:
    """One cluster's API server, for one run. Threads may share it."""

    def __init__(
        self, access: ClusterAccess, bearer: BearerTokens, *, concurrency: int, remaining: Callable[[], float]
    ) -> None:
        """`concurrency` is the number of connections kept; `remaining` gives the seconds that the function has left."""
        self._endpoint = access.endpoint.rstrip("/")
        self._bearer = bearer
        self._remaining = remaining
        self._pool = _pool(self._endpoint, access.ca_pem, concurrency)
        self._lock = Lock()
        self._requests = 0
        self._retrying = Retrying(
            retry=retry_if_result(lambda answer: answer.is_worth_retrying),
            wait=_wait,
            stop=lambda state: _is_last(state) or remaining() - state.upcoming_sleep < SAFETY_MARGIN_SECONDS,
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far, retries included."""
        return self._requests

    def may_start(self) -> bool:
        """Return whether enough of the function's time is left to start on another namespace."""
        return self._remaining() >= SAFETY_MARGIN_SECONDS

    def namespaces(self, selector: str) -> list[str]:
        """Return the names of all namespaces that match the label selector, empty for all, read in pages.

        Raises a `ClusterError`, or a `SettingsError` if the server does not understand the selector.
        """
        for _ in range(_RESTARTS):
            names: list[str] = []
            token = ""
            while True:
                page = self._page(selector, token)
                if page.status == 410:
                    # The snapshot that the token points into is gone from the server; what was read may be old.
                    break
                if not page.succeeded:
                    raise self._why_no_list(page, selector)
                names.extend(page.names)
                if not page.continue_token:
                    return names
                token = page.continue_token
        raise UnexpectedAnswer(
            f"{self._endpoint} let a list of namespaces expire {_RESTARTS} times; it is overloaded, or its etcd is "
            "compacted too often. No namespace was touched"
        )

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
        headers = {"Accept": _METADATA, "Content-Type": content_type}
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}?{urlencode(query)}"
        return self._call("PATCH", path, headers, body)

    def _page(self, selector: str, token: str) -> Answer:
        query = {"limit": str(_PAGE), "labelSelector": selector, "continue": token}
        path = f"/api/v1/namespaces?{urlencode({key: value for key, value in query.items() if value})}"
        return self._call("GET", path, {"Accept": _METADATA_LIST}, None)

    def _call(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        answer: Answer = self._retrying.copy()(self._attempt, method, path, headers, body)
        return answer

    def _attempt(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        token = self._bearer.current()
        if self._bearer.exhausted:
            return Answer(401)
        answer = self._send(token, method, path, headers, body)
        if answer.status == 401 and self._bearer.renew(token):
            answer = self._send(self._bearer.current(), method, path, headers, body)
        return answer

    def _send(
        self, token: Sensitive[str], method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        with self._lock:
            self._requests += 1
        left = self._remaining() - SAFETY_MARGIN_SECONDS / 2
        read_timeout = max(_LEAST_READ_TIMEOUT_SECONDS, min(_READ_TIMEOUT_SECONDS, left))
        try:
            response = self._pool.request(
                method,
                self._endpoint + path,
                headers={**headers, "Authorization": f"Bearer {token.reveal()}", "User-Agent": FIELD_MANAGER},
                body=body,
                timeout=Timeout(connect=_CONNECT_TIMEOUT_SECONDS, read=read_timeout),
                # Retries are decided above, on what the answer says; a redirect is never followed, since the request
                # carries the bearer token.
                retries=False,
                preload_content=False,
            )
            content = response.read(answers.LONGEST_BODY + 1)
            if len(content) > answers.LONGEST_BODY:
                response.close()
        except SSLError:
            raise ClusterNotTrusted(
                f"the certificate of {self._endpoint} is not signed by the cluster's certificate authority; look for a "
                "proxy that opens TLS, or a cluster that was created anew under the same name"
            ) from None
        except (ConnectTimeoutError, ReadTimeoutError):
            return Answer(0, trouble="timeout")
        except HTTPError:
            return Answer(0, trouble="connection")
        return answers.read(response.status, response.headers, content)

    def _why_no_list(self, page: Answer, selector: str) -> ClusterError | SettingsError:
        match page.status, page.trouble:
            case 400, "":
                return SettingsError([f"NAMESPACE_SELECTOR: the API server does not understand {selector!r}"])
            case 401, _:
                return Unauthorized(
                    f"{self._endpoint} does not accept the function's role (401); create its access entry (or its "
                    "aws-auth mapping), with the Kubernetes group pull-secret-refresher. No namespace was touched"
                )
            case 403, _:
                return ListForbidden(
                    f"{self._endpoint} knows the function's role but lets it not list namespaces (403); apply "
                    "cluster/refresher-rbac.yaml, and check that the access entry names the group "
                    "pull-secret-refresher. No namespace was touched"
                )
            case 0, "timeout":
                return ClusterUnreachable(
                    f"{self._endpoint} did not answer in time; a private endpoint is reached only from its VPC: set "
                    "SubnetIds and SecurityGroupIds, and let the cluster's security group admit them on port 443. "
                    "No namespace was touched"
                )
            case 0, _:
                return ClusterUnreachable(
                    f"no connection to {self._endpoint}: refused, reset, or the name does not resolve; check the "
                    "endpoint, the proxy variables and the VPC's DNS. No namespace was touched"
                )
            case status, _:
                return UnexpectedAnswer(
                    f"{self._endpoint} answered the list of namespaces with status {status}, not with what a "
                    "Kubernetes API server sends; look for a proxy or load balancer. No namespace was touched"
                )


def connect(
    session: boto3.Session,
    cluster_name: str,
    *,
    concurrency: int,
    remaining: Callable[[], float],
    conceal: Callable[[Sensitive[str]], None],
) -> Cluster:
    """Return the EKS cluster of that name, to be called with the session's identity; `conceal` gets its bearer tokens.

    Raises a `ClusterError` if EKS does not tell where it is.
    """

    def sign() -> Sensitive[str]:
        token = eks.sign_bearer_token(session, cluster_name)
        conceal(token)
        return token

    access = eks.describe(session, cluster_name)
    return Cluster(access, eks.BearerTokens(sign), concurrency=concurrency, remaining=remaining)


def _pool(endpoint: str, ca_pem: str, concurrency: int) -> PoolManager:
    """Return the official client's pool manager with `concurrency` connections, which trusts this one CA."""
    configuration = Configuration(host=endpoint)
    # The client takes HTTP_PROXY for https hosts too; here the convention of the other tools holds.
    configuration.proxy = getproxies().get("https")
    pool: PoolManager = RESTClientObject(configuration, pools_size=1, maxsize=concurrency).pool_manager
    pool.connection_pool_kw["ssl_context"] = trust(ca_pem)
    return pool


def trust(ca_pem: str) -> ssl.SSLContext:
    """Return a context that verifies host name and chain against this CA and no other.

    Python 3.13 also demands an Authority Key Identifier, which CAs of clusters need not have; only that strictness is
    switched off. https://docs.python.org/3/whatsnew/3.13.html#ssl
    """
    context = ssl.create_default_context(cadata=ca_pem)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


_is_last = stop_after_attempt(_ATTEMPTS)
_backoff = wait_exponential_jitter(initial=0.2, max=10.0, jitter=0.5)


def _wait(state: RetryCallState) -> float:
    """Return the seconds to wait: a growing, jittered time, and never less than the server's Retry-After."""
    answer: Answer | None = state.outcome.result() if state.outcome else None
    return (answer.retry_after if answer else 0.0) + _backoff(state)
