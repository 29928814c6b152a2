"""Reads YAML nodes as their values would be read: merge keys resolved, templates told apart from texts.

Nodes instead of values, since nodes know their lines and keep what no value could be made of (unknown tags, templates).
"""

import re
from collections.abc import Iterator

import yaml

_MERGE = "tag:yaml.org,2002:merge"
_ACTION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<%.*?%>|[$%]\{.*?\}|\[\[.*?\]\]", re.DOTALL)


def get(node: yaml.Node | None, *path: str) -> yaml.Node | None:
    """Return the node at the path of keys, or None."""
    for key in path:
        node = next(
            (value for layer in _layers(node) for name, value in reversed(layer.value) if text(name) == key), None
        )
    return node


def _layers(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """Give a mapping and the mappings merged into it, the one that counts first: https://yaml.org/type/merge.html."""
    waiting, seen = [node], set[int]()
    while waiting:
        layer = waiting.pop()
        if not isinstance(layer, yaml.MappingNode) or id(layer) in seen:
            continue
        seen.add(id(layer))
        yield layer
        for name, value in layer.value:
            if name.tag == _MERGE:
                waiting.extend(reversed(value.value) if isinstance(value, yaml.SequenceNode) else [value])


def text(node: yaml.Node | None) -> str:
    """Return a scalar's text, or nothing for null and whatever is no scalar."""
    if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
        return ""
    value: str = node.value
    return value


def is_template(node: yaml.Node | None) -> bool:
    """Return whether a template makes a node, or keys of it: ``{{ … }}`` reads as a mapping in a mapping, or a text."""
    if isinstance(node, yaml.ScalarNode):
        return _ACTION.search(node.value) is not None
    return any(
        not isinstance(name, yaml.ScalarNode) or is_template(name) for layer in _layers(node) for name, _ in layer.value
    )


def equals(node: yaml.Node | None, wanted: str) -> bool | None:
    """Return whether a node is the text, or None if a template decides that."""
    if not is_template(node):
        return text(node) == wanted
    if not isinstance(node, yaml.ScalarNode):
        return None
    fixed = map(re.escape, _ACTION.split(node.value))
    return None if re.fullmatch(".*".join(fixed), wanted, re.DOTALL) else False
