"""Everything that stops a run, as one tree.

    PullSecretError
    ├── SettingsError           a parameter or the event is wrong; names every bad field
    ├── RegistryError           ECR refused, or answered something that is no login
    ├── ClusterError
    │   ├── ClusterNotFound     EKS knows no such cluster
    │   ├── ClusterNotActive    it exists but does not serve
    │   ├── ClusterAccessDenied the function's role may not describe it
    │   ├── ClusterUnreachable  no answer from its endpoint
    │   ├── ClusterNotTrusted   its certificate is not signed by the cluster's CA
    │   ├── Unauthorized        401: no access entry for the function's role
    │   ├── ListForbidden       403: the RBAC file is not applied
    │   └── UnexpectedAnswer    something answered that does not speak Kubernetes
    ├── NoNamespaceMatches      the patterns select nothing, or a namespace named by hand is not there
    └── NamespacesFailed        the run went to its end, and some namespaces were not refreshed

Every message says what happened and what to do about it. None holds a value: messages are built from names, numbers
and codes only, and an error that wraps another is raised ``from None`` where the other could print a body.
"""

from collections.abc import Sequence


class PullSecretError(Exception):
    """Base of all errors that this package raises on purpose."""


class SettingsError(PullSecretError):
    """A parameter or the event is wrong; nothing has been called yet.

    ``problems`` holds one line per bad field: its name, its value unless secret, and what was expected.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class RegistryError(PullSecretError):
    """ECR gave no usable login; no namespace has been touched."""


class ClusterError(PullSecretError):
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


class NoNamespaceMatches(PullSecretError):
    """The settings or the event select no namespace."""


class NamespacesFailed(PullSecretError):
    """The run ended, and at least one namespace was not refreshed."""
