"""Reads a manifest as kubectl reads it, and refuses what cannot be kept in a namespace from outside."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compiler import loading
from compiler.dialects import KUBECTL
from compiler.loading import Fault, Loaded, Unreadable
from upsert.core.document import LAST_APPLIED
from upsert.core.fields import Fields, Grammar, Path, Problem, shown, unquoted
from upsert.core.grammars import OBJECT
from upsert.core.identity import FIELD_MANAGER
from upsert.core.resources import CONFIG_MAPS, MANIFESTS, SECRETS
from upsert.kinds.shapes import QUANTITY, SPECS, ByName, Each, Leaf, Record, Shape

_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
_METADATA = ("name", "labels", "annotations", "creationTimestamp")

# Of metadata, what is the API server's or another one's to say, and why it cannot stand in a manifest.
_NOT_OURS = {
    "namespace": "expected none, since the file of objects says the namespaces",
    "ownerReferences": "expected none, since deleting the owner would delete it",
    "finalizers": "expected none, since it could then not be deleted",
    "generateName": "expected a name",
    **dict.fromkeys(
        ("uid", "resourceVersion", "generation", "managedFields", "selfLink", "deletionTimestamp"),
        "expected none, since the API server says it: leave out what `kubectl get` added",
    ),
}

_RUNS_PODS = "who steals the token of a role that may write it runs pods of their own"
_GRANTS = "a role that may write it needs all that it grants, or the verb escalate or bind"
_OF_CLUSTER = "it is for the whole cluster, and objects go into namespaces"
_REFUSED = {
    **dict.fromkeys(
        ("Pod", "PodTemplate", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet"),
        _RUNS_PODS,
    ),
    **dict.fromkeys(("Job", "CronJob"), _RUNS_PODS),
    **dict.fromkeys(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), _GRANTS),
    **dict.fromkeys(("Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass"), _OF_CLUSTER),
    "ServiceAccount": "who may write it gives its pods another identity, on EKS an IAM role",
    "List": "one object is kept by itself",
}
_CLOSED = "each kind is one more power of the role, so the table of kinds is closed"
_OWN_FORM = {
    SECRETS.kind: "its values are kept at a source; expected an object with name, type and data in the file of objects",
    CONFIG_MAPS.kind: (
        "it has a form of its own; expected an object with kind: ConfigMap, name and data in the file of objects"
    ),
}

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
_PART = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"({OBJECT.expression}/)?{_PART}")
_LABEL = Grammar(rf"({_PART})?", "a label's value, in quotes if YAML would take it for something else")
_TEXT = Grammar(r"(?s).*", Leaf.TEXT)

# What a PodDisruptionBudget allows, said in one of two ways.
_BUDGET = ("minAvailable", "maxUnavailable")
_NEGATIVE = re.compile(r"-[0.]*[1-9]")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one manifest says: of which kind it is, its name, and as JSON what it says beside."""

    kind: str
    name: str
    rest: str


def read(text: bytes) -> tuple[Manifest | None, tuple[Fault, ...]]:
    """Return what the text of a manifest says, or everything that is wrong with it, each in its line."""
    try:
        loaded = _load(text)
    except Unreadable as error:
        return None, (error.fault,)
    problems: list[Problem] = []
    found = _manifest(loaded.value, problems)
    faults = (*loaded.faults, *_faults(problems, loaded))
    return (None if faults else found), tuple(sorted(faults, key=lambda fault: fault.line))


def _load(text: bytes) -> Loaded:
    """Return what a manifest holds. kubectl takes for JSON what begins like that and is, and anything else for YAML.

    Raises `Unreadable`.
    """
    loaded = loading.load(text, KUBECTL)
    if text.lstrip().startswith(b"{") and not loaded.faults:
        with suppress(ValueError):
            # Not all of JSON is the same in YAML, such as U+2028 in a text.
            loaded.value = json.loads(text, parse_int=KUBECTL.means, parse_float=KUBECTL.means)
    return loaded


def _faults(problems: list[Problem], loaded: Loaded) -> Iterator[Fault]:
    for problem in problems:
        place = problem.place or problem.path
        if not loaded.is_spoilt(place):
            yield Fault(loaded.line(place), str(problem))


def _manifest(value: object, problems: list[Problem]) -> Manifest | None:
    fields = Fields.of(value, (), problems, "a manifest")
    if "kind" in fields and not _is_kept(fields):
        # What else is wrong with it does not matter.
        return None
    kind = fields.text("kind", _any_of(tuple(resource.kind for resource in MANIFESTS)))
    version = next((resource.api_version for resource in MANIFESTS if resource.kind == kind), "")
    if version:
        fields.text("apiVersion", _any_of((version,)))
    fields.closed(_FIELDS)
    metadata = _metadata(fields)
    spec = fields.child("spec", "an object")
    if kind:
        _check(spec.value, SPECS[kind], spec.path, problems)
        problems.extend(_refused_anywhere(spec))
    if not _is_hollow(fields.value.get("status")):
        fields.wrong("status", "is filled; expected none, since the API server and controllers say it")
    rest = {**({"metadata": metadata.rest} if metadata.rest else {}), "spec": spec.value}
    if problems:
        return None
    return Manifest(kind, metadata.name, json.dumps(rest, sort_keys=True, separators=(",", ":")))


def _any_of(words: tuple[str, ...]) -> Grammar:
    return Grammar("|".join(map(re.escape, words)), " or ".join(words))


def _is_kept(fields: Fields) -> bool:
    """Return whether it is of a kind that can be kept by a manifest, and note why not."""
    kind, kept = fields.value["kind"], [resource.kind for resource in MANIFESTS]
    if not isinstance(kind, str) or kind in kept:
        return True
    if kind in _OWN_FORM:
        fields.wrong("kind", f"is {kind}: {_OWN_FORM[kind]}")
    else:
        why = _REFUSED.get(kind, _CLOSED)
        fields.wrong("kind", f"{shown(kind)} is wrong: {why}; expected {' or '.join(kept)}")
    return False


@dataclass(frozen=True, slots=True)
class _Metadata:
    name: str
    rest: Mapping[str, Mapping[str, str]]


def _metadata(fields: Fields) -> _Metadata:
    at = fields.child("metadata", "an object of name, labels and annotations")
    for name in filter(at.__contains__, _NOT_OURS):
        at.wrong(name, f"is there; {_NOT_OURS[name]}")
    if at.value.get("creationTimestamp") is not None:
        at.wrong("creationTimestamp", "is filled; expected null, since the API server says it")
    known = {name: value for name, value in at.value.items() if name not in _NOT_OURS}
    Fields(known, at.path, at.problems).closed(_METADATA)
    name = at.text("name", OBJECT)
    rest = {field: _texts(at, field) for field in ("labels", "annotations") if field in at}
    return _Metadata(name, {field: texts for field, texts in rest.items() if texts})


def _texts(metadata: Fields, field: str) -> Mapping[str, str]:
    at = metadata.child(field, f"an object of {field}")
    for key in at.value:
        if key == LAST_APPLIED:
            at.wrong(key, "is kubectl's own; expected none: kubectl create --dry-run=client -o yaml writes none")
        elif key.startswith(f"{FIELD_MANAGER}/"):
            at.wrong(key, f"is one of {FIELD_MANAGER}'s own; expected another name")
        elif not _KEY.fullmatch(key):
            at.wrong(key, "is no name of a label or annotation; expected one such as example.com/team")
        else:
            at.text(key, _LABEL if field == "labels" else _TEXT, is_secret=True)
    return at.value


def _check(value: Any, shape: Shape, path: Path, problems: list[Problem]) -> None:
    """Note what in a spec is of no form that the API server takes."""
    match shape:
        case Record():
            at = Fields.of(value, path, problems, "an object")
            at.closed(tuple(shape.fields))
            for name in filter(shape.fields.__contains__, at.value):
                _check(at.value[name], shape.fields[name], (*path, name), problems)
        case ByName():
            for name, one in Fields.of(value, path, problems, "an object").value.items():
                _check(one, shape.value, (*path, name), problems)
        case Each() if isinstance(value, list):
            for index, one in enumerate(value):
                _check(one, shape.item, (*path, index), problems)
        case Each():
            problems.append(Problem(path, f"{unquoted(value)} is wrong; expected a list"))
        case Leaf() if not _is_leaf(value, shape):
            problems.append(Problem(path, f"{unquoted(value)} is wrong; expected {shape}"))


def _refused_anywhere(spec: Fields) -> Iterator[Problem]:
    """Give what has its form, and is refused by every API server all the same.

    https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/
    """
    amounts: list[tuple[Path, object]] = [((name,), spec.value[name]) for name in _BUDGET if name in spec]
    if isinstance(hard := spec.value.get("hard"), Mapping):
        amounts += [(("hard", name), value) for name, value in hard.items()]
    for path, value in amounts:
        if _NEGATIVE.match(str(value)):
            yield Problem((*spec.path, *path), f"{unquoted(value)} is negative; expected 0 or more")
    if all(name in spec for name in _BUDGET):
        yield Problem(spec.path, f"names {' and '.join(_BUDGET)}; expected one of the two")


def _is_leaf(value: object, leaf: Leaf) -> bool:
    is_text, is_whole = isinstance(value, str), type(value) is int
    match leaf:
        case Leaf.TEXT:
            return is_text
        case Leaf.INTEGER:
            return is_whole
        case Leaf.INTEGER_OR_TEXT:
            return is_text or is_whole
        case Leaf.QUANTITY:
            return bool(QUANTITY.fullmatch(str(value))) if is_text or type(value) in (int, float) else False


def _is_hollow(value: object) -> bool:
    """Return whether a status says nothing yet, as kubectl writes it of an object that it has not sent."""
    if isinstance(value, Mapping):
        return all(map(_is_hollow, value.values()))
    return value is None or value == [] or (type(value) is int and value == 0)
