"""Everything that stops a run, as one tree.

    UpsertError
    ├── SettingsError           a parameter or the event is wrong; names every bad field
    ├── RegistryError           ECR refused, or answered something that is no login
    ├── ExtraRegistriesError    the entries for other registries cannot be read, or are no docker config
    ├── ClusterError
    │   ├── ClusterNotFound     EKS knows no such cluster
    │   ├── ClusterNotActive    it exists but does not serve
    │   ├── ClusterAccessDenied the function's role may not describe it
    │   ├── ClusterUnreachable  no answer from its endpoint
    │   ├── ClusterNotTrusted   its certificate is not signed by the cluster's CA
    │   ├── Unauthorized        401: no access entry for the function's role
    │   ├── ListForbidden       403: the RBAC file is not applied
    │   ├── UnexpectedAnswer    something answered that does not speak Kubernetes
    │   └── ServiceAccountsNotListed  the Secrets are in place, but ServiceAccounts cannot be looked at
    ├── ImportRefused           a live Secret's entries cannot be kept as they are
    ├── NoNamespaceMatches      the patterns select nothing, or a namespace named by hand is not there
    ├── NamespacesFailed        the run went to its end, and some namespaces were not refreshed, or not adopted
    └── InternalError           a fault of this function; says where, and nothing else

Every message says what happened and what to do about it. None holds a value: messages are built from names, numbers
and codes only, and what leaves the function has been through `without_values`.
"""

import traceback
from collections.abc import Callable, Sequence
from functools import wraps


class UpsertError(Exception):
    """Base of all errors that this package raises on purpose."""


class SettingsError(UpsertError):
    """A parameter or the event is wrong; nothing has been called yet.

    ``problems`` holds one line per bad field: its name, its value unless secret, and what was expected.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class RegistryError(UpsertError):
    """ECR gave no usable login; no namespace has been touched."""


class ExtraRegistriesError(UpsertError):
    """The Secrets Manager secret with the entries for other registries is missing, closed, empty or malformed."""


class ClusterError(UpsertError):
    """The cluster cannot be worked with; no namespace has been touched, unless the message says otherwise."""


class ClusterNotFound(ClusterError):
    """EKS knows no cluster of that name in that region."""


class ClusterNotActive(ClusterError):
    """The cluster exists but its API server does not serve."""


class ClusterAccessDenied(ClusterError):
    """The function's IAM role may not describe the cluster."""


class ClusterUnreachable(ClusterError):
    """The API server's endpoint did not answer."""


class ClusterNotTrusted(ClusterError):
    """The endpoint's certificate was not signed by the cluster's CA."""


class Unauthorized(ClusterError):
    """The API server does not accept the function's identity (401)."""


class ListForbidden(ClusterError):
    """The API server knows the function but lets it not list namespaces (403)."""


class UnexpectedAnswer(ClusterError):
    """What answered at the endpoint did not speak Kubernetes."""


class ImportRefused(UpsertError):
    """The entries of a live Secret were not imported; what was kept before is unchanged."""


class ServiceAccountsNotListed(ClusterError):
    """Every Secret was dealt with, but the API server did not list the ServiceAccounts that are to name it."""


class NoNamespaceMatches(UpsertError):
    """The settings or the event select no namespace."""


class NamespacesFailed(UpsertError):
    """The run ended, and at least one namespace was not refreshed, or not adopted."""


class InternalError(UpsertError):
    """An exception that nobody foresaw; its own text is withheld, since it could quote a value."""


def place_of(error: BaseException) -> str:
    """Return an exception's class and the line of this package that it came through last, and none of its text."""
    frames = traceback.walk_tb(error.__traceback__)
    places = [f"{name}:{line}" for frame, line in frames if (name := _module(frame.f_globals)).startswith("upsert.")]
    return f"{type(error).__name__} at {places[-1] if places else 'an unknown line'}"


def _module(names: dict[str, object]) -> str:
    return str(names.get("__name__", ""))


def without_values[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let errors of this package out of `function`, bare, and turn any other into an `InternalError`.

    Bare means without the exceptions that they were raised from. ``from None`` hides those from a printed traceback but
    leaves them on the error, where whoever walks its context finds answers and requests quoted.
    """

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UpsertError as error:
            stopped = error
        except Exception as error:  # noqa: BLE001 - the border: what nobody foresaw must not print what it quotes
            stopped = InternalError(f"{place_of(error)}: a fault of this function; please report it with this line")
        stopped.__cause__ = stopped.__context__ = None
        raise stopped

    return guarded
