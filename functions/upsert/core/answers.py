"""What the API server said, reduced to what may be repeated.

An answer's text can hold anything, a manifest with its values included (admission webhooks and the API server itself
echo what they refuse). So the body is read once, here, and what leaves is codes, numbers and names of a known form.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from upsert.core import live, service_accounts
from upsert.core.live import ExternalSecret, LiveSecret
from upsert.core.manifest import LAST_APPLIED
from upsert.core.service_accounts import ServiceAccount

RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})

# A page of 500 namespaces is about 1 MB at its worst. A longer body is not read to its end.
LONGEST_BODY = 8 * 1024 * 1024

# Names of field managers as people and tools choose them; anything else is not repeated.
_MANAGER = re.compile(r'conflict with "([A-Za-z0-9][A-Za-z0-9._/: -]{0,127})"')
_MISSING_VERB = re.compile(r"cannot (create|patch|list|get) resource")
_CODE = re.compile(r"[A-Za-z]{1,64}")
_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_IDENTIFIER = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the API server, without its text.

    `status` is the HTTP status, or 0 if none came, and then `trouble` says why: ``timeout``, ``connection``,
    ``untrusted`` if the server's certificate is not the cluster's, or ``no-time`` if there was none to send anything.
    With a status, `trouble` is ``unreadable`` if the body was not what Kubernetes sends. `reason`, `causes` and `kind`
    are the codes of a ``Status`` object:
    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
    A page of a list has `names` and, unless it is the last, a `continue_token`; one object has `uid` and
    `resource_version`. `precondition_failed` says that the object is no longer the one that a conditional request was
    for. Only what the adopter asks for holds a `secret` or `external_secrets`, and only a page of ServiceAccounts
    `service_accounts`.
    """

    status: int
    trouble: str = ""
    uid: str = ""
    resource_version: str = ""
    holds_last_applied: bool = False
    reason: str = ""
    kind: str = ""
    causes: tuple[tuple[str, str], ...] = ()
    managers: tuple[str, ...] = ()
    missing_verb: str = ""
    over_quota: bool = False
    denied_by_webhook: bool = False
    retry_after: float = 0.0
    names: tuple[str, ...] = ()
    continue_token: str = ""
    precondition_failed: bool = False
    secret: LiveSecret | None = None
    external_secrets: tuple[ExternalSecret, ...] = ()
    service_accounts: tuple[ServiceAccount, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Return whether the server says that it did what it was asked, with the proof."""
        return self.status in (200, 201) and not self.trouble

    @property
    def is_conflict_of_managers(self) -> bool:
        """Return whether another field manager holds a field that the apply claims."""
        return self.status == 409 and any(code == "FieldManagerConflict" for code, _ in self.causes)

    @property
    def is_worth_retrying(self) -> bool:
        """Return whether the same request may well succeed a moment later.

        An apply is idempotent, so a request whose answer was lost is simply sent again.
        """
        if self.status == 0:
            return self.trouble in ("timeout", "connection")
        if self.status in (200, 201):
            return bool(self.trouble) and self.trouble != "too-long"
        if self.status == 409:
            return not (self.is_conflict_of_managers or self.precondition_failed)
        return self.status in RETRIED_STATUSES

    @property
    def is_unauthenticated(self) -> bool:
        """Return whether the server refuses the bearer token, and not some webhook this one request."""
        return self.status == 401 and not self.denied_by_webhook

    @property
    def is_throttled(self) -> bool:
        """Return whether the server, and not some webhook's verdict on this one request, asks for patience."""
        return self.status == 429 and not self.denied_by_webhook

    @property
    def is_outage(self) -> bool:
        """Return whether no API server worked on the request, as far as the answer tells."""
        no_answer = self.status == 0 and self.is_worth_retrying
        return no_answer or (self.status in (502, 503, 504) and not self.denied_by_webhook)

    @property
    def asks_for_less(self) -> bool:
        """Return whether the server says that it gets more requests than it can take."""
        return self.is_throttled or (self.status == 503 and self.is_outage)


def read_page(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to a list, like `read`."""
    return _read_page(status, _document(body)) if status == 200 else read(status, headers, body)


def read(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer that `status`, `headers` and `body` amount to for one object; the body's text is dropped."""
    retry_after = _seconds(headers.get("Retry-After", ""))
    document = _document(body)
    if status in (200, 201):
        return _read_object(status, document)
    if document is None or document.get("kind") != "Status":
        # A proxy, a load balancer or a bare HTTP error: the status code is all there is to go by.
        known = status in (401, 403) or status in RETRIED_STATUSES
        return Answer(status, trouble="" if known else "unreadable", retry_after=retry_after)
    return _read_status(status, document, retry_after)


def read_conditional(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to a write that names the uid and resourceVersion that it is for."""
    answer = read(status, headers, body)
    # Another uid is an attempt to change it, which is invalid.
    changed_uid = any(cause == ("FieldValueInvalid", "metadata.uid") for cause in answer.causes)
    return replace(
        answer,
        precondition_failed=(status == 409 and not answer.is_conflict_of_managers) or (status == 422 and changed_uid),
    )


def read_secret(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to a GET of a Secret, with its values under their masks."""
    answer = read(status, headers, body)
    if not answer.succeeded:
        return answer
    try:
        return replace(answer, secret=live.read(_document(body) or {}))
    except ValueError:
        return Answer(status, trouble="unreadable")


def read_external_secrets(secret_name: str, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to a list of ExternalSecrets, with those that write the Secret of that name."""
    if status != 200:
        return read(status, headers, body)
    try:
        return Answer(status, external_secrets=live.read_external_secrets(_document(body) or {}, secret_name))
    except (KeyError, TypeError, AttributeError):
        return Answer(status, trouble="unreadable")


def read_service_accounts(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to a list of ServiceAccounts, with those of one page."""
    if status != 200:
        return read(status, headers, body)
    try:
        found, token = service_accounts.read(_document(body) or {})
    except (KeyError, TypeError, ValueError, AttributeError):
        return Answer(status, trouble="unreadable")
    return Answer(status, service_accounts=found, continue_token=_text(token))


def _name(item: object) -> str:
    return _match(_DNS_LABEL, _mapping(item, "metadata").get("name")) if isinstance(item, dict) else ""


def _document(body: bytes) -> dict[str, Any] | None:
    if len(body) > LONGEST_BODY:
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _read_page(status: int, document: dict[str, Any] | None) -> Answer:
    items = (document or {}).get("items")
    if items is None and (document or {}).get("kind") == "PartialObjectMetadataList":
        items = []  # so the server writes an empty list of this kind
    names = [_name(item) for item in items] if isinstance(items, list) else [""]
    if not all(names):
        return Answer(status, trouble="unreadable")
    return Answer(status, names=tuple(names), continue_token=_text(_mapping(document, "metadata").get("continue")))


def _read_object(status: int, document: dict[str, Any] | None) -> Answer:
    if (document or {}).get("kind") == "Status" or "items" in (document or {}):
        return Answer(status, trouble="unreadable")
    metadata = _mapping(document, "metadata")
    uid, version = _match(_IDENTIFIER, metadata.get("uid")), _match(_IDENTIFIER, metadata.get("resourceVersion"))
    # What a dry run would create has a uid and no version.
    if not uid or (status == 200 and not version):
        return Answer(status, trouble="unreadable")
    return Answer(
        status,
        uid=uid,
        resource_version=version,
        holds_last_applied=LAST_APPLIED in _mapping(metadata, "annotations"),
    )


def _read_status(status: int, document: dict[str, Any], retry_after: float) -> Answer:
    details = _mapping(document, "details")
    listed = details.get("causes")
    causes = [cause for cause in listed if isinstance(cause, dict)] if isinstance(listed, list) else []
    message = _text(document.get("message"))
    managers = {found for cause in causes if (found := _match(_MANAGER, cause.get("message"), group=1, search=True))}
    return Answer(
        status,
        reason=_match(_CODE, document.get("reason")),
        kind=_match(_CODE, details.get("kind")),
        causes=tuple((_match(_CODE, cause.get("reason")), _field(cause.get("field"))) for cause in causes[:20]),
        managers=tuple(sorted(managers)),
        missing_verb=_match(_MISSING_VERB, message, group=1, search=True),
        over_quota="exceeded quota" in message,
        denied_by_webhook=message.startswith("admission webhook "),
        retry_after=retry_after or _seconds(str(details.get("retryAfterSeconds", ""))),
    )


def _field(value: object) -> str:
    """Return only the fields that a decision depends on: a field's path can hold a key that someone else named."""
    return value if isinstance(value, str) and value in ("data", "type", "immutable", "metadata.uid") else ""


def _mapping(document: dict[str, Any] | None, key: str) -> dict[str, Any]:
    value = (document or {}).get(key)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value[:4096] if isinstance(value, str) else ""


def _match(pattern: re.Pattern[str], value: object, *, group: int = 0, search: bool = False) -> str:
    found = (pattern.search if search else pattern.fullmatch)(_text(value))
    return found.group(group) if found else ""


def _seconds(text: str) -> float:
    """Return a Retry-After in seconds (the API server sends whole seconds), or 0 for none or another form."""
    return float(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0.0
