"""The use case: gather, plan, apply, report."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from pullsecret.core import docker_config, manifest, namespaces, outcomes
from pullsecret.core.answers import Answer
from pullsecret.core.docker_config import Login
from pullsecret.core.outcomes import Applied, Failed, Outcome, Skipped
from pullsecret.core.sensitive import Sensitive
from pullsecret.errors import NamespacesFailed, PullSecretError, Unauthorized
from pullsecret.settings import OnConflict, Request, Settings

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
    def namespaces(self, selector: str) -> Sequence[str]: ...
    def apply(self, namespace: str, name: str, manifest: Sensitive[bytes], *, force: bool, dry_run: bool) -> Answer: ...
    def remove_last_applied(self, namespace: str, name: str, *, dry_run: bool) -> Answer: ...
    def may_start(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to. Counts are of namespaces; `duration_ms` is wall clock."""

    applied: int
    created: int
    took_over: int
    skipped: int
    failures: tuple[Failed, ...]
    token_expires_at: datetime
    api_requests: int
    duration_ms: int
    dry_run: bool

    def error(self) -> PullSecretError | None:
        """Return the error that the run has to end with, or None if no namespace failed."""
        if not self.failures:
            return None
        named = [f"{failed.namespace}: {failed.reason}" for failed in self.failures[:_NAMED_IN_ERROR]]
        more = len(self.failures) - len(named)
        names = ", ".join(named) + (f", and {more} more" if more else "")
        text = f"{len(self.failures)} of {self.applied + self.skipped + len(self.failures)} namespaces failed: {names}"
        if any(failed.reason == "unauthorized" for failed in self.failures):
            return Unauthorized(
                f"the API server stopped accepting the function's role during the run; check its access entry. {text}"
            )
        return NamespacesFailed(f"{text}; the log has every one with its remedy")


def refresh(
    settings: Settings,
    request: Request,
    *,
    logins: Callable[[], Logins],
    connect: Callable[[], Cluster],
    record: Callable[[Outcome], None],
) -> Report:
    """Refresh the Secret in every selected namespace, give each outcome to `record` as it comes, and return the report.

    The login is fetched and the namespaces are planned before the first PATCH, so a run that cannot go on has changed
    nothing: then a `PullSecretError` says why. A namespace that fails does not stop the others.
    """
    started = time.monotonic()
    granted = logins()
    payload = manifest.pull_secret(
        settings.secret_name, docker_config.render(granted.entries), expires_at=granted.expires_at
    )
    document = manifest.render(payload)
    cluster = connect()
    planned = namespaces.plan(
        cluster.namespaces(settings.namespace_selector),
        include=settings.include_namespaces,
        exclude=settings.exclude_namespaces,
        requested=request.namespaces,
    )
    counts: Counter[str] = Counter()
    failures: list[Failed] = []
    apply = partial(_apply, cluster, payload.name, document, on_conflict=settings.on_conflict, dry_run=request.dry_run)
    for outcome in _in_parallel(apply, planned, settings.concurrency):
        record(outcome)
        match outcome:
            case Applied():
                counts["applied"] += 1
                counts["created"] += outcome.change == "created"
                counts["took_over"] += bool(outcome.took_over_from)
            case Skipped():
                counts["skipped"] += 1
            case Failed():
                failures.append(outcome)
    return Report(
        applied=counts["applied"],
        created=counts["created"],
        took_over=counts["took_over"],
        skipped=counts["skipped"],
        failures=tuple(sorted(failures, key=lambda failed: failed.namespace)),
        token_expires_at=granted.expires_at,
        api_requests=cluster.requests,
        duration_ms=_milliseconds_since(started),
        dry_run=request.dry_run,
    )


def _in_parallel(apply: Callable[[str], Outcome], planned: Sequence[str], workers: int) -> Iterator[Outcome]:
    with ThreadPoolExecutor(workers, thread_name_prefix="apply") as pool:
        for future in as_completed([pool.submit(apply, namespace) for namespace in planned]):
            yield future.result()


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
