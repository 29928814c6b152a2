"""What other tools leave on an object: marks by which they know it as theirs, and copies of what they once applied."""

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from upsert.core.document import LAST_APPLIED
from upsert.core.resources import CONFIG_MAPS, SECRETS
from upsert.core.sensitive import Sensitive

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:/ -]{0,126}[A-Za-z0-9])?")
_UNPRINTABLE = "<unprintable name>"

_HELM_RELEASE = "meta.helm.sh/release-name"
_ARGO_CD = "argocd.argoproj.io/"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_INSTANCE = "app.kubernetes.io/instance"
_ADDON_MODE = "addonmanager.kubernetes.io/mode"

# The values of an object sum to 1 MiB at most, so its JSON is shorter than this.
_LONGEST_COPY = 4 * 1024 * 1024
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
# Under these names tools keep a copy; one that cannot be read is named all the same.
_COPY = re.compile(
    r"[^/]+/last-applied(-config|-configuration)?|objectset\.rio\.cattle\.io/applied"
    r"|kapp\.k14s\.io/original(-diff(-full)?)?"
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that knows an object as its own: it writes it again, and deletes it once its source leaves it out.

    `called` names it and what of it that is, `run` is when it does so. `keep` is what to do for it to leave the object
    in place, empty if that has been done.
    """

    called: str
    run: str
    keep: str


@dataclass(frozen=True, slots=True)
class Marks:
    """What other tools left on an object; each is empty without their marks.

    `last_applied` is ``current`` or ``stale`` if kubectl's annotation holds a copy of the data, and ``unreadable`` if
    it cannot be told; `copies` are other annotations that hold one, each with the same words. `managed_by` is what a
    label says that no tool here is known for.
    """

    helm_release: str = ""
    argo_cd: str = ""
    tools: tuple[Tool, ...] = ()
    managed_by: str = ""
    last_applied: str = ""
    copies: tuple[tuple[str, str], ...] = ()


NO_MARKS = Marks()

# The label or annotation by which a tool knows an object, the tool, and what has to stand on the object for the tool to
# leave it in place: a label or annotation with its value, or no longer that mark. From the tools' own documentation:
# https://fluxcd.io/flux/components/kustomize/kustomizations/ https://carvel.dev/kapp/docs/latest/apply/
# https://kubernetes.io/docs/reference/labels-annotations-taints/ https://github.com/kubernetes-sigs/cli-utils
# https://kluctl.io/docs/ https://github.com/rancher/wrangler https://tanka.dev https://skaffold.dev
_TOOLS = (
    ("kustomize.toolkit.fluxcd.io/name", "Flux Kustomization", "kustomize.toolkit.fluxcd.io/prune: disabled"),
    ("helm.toolkit.fluxcd.io/name", "Flux HelmRelease", "helm.sh/resource-policy: keep"),
    ("kapp.k14s.io/app", "kapp app", "kapp.k14s.io/delete-strategy: orphan"),
    ("objectset.rio.cattle.io/hash", "Rancher (Fleet, k3s or RKE2) object set", ""),
    ("applyset.kubernetes.io/part-of", "ApplySet", ""),
    (
        "config.k8s.io/owning-inventory",
        "kpt or Config Sync",
        "client.lifecycle.config.k8s.io/deletion: detach",
    ),
    ("kluctl.io/discriminator", "kluctl deployment", "kluctl.io/skip-delete: true"),
    ("tanka.dev/environment", "Tanka environment", ""),
    ("skaffold.dev/run-id", "Skaffold run", ""),
)


def found_in(
    annotations: Mapping[str, str],
    labels: Mapping[str, str],
    data: Mapping[str, Sensitive[bytes]],
    kind: str,
) -> Marks:
    """Return the marks on an object of that kind that holds `data`. A copy of what has none holds no old value."""
    helm_release, argo_cd = _helm_release(annotations, labels), _argo_cd(annotations, labels)
    tools = tuple(_tools({**annotations, **labels}, helm_release, argo_cd))
    copies = _copies(annotations, {key: value.reveal() for key, value in data.items()}, kind)
    return Marks(
        helm_release=helm_release,
        argo_cd=argo_cd,
        tools=tools,
        managed_by=printable(labels[_MANAGED_BY]) if labels.get(_MANAGED_BY) and not tools else "",
        last_applied=copies.pop(LAST_APPLIED, ""),
        copies=tuple(copies.items()),
    )


def printable(name: object) -> str:
    """Return the name if it has the form of one, else a placeholder."""
    return name if isinstance(name, str) and _NAME.fullmatch(name) else _UNPRINTABLE


def _tools(marks: Mapping[str, str], helm_release: str, argo_cd: str) -> Iterator[Tool]:
    if helm_release:
        keep = _unless_there(marks, "helm.sh/resource-policy: keep")
        yield Tool(f"Helm release {helm_release}", "its next upgrade or rollback", keep)
    if argo_cd:
        keep = _unless_there(marks, f"{_ARGO_CD}sync-options: Prune=false")
        yield Tool(f"{argo_cd} by Argo CD", "its next sync", keep)
    for mark, tool, keep in _TOOLS:
        if mark in marks:
            called = f"{tool} {printable(marks[mark])}"
            yield Tool(called, "its next run", _unless_there(marks, keep) if keep else f"take {mark} off")
    if marks.get(_ADDON_MODE) == "Reconcile":
        yield Tool("Kubernetes add-on manager", "its next run", f"set {_ADDON_MODE}: EnsureExists")


def _unless_there(marks: Mapping[str, str], keep: str) -> str:
    """Return that it is to be set on an object, or nothing if it is. The value may stand there with others."""
    name, value = keep.split(": ")
    return "" if value.lower() in marks.get(name, "").lower() else f"set {keep}"


def _helm_release(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    if release := annotations.get(_HELM_RELEASE):
        return printable(release)
    return "of unknown name" if labels.get(_MANAGED_BY) == "Helm" else ""


def _argo_cd(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """Return how sure its mark is. The label is Argo CD's older way, and Helm charts set it as well."""
    if any(mark.startswith(_ARGO_CD) for mark in (*annotations, *labels)):
        return "tracked"
    return "perhaps tracked" if _INSTANCE in labels and not _helm_release(annotations, labels) else ""


def _copies(annotations: Mapping[str, str], live: Mapping[str, bytes], kind: str) -> dict[str, str]:
    """Return the annotations that hold a copy of an object's data, each with what it is like."""
    read = _READ.get(kind)
    if read is None:
        return {}
    found = ((printable(name), _likeness(name, text, live, read)) for name, text in sorted(annotations.items()))
    # Names that cannot be printed are one: a later one that is no copy does not take an earlier one's place.
    return {name: likeness for name, likeness in found if likeness}


def _likeness(name: str, text: str, live: Mapping[str, bytes], read: Callable[[Any], dict[str, bytes]]) -> str:
    is_known = bool(_COPY.fullmatch(name))
    try:
        copied = read(_document(text))
    except (ValueError, AttributeError, TypeError, RecursionError, zlib.error):
        return "unreadable" if is_known else ""
    if is_known or copied.keys() & live.keys():
        return "current" if copied == live else "stale"
    return ""


def _document(text: str) -> object:
    """Return the JSON value of an annotation, which tools also compress: Rancher with gzip, some operators with zip."""
    if text.lstrip()[:1] == "{":
        return json.loads(text)
    packed = base64.b64decode(text, validate=True)
    if packed.startswith(_ZIP):
        # One file, behind a header of 30 bytes, its name and an extra field: APPNOTE.TXT of PKWARE, section 4.3.7.
        start = 30 + int.from_bytes(packed[26:28], "little") + int.from_bytes(packed[28:30], "little")
        return json.loads(zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed[start:], _LONGEST_COPY))
    if packed.startswith(_GZIP):
        return json.loads(zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(packed, _LONGEST_COPY))
    raise ValueError("neither JSON nor an archive")


def _of_secret(document: Any) -> dict[str, bytes]:
    return _decoded(document.get("data")) | _encoded(document.get("stringData"))


def _of_config_map(document: Any) -> dict[str, bytes]:
    return _encoded(document.get("data")) | _decoded(document.get("binaryData"))


def _encoded(values: Mapping[str, str] | None) -> dict[str, bytes]:
    return {key: value.encode() for key, value in (values or {}).items()}


def _decoded(values: Mapping[str, str] | None) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (values or {}).items()}


_READ: Mapping[str, Callable[[Any], dict[str, bytes]]] = {
    SECRETS.kind: _of_secret,
    CONFIG_MAPS.kind: _of_config_map,
}
