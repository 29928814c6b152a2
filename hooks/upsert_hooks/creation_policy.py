"""Finds ExternalSecrets that would fight over the pull Secret, or whose ownership nobody decided.

External Secrets Operator owns what it creates unless it is told otherwise: deleting the ExternalSecret then deletes the
Secret. https://external-secrets.io/latest/guides/ownership-deletion-policy/

What is judged, and what is skipped with a note, which `--strict` counts as a problem:

- A whole object is judged. One without data or without a store is none, since the operator's webhook or its controller
  would refuse it; it is taken for a patch. So is a file that a kustomization lists, and what has `$patch` in it.
- A patch is judged by what it says, not by what it leaves out. What it deletes is not judged.
- A template decides only what it writes: a kind, a creationPolicy, something that a creationPolicy stands in, or a
  whole document that is no YAML because of it. The operator's own templates are texts, like any other.
- An object inside an object is judged if it is whole. In a text, such as a ConfigMap's, it is noted: who knows if
  anything applies it.
- What is no YAML fails if it has an ExternalSecret's kind in it, and is noted if it mentions one.
"""

import argparse
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from upsert_hooks import kustomize
from upsert_hooks.judgement import Finding, judge, note, problem
from upsert_hooks.manifests import (
    MENTION,
    Found,
    NotYamlError,
    declares,
    decode,
    documents,
    find,
    has_template_syntax,
    parse,
)
from upsert_hooks.nodes import text

_NAME = "check-creation-policy"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the files named on the command line, print what is wrong or skipped, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        prog=_NAME,
        description="Fail on an ExternalSecret or ClusterExternalSecret without an explicit creationPolicy, with Owner "
        "aimed at the pull Secret, or with deletionPolicy Delete together with Merge.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="YAML or JSON files")
    parser.add_argument("--secret-name", default="aws-ecr-token", help="the pull Secret (default: %(default)s)")
    parser.add_argument("--strict", action="store_true", help="fail on what was skipped, too")
    options = parser.parse_args(arguments)
    findings = [(file, finding) for file in options.files for finding in check_file(file, options.secret_name)]
    problems = sum(finding.is_problem for _, finding in findings)
    skipped = len(findings) - problems
    for file, finding in findings:
        _print(f"{file}:{finding}")
    _print(f"{_NAME}: problems: {problems}, skipped: {skipped}, files: {len(options.files)}")
    return int(problems > 0 or (options.strict and skipped > 0))


def _print(line: str) -> None:
    """Print a line, whatever characters a manifest brought into it and whichever the terminal has."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    print("".join(one if one.isprintable() else "?" for one in line))  # noqa: T201 - this is what the command is for


def check_file(file: str, secret_name: str) -> Iterator[Finding]:
    """Give the findings of a file, which may hold several documents."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        yield problem(0, f"cannot be read: {error.strerror}")
        return
    try:
        content = decode(data)
    except UnicodeDecodeError as error:
        yield from _unreadable(decode(data, "replace"), data.count(b"\n", 0, error.start), "is not UTF-8")
        return
    if MENTION in content:
        yield from _check_text(content, secret_name, is_patch=kustomize.is_patch(file))


def _check_text(content: str, secret_name: str, *, is_patch: bool) -> Iterator[Finding]:
    for lines_before, document in documents(content):
        if MENTION in document:
            for finding in _check_document(document, secret_name, is_patch=is_patch):
                yield replace(finding, line=lines_before + finding.line)


def _check_document(document: str, secret_name: str, *, is_patch: bool) -> Iterator[Finding]:
    try:
        roots = parse(document)
    except NotYamlError as error:
        yield from _unreadable(document, error.line, f"is not YAML: {error}")
        return
    for found in (found for root in roots for found in find(root, is_patch=is_patch)):
        if isinstance(found.node, yaml.ScalarNode):
            yield from _check_scalar(found, secret_name)
        else:
            yield from judge(found, secret_name)


def _check_scalar(found: Found, secret_name: str) -> Iterator[Finding]:
    """Give the findings of a text in a document: notes, unless Kustomize patches with it."""
    first = found.node.start_mark.line
    # Only a literal block scalar keeps its lines.
    is_literal = isinstance(found.node, yaml.ScalarNode) and found.node.style == "|"
    for finding in _check_text(text(found.node), secret_name, is_patch=found.is_patch):
        line = first + 1 + finding.line if is_literal else first
        if found.is_patch:
            yield replace(finding, line=line)
        else:
            yield note(line, f"in a text: {finding.text}")


def _unreadable(content: str, line: int, why: str) -> Iterator[Finding]:
    if MENTION not in content:
        return
    if has_template_syntax(content):
        yield note(0, f"skipped: a template ({why}); check what it renders to")
    elif declares(content):
        yield problem(line, why)
    else:
        yield note(line, f"skipped: {why}")


if __name__ == "__main__":
    sys.exit(main())
