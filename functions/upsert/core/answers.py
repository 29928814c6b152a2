"""What the API server said, as values: codes, numbers and names, none of its text."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})


class Written(NamedTuple):
    """What a write came to: the object's uid and resourceVersion.

    `holds_last_applied` is whether kubectl's copy is in it, `is_being_deleted` whether it only waits for finalizers.
    `blind_keys` are what others write as `stringData`, for which no conflict is ever reported, each with its manager.
    `is_dated` is whether it tells, by `changed_at`, when an apply of ours last changed one of our fields; that is None
    if none ever did, since the values were there before. `keeps_keys_of` are those who have keys of its data that are
    none of ours, sorted. `expires_at` is what our annotation says, if it is a time as we write it, and `has_owner`
    whether there are ownerReferences.
    """

    uid: str
    resource_version: str
    holds_last_applied: bool = False
    is_being_deleted: bool = False
    blind_keys: tuple[tuple[str, frozenset[str]], ...] = ()
    is_dated: bool = False
    changed_at: datetime | None = None
    keeps_keys_of: tuple[str, ...] = ()
    expires_at: str = ""
    has_owner: bool = False

    def blind_managers(self, keys: Collection[str]) -> tuple[str, ...]:
        """Return those who write one of the keys as `stringData`, sorted."""
        return tuple(sorted({manager for manager, theirs in self.blind_keys if not theirs.isdisjoint(keys)}))


class Page[I](NamedTuple):
    """A page of a list; unless it is the last, `continue_token` gets the next one."""

    items: tuple[I, ...]
    continue_token: str = ""


class Refusal(NamedTuple):
    """Why the server did not do what it was asked, in the codes of its ``Status`` object.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
    `denied_by` says whose words these are if not the API server's own, such as ``admission webhook policy.example``;
    `is_unasked` that this one could not be asked. `quota` is the ResourceQuota that is full, or, if
    `is_quota_unknown`, was not counted yet.
    """

    reason: str = ""
    kind: str = ""
    causes: tuple[tuple[str, str], ...] = ()
    managers: tuple[str, ...] = ()
    missing_verb: str = ""
    quota: str = ""
    is_quota_unknown: bool = False
    denied_by: str = ""
    is_unasked: bool = False


_NO_REFUSAL = Refusal()


class Answer[T](NamedTuple):
    """One answer of the API server, without its text.

    `status` is the HTTP status, or 0 if none came, and then `trouble` says why: ``timeout``, ``connection``,
    ``untrusted`` if the server's certificate is not the cluster's, or ``no-time`` if there was none to send anything.
    With a status, `trouble` is ``unreadable`` if the body was not what Kubernetes sends, ``too-long`` if it was not
    read to its end. `value` is what was asked for, and there only if the server says that it did so, with the proof.
    `at` is when it answered that, by its own clock, in whole seconds.
    """

    status: int
    trouble: str = ""
    value: T | None = None
    refusal: Refusal = _NO_REFUSAL
    retry_after: float = 0.0
    at: datetime | None = None

    @property
    def is_conflict_of_managers(self) -> bool:
        """Return whether another field manager holds a field that the apply claims."""
        if self.status != 409 or self.refusal.denied_by:
            return False
        return any(code == "FieldManagerConflict" for code, _ in self.refusal.causes)

    @property
    def is_precondition_failed(self) -> bool:
        """Return whether the object is no longer the one that a conditional request was for.

        Another resourceVersion is a conflict; another uid is an attempt to change it, which is invalid.
        """
        changed_uid = ("FieldValueInvalid", "metadata.uid") in self.refusal.causes
        if self.refusal.denied_by:
            return False
        return (self.status == 409 and not self.is_conflict_of_managers) or (self.status == 422 and changed_uid)

    @property
    def is_not_found(self) -> bool:
        """Return whether the server itself, and no proxy or webhook, says that there is no such object."""
        return self.status == 404 and not (self.trouble or self.refusal.denied_by)

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
            return not self.is_conflict_of_managers
        return self.status in RETRIED_STATUSES or (self.status == 403 and self.refusal.is_quota_unknown)

    @property
    def is_out_of_step(self) -> bool:
        """Return whether this may be the answer to another request, so that its connection can no longer be used."""
        return self.status in (200, 201) and self.trouble == "unreadable"

    @property
    def is_unauthenticated(self) -> bool:
        """Return whether the server refuses the bearer token, and not some webhook this one request."""
        return self.status == 401 and not bool(self.refusal.denied_by)

    @property
    def is_throttled(self) -> bool:
        """Return whether the server, and not some webhook's verdict on this one request, asks for patience."""
        return self.status == 429 and not bool(self.refusal.denied_by)

    @property
    def is_outage(self) -> bool:
        """Return whether no API server worked on the request, as far as the answer tells."""
        no_answer = self.status == 0 and self.is_worth_retrying
        return no_answer or (self.status in (502, 503, 504) and not bool(self.refusal.denied_by))

    @property
    def asks_for_less(self) -> bool:
        """Return whether the server says that it gets more requests than it can take."""
        return self.is_throttled or (self.status == 503 and self.is_outage)
