"""What became of one ServiceAccount, decided from the API server's answers alone."""

from dataclasses import dataclass

from upsert.core.answers import Answer
from upsert.core.outcomes import Failed
from upsert.core.service_accounts import ServiceAccount

REASON = "service-account"


@dataclass(frozen=True, slots=True)
class AccountPatched:
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


def patched(account: ServiceAccount, answer: Answer) -> AccountPatched:
    """Return the outcome of an answer that succeeded."""
    return AccountPatched(account.namespace, account.name, answer.uid, answer.resource_version, answer.status)


def failed(account: ServiceAccount, answer: Answer) -> Failed:
    """Return the outcome of an answer that did not succeed, with what its owner can do."""
    return Failed(account.namespace, REASON, answer.status, f"{_in_place(account)}: {_why(answer)}")


def deadline(account: ServiceAccount) -> Failed:
    """Return the outcome of a ServiceAccount for which no time was left; nothing was written to it."""
    return Failed(account.namespace, REASON, 0, f"{_in_place(account)}: {_NO_TIME}")


def broken(account: ServiceAccount, fault: str) -> Failed:
    """Return the outcome when this function itself failed; `fault` says at which of its lines."""
    text = f"{_in_place(account)}: {fault}, a fault of this function; please report it with this line"
    return Failed(account.namespace, REASON, 0, text)


def _in_place(account: ServiceAccount) -> str:
    return f"the Secret is in place, but the ServiceAccount {account.name} does not name it"


_NO_TIME = "the function's time was nearly over; the next refresh tries again, or raise Timeout"


def _why(answer: Answer) -> str:
    match answer.status:
        case 0 if answer.trouble == "no-time":
            return _NO_TIME
        case 0:
            return f"no answer ({answer.trouble}); the next refresh tries again"
        case 403 if answer.denied_by_webhook:
            return "an admission webhook refused it; ask its owner"
        case 403:
            return (
                "the function's group may not patch it (403); apply rbac/service-accounts.yaml with its name "
                "in resourceNames"
            )
        case 409:
            return "others changed it at each try (409); the next refresh tries again"
        case status:
            return f"the API server answered with status {status}; the next refresh tries again"
