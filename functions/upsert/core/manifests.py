"""What a manifest says beside its name, leaf by leaf: lists are leaves, since the API server replaces those whole."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

type Path = tuple[str, ...]

# The objects that an apply replaces whole, so that one field manager owns all that is in them.
REPLACED_WHOLE = frozenset({"podSelector", "scopeSelector", "selector"})

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def leaves(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return every value that holds no others by name, by its path as people write it: ``spec.hard["limits.cpu"]``."""
    return {spelled(path): value for path, value in _leaves(fields, ())}


def owned(fields: Mapping[str, Any], fields_v1: Mapping[str, Any]) -> frozenset[str]:
    """Return the paths of those leaves that a field manager owns, who may own the whole that they are in.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ (FieldsV1)
    """
    return frozenset(spelled(path) for path, _ in _leaves(fields, ()) if _is_owned(path, fields_v1))


def spelled(path: Path) -> str:
    """Return a path as people write it."""
    first, *others = path
    return first + "".join(f".{name}" if _PLAIN.fullmatch(name) else f"[{json.dumps(name)}]" for name in others)


def shared(live: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a live object says of what is desired, as it stands there: nothing that it has alone, or lacks."""
    found: dict[str, Any] = {}
    for name in (name for name in desired if name in live):
        value, wanted = live[name], desired[name]
        if not (isinstance(value, Mapping) and isinstance(wanted, Mapping)):
            found[name] = value
        elif (inner := shared(value, wanted)) or not (value or wanted):
            found[name] = inner
    return found


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and (value or not path):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    else:
        yield path, value


def _is_owned(path: Path, fields_v1: Mapping[str, Any]) -> bool:
    here = fields_v1
    for place, name in enumerate(path, 1):
        if f"f:{name}" not in here:
            return False
        here = here[f"f:{name}"]
        if not any(key.startswith("f:") for key in here):
            # Of another object it claims the place alone, as whoever lost all that is in there still does.
            return place == len(path) or name in REPLACED_WHOLE
    return True
