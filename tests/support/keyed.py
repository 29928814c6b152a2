"""Objects whose keys stand for themselves, as tests of the adopter need them: in the file, in a source, and live."""

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any

from tests.support.adopter import Read
from tests.support.controlplane import ControlPlane
from upsert.core.objects import Material, Object, OnConflict, Part, Ref, Scope
from upsert.core.sensitive import Sensitive
from upsert.errors import SourceFailed

KEPT = "apps/api"

type Values = Mapping[str, bytes]


def is_text(value: bytes) -> bool:
    """Return whether a value is UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def ref(key: str, value: bytes = b"") -> Ref:
    """Return where a key's value is kept: as a member of its name, in base64 if it is no text."""
    decode = () if is_text(value) else (("decode", "base64"),)
    return Ref("secret", (*decode, ("member", key), ("secret", KEPT)))


def keyed_object(name: str, values: Values, **changes: Any) -> Object:
    """Return a generic Secret with these keys, which conflicts with nobody's, unless `changes` say otherwise."""
    given: dict[str, Any] = {
        "type": "generic",
        "parts": tuple(Part(key, ref(key, value)) for key, value in values.items()),
        "scope": Scope(),
        "on_conflict": OnConflict.REFUSE,
    }
    return Object(name, **(given | changes))


def entry(name: str, values: Values, **changes: Any) -> dict[str, Any]:
    """Return the same as an entry of the file."""
    sources = {key: {"secret": KEPT, "member": key} | _decoded(value) for key, value in values.items()}
    return {"name": name, "data": sources, "namespaces": {"include": ["*"]}, **changes}


def source(values: Values) -> Mapping[Ref, Material | SourceFailed]:
    """Return what the sources give."""
    return {ref(key, value): Material({"value": Sensitive(value)}) for key, value in values.items()}


def read_from(values: Values) -> Read:
    """Return what reads the sources."""

    def read(refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
        kept = source(values)
        return {one: kept[one] for one in refs}

    return read


def body(name: str, values: Values, **fields: Any) -> dict[str, Any]:
    """Return a Secret as a manifest has it."""
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque", "data": data, **fields}


def values_of(found: Mapping[str, Any] | None) -> dict[str, bytes]:
    """Return the values of a Secret or ConfigMap."""
    assert found is not None, "there is no such object"
    if found["kind"] == "Secret":
        return {key: base64.b64decode(value) for key, value in found["data"].items()}
    texts = {key: value.encode() for key, value in found.get("data", {}).items()}
    return texts | {key: base64.b64decode(value) for key, value in found.get("binaryData", {}).items()}


def owners_of(found: Mapping[str, Any] | None) -> set[str]:
    """Return the field managers that claim any value."""
    assert found is not None, "there is no such object"
    places = ("f:data", "f:binaryData", "f:stringData", "f:spec")
    return {
        one["manager"]
        for one in found["metadata"].get("managedFields", [])
        if any(key.startswith("f:") for place in places for key in one["fieldsV1"].get(place, {}))
    }


def apply(plane: ControlPlane, namespace: str, document: Mapping[str, Any], *arguments: str) -> str:
    """Apply a document with kubectl and return what kubectl says."""
    return plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", *arguments, stdin=json.dumps(document))


def _decoded(value: bytes) -> dict[str, str]:
    return {} if is_text(value) else {"decode": "base64"}
