"""Parses what the API server sends, and lets of it only what may be repeated.

An answer's text can hold anything, a manifest with its values included (admission webhooks and the API server itself
echo what they refuse). So the body is parsed once, here, and what leaves is codes, numbers and names of a known form.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from upsert.core.answers import RETRIED_STATUSES, Answer, Page, Refusal, Written
from upsert.core.document import EXPIRES_AT, LAST_APPLIED
from upsert.core.identity import FIELD_MANAGER

# A page of 500 namespaces is about 1 MB at its worst. A longer body is not read to its end.
LONGEST_BODY = 8 * 1024 * 1024

# Names of field managers as people and tools choose them; anything else is not repeated.
_NAME = r"[A-Za-z0-9][A-Za-z0-9._/: -]{0,127}"
_MANAGER = rf'conflict with "({_NAME})"'
_MISSING_VERB = r"cannot (create|patch|list|get) resource"
# So the API server itself begins what a webhook or a policy said; what follows is their own words.
# https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go
_WEBHOOK = r'(?:Internal error occurred: )?(?:admission|failed calling) webhook "([a-z0-9.-]{1,253})"'
# https://github.com/kubernetes/kubernetes/tree/master/staging/src/k8s.io/apiserver/pkg/admission/plugin/policy
_POLICY = (
    r"""(?:^|is forbidden: )(ValidatingAdmissionPolicy|policy) ['"]([a-z0-9.-]{1,253})['"] """
    r"(?:with binding '[a-z0-9.-]{1,253}' )?denied request"
)
_FULL_QUOTA = r"exceeded quota: ([a-z0-9.-]{1,253})"
_UNKNOWN_QUOTA = r"status unknown for quota: ([a-z0-9.-]{1,253})"
_CODE = r"[A-Za-z]{1,64}"
_UNSHOWN = "a field manager whose name cannot be shown"
_DNS_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_IDENTIFIER = r"[A-Za-z0-9-]{1,64}"
_TIMESTAMP = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"

# What makes the answer to one kind of request out of a 200 or 201: the status and the JSON object of the body.
# Raises KeyError, TypeError, ValueError or AttributeError if that is not what Kubernetes sends.
type Parser[T] = Callable[[int, Mapping[str, Any]], T]


def answer[T](parse: Parser[T], status: int, headers: Mapping[str, str], body: bytes) -> Answer[T]:
    """Return the answer that `status`, `headers` and `body` amount to; the body's text is dropped."""
    document = _document(body)
    if status in (200, 201):
        try:
            return Answer(status, value=parse(status, document or {}), at=_moment(headers.get("Date", "")))
        except (KeyError, TypeError, ValueError, AttributeError):
            return Answer(status, trouble="unreadable")
    retry_after = _seconds(headers.get("Retry-After", ""))
    if document is None or document.get("kind") != "Status":
        # A proxy, a load balancer or a bare HTTP error: the status code is all there is to go by.
        known = status in (401, 403) or status in RETRIED_STATUSES
        return Answer(status, trouble="" if known else "unreadable", retry_after=retry_after)
    details = _mapping(document, "details")
    return Answer(
        status,
        refusal=_refusal(document, details),
        retry_after=retry_after or _seconds(str(details.get("retryAfterSeconds", ""))),
    )


def parse_names(status: int, document: Mapping[str, Any]) -> Page[str]:
    """Return the names on one page of a list of namespaces."""
    items = document.get("items")
    if items is None and document["kind"] == "PartialObjectMetadataList":
        items = []  # so the server writes an empty list of this kind
    return page(status, [_checked(_DNS_LABEL, item["metadata"]["name"]) for item in _list(items)], document)


def parse_written(status: int, document: Mapping[str, Any]) -> Written:
    """Return what one object is now, from its metadata."""
    if document.get("kind") == "Status" or "items" in document:
        raise ValueError("no object")
    metadata = document["metadata"]
    annotations = _mapping(metadata, "annotations")
    managed_fields = metadata.get("managedFields") or []
    ours = [one for one in managed_fields if (one.get("manager"), one.get("operation")) == (FIELD_MANAGER, "Apply")]
    version = _match(_IDENTIFIER, metadata.get("resourceVersion"))
    # What a dry run would create has a uid and no version.
    if status == 200 and not version:
        raise ValueError("no resourceVersion")
    return Written(
        _checked(_IDENTIFIER, metadata["uid"]),
        version,
        LAST_APPLIED in annotations,
        is_being_deleted=bool(metadata.get("deletionTimestamp")),
        blind_keys=tuple(_blind_keys(managed_fields)),
        is_dated=bool(ours),
        changed_at=_timestamp(ours[0]["time"]) if ours and ours[0].get("time") else None,
        keeps_keys_of=_others(managed_fields, ours),
        expires_at=_match(_TIMESTAMP, annotations.get(EXPIRES_AT)),
        has_owner=bool(metadata.get("ownerReferences")),
    )


def parse_written_of(namespace: str, name: str, status: int, document: Mapping[str, Any]) -> Written:
    """Return what that very object is now; an answer about another one is no answer to what was asked."""
    written = parse_written(status, document)
    metadata = document["metadata"]
    if (metadata.get("namespace"), metadata.get("name")) != (namespace, name):
        raise ValueError("another object")
    return written


def page[I](status: int, items: Iterable[I], document: Mapping[str, Any]) -> Page[I]:
    """Return one page of a list, or raise `ValueError` if it is none."""
    if status != 200:
        raise ValueError("no list")
    return Page(tuple(items), _text(_mapping(document, "metadata").get("continue")))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _refusal(document: Mapping[str, Any], details: Mapping[str, Any]) -> Refusal:
    listed = details.get("causes")
    causes = [cause for cause in listed if isinstance(cause, dict)] if isinstance(listed, list) else []
    message = _text(document.get("message"))
    denied_by = _denied_by(message)
    unknown_quota = _match(_UNKNOWN_QUOTA, message, group=1, search=True)
    managers = {found for cause in causes if (found := _match(_MANAGER, cause.get("message"), group=1, search=True))}
    return Refusal(
        reason=_match(_CODE, document.get("reason")),
        kind=_match(_CODE, details.get("kind")),
        causes=tuple((_match(_CODE, cause.get("reason")), _field(cause.get("field"))) for cause in causes[:20]),
        managers=tuple(sorted(managers)),
        missing_verb=_match(_MISSING_VERB, message, group=1, search=True),
        quota="" if denied_by else unknown_quota or _match(_FULL_QUOTA, message, group=1, search=True),
        is_quota_unknown=bool(unknown_quota) and not denied_by,
        denied_by=denied_by,
        is_unasked=bool(denied_by) and "failed calling webhook" in message[:60],
    )


def _blind_keys(managed_fields: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, frozenset[str]]]:
    for entry in managed_fields:
        keys = frozenset(key.removeprefix("f:") for key in _mapping(entry.get("fieldsV1", {}), "f:stringData"))
        if keys and entry.get("manager") != FIELD_MANAGER:
            yield _match(_NAME, entry.get("manager")) or _UNSHOWN, keys


def _others(managed_fields: Iterable[Mapping[str, Any]], ours: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return who has keys of the data that our own entry does not have."""
    mine = {key for entry in ours for key in _keys(entry)}
    names = (entry.get("manager") for entry in managed_fields if not _keys(entry) <= mine)
    return tuple(sorted({_match(_NAME, name) or _UNSHOWN for name in names}))


def _keys(entry: Mapping[str, Any]) -> set[str]:
    fields = entry.get("fieldsV1") or {}
    return {key for place in ("f:data", "f:binaryData") for key in _mapping(fields, place) if key.startswith("f:")}


def _denied_by(message: str) -> str:
    """Return which webhook or policy of the cluster's admission a message is from, or nothing."""
    if found := re.match(_WEBHOOK, message):
        return f"admission webhook {found[1]}"
    found = re.search(_POLICY, message)
    if found is None:
        return ""
    # Those that mutate do not say of what kind they are.
    return f"{'MutatingAdmissionPolicy' if found[1] == 'policy' else found[1]} {found[2]}"


def _field(value: object) -> str:
    """Return only the fields that a decision depends on: a field's path can hold a key that someone else named."""
    field = _text(value)
    # So the API server names one key of them: data[KEY].
    if field.startswith(("data[", "binaryData[")):
        return f"{field.partition('[')[0]}[]"
    return field if field in ("data", "binaryData", "type", "immutable", "metadata.uid") else ""


def _mapping(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value[:4096] if isinstance(value, str) else ""


def _match(pattern: str, value: object, *, group: int = 0, search: bool = False) -> str:
    found = (re.search if search else re.fullmatch)(pattern, _text(value))
    return found.group(group) if found else ""


def _checked(pattern: str, value: object) -> str:
    found = _match(pattern, value)
    if not found:
        raise ValueError("no name or identifier")
    return found


# Of many answers, those of one second have the same text.
@lru_cache(maxsize=64)
def _moment(text: str) -> datetime | None:
    """Return what a Date header says, in the one form that servers send (RFC 9110, section 5.6.7), or None."""
    try:
        return datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None


def _timestamp(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment


def _seconds(text: str) -> float:
    """Return a Retry-After in seconds (the API server sends whole seconds), or 0 for none or another form."""
    return float(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0.0
