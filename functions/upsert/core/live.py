"""A Secret as it stands in the cluster, and what else there has a say in it.

Names are kept only if they have the form of names: a Secret may hold a password in the place of one.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from upsert.core.manifest import FIELD_MANAGER, LAST_APPLIED
from upsert.core.sensitive import Sensitive

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:/ -]{0,126}[A-Za-z0-9])?")
_UNPRINTABLE = "<unprintable name>"

_ARGO_CD = "argocd.argoproj.io/"
_HELM_RELEASE = "meta.helm.sh/release-name"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_INSTANCE = "app.kubernetes.io/instance"


@dataclass(frozen=True, slots=True)
class LiveSecret:
    """One Secret.

    `managers` are the field managers that own any of its data. `helm_release` and `argo_cd` are empty without their
    marks. `last_applied` is ``current`` or ``stale`` if kubectl's annotation holds a copy of the data, ``unreadable``
    if it cannot be told, and empty without the annotation. `ownership` is all of ownerReferences and finalizers.
    """

    uid: str
    resource_version: str
    type: str
    data: Mapping[str, Sensitive[bytes]]
    immutable: bool = False
    managers: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    ownership: Sensitive[str] = field(default_factory=lambda: Sensitive("[]"))
    helm_release: str = ""
    argo_cd: str = ""
    last_applied: str = ""

    @property
    def is_ours(self) -> bool:
        """Return whether our field manager owns data in it already."""
        return FIELD_MANAGER in self.managers

    @property
    def other_managers(self) -> tuple[str, ...]:
        """Return the field managers of its data without ours."""
        return tuple(manager for manager in self.managers if manager != FIELD_MANAGER)


@dataclass(frozen=True, slots=True)
class ExternalSecret:
    """An ExternalSecret of External Secrets Operator that writes the Secret; its policy is the default if unset."""

    name: str
    creation_policy: str


def read(document: Mapping[str, Any]) -> LiveSecret:
    """Return the Secret that the API server's JSON object describes. Raises `ValueError` if it is none."""
    try:
        metadata = document["metadata"]
        data = {
            key: Sensitive(base64.b64decode(value, validate=True))
            for key, value in (document.get("data") or {}).items()
        }
        annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
        owners, finalizers = metadata.get("ownerReferences") or [], metadata.get("finalizers") or []
        return LiveSecret(
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            type=printable(document["type"]),
            data=data,
            immutable=document.get("immutable") is True,
            managers=tuple(
                sorted({printable(name) for name in _managers_of_data(metadata.get("managedFields") or [])})
            ),
            owners=tuple(f"{printable(owner['kind'])}/{printable(owner['name'])}" for owner in owners),
            finalizers=tuple(printable(name) for name in finalizers),
            ownership=Sensitive(json.dumps([owners, finalizers], sort_keys=True)),
            helm_release=_helm_release(annotations, labels),
            argo_cd=_argo_cd(annotations, labels),
            last_applied=_last_applied(annotations, data),
        )
    except (KeyError, TypeError, AttributeError):
        raise ValueError("not a Secret") from None


def read_external_secrets(document: Mapping[str, Any], secret_name: str) -> tuple[ExternalSecret, ...]:
    """Return those of a list of ExternalSecrets that write the Secret of that name."""
    found = []
    for item in document.get("items") or []:
        name, target = item["metadata"]["name"], item.get("spec", {}).get("target") or {}
        if (target.get("name") or name) == secret_name:
            found.append(ExternalSecret(printable(name), printable(target.get("creationPolicy") or "Owner")))
    return tuple(sorted(found, key=lambda one: one.name))


def printable(name: object) -> str:
    """Return the name if it has the form of one, else a placeholder."""
    return name if isinstance(name, str) and _NAME.fullmatch(name) else _UNPRINTABLE


def _managers_of_data(managed_fields: list[dict[str, Any]]) -> set[str]:
    """Return who owns a key of `data`. One whose keys were all taken over still owns `data` itself, written ``.``."""
    return {
        entry["manager"]
        for entry in managed_fields
        if any(key.startswith("f:") for key in entry.get("fieldsV1", {}).get("f:data", {}))
    }


def _helm_release(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    if release := annotations.get(_HELM_RELEASE):
        return printable(release)
    return "of unknown name" if labels.get(_MANAGED_BY) == "Helm" else ""


def _argo_cd(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """Return the mark by which Argo CD tracks it. The label is Argo CD's older way, and Helm charts set it as well."""
    if any(mark.startswith(_ARGO_CD) for mark in (*annotations, *labels)):
        return "tracked"
    return "perhaps tracked" if _INSTANCE in labels and not _helm_release(annotations, labels) else ""


def _last_applied(annotations: Mapping[str, str], data: Mapping[str, Sensitive[bytes]]) -> str:
    copy = annotations.get(LAST_APPLIED)
    if copy is None:
        return ""
    try:
        document = json.loads(copy)
        plain = {key: value.encode() for key, value in (document.get("stringData") or {}).items()}
        copied = {key: base64.b64decode(value) for key, value in (document.get("data") or {}).items()} | plain
    except (ValueError, AttributeError, TypeError, RecursionError):
        return "unreadable"
    return "current" if copied == {key: value.reveal() for key, value in data.items()} else "stale"
