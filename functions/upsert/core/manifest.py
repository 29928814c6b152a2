"""The Secret as it is applied: the same bytes for every namespace."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from upsert.core.sensitive import Sensitive

SECRET_TYPE = "kubernetes.io/dockerconfigjson"  # noqa: S105 - the name of a type
DATA_KEY = ".dockerconfigjson"
FIELD_MANAGER = "eks-upsert"
EXPIRES_AT = "eks-upsert/expires-at"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# A JSON merge patch (RFC 7386), in which null removes a key: kubectl keeps a full copy of an older Secret there.
WITHOUT_LAST_APPLIED = json.dumps({"metadata": {"annotations": {LAST_APPLIED: None}}}, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Payload:
    """What is to be in the cluster, wherever it came from: a named Secret of some type with some data.

    `expires_at` is when the data stops being useful; it is written beside it, for people who look.
    """

    name: str
    type: str
    data: Mapping[str, Sensitive[bytes]]
    expires_at: datetime


def pull_secret(name: str, docker_config: Sensitive[bytes], expires_at: datetime) -> Payload:
    """Return the payload of an image-pull Secret."""
    return Payload(name, SECRET_TYPE, {DATA_KEY: docker_config}, expires_at)


def render(payload: Payload) -> Sensitive[bytes]:
    """Return the apply configuration as JSON (which is YAML too), without a namespace: the request's path names that.

    It claims `type`, `data` and one annotation. No labels, so that neither Helm nor Argo CD takes the Secret for
    theirs; no ownerReference and no finalizer, so that deleting anything never deletes it.
    """
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": payload.name, "annotations": {EXPIRES_AT: timestamp(payload.expires_at)}},
        "type": payload.type,
        "data": {key: base64.b64encode(value.reveal()).decode() for key, value in sorted(payload.data.items())},
    }
    return Sensitive(json.dumps(document, separators=(",", ":")).encode())


def adoption(name: str, docker_config: Sensitive[bytes], *, uid: str, resource_version: str) -> Sensitive[bytes]:
    """Return the apply configuration that claims a live Secret's value as it is.

    It holds the Secret's uid and resourceVersion: the API server refuses it with a 409 once the Secret has changed,
    and, since no new Secret can have that uid, does not create one in the place of a Secret that is gone.
    """
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "uid": uid, "resourceVersion": resource_version},
        "type": SECRET_TYPE,
        "data": {DATA_KEY: base64.b64encode(docker_config.reveal()).decode()},
    }
    return Sensitive(json.dumps(document, separators=(",", ":")).encode())


def without_last_applied(uid: str, resource_version: str) -> bytes:
    """Return the merge patch that removes kubectl's annotation from this very version of a Secret."""
    metadata = {"uid": uid, "resourceVersion": resource_version, "annotations": {LAST_APPLIED: None}}
    return json.dumps({"metadata": metadata}, separators=(",", ":")).encode()


def timestamp(moment: datetime) -> str:
    """Return `moment` as Kubernetes writes times: RFC 3339, UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
