"""What became of one object in one namespace, decided from the API server's answers alone."""

from datetime import timedelta
from math import ceil
from typing import NamedTuple

from upsert.core import remedies
from upsert.core.answers import Answer, Written
from upsert.core.remedies import Asked


class Applied(NamedTuple):
    """The object is in place; `uid` and `resource_version` are the server's.

    `change` is ``created``, ``updated``, or ``unchanged`` if the same was there before. `keeps_keys_of` are field
    managers who have other keys in it, which stay. `altered` says in what it is not as it was sent:
    ``annotation-differs`` if our annotation is not in it, ``has-owner`` if it would go with an owner.
    """

    title: str
    namespace: str
    uid: str
    resource_version: str
    change: str
    took_over_from: tuple[str, ...]
    status: int
    duration_ms: int
    keeps_keys_of: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


class Skipped(NamedTuple):
    """The namespace is going away and needs no object."""

    title: str
    namespace: str
    reason: str


class Failed(NamedTuple):
    """The object was not refreshed there; `status` is the HTTP status of the last answer, 0 if none came."""

    title: str
    namespace: str
    reason: str
    status: int
    remedy: str


type Outcome = Applied | Skipped | Failed


def applied(
    asked: Asked,
    answer: Answer[Written],
    written: Written,
    *,
    expires_at: str,
    took_over_from: tuple[str, ...],
    seconds: float,
) -> Applied:
    """Return the outcome of an answer that succeeded, `seconds` after the first try was sent.

    `expires_at` is what the annotation said that was sent, or nothing if none was.
    """
    return Applied(
        asked.title,
        asked.namespace,
        uid=written.uid,
        resource_version=written.resource_version,
        change=_change(answer, written, seconds),
        took_over_from=took_over_from,
        status=answer.status,
        duration_ms=round(seconds * 1000),
        keeps_keys_of=written.keeps_keys_of,
        altered=_altered(written, expires_at),
    )


def _altered(written: Written, expires_at: str) -> tuple[str, ...]:
    """Return in what the object is not as it was sent, as far as metadata shows it.

    Webhooks and policies may change an object on its way in.
    https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
    """
    differs = bool(expires_at) and written.expires_at != expires_at
    return (*(("annotation-differs",) if differs else ()), *(("has-owner",) if written.has_owner else ()))


def _change(answer: Answer[Written], written: Written, seconds: float) -> str:
    """Return what the write changed, as the answer alone tells.

    The time in our own entry of managedFields moves only when an apply of ours changes one of our fields. It is in
    whole seconds, of the same clock as the answer's Date: one that is older than the first try is not of this run.
    https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
    """
    if answer.status == 201:
        return "created"
    if not written.is_dated or answer.at is None:
        return "updated"
    began = answer.at - timedelta(seconds=ceil(seconds))
    return "unchanged" if written.changed_at is None or written.changed_at < began else "updated"


def not_done[T](asked: Asked, answer: Answer[T]) -> Skipped | Failed:
    """Return the outcome of an answer that did not succeed, with what its owner can do."""
    if reason := _why_skipped(answer):
        return Skipped(asked.title, asked.namespace, reason)
    reason, remedy = remedies.why(asked, answer)
    return Failed(asked.title, asked.namespace, reason, answer.status, remedy)


def stale_copy[T](asked: Asked, answer: Answer[T]) -> Failed:
    """Return the outcome when the object was refreshed but the old copy in its annotation could not be removed."""
    if answer.is_unauthenticated:
        return Failed(asked.title, asked.namespace, "unauthorized", 401, remedies.UNAUTHORIZED)
    denied = f" ({answer.refusal.denied_by} refused its removal)" if answer.refusal.denied_by else ""
    remedy = (
        f"the {remedies.noun(asked)} was refreshed, but its last-applied-configuration annotation still holds an old "
        f"value{denied}; the next refresh removes it, or: kubectl annotate "
        f"{asked.title} kubectl.kubernetes.io/last-applied-configuration-"
    )
    return Failed(asked.title, asked.namespace, "stale-copy", answer.status, remedy)


def blindly_contested(asked: Asked, status: int, managers: tuple[str, ...]) -> Failed:
    """Return the outcome when others write the object as stringData, which shows only once it was written over."""
    remedy = f"{remedies.contested(asked, managers)}. It was written over, since no conflict is reported for stringData"
    return Failed(asked.title, asked.namespace, "contested", status, remedy)


def being_deleted(asked: Asked, status: int) -> Failed:
    """Return the outcome when the object was written but will go as soon as its finalizers are done."""
    remedy = (
        f"the {remedies.noun(asked)} is being deleted and will be gone once its finalizers are removed; find who "
        "deleted it, and the next refresh creates it anew"
    )
    return Failed(asked.title, asked.namespace, "being-deleted", status, remedy)


def deadline(title: str, namespace: str) -> Failed:
    """Return the outcome of an object for which no time was left; nothing was written."""
    return Failed(title, namespace, "deadline", 0, remedies.DEADLINE)


def overlap(title: str, namespace: str) -> Failed:
    """Return the outcome where two objects of the file are for the same name in the same namespace."""
    remedy = (
        f"two objects of the file are {title} in this namespace, so neither was written; let their namespaces differ"
    )
    return Failed(title, namespace, "overlap", 0, remedy)


def broken(title: str, namespace: str, fault: str) -> Failed:
    """Return the outcome when this function itself failed; `fault` says at which of its lines."""
    return Failed(
        title, namespace, "internal", 0, f"{fault}: a fault of this function; please report it with this line"
    )


def _why_skipped[T](answer: Answer[T]) -> str:
    if answer.refusal.denied_by:
        return ""
    if answer.status == 403 and "NamespaceTerminating" in {code for code, _ in answer.refusal.causes}:
        return "terminating"
    return "gone" if answer.status == 404 and answer.refusal.kind == "namespaces" else ""
