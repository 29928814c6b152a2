"""Who claims which fields of an object, and what is left once a claim is dropped.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from upsert.core.document import EXPIRES_AT
from upsert.core.identity import FIELD_MANAGER
from upsert.core.marks import printable
from upsert.core.sensitive import Sensitive

# What is left of the last claim: without any entry, the API server takes the next apply for the first one ever, and
# whatever is there for fields of a manager `before-first-apply`, with which that apply then is in conflict.
_NOTHING: Mapping[str, Any] = {"f:metadata": {}}
_UPDATE = "Update"


@dataclass(frozen=True, slots=True)
class Held:
    """An object as it stands, with who claims what of it.

    `entries` are its managedFields, as JSON; `content` is all of the object that is not about its versions, its status
    or us. `others` are the other field managers that claim any of its content, `is_claimed` says whether we claim
    anything. `expires` is whether our annotation stands on it.
    """

    uid: str
    resource_version: str
    entries: Sensitive[str]
    content: Sensitive[str]
    others: tuple[str, ...]
    is_claimed: bool
    expires: bool
    is_being_deleted: bool

    def without_ours(self) -> list[Any]:
        """Return the managedFields without what we claim."""
        left = [entry for entry in json.loads(self.entries.reveal()) if entry["manager"] != FIELD_MANAGER]
        api_version = json.loads(self.content.reveal())["apiVersion"]
        return left or [_entry(FIELD_MANAGER, _UPDATE, api_version, _NOTHING)]

    def ours_alone(self) -> list[Any]:
        """Return the managedFields in which nobody else claims what our apply does."""
        entries = json.loads(self.entries.reveal())
        ours: dict[str, Any] = next((entry["fieldsV1"] for entry in entries if _is_our_apply(entry)), {})
        if "f:data" in ours:
            # So an apply of stringData claims what it writes into data.
            ours = {**ours, "f:stringData": ours["f:data"]}
        left = []
        for entry in entries:
            fields = entry["fieldsV1"] if _is_our_apply(entry) else _without(entry["fieldsV1"], ours)
            if fields:
                left.append({**entry, "fieldsV1": fields})
        return left

    def rivals(self) -> tuple[str, ...]:
        """Return the other field managers that claim anything that our apply does."""
        before = {_name(entry): entry["fieldsV1"] for entry in json.loads(self.entries.reveal())}
        after = {_name(entry): entry["fieldsV1"] for entry in self.ours_alone()}
        names = {name for name, *_ in (key for key, fields in before.items() if after.get(key) != fields)}
        return tuple(sorted(map(printable, names)))


def parse_of(namespace: str, name: str, _status: int, document: Mapping[str, Any]) -> Held:
    """Return that very object of the API server's JSON. Raises `ValueError` if it is none, or another one."""
    try:
        metadata = document["metadata"]
        if (metadata.get("namespace"), metadata.get("name")) != (namespace, name) or "apiVersion" not in document:
            raise ValueError("another object")
        entries = metadata.get("managedFields") or []
        annotations = metadata.get("annotations") or {}
        return Held(
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            entries=Sensitive(json.dumps(entries)),
            content=Sensitive(json.dumps(_content(document, metadata, annotations), sort_keys=True)),
            others=tuple(
                sorted({printable(entry["manager"]) for entry in entries if _has_content(entry)} - {FIELD_MANAGER})
            ),
            is_claimed=any(entry["manager"] == FIELD_MANAGER and entry["fieldsV1"] != _NOTHING for entry in entries),
            expires=EXPIRES_AT in annotations,
            is_being_deleted=bool(metadata.get("deletionTimestamp")),
        )
    except (KeyError, TypeError, AttributeError):
        raise ValueError("not an object with managedFields") from None


def _content(
    document: Mapping[str, Any], metadata: Mapping[str, Any], annotations: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return what a release leaves alone; the rest is counted by the server, or ours."""
    kept = {key: metadata.get(key) for key in ("uid", "labels", "finalizers", "ownerReferences")}
    theirs = {key: value for key, value in annotations.items() if key != EXPIRES_AT}
    said = {key: value for key, value in document.items() if key not in ("metadata", "status")}
    return {**said, "metadata": {**kept, "annotations": theirs}}


def _entry(manager: str, operation: str, api_version: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": dict(fields),
    }


def _is_our_apply(entry: Mapping[str, Any]) -> bool:
    return (entry["manager"], entry.get("operation")) == (FIELD_MANAGER, "Apply")


def _has_content(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry claims more than metadata, status, and places whose fields were all taken over."""
    fields = {name: inner for name, inner in entry["fieldsV1"].items() if name not in ("f:metadata", "f:status")}
    return any(name != "." for inner in fields.values() for name in inner)


def _name(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what tells one entry from another."""
    return entry["manager"], entry.get("operation", ""), entry.get("subresource", "")


def _without(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return their fields without those that are ours. A field without fields in it is one that is claimed itself."""
    left: dict[str, Any] = {}
    for name, inner in theirs.items():
        if name not in ours:
            left[name] = inner
        elif inner and (rest := _without(inner, ours[name])):
            left[name] = rest
    return left
