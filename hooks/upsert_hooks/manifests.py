"""Finds the ExternalSecrets in a text of YAML documents, wherever in them they stand.

A document is read on its own, so that one which is no YAML does not hide the others.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from upsert_hooks.nodes import get, is_template, text

GROUP = "external-secrets.io/"
KINDS = ("ExternalSecret", "ClusterExternalSecret")
MENTION = "ExternalSecret"

_START = re.compile(r"^(?:%.*\n)*---(?=\s|$)", re.MULTILINE)
_KIND = re.compile(r"""(?:^|[\s{,"'])kind["']?\s*:\s*["']?(?:Cluster)?ExternalSecret\b""")
_BLOCK_SCALAR = re.compile(r"^( *)\S.*[ \t][|>][-+0-9]*[ \t]*(?:#.*)?\n(?:\1[ \t].*\n|[ \t]*\n)*", re.MULTILINE)
_TEMPLATE_SYNTAX = re.compile(r"\{[{%#]|<%|[$%]\{|\[%|\[\[-? |@\w+@")
_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)


class NotYamlError(Exception):
    """A document cannot be read; `line` counts from 0."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


class _Lenient(yaml.SafeLoader):
    """PyYAML's own reader, which takes what libyaml refuses, and an anchor that is set twice, as YAML 1.2 has it."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if not self.check_event(yaml.AliasEvent):
            self.anchors.pop(self.peek_event().anchor, None)  # type: ignore[no-untyped-call]  # the stubs leave it out
        return super().compose_node(parent, index)


@dataclass(frozen=True, slots=True)
class Found:
    """An ExternalSecret, or a text that holds one; `is_embedded` if it stands inside another object."""

    node: yaml.Node
    is_patch: bool
    is_embedded: bool


def decode(data: bytes, errors: str = "strict") -> str:
    """Return the text of a file, without byte order marks and with newlines; may raise UnicodeDecodeError."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    decoded = data.decode("utf-16" if is_utf16 else "utf-8", errors)
    return decoded.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")


def documents(content: str) -> Iterator[tuple[int, str]]:
    """Give the documents of a text, each with the number of lines before it."""
    starts = [0, *(found.start() for found in _START.finditer(content))]
    for start, end in zip(starts, [*starts[1:], len(content)], strict=True):
        yield content.count("\n", 0, start), content[start:end]


def parse(document: str) -> list[yaml.Node]:
    """Return the root nodes of a document; raises NotYamlError."""
    # JSON may be indented with tabs, where YAML wants spaces; but a block scalar may begin with a tab.
    spaces = _INDENTATION.sub(lambda found: found[0].expandtabs(2), document)
    attempts = [(getattr(yaml, "CSafeLoader", _Lenient), document), (_Lenient, document), (_Lenient, spaces)]
    errors: list[Exception] = []
    for loader, content in attempts:
        try:
            return [node for node in yaml.compose_all(content, Loader=loader) if node is not None]
        except (yaml.YAMLError, RecursionError) as error:
            errors.append(error)
    raise _not_yaml(errors[0], document) from None


def _not_yaml(error: Exception, document: str) -> NotYamlError:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        return NotYamlError(str(error.problem or error.context), mark.line if mark else 0)
    if isinstance(error, yaml.reader.ReaderError):
        return NotYamlError(error.reason, document.count("\n", 0, error.position))
    return NotYamlError("it is nested too deeply")


def declares(document: str) -> bool:
    """Return whether a text has an ExternalSecret's kind in it, as it is written in YAML or JSON."""
    return _KIND.search(document) is not None


def has_template_syntax(document: str) -> bool:
    """Return whether a text has a template's syntax, other than in block scalars, where it is the operator's own."""
    return _TEMPLATE_SYNTAX.search(_BLOCK_SCALAR.sub("", document)) is not None


def find(root: yaml.Node, *, is_patch: bool) -> Iterator[Found]:
    """Give the ExternalSecrets of a document and the texts that hold some.

    An object inside another one is found too: in a Helm release's values, a Crossplane Object, an Ansible task, a
    policy that generates it. What stands under a key such as ``patches`` is a patch.
    """
    waiting = [Found(root, is_patch, is_embedded=False)]
    seen = set[int]()
    while waiting:
        found = waiting.pop()
        if id(found.node) in seen:
            continue
        seen.add(id(found.node))
        if _is_external_secret(found):
            yield found
        elif isinstance(found.node, yaml.ScalarNode):
            # A plain scalar is one line without a colon and a space, so it holds no object.
            if found.node.style and "apiVersion" in found.node.value and declares(found.node.value):
                yield found
        else:
            waiting.extend(reversed(list(_children(found))))


def _is_external_secret(found: Found) -> bool:
    kind, version = get(found.node, "kind"), get(found.node, "apiVersion")
    if text(kind) in KINDS:
        return text(version).startswith(GROUP) or is_template(version)
    return is_template(kind) and (text(version).startswith(GROUP) or (is_template(version) and not found.is_embedded))


def _children(found: Found) -> Iterator[Found]:
    if isinstance(found.node, yaml.SequenceNode):
        for item in found.node.value:
            yield Found(item, found.is_patch, found.is_embedded)
    elif isinstance(found.node, yaml.MappingNode):
        is_list = text(get(found.node, "kind")).endswith("List")
        for name, value in found.node.value:
            key = text(name)
            yield Found(
                value, found.is_patch or key.startswith("patch"), found.is_embedded or not (is_list and key == "items")
            )
