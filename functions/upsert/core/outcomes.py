"""What became of one namespace, decided from the API server's answers alone."""

from dataclasses import dataclass

from upsert.core.answers import Answer


@dataclass(frozen=True, slots=True)
class Applied:
    """The Secret is in place; `uid` and `resource_version` are the server's."""

    namespace: str
    uid: str
    resource_version: str
    change: str
    took_over_from: tuple[str, ...]
    status: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """The namespace is going away and needs no Secret."""

    namespace: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The namespace was not refreshed; `status` is the HTTP status of the last answer, 0 if none came."""

    namespace: str
    reason: str
    status: int
    remedy: str


type Outcome = Applied | Skipped | Failed


def applied(namespace: str, answer: Answer, *, took_over_from: tuple[str, ...], duration_ms: int) -> Applied:
    """Return the outcome of an answer that succeeded."""
    return Applied(
        namespace,
        uid=answer.uid,
        resource_version=answer.resource_version,
        change="created" if answer.status == 201 else "updated",
        took_over_from=took_over_from,
        status=answer.status,
        duration_ms=duration_ms,
    )


def not_applied(  # noqa: C901, PLR0911, PLR0912 - one case per row of the error table reads best in one place
    namespace: str, answer: Answer
) -> Skipped | Failed:
    """Return the outcome of an answer that did not succeed, with what its owner can do."""
    codes = {code for code, _ in answer.causes}
    fields = {field for _, field in answer.causes}
    match answer.status:
        case 0 if answer.trouble == "no-time":
            return deadline(namespace)
        case 0 if answer.trouble == "untrusted":
            return Failed(namespace, "untrusted", 0, _UNTRUSTED)
        case 0:
            return Failed(namespace, "unavailable", 0, _NO_ANSWER[answer.trouble])
        case 200 | 201:
            return Failed(namespace, "unreadable", answer.status, _UNREADABLE)
        case 401 | 403 | 404 | 422 as status if answer.denied_by_webhook:
            # Its codes and causes are its own words, and say nothing about the token, the namespace or the Secret.
            return Failed(namespace, "forbidden", status, _forbidden(answer))
        case 401:
            return Failed(namespace, "unauthorized", 401, _UNAUTHORIZED)
        case 403 if "NamespaceTerminating" in codes:
            return Skipped(namespace, "terminating")
        case 403:
            return Failed(namespace, "forbidden", 403, _forbidden(answer))
        case 404 if answer.kind == "namespaces":
            return Skipped(namespace, "gone")
        case 409 if answer.is_conflict_of_managers:
            return Failed(namespace, "contested", 409, _contested(answer))
        case 409:
            return Failed(namespace, "conflict", 409, _CONFLICT)
        case 422 if {("FieldValueForbidden", "data"), ("FieldValueForbidden", "immutable")} & set(answer.causes):
            return Failed(namespace, "immutable", 422, _IMMUTABLE)
        case 422 if "type" in fields:
            return Failed(namespace, "wrong-type", 422, _WRONG_TYPE)
        case 429:
            return Failed(namespace, "throttled", 429, _THROTTLED)
        case 500 | 502 | 503 | 504:
            return Failed(namespace, "unavailable", answer.status, _UNAVAILABLE)
        case status if answer.trouble:
            return Failed(namespace, "unreadable", status, _UNREADABLE)
        case status:
            return Failed(namespace, "rejected", status, _rejected(answer))


def stale_copy(namespace: str, answer: Answer) -> Failed:
    """Return the outcome when the Secret was refreshed but the old copy in its annotation could not be removed."""
    if answer.is_unauthenticated:
        return Failed(namespace, "unauthorized", 401, _UNAUTHORIZED)
    return Failed(namespace, "stale-copy", answer.status, _STALE_COPY)


def deadline(namespace: str) -> Failed:
    """Return the outcome of a namespace for which no time was left; nothing was written to it."""
    return Failed(namespace, "deadline", 0, _DEADLINE)


def broken(namespace: str, fault: str) -> Failed:
    """Return the outcome when this function itself failed; `fault` says at which of its lines."""
    return Failed(namespace, "internal", 0, f"{fault}: a fault of this function; please report it with this line")


_NO_ANSWER = {
    "timeout": "the API server did not answer in time; the Secret holds the old or the new value. Check its load",
    "connection": "the connection to the API server failed each time; the Secret holds the old or the new value. "
    "Check the endpoint, and the proxy or load balancer before it",
}
_UNREADABLE = (
    "the answer was not what a Kubernetes API server sends, so it proves nothing; look for a proxy or load balancer "
    "that answers in its place"
)
_UNAUTHORIZED = (
    "the API server stopped accepting the function's identity during the run; check the access entry of its role"
)
_CONFLICT = "other writers changed the Secret at each try; find them in its managedFields"
_IMMUTABLE = (
    "the Secret is immutable, so nobody can rotate it; its owner has to delete it, and the next refresh creates it anew"
)
_WRONG_TYPE = (
    "a Secret of this name has another type, which cannot be changed; its owner has to rename it, or to delete it for "
    "the next refresh to create it"
)
_THROTTLED = "the API server asked to slow down until the time was over; lower CONCURRENCY or raise its limits"
_UNAVAILABLE = "the API server answered with an error each time; the Secret holds the old or the new value"
_STALE_COPY = (
    "the Secret was refreshed, but its last-applied-configuration annotation still holds an old value; the next "
    "refresh removes it, or: kubectl annotate secret NAME kubectl.kubernetes.io/last-applied-configuration-"
)
_UNTRUSTED = (
    "the endpoint showed a certificate that the cluster's authority did not sign, so it was sent nothing; look for a "
    "proxy that opens TLS"
)
_DEADLINE = (
    "the function's time was nearly over, so nothing was written; if other namespaces were throttled or unavailable, "
    "that took the time, else raise Timeout, MemorySize or CONCURRENCY"
)


def _forbidden(answer: Answer) -> str:
    if answer.over_quota:
        return "the namespace's ResourceQuota for Secrets is full; raise it, or remove a Secret"
    if answer.denied_by_webhook:
        return "an admission webhook refused the Secret; ask its owner to let the field manager eks-upsert write it"
    if answer.missing_verb:
        return (
            f"the function's group may not {answer.missing_verb} this Secret; apply rbac/refresher.yaml with "
            "the Secret's name in resourceNames"
        )
    return "the API server refused the Secret; check its admission policies and rbac/refresher.yaml"


def _contested(answer: Answer) -> str:
    managers = ", ".join(answer.managers) or "a field manager whose name cannot be shown"
    return f"{managers} writes this Secret too and ON_CONFLICT is refuse; stop that writer, or set take-over"


def _rejected(answer: Answer) -> str:
    reason = f" ({answer.reason})" if answer.reason else ""
    by = "an admission webhook" if answer.denied_by_webhook else "the API server"
    return f"{by} rejected the Secret with status {answer.status}{reason}; its own log says why"
