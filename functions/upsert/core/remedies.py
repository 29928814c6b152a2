"""Why an object was not written, and what its owner can do: from what was asked, by whom, and what was answered."""

from typing import NamedTuple

from upsert.core.answers import Answer
from upsert.core.identity import FIELD_MANAGER, Identity
from upsert.core.resources import CONFIG_MAPS, WRITTEN

# By the first part of a title.
_NOUNS = {resource.kind.lower(): resource.kind for resource in WRITTEN}


class Asked(NamedTuple):
    """What was asked of the API server, and by whom: what an answer that refuses it is read against.

    `title` is the object's, such as ``secret/aws-ecr-token``; `verb` is ``write``, ``read``, or ``adopt``, which is to
    write what is there already.
    """

    title: str
    namespace: str
    identity: Identity
    verb: str = "write"


def why[T](  # noqa: C901, PLR0911, PLR0912 - one case per row of the error table reads best in one place
    asked: Asked, answer: Answer[T]
) -> tuple[str, str]:
    """Return the reason of an answer that did not succeed, and its remedy."""
    causes = answer.refusal.causes
    if answer.refusal.denied_by:
        # Its codes and causes are its own words, and say nothing about the token, the namespace or the object.
        return "denied", _denied(asked, answer)
    match answer.status:
        case 0:
            return _without_answer(asked, answer.trouble)
        case 200 | 201:
            return "unreadable", _UNREADABLE
        case 401:
            return "unauthorized", UNAUTHORIZED
        case 403:
            return "forbidden", _forbidden(asked, answer)
        case 409 if answer.is_conflict_of_managers:
            return "contested", contested(asked, answer.refusal.managers)
        case 409:
            return "conflict", f"other writers changed the {noun(asked)} at each try; find them in its managedFields"
        case 422 if {("FieldValueForbidden", field) for field in _IMMUTABLE_FIELDS} & set(causes):
            return "immutable", _IMMUTABLE.format(noun=noun(asked))
        case 422 if ("FieldValueInvalid", "data[]") in causes and noun(asked) == CONFIG_MAPS.kind:
            return "rejected", _TWO_PLACES
        case 422 if "type" in {field for _, field in causes}:
            return "wrong-type", _WRONG_TYPE.format(noun=noun(asked))
        case 429:
            return "throttled", _THROTTLED
        case 500 | 502 | 503 | 504:
            return "unavailable", f"the API server answered with an error each time; {_state(asked)}"
        case _ if answer.trouble:
            return "unreadable", _UNREADABLE
        case _:
            return "rejected", _rejected(asked, answer)


def _without_answer(asked: Asked, trouble: str) -> tuple[str, str]:
    match trouble:
        case "no-time":
            return "deadline", DEADLINE
        case "untrusted":
            return "untrusted", _UNTRUSTED
        case "timeout":
            return "unavailable", f"the API server did not answer in time; {_state(asked)}. Check its load"
        case _:
            return "unavailable", (
                f"the connection to the API server failed each time; {_state(asked)}. Check the endpoint, and the "
                "proxy or load balancer before it"
            )


def noun(asked: Asked) -> str:
    """Return what people call it: a Secret, a ConfigMap, a ResourceQuota."""
    return _NOUNS.get(asked.title.partition("/")[0], "object")


def _state(asked: Asked) -> str:
    match asked.verb:
        case "write":
            return f"the {noun(asked)} holds the old or the new value"
        case "adopt":
            return "its values are as they were; check again"
        case _:
            return "nothing was written"


_UNREADABLE = (
    "the answer was not what a Kubernetes API server sends, so it proves nothing; look for a proxy or load balancer "
    "that answers in its place"
)
UNAUTHORIZED = (
    "the API server stopped accepting the function's identity during the run; check the access entry of its role"
)
_IMMUTABLE_FIELDS = ("data", "binaryData", "immutable")
_IMMUTABLE = (
    "the {noun} is immutable, so nobody can rotate it; its owner has to delete it, and the next refresh creates it anew"
)
# Its keys are of the right form, so this is all that the API server finds wrong with one.
_TWO_PLACES = (
    "the ConfigMap has a key under data that it is to have under binaryData, or the other way round, and another field "
    "manager writes it there; that one has to remove the key"
)
_WRONG_TYPE = (
    "a {noun} of this name has another type, which cannot be changed; its owner has to rename it, or to delete it for "
    "the next refresh to create it"
)
_THROTTLED = "the API server asked to slow down until the time was over; raise its limits, or find who else loads it"
_UNTRUSTED = (
    "the endpoint showed a certificate that the cluster's authority did not sign, so it was sent nothing; look for a "
    "proxy that opens TLS"
)
DEADLINE = (
    "the function's time was nearly over, so nothing was written; if other namespaces were throttled or unavailable, "
    "that took the time, else raise Timeout or MemorySize"
)


def _forbidden[T](asked: Asked, answer: Answer[T]) -> str:
    what, refusal = noun(asked), answer.refusal
    if refusal.is_quota_unknown:
        return f"nobody counts for the ResourceQuota {refusal.quota} of the namespace yet; look at the quota's status"
    if refusal.quota:
        return f"the ResourceQuota {refusal.quota} of the namespace is full; raise it, or remove a {what}"
    name = asked.title.partition("/")[2]
    if refusal.missing_verb:
        return (
            f"the group {asked.identity.group} may not {refusal.missing_verb} this {what}; apply {asked.identity.role} "
            f"with {name} in resourceNames"
        )
    return f"the API server refused the {what}; check its admission policies and {asked.identity.role}"


def contested(asked: Asked, names: tuple[str, ...]) -> str:
    """Return what to do about others who write the object too."""
    managers = ", ".join(names) or "a field manager whose name cannot be shown"
    return (
        f"{managers} writes this {noun(asked)} too and on_conflict is refuse; stop that writer, or set take-over "
        "in the file of objects"
    )


def _rejected[T](asked: Asked, answer: Answer[T]) -> str:
    reason = f" ({answer.refusal.reason})" if answer.refusal.reason else ""
    return f"the API server rejected the {noun(asked)} with status {answer.status}{reason}; its own log says why"


def _denied[T](asked: Asked, answer: Answer[T]) -> str:
    who = answer.refusal.denied_by
    if answer.refusal.is_unasked:
        return (
            f"{who} did not answer the API server (status {answer.status}), so the {noun(asked)} was not written; its "
            "owner has to repair it, or to let requests pass while it is down (failurePolicy Ignore)"
        )
    return (
        f"{who} refused the {noun(asked)} (status {answer.status}); ask its owner to let the field manager "
        f"{FIELD_MANAGER} write it"
    )
