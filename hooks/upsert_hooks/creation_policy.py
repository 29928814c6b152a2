"""Finds ExternalSecrets that would fight over the pull Secret, or whose ownership nobody decided.

External Secrets Operator owns what it creates unless it is told otherwise: deleting the ExternalSecret then deletes the
Secret. https://external-secrets.io/latest/guides/ownership-deletion-policy/
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

_GROUP = "external-secrets.io/"
_KINDS = ("ExternalSecret", "ClusterExternalSecret")
_MERGING = ("Merge", "CreateOrMerge")
_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
# A line that is an action of a Helm template and nothing else: what is between two of them may not be there at all.
_TEMPLATE_LINE = re.compile(r"^\s*\{\{", re.MULTILINE)
_TEMPLATE = "{{"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about one place: a problem, or a note that something was not looked at."""

    file: str
    line: int
    text: str
    is_problem: bool = True

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {'' if self.is_problem else 'note: '}{self.text}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the files named on the command line; print what is wrong and return 1 if anything is."""
    parser = argparse.ArgumentParser(
        prog="check-creation-policy",
        description="Fail on an ExternalSecret or ClusterExternalSecret without an explicit creationPolicy, with Owner "
        "aimed at the pull Secret, or with deletionPolicy Delete together with Merge.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="YAML or JSON files")
    parser.add_argument("--secret-name", default="aws-ecr-token", help="the pull Secret (default: %(default)s)")
    options = parser.parse_args(arguments)
    findings = [finding for file in options.files for finding in check_file(file, options.secret_name)]
    for finding in findings:
        print(finding)  # noqa: T201 - this is what the command is for
    return int(any(finding.is_problem for finding in findings))


def check_file(file: str, secret_name: str) -> Iterator[Finding]:
    """Give the findings of a file, which may hold several documents."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        yield Finding(file, 1, f"cannot be read: {error.strerror}")
        return
    except UnicodeDecodeError:
        yield Finding(file, 1, "is not UTF-8")
        return
    yield from check_text(file, text, secret_name)


def check_text(file: str, text: str, secret_name: str) -> Iterator[Finding]:
    """Give the findings of a text of one or more documents."""
    starts = [0, *(found.start() for found in _DOCUMENT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        document = text[start:end]
        if "ExternalSecret" in document:
            yield from _check_document(_Document(file, document, text.count("\n", 0, start)), secret_name)


@dataclass(frozen=True, slots=True)
class _Document:
    """One YAML document of a file; `lines_before` counts the file's lines before it."""

    file: str
    text: str
    lines_before: int

    @property
    def has_template_lines(self) -> bool:
        return _TEMPLATE_LINE.search(self.text) is not None

    def nodes(self) -> list[yaml.Node]:
        # JSON may be indented with tabs, where YAML wants spaces.
        text = re.sub(r"^[ \t]+", lambda found: found[0].expandtabs(2), self.text, flags=re.MULTILINE)
        return [node for node in yaml.compose_all(text, Loader=yaml.SafeLoader) if node is not None]

    def finding(self, line: int, text: str, *, is_problem: bool = True) -> Finding:
        return Finding(self.file, self.lines_before + line + 1, text, is_problem)


def _check_document(document: _Document, secret_name: str) -> Iterator[Finding]:
    try:
        nodes = document.nodes()
    except yaml.MarkedYAMLError as error:
        if _TEMPLATE in document.text:
            yield document.finding(0, "skipped: a Helm template; check what it renders to", is_problem=False)
        else:
            mark = error.problem_mark or error.context_mark
            yield document.finding(mark.line if mark else 0, f"is not YAML: {error.problem or error.context}")
        return
    except yaml.YAMLError:
        yield document.finding(0, "is not YAML")
        return
    for node in nodes:
        if _is_template(_get(node, "apiVersion")) or _is_template(_get(node, "kind")):
            yield document.finding(
                node.start_mark.line,
                "skipped: a Helm template decides its kind; check what it renders to",
                is_problem=False,
            )
        for resource in _resources(node):
            yield from _check_resource(document, resource, secret_name)


def _resources(node: yaml.Node) -> Iterator[yaml.Node]:
    """Give the ExternalSecrets of a document: itself, or the items of a List."""
    if _text(_get(node, "kind")).endswith("List"):
        items = _get(node, "items")
        if isinstance(items, yaml.SequenceNode):
            for item in items.value:
                yield from _resources(item)
    elif _text(_get(node, "kind")) in _KINDS and _text(_get(node, "apiVersion")).startswith(_GROUP):
        yield node


def _check_resource(document: _Document, node: yaml.Node, secret_name: str) -> Iterator[Finding]:
    kind, name = _text(_get(node, "kind")), _get(node, "metadata", "name")
    inner = ("externalSecretSpec",) if kind == "ClusterExternalSecret" else ()
    target = _get(node, "spec", *inner, "target")
    policy, deletion = _get(target, "creationPolicy"), _get(target, "deletionPolicy")
    named = _get(target, "name") or (_get(node, "spec", "externalSecretName") if inner else None) or name
    who = f"{kind} {_text(name) or 'without a name'}"
    place = (target or _get(node, "spec") or node).start_mark.line
    if policy is None or not _text(policy):
        if document.has_template_lines or _is_template(policy) or _is_template(target):
            yield document.finding(
                place, f"{who}: skipped: a Helm template decides its creationPolicy", is_problem=False
            )
        else:
            yield document.finding(
                place, f"{who}: no creationPolicy, so it owns its Secret; write Owner, Orphan, Merge or None"
            )
        return
    if _text(policy) == "Owner" and _text(named) == secret_name:
        yield document.finding(
            policy.start_mark.line,
            f"{who}: creationPolicy Owner aims at {secret_name}, which the refresher writes; deleting the "
            "ExternalSecret would delete it. Aim at another name, or remove this ExternalSecret",
        )
    if _text(policy) in _MERGING and deletion is not None and _text(deletion) == "Delete":
        yield document.finding(
            deletion.start_mark.line,
            f"{who}: deletionPolicy Delete together with creationPolicy {_text(policy)} would delete a Secret that "
            "others write; use Retain or Merge",
        )


def _get(node: yaml.Node | None, *path: str) -> yaml.Node | None:
    """Return the node at the path of keys, or None."""
    for key in path:
        if not isinstance(node, yaml.MappingNode):
            return None
        # The last of two equal keys counts, as for kubectl.
        node = next((value for name, value in reversed(node.value) if _text(name) == key), None)
    return node


def _text(node: yaml.Node | None) -> str:
    """Return a scalar's text, or nothing for null, another node, or a template."""
    if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null") or _TEMPLATE in node.value:
        return ""
    value: str = node.value
    return value


def _is_template(node: yaml.Node | None) -> bool:
    """Return whether a node is made by a template: ``{{ … }}`` reads as a mapping in a mapping, or as a text."""
    if isinstance(node, yaml.MappingNode):
        return any(isinstance(key, yaml.MappingNode) for key, _ in node.value)
    return isinstance(node, yaml.ScalarNode) and _TEMPLATE in node.value


if __name__ == "__main__":
    sys.exit(main())
