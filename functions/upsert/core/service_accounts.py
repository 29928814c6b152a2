"""ServiceAccounts and the pull Secrets that they name.

A pod that names no pull Secret itself gets those of its ServiceAccount:
https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#add-imageupserts-to-a-service-account
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from upsert.core import parsing
from upsert.core.answers import Page
from upsert.core.sensitive import Sensitive

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_IDENTIFIER = re.compile(r"[A-Za-z0-9-]{1,64}")


class ServiceAccount(NamedTuple):
    """One ServiceAccount at one version; `pull_secrets` are the names in its imagePullSecrets, in their order."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    pull_secrets: tuple[str, ...]


def parse(status: int, document: Mapping[str, Any]) -> Page[ServiceAccount]:
    """Return the ServiceAccounts on one page of a list.

    Raises KeyError, TypeError or ValueError if it is not what Kubernetes sends.
    """
    return parsing.page(status, [_parse_one(item) for item in document["items"]], document)


def parse_of(namespace: str, name: str, status: int, document: Mapping[str, Any]) -> Page[ServiceAccount]:
    """Return one page of those of that name, in that namespace if one is given.

    A list of others is no answer to what was asked. Raises like `parse`.
    """
    page = parse(status, document)
    if any(one.name != name or (namespace and one.namespace != namespace) for one in page.items):
        raise ValueError("others")
    return page


def naming(account: ServiceAccount, secret_name: str) -> Sensitive[bytes]:
    """Return the JSON merge patch (RFC 7386) that adds the pull Secret to this very version of the ServiceAccount.

    The list is replaced as a whole, by a strategic merge patch too, since Kubernetes takes it for atomic. So the patch
    holds all that is in the list, and the uid and resourceVersion that it was read at: if anything has changed since,
    the API server refuses it with a 409, and nothing is lost.
    """
    document = {
        "metadata": {"uid": account.uid, "resourceVersion": account.resource_version},
        "imagePullSecrets": [{"name": name} for name in (*account.pull_secrets, secret_name)],
    }
    return Sensitive(json.dumps(document, separators=(",", ":")).encode())


def _parse_one(item: Mapping[str, Any]) -> ServiceAccount:
    metadata = item["metadata"]
    return ServiceAccount(
        _checked(_NAMESPACE, metadata["namespace"]),
        _checked(_NAME, metadata["name"]),
        _checked(_IDENTIFIER, metadata["uid"]),
        _checked(_IDENTIFIER, metadata["resourceVersion"]),
        # The API server takes an entry without a name.
        tuple(_text(entry.get("name", "")) for entry in item.get("imagePullSecrets") or ()),
    )


def _checked(pattern: re.Pattern[str], value: object) -> str:
    if not pattern.fullmatch(_text(value)):
        raise ValueError("no name or identifier")
    return _text(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
