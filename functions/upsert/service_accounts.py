"""The use case behind ServiceAccounts: list, decide, patch where the pull Secret is not named yet."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from upsert.core import account_outcomes, service_accounts
from upsert.core.account_outcomes import AccountMissing, AccountOutcome, AccountPatched, AccountUnchanged
from upsert.core.answers import Answer
from upsert.core.outcomes import Applied, Failed
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import ServiceAccountsNotListed, UpsertError
from upsert.parallel import in_parallel
from upsert.settings import Settings

# So few namespaces are asked one by one; more of them are read from the list of the whole cluster.
_FEW = 5
# A controller makes the ServiceAccount of a new namespace, as a rule within a second.
_PAUSES_SECONDS = (0.5, 1.0, 2.0)
_TRIES = 5


class Cluster(Protocol):
    """The API server, as far as ServiceAccounts need it."""

    def service_accounts(self, name: str, namespaces: Sequence[str] = ()) -> Sequence[ServiceAccount]: ...
    def patch_service_account(self, account: ServiceAccount, patch: bytes, *, dry_run: bool) -> Answer: ...
    def may_start(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the ServiceAccounts; `error` says why some could not even be listed, if so."""

    patched: int = 0
    unchanged: int = 0
    missing: int = 0
    failures: tuple[Failed, ...] = ()
    error: UpsertError | None = None


def name_secret(
    cluster: Cluster,
    applied: Collection[Applied],
    *,
    settings: Settings,
    dry_run: bool,
    record: Callable[[AccountOutcome], None],
    pause: Callable[[float], None] = time.sleep,
) -> Counts | None:
    """Name the Secret in the ServiceAccounts of the namespaces where it is in place, and return what became of them.

    Returns None if the settings name no ServiceAccount. What names the Secret already is not written. Each outcome goes
    to `record` as it comes; no fault is raised.
    """
    if not settings.service_accounts:
        return None
    counts: Counter[type[AccountOutcome]] = Counter()
    failures: list[Failed] = []
    error: UpsertError | None = None
    try:
        for name in settings.service_accounts:
            for outcome in _of_one_name(cluster, settings, applied, name, dry_run=dry_run, pause=pause):
                record(outcome)
                counts[type(outcome)] += 1
                if isinstance(outcome, Failed):
                    failures.append(outcome)
    except ServiceAccountsNotListed as stopped:
        error = stopped
    return Counts(counts[AccountPatched], counts[AccountUnchanged], counts[AccountMissing], tuple(failures), error)


def _of_one_name(
    cluster: Cluster,
    settings: Settings,
    applied: Collection[Applied],
    name: str,
    *,
    dry_run: bool,
    pause: Callable[[float], None],
) -> Iterator[AccountOutcome]:
    found = _find(cluster, name, applied, pause)
    yield from (AccountMissing(one.namespace, name) for one in applied if one.namespace not in found)
    patch = partial(_patch, cluster, secret_name=settings.secret_name, dry_run=dry_run)
    yield from in_parallel(patch, found.values(), workers=settings.concurrency, broken=account_outcomes.broken)


def _find(
    cluster: Cluster, name: str, applied: Collection[Applied], pause: Callable[[float], None]
) -> dict[str, ServiceAccount]:
    """Return the ServiceAccounts by namespace; those of new namespaces are waited for, for a few seconds."""
    found = _list(cluster, name, {one.namespace for one in applied})
    new = {one.namespace for one in applied if one.change == "created"}
    for seconds in _PAUSES_SECONDS:
        if new <= found.keys() or not cluster.may_start():
            break
        pause(seconds)
        found |= _list(cluster, name, new - found.keys())
    return found


def _list(cluster: Cluster, name: str, namespaces: Collection[str]) -> dict[str, ServiceAccount]:
    if not namespaces:
        return {}
    listed = cluster.service_accounts(name, sorted(namespaces) if len(namespaces) <= _FEW else ())
    return {account.namespace: account for account in listed if account.namespace in namespaces}


def _patch(cluster: Cluster, account: ServiceAccount, *, secret_name: str, dry_run: bool) -> AccountOutcome:
    """Return what became of one ServiceAccount; if it changes meanwhile, it is read anew and tried again."""
    for _ in range(_TRIES):
        if secret_name in account.pull_secrets:
            return AccountUnchanged(account.namespace, account.name)
        if not cluster.may_start():
            return account_outcomes.deadline(account)
        answer = cluster.patch_service_account(account, service_accounts.naming(account, secret_name), dry_run=dry_run)
        if answer.succeeded:
            return account_outcomes.patched(account, answer)
        if answer.status == 404:
            return AccountMissing(account.namespace, account.name)
        if not answer.precondition_failed:
            break
        anew = _list(cluster, account.name, {account.namespace})
        if account.namespace not in anew:
            return AccountMissing(account.namespace, account.name)
        account = anew[account.namespace]
    return account_outcomes.failed(account, answer)
