"""How a live object of a manifest is compared, path by path."""

import json
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal
from typing import Any

from upsert.core import verdicts
from upsert.core.fields import Path, spelled
from upsert.core.objects import Desired
from upsert.core.resources import LIMIT_RANGES, NETWORK_POLICIES, Resource
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Likeness, Verdict
from upsert.kinds.shapes import METADATA, QUANTITY, SPECS, ByName, Each, Leaf, Record, Shape

# More digits than anybody writes: with 28, which are usual, numbers that differ behind them would be the same.
_EXACT = Context(prec=4096)
_SUFFIXES = {
    **{suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("num", -3)},
    **{suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}


def compare(live: Mapping[str, Any], desired: Desired) -> tuple[Verdict, ...]:
    """Return a verdict for each path of what a live object says beside its name, and of what is desired.

    Quantities are compared by value, and what the API server adds of its own is taken for ours. What only the live
    object has loses nothing, since an apply leaves it as it is; of its metadata it is not told.
    """
    shape = Record({"metadata": METADATA, "spec": SPECS[desired.resource.kind]})
    new = {**desired.rest, "spec": defaulted(desired.resource, desired.rest.get("spec", {}))}
    return tuple(_verdicts(live, new, shape, ()))


def defaulted(resource: Resource, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a spec with what the API server adds where it is left out.

    https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/v1/defaults.go
    https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/networking/v1/defaults.go
    """
    if resource == LIMIT_RANGES and "limits" in spec:
        return {**spec, "limits": [_with_defaults_of_limit(limit) for limit in spec["limits"]]}
    if resource == NETWORK_POLICIES:
        types = ["Ingress", *(["Egress"] if spec.get("egress") else [])]
        rules = {name: [_with_protocol(rule) for rule in spec[name]] for name in ("ingress", "egress") if name in spec}
        return {"podSelector": {}, **spec, "policyTypes": spec.get("policyTypes") or types, **rules}
    return spec


def _with_defaults_of_limit(limit: Mapping[str, Any]) -> Mapping[str, Any]:
    if limit.get("type") != "Container":
        return limit
    default = {**limit.get("max", {}), **limit.get("default", {})}
    request = {**limit.get("min", {}), **default, **limit.get("defaultRequest", {})}
    return {**limit, "default": default, "defaultRequest": request}


def _with_protocol(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    ports = {"ports": [{"protocol": "TCP", **port} for port in rule["ports"]]} if "ports" in rule else {}
    return {**rule, **ports}


def _verdicts(live: Any, new: Any, shape: Shape, path: Path) -> Iterator[Verdict]:
    """Give the verdicts on what an apply merges, by name, and on what it replaces whole."""
    if not (_is_merged(shape) and isinstance(live, Mapping)):
        yield verdicts.of_value(spelled(path), _text(live, shape), _text(new, shape))
        return
    for name in {**live, **new}:
        inner, here = _of(shape, name), (*path, name)
        if name in live and name in new:
            yield from _verdicts(live[name], new[name], inner, here)
        elif name in new and not _is_dropped(new[name], inner):
            yield from _all(Likeness.ONLY_IN_NEW, new[name], inner, here)
        elif name in live and path[:1] != ("metadata",) and here != ("metadata",):
            yield from _all(Likeness.ONLY_IN_LIVE, live[name], inner, here)


def _all(likeness: Likeness, value: Any, shape: Shape, path: Path) -> Iterator[Verdict]:
    if _is_merged(shape):
        for name, inner in value.items():
            yield from _all(likeness, inner, _of(shape, name), (*path, name))
    else:
        yield Verdict(spelled(path), likeness)


def _is_merged(shape: Shape) -> bool:
    return isinstance(shape, ByName) or (isinstance(shape, Record) and not shape.is_atomic)


def _of(shape: Shape, name: str) -> Shape:
    """Return the shape of what has that name. What a newer API server may add is compared as it is."""
    match shape:
        case Record():
            return shape.fields.get(name, Leaf.TEXT)
        case ByName():
            return shape.value
        case _:
            return Leaf.TEXT


def _is_dropped(value: Any, shape: Shape) -> bool:
    """Return whether the API server keeps nothing of a value: an empty list, or an object of names without one."""
    return not value and isinstance(shape, (Each, ByName))


def _text(value: Any, shape: Shape) -> Sensitive[bytes]:
    return Sensitive(json.dumps(_as_kept(value, shape), sort_keys=True).encode())


def _as_kept(value: Any, shape: Shape) -> Any:
    """Return a value in one of the ways in which it can be written."""
    match shape:
        case Record() | ByName() if isinstance(value, Mapping):
            inner = {name: (one, _of(shape, name)) for name, one in value.items()}
            return {name: _as_kept(*pair) for name, pair in inner.items() if not _is_dropped(*pair)}
        case Each() if isinstance(value, list):
            return [_as_kept(one, shape.item) for one in value]
        case Leaf.QUANTITY if found := QUANTITY.fullmatch(str(value)):
            number, suffix, exponent = found.groups()
            factor = _SUFFIXES[suffix] if suffix else Decimal(10) ** int(exponent or 0)
            return format(_EXACT.normalize(_EXACT.multiply(Decimal(number), factor)), "f")
        case _:
            return value
