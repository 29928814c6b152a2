"""An object as it stands in the cluster, and what else there has a say in it.

Names are kept only if they have the form of names: a Secret may hold a password in the place of one.
"""

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from upsert.core import marks
from upsert.core.identity import FIELD_MANAGER
from upsert.core.marks import NO_MARKS, Marks, printable
from upsert.core.sensitive import Sensitive


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object.

    `managers` are the field managers that own any of its data, `blind_managers` those that own it as `stringData`, for
    which the server reports no conflict. `our_keys` are the keys that our apply owns, None if we never applied it.
    `ownership` is all of ownerReferences and finalizers.
    """

    uid: str
    resource_version: str
    type: str
    data: Mapping[str, Sensitive[bytes]]
    immutable: bool = False
    is_being_deleted: bool = False
    managers: tuple[str, ...] = ()
    blind_managers: tuple[str, ...] = ()
    our_keys: frozenset[str] | None = None
    owners: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    ownership: Sensitive[str] = field(default_factory=lambda: Sensitive("[]"))
    marks: Marks = NO_MARKS

    def is_ours(self, keys: Collection[str]) -> bool:
        """Return whether our apply owns those of the keys that are there."""
        return self.our_keys is not None and self.our_keys.issuperset(self.data.keys() & set(keys))

    def same_content(self, other: "LiveObject") -> bool:
        """Return whether it is the same object with the same type and values."""
        return (self.uid, self.data, self.type) == (other.uid, other.data, other.type)

    @property
    def other_managers(self) -> tuple[str, ...]:
        """Return the field managers of its data without ours."""
        return tuple(manager for manager in self.managers if manager != FIELD_MANAGER)


@dataclass(frozen=True, slots=True)
class ExternalSecret:
    """An ExternalSecret of External Secrets Operator that writes the Secret; its policy is the default if unset."""

    name: str
    creation_policy: str


def parse(_status: int, document: Mapping[str, Any]) -> LiveObject:
    """Return the object that the API server's JSON describes. Raises `ValueError` if it is none."""
    try:
        metadata = document["metadata"]
        data = {
            key: Sensitive(base64.b64decode(value, validate=True))
            for key, value in (document.get("data") or {}).items()
        }
        annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
        fields = metadata.get("managedFields") or []
        owners, finalizers = metadata.get("ownerReferences") or [], metadata.get("finalizers") or []
        return LiveObject(
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            type=printable(document["type"]),
            data=data,
            immutable=document.get("immutable") is True,
            is_being_deleted=bool(metadata.get("deletionTimestamp")),
            managers=_managers(fields, "f:data", "f:stringData"),
            blind_managers=_managers(fields, "f:stringData"),
            our_keys=_our_keys(fields),
            owners=tuple(f"{printable(owner['kind'])}/{printable(owner['name'])}" for owner in owners),
            finalizers=tuple(printable(name) for name in finalizers),
            ownership=Sensitive(json.dumps([owners, finalizers], sort_keys=True)),
            marks=marks.found_in(annotations, labels, data),
        )
    except (KeyError, TypeError, AttributeError):
        raise ValueError("not an object with data") from None


def parse_of(namespace: str, name: str, status: int, document: Mapping[str, Any]) -> LiveObject:
    """Return that very object; an answer about another one is no answer to what was asked. Raises `ValueError`."""
    found = parse(status, document)
    metadata = document["metadata"]
    if (metadata.get("namespace"), metadata.get("name")) != (namespace, name):
        raise ValueError("another object")
    return found


def parse_external_secrets(secret_name: str, _status: int, document: Mapping[str, Any]) -> tuple[ExternalSecret, ...]:
    """Return those of a list of ExternalSecrets that write the Secret of that name."""
    found = []
    for item in document.get("items") or []:
        name, target = item["metadata"]["name"], item.get("spec", {}).get("target") or {}
        if (target.get("name") or name) == secret_name:
            found.append(ExternalSecret(printable(name), printable(target.get("creationPolicy") or "Owner")))
    return tuple(sorted(found, key=lambda one: one.name))


def _managers(managed_fields: list[dict[str, Any]], *places: str) -> tuple[str, ...]:
    """Return who owns a key there. One whose keys were all taken over still owns the place itself, written ``.``.

    An apply of `stringData` owns that and nothing of `data`, though it writes it.
    """
    names = {
        printable(entry["manager"])
        for entry in managed_fields
        for place in places
        if any(key.startswith("f:") for key in entry.get("fieldsV1", {}).get(place, {}))
    }
    return tuple(sorted(names))


def _our_keys(managed_fields: list[dict[str, Any]]) -> frozenset[str] | None:
    """Return the keys that our apply owns. An update under our name is another manager to the server."""
    for entry in managed_fields:
        if (entry["manager"], entry.get("operation")) == (FIELD_MANAGER, "Apply"):
            owned = entry.get("fieldsV1", {}).get("f:data", {})
            return frozenset(key.removeprefix("f:") for key in owned if key.startswith("f:"))
    return None
