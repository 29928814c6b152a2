"""Makes clusters and objects of the values of a file, and notes everything that is wrong with them."""

import re
from collections.abc import Sequence
from copy import replace
from dataclasses import dataclass

from compiler import manifests
from upsert import kinds, sources
from upsert.core import namespaces
from upsert.core.fields import Fields, Grammar, Problem, shown
from upsert.core.grammars import (
    CLUSTER,
    CLUSTER_GLOB,
    FILE,
    FULL_TYPE,
    NAMESPACE_GLOB,
    OBJECT,
    REGION,
    ROLE_ARN,
    SELECTOR,
    SERVICE_ACCOUNT,
)
from upsert.core.objects import Object, OnConflict, Part, Ref, Scope, Target
from upsert.core.resources import MANIFESTS, SECRETS
from upsert.kinds.kind import Kind
from upsert.kinds.manifest import PLACE
from upsert.sources.source import Folder, NoFile

VERSION = 1
MOST_OBJECTS = 1000
# Of values that stand in the file and beside it. A run holds them several times over.
MOST_GIVEN = 16 * 1024 * 1024

FILE_FIELDS = ("version", "clusters", "objects")
CLUSTER_FIELDS = ("name", "region", "role_arn")
OBJECT_FIELDS = ("kind", "type", "name", "namespaces", "service_accounts", "on_conflict", "clusters", "write")
SCOPE_FIELDS = ("include", "exclude", "selector")
# Of these, what a manifest says, and what is left to say about it.
SAID_FIELDS = ("kind", "type", "name")
MANIFEST_FIELDS = (PLACE, "namespaces", "on_conflict", "clusters", "write")

_SECRET, _GENERIC = "Secret", "generic"
# Only what a kubelet pulls with can stand in a ServiceAccount's imagePullSecrets.
_PULL_SECRET = "kubernetes.io/dockerconfigjson"  # noqa: S105 - the name of a type
_EVERYTHING = "*"
_WRITE = Grammar("always|never", "always or never")


@dataclass(frozen=True, slots=True)
class ObjectsFile:
    """What a file of objects says. Without clusters it is for the one that the stack is deployed for."""

    clusters: tuple[Target, ...]
    objects: tuple[Object, ...]


def check(value: object, problems: list[Problem], folder: Folder) -> ObjectsFile:
    """Return the clusters and objects that the values of a file describe, and note every problem.

    What it names as files lies in the folder.
    """
    fields = Fields.of(value, (), problems, "version: 1 and objects")
    fields.closed(FILE_FIELDS)
    _check_version(fields)
    clusters = _clusters(fields)
    return ObjectsFile(clusters, _objects(fields, clusters, folder))


def _check_version(fields: Fields) -> None:
    version = fields.value.get("version")
    if type(version) is not int or version != VERSION:
        found = f"{shown(version)} is wrong" if "version" in fields else "is missing"
        fields.wrong("version", f"{found}; expected {VERSION}")


def _clusters(fields: Fields) -> tuple[Target, ...]:
    if "clusters" not in fields:
        return ()
    found: dict[str, Target] = {}
    for at in fields.children("clusters", "clusters, such as {name: production}"):
        at.closed(CLUSTER_FIELDS)
        name = at.text("name", CLUSTER)
        region = at.text("region", REGION, required=False)
        role_arn = at.text("role_arn", ROLE_ARN, required=False)
        if name in found:
            at.wrong("name", f"{name!r} is there twice; expected each cluster once")
        elif name:
            found[name] = Target(name, region, role_arn)
    return tuple(found.values())


def _objects(fields: Fields, clusters: Sequence[Target], folder: Folder) -> tuple[Object, ...]:
    given = fields.value.get("objects")
    if isinstance(given, list) and len(given) > MOST_OBJECTS:
        fields.wrong("objects", f"a list of {len(given)} is wrong; expected at most {MOST_OBJECTS}")
        return ()
    entries = fields.children("objects", "objects, each with a name and namespaces")
    found = tuple(_object(at, clusters, folder) for at in entries)
    size = sum(len(sources.given(part.ref)) for one in found for part in one.parts)
    if size > MOST_GIVEN:
        fields.wrong("objects", f"values and files have {size} bytes in all; expected at most {MOST_GIVEN}")
    return found


def _object(at: Fields, clusters: Sequence[Target], folder: Folder) -> Object:
    one = _of_manifest(at, folder) if PLACE in at else _of_parts(at, folder)
    return replace(
        one,
        scope=_scope(at),
        on_conflict=OnConflict(at.text("on_conflict", _one_of(tuple(OnConflict)), default=OnConflict.REFUSE)),
        clusters=_cluster_globs(at, clusters),
        is_written=at.text("write", _WRITE, default="always") == "always",
    )


def _of_parts(at: Fields, folder: Folder) -> Object:
    kind = _kind(at)
    rows = (kind,) if kind else kinds.TABLE.values()
    at.closed(tuple(dict.fromkeys((*OBJECT_FIELDS, *(name for row in rows for name in row.own_fields)))))
    return Object(
        name=at.text("name", OBJECT),
        type=kind.word if kind and kind.resource == SECRETS else "",
        parts=tuple(kind.parts(at, sources.Reader(folder))) if kind else (),
        kind=kind.resource.kind if kind else "",
        service_accounts=_service_accounts(at, kind),
    )


def _of_manifest(at: Fields, folder: Folder) -> Object:
    for name in filter(at.__contains__, SAID_FIELDS):
        at.wrong(name, "is said by the manifest; expected none here")
    left = {name: value for name, value in at.value.items() if name not in SAID_FIELDS}
    Fields(left, at.path, at.problems).closed(MANIFEST_FIELDS)
    found = _manifest(at.child(PLACE, "a file, such as {file: baseline/quota.yaml}"), folder)
    if found is None:
        return Object("", "", (), kind="")
    return Object(found.name, "", (Part(PLACE, Ref("value", (("text", found.rest),))),), kind=found.kind)


def _manifest(fields: Fields, folder: Folder) -> manifests.Manifest | None:
    fields.closed(("file",))
    path = fields.text("file", FILE)
    if not path:
        return None
    try:
        found, faults = manifests.read(folder.read(path))
    except NoFile as wrong:
        fields.wrong("file", str(wrong))
        return None
    for fault in faults:
        fields.wrong("file", f"{path}:{fault.line}: {fault.text}")
    return found


def _kind(at: Fields) -> Kind | None:
    """Return the row of the table that the object names, or None if it is not to be known."""
    rows = kinds.TABLE.values()
    known = tuple(dict.fromkeys(row.resource.kind for row in rows if row.resource not in MANIFESTS))
    expected = f"{' or '.join(known)}, or in its place a manifest, such as {{file: baseline/quota.yaml}}"
    kind = at.text("kind", Grammar("|".join(known), expected), default=_SECRET)
    if at.value.get("kind", kind) != kind:
        return None
    if kind != _SECRET:
        if "type" in at:
            at.wrong("type", f"is for Secrets alone; expected a {kind} without one")
        return kinds.find(kind, "")
    words = [row.word for row in rows if row.resource == SECRETS]
    pattern = "|".join((*map(re.escape, words), FULL_TYPE.expression))
    word = at.text("type", Grammar(pattern, f"{' or '.join(words)}, or {FULL_TYPE.expected}"), default=_GENERIC)
    return None if "type" in at and word != at.value["type"] else kinds.find(kind, word)


def _scope(at: Fields) -> Scope:
    fields = at.child("namespaces", "an object of include, exclude and selector")
    fields.closed(SCOPE_FIELDS)
    selector = fields.text("selector", SELECTOR, required=False)
    include = _distinct(fields.texts("include", NAMESPACE_GLOB))
    exclude = _distinct(fields.texts("exclude", NAMESPACE_GLOB, may_be_empty=True))
    if "include" not in fields and "selector" in fields:
        include = (_EVERYTHING,)
    elif "include" not in fields:
        fields.wrong(None, "names neither include nor selector; expected at least one of them")
    if _EVERYTHING in exclude or (include and not any(_is_left(pattern, exclude) for pattern in include)):
        fields.wrong("exclude", "leaves nothing of include; expected a namespace that the object goes to")
    return Scope(include, exclude, selector)


def _is_left(pattern: str, exclude: Sequence[str]) -> bool:
    return pattern not in exclude if not namespaces.is_name(pattern) else not namespaces.is_any(pattern, exclude)


def _service_accounts(at: Fields, kind: Kind | None) -> tuple[str, ...]:
    accounts = _distinct(at.texts("service_accounts", SERVICE_ACCOUNT))
    if accounts and kind and kind.type != _PULL_SECRET:
        at.wrong("service_accounts", f"is wrong for {kind.word}; expected it in pull Secrets alone")
    return accounts


def _cluster_globs(at: Fields, clusters: Sequence[Target]) -> tuple[str, ...]:
    globs = _distinct(at.texts("clusters", CLUSTER_GLOB)) or (_EVERYTHING,)
    names = [cluster.name for cluster in clusters]
    for glob in namespaces.unmatched((one for one in globs if one != _EVERYTHING), names):
        expected = (
            f"a match for {shown(', '.join(names))}" if names else "none in objects, since the file has no clusters"
        )
        at.wrong("clusters", f"{glob!r} is no cluster of the file; expected {expected}")
    return globs


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _one_of(words: Sequence[str]) -> Grammar:
    return Grammar("|".join(map(re.escape, words)), " or ".join(words))
