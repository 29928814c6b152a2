"""The use case behind ServiceAccounts: list, decide, patch where the pull Secret is not named yet."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from upsert.core import account_outcomes, service_accounts
from upsert.core.account_outcomes import (
    AccountCounts,
    AccountMissing,
    AccountOutcome,
    AccountPatched,
    AccountUnchanged,
)
from upsert.core.answers import Answer, Written
from upsert.core.objects import Object
from upsert.core.outcomes import Applied, Failed
from upsert.core.sensitive import Sensitive
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import ServiceAccountsNotListed, UpsertError
from upsert.parallel import in_parallel

# So few namespaces are asked one by one; more of them are read from the list of the whole cluster.
_FEW = 5
# A controller makes the ServiceAccount of a new namespace, as a rule within a second.
_PAUSES_SECONDS = (0.5, 1.0, 2.0)
_TRIES = 5


class AccountStore(Protocol):
    """The API server, as far as ServiceAccounts need it."""

    @property
    def concurrency(self) -> int: ...
    def listed(self, name: str, namespaces: Sequence[str] = ()) -> Sequence[ServiceAccount]: ...
    def patch(self, account: ServiceAccount, patch: Sensitive[bytes], *, dry_run: bool) -> Answer[Written]: ...
    def may_start(self) -> bool: ...


def name_secrets(
    store: AccountStore,
    applied: Mapping[Object, Collection[Applied]],
    *,
    dry_run: bool,
    record: Callable[[AccountOutcome], None],
    pause: Callable[[float], None] = time.sleep,
) -> AccountCounts:
    """Name each Secret in its ServiceAccounts, where it is in place, and return what became of them.

    What names the Secret already is not written. Each outcome goes to `record` as it comes; no fault is raised.
    """
    counts: Counter[type[AccountOutcome]] = Counter()
    failures: list[Failed] = []
    error: UpsertError | None = None
    try:
        for one, there in applied.items():
            for name in one.service_accounts:
                for outcome in _of_one_name(store, one.name, there, name, dry_run=dry_run, pause=pause):
                    record(outcome)
                    counts[type(outcome)] += 1
                    if isinstance(outcome, Failed):
                        failures.append(outcome)
    except ServiceAccountsNotListed as stopped:
        error = stopped
    return AccountCounts(
        counts[AccountPatched], counts[AccountUnchanged], counts[AccountMissing], tuple(failures), error
    )


def _of_one_name(
    store: AccountStore,
    secret_name: str,
    applied: Collection[Applied],
    name: str,
    *,
    dry_run: bool,
    pause: Callable[[float], None],
) -> Iterator[AccountOutcome]:
    found = _find(store, name, applied, pause)
    yield from (AccountMissing(one.namespace, name) for one in applied if one.namespace not in found)
    patch = partial(_patch, store, secret_name=secret_name, dry_run=dry_run)
    yield from in_parallel(
        patch,
        found.values(),
        workers=store.concurrency,
        broken=lambda account, fault: account_outcomes.broken(account, secret_name, fault),
    )


def _find(
    store: AccountStore, name: str, applied: Collection[Applied], pause: Callable[[float], None]
) -> dict[str, ServiceAccount]:
    """Return the ServiceAccounts by namespace; those of new namespaces are waited for, for a few seconds."""
    found = _list(store, name, {one.namespace for one in applied})
    new = {one.namespace for one in applied if one.change == "created"}
    for seconds in _PAUSES_SECONDS:
        if new <= found.keys() or not store.may_start():
            break
        pause(seconds)
        found |= _list(store, name, new - found.keys())
    return found


def _list(store: AccountStore, name: str, namespaces: Collection[str]) -> dict[str, ServiceAccount]:
    if not namespaces:
        return {}
    listed = store.listed(name, sorted(namespaces) if len(namespaces) <= _FEW else ())
    return {account.namespace: account for account in listed if account.namespace in namespaces}


def _patch(store: AccountStore, account: ServiceAccount, *, secret_name: str, dry_run: bool) -> AccountOutcome:
    """Return what became of one ServiceAccount; if it changes meanwhile, it is read anew and tried again."""
    for _ in range(_TRIES):
        if secret_name in account.pull_secrets:
            return AccountUnchanged(account.namespace, account.name)
        if not store.may_start():
            return account_outcomes.deadline(account, secret_name)
        answer = store.patch(account, service_accounts.naming(account, secret_name), dry_run=dry_run)
        if answer.value:
            return account_outcomes.patched(account, answer.status, answer.value)
        if answer.is_not_found:
            return AccountMissing(account.namespace, account.name)
        if not answer.is_precondition_failed:
            break
        anew = _list(store, account.name, {account.namespace})
        if account.namespace not in anew:
            return AccountMissing(account.namespace, account.name)
        account = anew[account.namespace]
    return account_outcomes.failed(account, secret_name, answer)
