"""An object as it stands in the cluster, and what else there has a say in it.

Names are kept only if they have the form of names: a Secret may hold a password in the place of one.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from upsert.core import manifests, marks
from upsert.core.identity import FIELD_MANAGER
from upsert.core.marks import NO_MARKS, Marks, printable
from upsert.core.objects import Desired
from upsert.core.resources import CONFIG_MAPS, SECRETS
from upsert.core.sensitive import Sensitive

# The places in a document that hold values by key; `stringData` is written alone, and shows only in managedFields.
_OF_KEYS = ("f:data", "f:binaryData")
_BLIND = "f:stringData"
_NOT_OURS = frozenset({"apiVersion", "kind", "metadata", "status"})


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object.

    `type` is empty where the kind has none. `binary_keys` are the keys that a ConfigMap has in ``binaryData``. `rest`
    is what an object without data says, all but its kind, name and status; of its metadata, labels and annotations.
    `owned` says which keys, of an object without data which paths, each field manager owns; `blind_managers` are those
    that own some as `stringData`, for which the server reports no conflict. `our_keys` are those that our apply owns,
    None if we never applied it. `ownership` is all of ownerReferences and finalizers. Keys are as they are, so they
    show nowhere: somebody may have put a password in the place of one.
    """

    uid: str
    resource_version: str
    type: str
    data: Mapping[str, Sensitive[bytes]] = field(repr=False)
    binary_keys: frozenset[str] = field(default=frozenset(), repr=False)
    rest: Mapping[str, Any] = field(default_factory=dict, repr=False)
    immutable: bool = False
    is_being_deleted: bool = False
    owned: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    blind_managers: tuple[str, ...] = ()
    our_keys: frozenset[str] | None = field(default=None, repr=False)
    owners: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    ownership: Sensitive[str] = field(default_factory=lambda: Sensitive("[]"))
    marks: Marks = NO_MARKS

    @property
    def contents(self) -> Mapping[str, Any]:
        """Return what the kind of object compares: the values by key, of one without data what it says."""
        return self.rest or self.data

    def is_ours(self, desired: Desired) -> bool:
        """Return whether our apply owns what it is to write of all that is there."""
        there = keys_of(self.data, self.rest) & keys_of(desired.data, desired.rest)
        if not (there or self.type):
            # An apply of nothing leaves no trace.
            return True
        return self.our_keys is not None and self.our_keys.issuperset(there)

    def rivals(self, desired: Desired) -> tuple[str, ...]:
        """Return the other field managers that own any of what is to be written."""
        wanted = keys_of(desired.data, desired.rest)
        others = (name for name, keys in self.owned.items() if not wanted.isdisjoint(keys))
        return tuple(sorted(name for name in others if name != FIELD_MANAGER))

    def same_content(self, other: "LiveObject") -> bool:
        """Return whether it is the same object with the same type and values."""
        return (self.uid, self.type, self.data, self.binary_keys, _content(self.rest)) == (
            other.uid,
            other.type,
            other.data,
            other.binary_keys,
            _content(other.rest),
        )

    @property
    def managers(self) -> tuple[str, ...]:
        """Return the field managers of its content: anyone may leave a mark on its metadata."""
        return tuple(sorted(name for name, keys in self.owned.items() if not all(map(_is_metadata, keys))))

    @property
    def other_managers(self) -> tuple[str, ...]:
        """Return the field managers of its content without ours."""
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
        annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
        fields = metadata.get("managedFields") or []
        owners, finalizers = metadata.get("ownerReferences") or [], metadata.get("finalizers") or []
        data, binary_keys, rest = _values(document, {"labels": labels, "annotations": annotations})
        return LiveObject(
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            type=printable(document["type"]) if document["kind"] == SECRETS.kind else "",
            data=data,
            binary_keys=binary_keys,
            rest=rest,
            immutable=document.get("immutable") is True,
            is_being_deleted=bool(metadata.get("deletionTimestamp")),
            owned=_owned(fields, rest),
            blind_managers=tuple(sorted({printable(one["manager"]) for one in fields if _keys(one, (_BLIND,))})),
            our_keys=_our_keys(fields, rest),
            owners=tuple(f"{printable(owner['kind'])}/{printable(owner['name'])}" for owner in owners),
            finalizers=tuple(printable(name) for name in finalizers),
            ownership=Sensitive(json.dumps([owners, finalizers], sort_keys=True)),
            marks=marks.found_in(annotations, labels, data, document["kind"]),
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


def _values(
    document: Mapping[str, Any], metadata: Mapping[str, Any]
) -> tuple[dict[str, Sensitive[bytes]], frozenset[str], Mapping[str, Any]]:
    """Return the values by key, the keys that are no text, and what an object says that has no keys."""
    if document["kind"] not in (SECRETS.kind, CONFIG_MAPS.kind):
        said = {name: value for name, value in document.items() if name not in _NOT_OURS}
        return {}, frozenset(), said | {"metadata": metadata}
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    if document["kind"] == SECRETS.kind:
        return {key: _decoded(value) for key, value in data.items()}, frozenset(), {}
    texts = {key: Sensitive(value.encode(errors="surrogatepass")) for key, value in data.items()}
    return texts | {key: _decoded(value) for key, value in binary.items()}, frozenset(binary), {}


def _decoded(value: str) -> Sensitive[bytes]:
    return Sensitive(base64.b64decode(value, validate=True))


def _content(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an object says without its metadata, where anyone may leave a mark."""
    return {name: value for name, value in rest.items() if name != "metadata"}


def keys_of(data: Mapping[str, Any], rest: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of data, and the paths of what an object without data says."""
    return frozenset(data.keys() | manifests.leaves(rest).keys())


def _is_metadata(path: str) -> bool:
    return path.startswith("metadata.")


def _owned(managed_fields: list[dict[str, Any]], rest: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return what each field manager owns, of those that own anything.

    One whose keys were all taken over still owns the place itself, written ``.``. An apply of `stringData` owns that
    and nothing of `data`, though it writes it.
    """
    found: dict[str, frozenset[str]] = {}
    for entry in managed_fields:
        if keys := _content_keys(entry, rest, (*_OF_KEYS, _BLIND)):
            name = printable(entry["manager"])
            found[name] = found.get(name, frozenset()) | keys
    return found


def _our_keys(managed_fields: list[dict[str, Any]], rest: Mapping[str, Any]) -> frozenset[str] | None:
    """Return what our apply owns. An update under our name is another manager to the server."""
    for entry in managed_fields:
        if (entry["manager"], entry.get("operation")) == (FIELD_MANAGER, "Apply"):
            return _content_keys(entry, rest, _OF_KEYS)
    return None


def _content_keys(entry: Mapping[str, Any], rest: Mapping[str, Any], places: tuple[str, ...]) -> frozenset[str]:
    return manifests.owned(rest, entry.get("fieldsV1", {})) if rest else _keys(entry, places)


def _keys(entry: Mapping[str, Any], places: tuple[str, ...]) -> frozenset[str]:
    """Return the keys that an entry of managedFields owns in the places."""
    fields = entry.get("fieldsV1", {})
    owned = (key for place in places for key in fields.get(place, {}) if key.startswith("f:"))
    return frozenset(key.removeprefix("f:") for key in owned)
