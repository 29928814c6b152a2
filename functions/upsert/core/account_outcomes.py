"""What became of one ServiceAccount, decided from the API server's answers alone."""

from dataclasses import dataclass
from typing import NamedTuple

from upsert.core.answers import Answer, Written
from upsert.core.identity import REFRESHER
from upsert.core.outcomes import Failed
from upsert.core.service_accounts import ServiceAccount

REASON = "service-account"


class AccountPatched(NamedTuple):
    """The ServiceAccount names the Secret since now; `uid` and `resource_version` are the server's."""

    namespace: str
    service_account: str
    uid: str
    resource_version: str
    status: int


@dataclass(frozen=True, slots=True)
class AccountUnchanged:
    """The ServiceAccount named the Secret already, and nothing was written."""

    namespace: str
    service_account: str


@dataclass(frozen=True, slots=True)
class AccountMissing:
    """The namespace has no such ServiceAccount, so far: the next refresh looks again."""

    namespace: str
    service_account: str


type AccountOutcome = AccountPatched | AccountUnchanged | AccountMissing | Failed


def patched(account: ServiceAccount, status: int, written: Written) -> AccountPatched:
    """Return the outcome of an answer that succeeded."""
    return AccountPatched(account.namespace, account.name, written.uid, written.resource_version, status)


def failed[T](account: ServiceAccount, secret_name: str, answer: Answer[T]) -> Failed:
    """Return the outcome of an answer that did not succeed, with what its owner can do."""
    return _failed(account, secret_name, answer.status, _why(answer))


def deadline(account: ServiceAccount, secret_name: str) -> Failed:
    """Return the outcome of a ServiceAccount for which no time was left; nothing was written to it."""
    return _failed(account, secret_name, 0, _NO_TIME)


def broken(account: ServiceAccount, secret_name: str, fault: str) -> Failed:
    """Return the outcome when this function itself failed; `fault` says at which of its lines."""
    why = f"{fault}, a fault of this function; please report it with this line"
    return _failed(account, secret_name, 0, why)


def _failed(account: ServiceAccount, secret_name: str, status: int, why: str) -> Failed:
    remedy = f"the Secret {secret_name} is in place, but the ServiceAccount {account.name} does not name it: {why}"
    return Failed(f"serviceaccount/{account.name}", account.namespace, REASON, status, remedy)


_NO_TIME = "the function's time was nearly over; the next refresh tries again, or raise Timeout"


def _why[T](answer: Answer[T]) -> str:
    match answer.status:
        case 0 if answer.trouble == "no-time":
            return _NO_TIME
        case 0:
            return f"no answer ({answer.trouble}); the next refresh tries again"
        case status if answer.refusal.denied_by:
            did = "did not answer the API server" if answer.refusal.is_unasked else "refused it"
            return f"{answer.refusal.denied_by} {did} (status {status}); ask its owner"
        case 403:
            return (
                f"the group {REFRESHER.group} may not patch it (403); apply {REFRESHER.role} with its name in "
                "resourceNames"
            )
        case 409:
            return "others changed it at each try (409); the next refresh tries again"
        case status:
            return f"the API server answered with status {status}; the next refresh tries again"
