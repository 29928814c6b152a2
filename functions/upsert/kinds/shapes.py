"""What a manifest may say in ``spec``: the fields that the API server knows, since it answers for others with a 500.

A test compares them with the API server's own OpenAPI document.
https://kubernetes.io/docs/reference/kubernetes-api/
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from upsert.core.resources import DISRUPTION_BUDGETS, LIMIT_RANGES, NETWORK_POLICIES, RESOURCE_QUOTAS

# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?")


class Leaf(StrEnum):
    """A single value, by what it is called where it is expected."""

    TEXT = "a text, in quotes if YAML would take it for something else"
    INTEGER = "a whole number"
    INTEGER_OR_TEXT = "a whole number or a text"
    QUANTITY = "a quantity such as 10, 500m or 2Gi"


class Record(NamedTuple):
    """An object of fields with names of their own. An apply replaces one that `is_atomic` whole."""

    fields: Mapping[str, "Shape"]
    is_atomic: bool = False


class ByName(NamedTuple):
    """An object of values by names that people choose."""

    value: "Shape"


class Each(NamedTuple):
    """A list, which an apply replaces whole."""

    item: "Shape"


type Shape = Leaf | Record | ByName | Each

_TEXTS, _TEXTS_BY_NAME, _QUANTITIES = Each(Leaf.TEXT), ByName(Leaf.TEXT), ByName(Leaf.QUANTITY)
METADATA = Record({"labels": _TEXTS_BY_NAME, "annotations": _TEXTS_BY_NAME})

_SELECTOR = Record(
    {
        "matchLabels": _TEXTS_BY_NAME,
        "matchExpressions": Each(Record({"key": Leaf.TEXT, "operator": Leaf.TEXT, "values": _TEXTS})),
    },
    is_atomic=True,
)
_PEERS = Each(
    Record(
        {
            "podSelector": _SELECTOR,
            "namespaceSelector": _SELECTOR,
            "ipBlock": Record({"cidr": Leaf.TEXT, "except": _TEXTS}),
        }
    )
)
_PORTS = Each(Record({"protocol": Leaf.TEXT, "port": Leaf.INTEGER_OR_TEXT, "endPort": Leaf.INTEGER}))
_SCOPE = Record({"scopeName": Leaf.TEXT, "operator": Leaf.TEXT, "values": _TEXTS})
_LIMIT: Mapping[str, Shape] = {
    "type": Leaf.TEXT,
    **dict.fromkeys(("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"), _QUANTITIES),
}

SPECS: Mapping[str, Record] = {
    RESOURCE_QUOTAS.kind: Record(
        {
            "hard": _QUANTITIES,
            "scopes": _TEXTS,
            "scopeSelector": Record({"matchExpressions": Each(_SCOPE)}, is_atomic=True),
        }
    ),
    LIMIT_RANGES.kind: Record({"limits": Each(Record(_LIMIT))}),
    NETWORK_POLICIES.kind: Record(
        {
            "podSelector": _SELECTOR,
            "policyTypes": _TEXTS,
            "ingress": Each(Record({"from": _PEERS, "ports": _PORTS})),
            "egress": Each(Record({"to": _PEERS, "ports": _PORTS})),
        }
    ),
    DISRUPTION_BUDGETS.kind: Record(
        {
            "minAvailable": Leaf.INTEGER_OR_TEXT,
            "maxUnavailable": Leaf.INTEGER_OR_TEXT,
            "selector": _SELECTOR,
            "unhealthyPodEvictionPolicy": Leaf.TEXT,
        }
    ),
}
