"""The use case: gather, plan, apply, report."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from upsert.core import docker_config, manifest, namespaces, outcomes
from upsert.core.answers import Answer
from upsert.core.docker_config import Entry, Login
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.sensitive import Sensitive
from upsert.errors import ClusterNotTrusted, NamespacesFailed, Unauthorized, UpsertError
from upsert.parallel import in_parallel
from upsert.service_accounts import Counts
from upsert.settings import OnConflict, Request, Settings

_NAMED_IN_ERROR = 5


class Logins(Protocol):
    """Registry logins and when the first of them expires."""

    @property
    def entries(self) -> tuple[Login, ...]: ...
    @property
    def expires_at(self) -> datetime: ...


class Cluster(Protocol):
    """The API server, as far as a refresh needs it."""

    @property
    def requests(self) -> int: ...
    def namespaces(self, selector: str, names: Sequence[str] = ()) -> Sequence[str]: ...
    def apply(self, namespace: str, name: str, manifest: Sensitive[bytes], *, force: bool, dry_run: bool) -> Answer: ...
    def remove_last_applied(self, namespace: str, name: str, *, dry_run: bool) -> Answer: ...
    def may_start(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to. Counts are of namespaces; `duration_ms` is wall clock.

    `every_namespace` is false for a run that was asked for some namespaces by name. `token_expires_at` is None if there
    was nothing to do, and so nothing was asked for.
    """

    applied: int
    created: int
    took_over: int
    skipped: int
    failures: tuple[Failed, ...]
    token_expires_at: datetime | None
    api_requests: int
    duration_ms: int
    every_namespace: bool
    dry_run: bool
    accounts: Counts | None = None

    def error(self) -> UpsertError | None:
        """Return the error that the run has to end with, or None if nothing failed."""
        if not self.failures:
            return self.accounts.error if self.accounts else None
        named = [f"{failed.namespace}: {failed.reason}" for failed in self.failures[:_NAMED_IN_ERROR]]
        more = len(self.failures) - len(named)
        names = ", ".join(named) + (f", and {more} more" if more else "")
        namespaces = len({failed.namespace for failed in self.failures})
        # Where a ServiceAccount failed, the Secret was applied before.
        applied_and_failed = len(self.accounts.failures) if self.accounts else 0
        all_namespaces = self.applied + self.skipped + len(self.failures) - applied_and_failed
        text = f"{namespaces} of {all_namespaces} namespaces failed: {names}"
        reasons = {failed.reason for failed in self.failures}
        if "untrusted" in reasons:
            return ClusterNotTrusted(
                "the endpoint began to show a certificate that the cluster's authority did not sign; look for a proxy "
                f"that opens TLS. {text}"
            )
        if "unauthorized" in reasons:
            return Unauthorized(
                f"the API server stopped accepting the function's role during the run; check its access entry. {text}"
            )
        return NamespacesFailed(f"{text}; the log has every one with its remedy")


def _no_accounts(_cluster: object, _applied: Sequence[Applied]) -> None:
    return None


def refresh[C: Cluster](
    settings: Settings,
    request: Request,
    *,
    logins: Callable[[], Logins],
    connect: Callable[[], C],
    record: Callable[[Outcome], None],
    extra: Callable[[], Sequence[Entry]] = tuple,
    accounts: Callable[[C, Sequence[Applied]], Counts | None] = _no_accounts,
) -> Report:
    """Refresh the Secret in every selected namespace, give each outcome to `record` as it comes, and return the report.

    `extra` gives the entries for other registries than those of `logins`; `accounts` has the ServiceAccounts name the
    Secret, where it is in place. All that is to be written is fetched and the
    namespaces are planned before the first PATCH, so a run that cannot go on has changed nothing: then a
    `UpsertError` says why. A namespace that fails does not stop the others.
    """
    started = time.monotonic()
    if request.from_audit_log and not _selected(request.namespaces, settings):
        return _NOTHING
    granted = logins()
    payload = manifest.pull_secret(
        settings.secret_name, docker_config.render(granted.entries, extra()), expires_at=granted.expires_at
    )
    document = manifest.render(payload)
    cluster = connect()
    planned = _plan(cluster, settings, request)
    counts: Counter[str] = Counter()
    applied: list[Applied] = []
    failures: list[Failed] = []
    apply = partial(_apply, cluster, payload.name, document, on_conflict=settings.on_conflict, dry_run=request.dry_run)
    # In another order at each run: should namespaces that take all their tries use up the time, then the ones that are
    # left over are not the same every time.
    shuffled = random.sample(planned, len(planned))
    for outcome in in_parallel(apply, shuffled, workers=settings.concurrency, broken=outcomes.broken):
        record(outcome)
        match outcome:
            case Applied():
                applied.append(outcome)
                counts["created"] += outcome.change == "created"
                counts["took_over"] += bool(outcome.took_over_from)
            case Skipped():
                counts["skipped"] += 1
            case Failed():
                failures.append(outcome)
    named = accounts(cluster, applied)
    return Report(
        applied=len(applied),
        created=counts["created"],
        took_over=counts["took_over"],
        skipped=counts["skipped"],
        failures=tuple(sorted((*failures, *(named.failures if named else ())), key=lambda failed: failed.namespace)),
        accounts=named,
        token_expires_at=granted.expires_at,
        api_requests=cluster.requests,
        duration_ms=_milliseconds_since(started),
        every_namespace=not request.namespaces,
        dry_run=request.dry_run,
    )


_NOTHING = Report(
    applied=0,
    created=0,
    took_over=0,
    skipped=0,
    failures=(),
    token_expires_at=None,
    api_requests=0,
    duration_ms=0,
    every_namespace=False,
    dry_run=False,
)


def _plan(cluster: Cluster, settings: Settings, request: Request) -> tuple[str, ...]:
    existing = cluster.namespaces(settings.namespace_selector, namespaces.exact(request.namespaces))
    if request.from_audit_log:
        return _selected(set(existing) & set(request.namespaces), settings)
    return namespaces.plan(
        existing,
        include=settings.include_namespaces,
        exclude=settings.exclude_namespaces,
        requested=request.namespaces,
    )


def _selected(names: Iterable[str], settings: Settings) -> tuple[str, ...]:
    return namespaces.allowed(names, include=settings.include_namespaces, exclude=settings.exclude_namespaces)


def _apply(
    cluster: Cluster, name: str, document: Sensitive[bytes], namespace: str, *, on_conflict: OnConflict, dry_run: bool
) -> Outcome:
    """Return what became of one namespace: one PATCH, and rarely a second one."""
    if not cluster.may_start():
        return outcomes.deadline(namespace)
    started = time.monotonic()
    took_over_from: tuple[str, ...] = ()
    answer = cluster.apply(namespace, name, document, force=False, dry_run=dry_run)
    if answer.is_conflict_of_managers and on_conflict is OnConflict.TAKE_OVER:
        took_over_from = answer.managers
        answer = cluster.apply(namespace, name, document, force=True, dry_run=dry_run)
    if not answer.succeeded:
        return outcomes.not_applied(namespace, answer)
    if answer.holds_last_applied:
        removed = cluster.remove_last_applied(namespace, name, dry_run=dry_run)
        if not removed.succeeded:
            return outcomes.stale_copy(namespace, removed)
        answer = replace(removed, status=answer.status)
    return outcomes.applied(namespace, answer, took_over_from=took_over_from, duration_ms=_milliseconds_since(started))


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
