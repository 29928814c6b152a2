"""Judges one ExternalSecret: whether it says who owns its Secret, and whether two would fight over one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import yaml

from upsert_hooks.manifests import Found
from upsert_hooks.nodes import equals, get, is_template, text

_MERGING = ("Merge", "CreateOrMerge")


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem in one line, or a note that something was not decided; `line` counts from 0."""

    line: int
    text: str
    is_problem: bool

    def __str__(self) -> str:
        return f"{self.line + 1}: {'' if self.is_problem else 'note: '}{self.text}"


def problem(line: int, words: str) -> Finding:
    """Return a finding that fails the check."""
    return Finding(line, words, is_problem=True)


def note(line: int, words: str) -> Finding:
    """Return a finding that fails the check only if it is strict."""
    return Finding(line, words, is_problem=False)


def judge(found: Found, pull_secret: str) -> Iterator[Finding]:
    """Give the findings about an object, with lines of its document."""
    node = found.node
    if is_template(get(node, "kind")):
        yield note(node.start_mark.line, "skipped: a template decides its kind; check what it renders to")
        return
    one = _External.read(found)
    if one.is_deleted or (found.is_embedded and one.outer is None):
        return  # the latter is a mere reference to an object
    for finding in _findings(one, pull_secret):
        if is_template(get(node, "apiVersion")):
            yield note(finding.line, f"skipped: a template decides its apiVersion, or else: {finding.text}")
        else:
            yield replace(finding, text=f"{one.who}: {finding.text}")


@dataclass(frozen=True, slots=True)
class _External:
    """What is read of an ExternalSecret; `outer` is its spec, `spec` that of the ExternalSecret that it makes."""

    node: yaml.Node
    outer: yaml.Node | None
    spec: yaml.Node | None
    target: yaml.Node | None
    name: yaml.Node | None
    default_aim: yaml.Node | None
    is_placed_as_patch: bool

    @classmethod
    def read(cls, found: Found) -> "_External":
        node = found.node
        is_cluster = text(get(node, "kind")) == "ClusterExternalSecret"
        # A rule of Kyverno that generates an object has its spec in `data` and its name beside its kind.
        outer = get(node, "spec") or get(node, "data", "spec")
        spec = get(outer, "externalSecretSpec") if is_cluster else outer
        # What is a template as a whole may hold the name.
        name = get(node, "metadata", "name") or get(node, "name") or get(node, "metadata")
        default_aim = (get(outer, "externalSecretName") if is_cluster else None) or name
        return cls(node, outer, spec, get(spec, "target"), name, default_aim, found.is_patch)

    @property
    def who(self) -> str:
        return f"{text(get(self.node, 'kind'))} {text(self.name) or 'without a name'}"

    @property
    def line(self) -> int:
        return (self.target or self.outer or self.node).start_mark.line

    @property
    def policy(self) -> yaml.Node | None:
        return get(self.target, "creationPolicy")

    @property
    def is_known_patch(self) -> bool:
        return self.is_placed_as_patch or self.has_directive

    @property
    def is_patch(self) -> bool:
        return self.is_known_patch or not self.is_whole

    @property
    def has_templates(self) -> bool:
        return any(map(is_template, (self.node, self.outer, self.spec, self.target)))

    @property
    def is_deleted(self) -> bool:
        return text(get(self.node, "$patch")) == "delete"

    @property
    def has_directive(self) -> bool:
        return any(get(part, "$patch") for part in (self.node, self.outer, self.spec, self.target))

    @property
    def is_whole(self) -> bool:
        """Whether there are data and a store (https://external-secrets.io/latest/api/externalsecret/), or may be."""
        data = [found for key in ("data", "dataFrom") if (found := get(self.spec, key))]
        entries = [entry for found in data if isinstance(found, yaml.SequenceNode) for entry in found.value]
        has_store = get(self.spec, "secretStoreRef") or any(get(entry, "sourceRef") for entry in entries)
        return is_template(self.spec) or bool(data and has_store)


def _findings(one: _External, pull_secret: str) -> Iterator[Finding]:
    if is_template(one.policy) or not text(one.policy):
        finding = _without_policy(one)
        if finding:
            yield finding
            return
    policy, deletion, aim = one.policy, get(one.target, "deletionPolicy"), get(one.target, "name")
    # What a patch leaves out is not known, nor is what it patches aimed at the Secret of its name.
    owns = text(policy) == "Owner" if policy else None
    aims = equals(aim or one.default_aim, pull_secret)
    if one.is_patch and aims and not aim:
        aims = None
    owns_it = _both(owns, aims)
    if owns_it:
        yield problem(
            (policy or one.node).start_mark.line,
            f"creationPolicy Owner aims at {pull_secret}, which the refresher writes; deleting the ExternalSecret "
            "would delete it. Aim at another name, or remove this ExternalSecret",
        )
    elif owns_it is None:
        yield note(one.line, f"skipped: whether creationPolicy Owner aims at {pull_secret} is decided elsewhere")
    would_delete = _both(text(policy) in _MERGING if policy else None, equals(deletion, "Delete"))
    if would_delete:
        yield problem(
            (deletion or one.node).start_mark.line,
            f"deletionPolicy Delete together with creationPolicy {text(policy)} would delete a Secret that others "
            "write; use Retain or Merge",
        )
    elif would_delete is None:
        yield note(one.line, "skipped: whether deletionPolicy Delete meets creationPolicy Merge is decided elsewhere")


def _without_policy(one: _External) -> Finding | None:
    if is_template(one.policy) or one.has_templates:
        return note(one.line, "skipped: a template decides its creationPolicy")
    if not one.is_patch:
        return problem(one.line, "no creationPolicy, so it owns its Secret; write Owner, Orphan, Merge or None")
    if not one.is_known_patch:
        return note(one.line, "skipped: without data or without a store it is taken for a patch")
    if one.has_directive or any(map(_is_null, (one.outer, one.spec, one.target, one.policy))):
        return note(one.line, "skipped: a patch that takes something away; check what Kustomize builds")
    return None


def _is_null(node: yaml.Node | None) -> bool:
    return isinstance(node, yaml.ScalarNode) and not text(node)


def _both(first: bool | None, second: bool | None) -> bool | None:
    """Return whether both hold, or None if one does and the other is not known."""
    if first and second:
        return True
    return None if (first or second) and None in (first, second) else False
