"""Everything that stops a run, as one tree.

    UpsertError
    ├── InputError              a parameter, the file of objects or the event is wrong; names every bad field
    ├── SourceFailed            a source gave nothing usable; says which one and what it needs
    │   └── SourceEmpty         it is there but holds no value yet
    ├── ClusterError
    │   ├── ClusterNotFound     EKS knows no such cluster
    │   ├── ClusterNotActive    it exists but does not serve
    │   ├── ClusterAccessDenied the function's role may not describe it, or not assume the role for it
    │   ├── ClusterUnreachable  no answer from its endpoint
    │   ├── ClusterNotTrusted   its certificate is not signed by the cluster's CA
    │   ├── Unauthorized        401: no access entry for the function's role
    │   ├── ListForbidden       403: the RBAC file is not applied
    │   ├── UnexpectedAnswer    something answered that does not speak Kubernetes
    │   └── ServiceAccountsNotListed  the objects are in place, but ServiceAccounts cannot be looked at
    ├── ImportRefused           a live object's values cannot be kept as they are
    ├── NoNamespaceMatches      the scopes select nothing, or a namespace named by hand is not there
    ├── ObjectsFailed           the run went to its end, and some objects were not refreshed, or not adopted
    └── InternalError           a fault of this function; says where, and nothing else

Beside it, `AwsError` is what AWS answered to one call; who made the call turns it into one of these.

Every message says what happened and what to do about it. None holds a value: messages are built from names, numbers
and codes only, and what leaves the function has been through `border.without_values`.
"""

from collections.abc import Sequence
from typing import Self


class UpsertError(Exception):
    """Base of all errors that this package raises on purpose."""


class InputError(UpsertError):
    """A parameter, the file of objects or the event is wrong; nothing has been called yet.

    ``problems`` holds one line per bad field: its name, its value unless secret, and what was expected.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class SourceFailed(UpsertError):
    """A source gave nothing usable; the objects that are made of it were left as they are."""

    def at(self, place: str) -> Self:
        """Return the same, said of a place in an object."""
        return type(self)(f"{place}: {self}")


class SourceEmpty(SourceFailed):
    """The source is there but holds no value yet."""


class ClusterError(UpsertError):
    """The cluster cannot be worked with; nothing has been written, unless the message says otherwise."""


class ClusterNotFound(ClusterError):
    """EKS knows no cluster of that name in that region."""


class ClusterNotActive(ClusterError):
    """The cluster exists but its API server does not serve."""


class ClusterAccessDenied(ClusterError):
    """The function's IAM role may not describe the cluster, or not assume the role for it."""


class ClusterUnreachable(ClusterError):
    """The API server's endpoint did not answer."""


class ClusterNotTrusted(ClusterError):
    """The endpoint's certificate was not signed by the cluster's CA."""


class Unauthorized(ClusterError):
    """The API server does not accept the function's identity (401)."""


class ListForbidden(ClusterError):
    """The API server knows the function but does not let it list namespaces (403)."""


class UnexpectedAnswer(ClusterError):
    """What answered at the endpoint did not speak Kubernetes."""


class ServiceAccountsNotListed(ClusterError):
    """Every object was dealt with, but the API server did not list the ServiceAccounts that are to name one."""


class ImportRefused(UpsertError):
    """The values of a live object were not imported; what was kept before is unchanged."""


class NoNamespaceMatches(UpsertError):
    """The scopes of the objects, or the event, select no namespace."""


class ObjectsFailed(UpsertError):
    """The run ended, and at least one object was not refreshed, or not adopted, in at least one namespace."""


class InternalError(UpsertError):
    """An exception that nobody foresaw; its own text is withheld, since it could quote a value."""


class AwsError(Exception):
    """What an AWS API answered instead of what was asked for, reduced to its code.

    `while_assuming` is whether the role for the call could not be assumed. The message is reduced to what services have
    no code of their own for: `is_about_a_stage` is whether it speaks of a staging label, `is_about_a_key` of a KMS key;
    `denied` is the action that it says is not allowed, such as ``kms:Decrypt``. `remedy` is what helps if the fault is
    in nothing that the call is about, such as the credentials.
    """

    def __init__(
        self,
        code: str,
        *,
        while_assuming: bool = False,
        is_about_a_stage: bool = False,
        is_about_a_key: bool = False,
        denied: str = "",
        remedy: str = "",
    ) -> None:
        self.code = code
        self.while_assuming = while_assuming
        self.is_about_a_stage = is_about_a_stage
        self.is_about_a_key = is_about_a_key
        self.denied = denied
        self.remedy = remedy
        super().__init__(code)
