"""The documents that are sent: the same bytes for every namespace, since the request's path names that."""

import base64
import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from upsert.core.objects import Desired
from upsert.core.resources import CONFIG_MAPS, SECRETS, Resource
from upsert.core.sensitive import Sensitive

EXPIRES_AT = "eks-upsert/expires-at"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# What YAML takes for no character, for the end of a line, or for a mark of order.
_NOT_IN_YAML = "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"


def desired(desired: Desired) -> Sensitive[bytes]:
    """Return the apply configuration as JSON (which is YAML too).

    It claims `type`, `data`, and one annotation if the data expires; of a manifest, what it says. No labels of ours, so
    that neither Helm nor Argo CD takes the object for theirs; no ownerReference and no finalizer, so that deleting
    anything never deletes it.
    """
    expires_at = expiry(desired)
    expires = {"annotations": {EXPIRES_AT: expires_at}} if expires_at else {}
    return _apply_configuration(desired, desired.data, desired.binary_keys, expires)


def expiry(desired: Desired) -> str:
    """Return what the annotation of its document says, or nothing if the data does not expire."""
    return timestamp(desired.expires_at) if desired.expires_at else ""


def claim(
    desired: Desired,
    live: Mapping[str, Sensitive[bytes]],
    *,
    binary_keys: Collection[str] = (),
    uid: str,
    resource_version: str,
) -> Sensitive[bytes]:
    """Return the apply configuration that claims, of a live object, what is desired, with its values.

    `binary_keys` are those that the live object has in ``binaryData``: the API server takes no key in both places. Of a
    manifest, `desired` says what stands there.

    It holds the object's uid and resourceVersion: the API server refuses it with a 409 once the object has changed,
    and, since no new object can have that uid, does not create one in the place of one that is gone.
    """
    mine = {key: live[key] for key in desired.data if key in live}
    bound = {"uid": uid, "resourceVersion": resource_version}
    return _apply_configuration(desired, mine, binary_keys, bound)


def without_last_applied(uid: str, resource_version: str) -> Sensitive[bytes]:
    """Return the merge patch (RFC 7386: null removes) that takes kubectl's annotation from this very version.

    kubectl keeps a full copy of an older object there.
    """
    metadata = {"uid": uid, "resourceVersion": resource_version, "annotations": {LAST_APPLIED: None}}
    return _bytes({"metadata": metadata})


def claims(
    managed_fields: Sequence[Any], *, uid: str, resource_version: str, annotations_off: Collection[str] = ()
) -> Sensitive[bytes]:
    """Return the merge patch that changes who claims what in this very version of an object, and no value.

    Annotations that are to go, go with it.
    """
    metadata: dict[str, Any] = {"uid": uid, "resourceVersion": resource_version, "managedFields": managed_fields}
    if annotations_off:
        metadata["annotations"] = dict.fromkeys(annotations_off)
    return _bytes({"metadata": metadata})


def timestamp(moment: datetime) -> str:
    """Return `moment` as Kubernetes writes times: RFC 3339, UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _apply_configuration(
    desired: Desired,
    data: Mapping[str, Sensitive[bytes]],
    binary_keys: Collection[str],
    metadata: Mapping[str, Any],
) -> Sensitive[bytes]:
    return _bytes(
        {
            "apiVersion": desired.resource.api_version,
            "kind": desired.resource.kind,
            **desired.rest,
            "metadata": {"name": desired.name, **desired.rest.get("metadata", {}), **metadata},
            # Left out, the API server would take it for Opaque, and refuse that of an object of another type.
            **({"type": desired.type} if desired.type else {}),
            **_contents(desired.resource, data, binary_keys),
        }
    )


def _contents(
    resource: Resource, data: Mapping[str, Sensitive[bytes]], binary_keys: Collection[str]
) -> dict[str, Mapping[str, str]]:
    if resource == SECRETS:
        return {"data": {key: _base64(value) for key, value in sorted(data.items())}}
    if resource == CONFIG_MAPS:
        texts = {key: value.reveal().decode() for key, value in sorted(data.items()) if key not in binary_keys}
        binary = {key: _base64(value) for key, value in sorted(data.items()) if key in binary_keys}
        return {name: found for name, found in (("data", texts), ("binaryData", binary)) if found}
    return {}


def _base64(value: Sensitive[bytes]) -> str:
    return base64.b64encode(value.reveal()).decode()


def _bytes(document: Mapping[str, Any]) -> Sensitive[bytes]:
    """Return JSON that is YAML, too, as the API server reads an apply.

    It refuses what JSON makes of an emoji, a pair of escapes, and takes no more than 3 MiB: an escape is six bytes, so
    there are no more of them than have to be.
    """
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return Sensitive(re.sub(_NOT_IN_YAML, lambda found: f"\\u{ord(found[0]):04x}", text).encode())
