"""The use case behind ServiceAccounts: list, decide, patch where the pull Secret is not named yet."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from upsert.core import account_outcomes, service_accounts
from upsert.core.account_outcomes import AccountMissing, AccountOutcome, AccountPatched, AccountUnchanged
from upsert.core.answers import Answer, Page, Written
from upsert.core.objects import Object
from upsert.core.outcomes import Applied, Failed
from upsert.core.reports import AccountCounts
from upsert.core.sensitive import Sensitive
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import ServiceAccountsNotListed, UpsertError
from upsert.rounds import Again, Pacing, in_rounds

# So few namespaces are asked one by one; more of them are read from the list of the whole cluster.
_FEW = 5
# A controller makes the ServiceAccount of a new namespace, as a rule within a second.
_PAUSES_SECONDS = (0.5, 1.0, 2.0)
_TRIES = 5


class AccountStore(Protocol):
    """The API server, as far as ServiceAccounts need it."""

    @property
    def pace(self) -> Pacing: ...
    def time_left(self) -> float: ...
    def listed(self, name: str, namespaces: Sequence[str] = ()) -> Sequence[ServiceAccount]: ...
    def patch(self, account: ServiceAccount, patch: Sensitive[bytes], *, dry_run: bool) -> Answer[Written]: ...
    def anew(self, account: ServiceAccount) -> Answer[Page[ServiceAccount]]: ...
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

    def patch(naming: _Naming) -> AccountOutcome | Again[AccountOutcome]:
        return _patch(store, naming, secret_name=secret_name, dry_run=dry_run)

    outcomes: Iterator[AccountOutcome] = in_rounds(
        patch,
        [_Naming(account) for account in found.values()],
        pace=store.pace,
        time_left=store.time_left,
        late=lambda naming: account_outcomes.deadline(naming.account, secret_name),
        broken=lambda naming, fault: account_outcomes.broken(naming.account, secret_name, fault),
    )
    yield from outcomes


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


@dataclass(slots=True)
class _Naming:
    """A ServiceAccount that is to name the Secret; `is_stale` once somebody changed it since it was read."""

    account: ServiceAccount
    is_stale: bool = False


def _patch(
    store: AccountStore, naming: _Naming, *, secret_name: str, dry_run: bool
) -> AccountOutcome | Again[AccountOutcome]:
    """Return what one try came to; if the ServiceAccount changes meanwhile, it is read anew within it."""
    for _ in range(_TRIES):
        if naming.is_stale and (ended := _read_anew(store, naming, secret_name)):
            return ended
        account = naming.account
        if secret_name in account.pull_secrets:
            return AccountUnchanged(account.namespace, account.name)
        answer = store.patch(account, service_accounts.naming(account, secret_name), dry_run=dry_run)
        if answer.value and not answer.value.is_being_deleted:
            return account_outcomes.patched(account, answer.status, answer.value)
        if answer.value or answer.is_not_found:
            # It is gone, or will be once its finalizers are.
            return AccountMissing(account.namespace, account.name)
        if not answer.is_precondition_failed:
            return _not_done(account, secret_name, answer)
        naming.is_stale = True
    return account_outcomes.failed(naming.account, secret_name, answer)


def _read_anew(
    store: AccountStore, naming: _Naming, secret_name: str
) -> AccountMissing | Failed | Again[AccountOutcome] | None:
    """Read the ServiceAccount as it is now; return what that came to unless it is there."""
    page = store.anew(naming.account)
    if page.value is None:
        return _not_done(naming.account, secret_name, page)
    if not page.value.items:
        return AccountMissing(naming.account.namespace, naming.account.name)
    naming.account, naming.is_stale = page.value.items[0], False
    return None


def _not_done[T](account: ServiceAccount, secret_name: str, answer: Answer[T]) -> Failed | Again[AccountOutcome]:
    failed = account_outcomes.failed(account, secret_name, answer)
    if not answer.is_worth_retrying:
        return failed
    return Again(failed, answer.retry_after, answer.is_outage, answer.is_throttled)
