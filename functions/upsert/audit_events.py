"""What a batch of the API server's audit events says is missing in the cluster.

A batch comes as CloudWatch Logs delivers it to a subscriber:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html#LambdaFunctionExample
Its messages are events of audit.k8s.io/v1: https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/

Writing an object causes no such event: the refresher's verbs are list and patch, and what counts here is what
creates namespaces, and delete and deletecollection on what it writes. So no run can be the cause of another one.
"""

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from upsert.core.resources import WRITTEN

# A batch is at most 1 MB as it comes, and compresses about tenfold. More is not unpacked.
_LONGEST_BATCH = 64 * 1024 * 1024
_GZIP = 31  # the window size that tells zlib to expect gzip's header

# It empties a namespace that is going away, where nothing can be created any more.
_NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"

_CREATED = 201

_NAMESPACE = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"

# What records call the resources that are written, by API group and plural: other groups have NetworkPolicies, too.
_WRITTEN = {(resource.group, resource.plural): resource.kind.lower() for resource in WRITTEN}


class NotABatch(Exception):
    """The event is not what CloudWatch Logs delivers; the text says what is wrong and quotes nothing."""


class Gap(NamedTuple):
    """What may be missing in a namespace: an object by its title, those of one kind by its prefix, or everything.

    `title` is ``secret/aws-ecr-token``, ``secret/``, or empty.
    """

    namespace: str
    title: str = ""

    def concerns(self, title: str) -> bool:
        """Return whether the object of that title may be missing."""
        return title.startswith(self.title) if self.title.endswith("/") else self.title in ("", title)


def gaps(awslogs: object) -> tuple[Gap, ...]:
    """Return where something may be missing, sorted: namespaces that were created, objects that were deleted.

    Events of other kinds, refused requests and lines that are no events do not count. Raises `NotABatch`.
    """
    batch = _unpack(awslogs)
    if batch.get("messageType") == "CONTROL_MESSAGE":
        # CloudWatch Logs tries out whether the subscriber can be reached.
        return ()
    lines = batch.get("logEvents")
    if batch.get("messageType") != "DATA_MESSAGE" or not isinstance(lines, list):
        raise NotABatch("expected a messageType DATA_MESSAGE with logEvents")
    return tuple(sorted({gap for event in _events(lines) if (gap := _gap_after(event)) and gap.namespace}))


def _unpack(awslogs: object) -> dict[str, Any]:
    data = awslogs.get("data") if isinstance(awslogs, dict) else None
    if not isinstance(data, str):
        raise NotABatch("expected an object with a text named data")
    unzip = zlib.decompressobj(_GZIP)
    try:
        text = unzip.decompress(base64.b64decode(data, validate=True), _LONGEST_BATCH)
    except (binascii.Error, zlib.error):
        raise NotABatch("expected data to be base64 of gzip") from None
    if not unzip.eof:
        raise NotABatch(f"expected data to be a whole gzip stream of at most {_LONGEST_BATCH} bytes unpacked")
    return _object(text) or {}


def _events(lines: list[Any]) -> Iterator[dict[str, Any]]:
    for line in lines:
        message = line.get("message") if isinstance(line, dict) else None
        if isinstance(message, str) and (event := _object(message)):
            yield event


def _gap_after(event: dict[str, Any]) -> Gap | None:
    """Return what the event leaves missing, if anything."""
    if event.get("stage") != "ResponseComplete" or not _succeeded(event):
        return None
    target = _mapping(event, "objectRef")
    kind = _WRITTEN.get((str(target.get("apiGroup", "")), str(target.get("resource"))), "")
    match event.get("verb"), target.get("resource"), target.get("subresource"):
        case "create" | "patch", "namespaces", None if event["verb"] == "create" or _code(event) == _CREATED:
            # Server-side apply, as Flux and Argo CD use it, creates by a patch.
            # A name that the server made up (generateName) is in its answer only.
            return Gap(_name(target.get("name") or _mapping(_mapping(event, "responseObject"), "metadata").get("name")))
        case "delete", _, None if kind and isinstance(target.get("name"), str):
            return Gap(_name(target.get("namespace")), f"{kind}/{target['name']}")
        case "deletecollection", _, None if kind and _username(event) != _NAMESPACE_CONTROLLER:
            # It names no object: ours may have been among them.
            return Gap(_name(target.get("namespace")), f"{kind}/")
        case _:
            return None


def _succeeded(event: dict[str, Any]) -> bool:
    return 200 <= _code(event) < 300


def _code(event: dict[str, Any]) -> int:
    code = _mapping(event, "responseStatus").get("code")
    return code if isinstance(code, int) else 0


def _username(event: dict[str, Any]) -> object:
    return _mapping(event, "user").get("username")


def _name(value: object) -> str:
    return value if isinstance(value, str) and re.fullmatch(_NAMESPACE, value) else ""


def _mapping(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _object(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
