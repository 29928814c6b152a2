"""Roles that are printed for files of objects, as tests read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from compiler.compiled import load_objects
from compiler.rbac import roles


@dataclass(frozen=True)
class Printed:
    """What is printed for a file: its text, and its documents."""

    text: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        return list(yaml.safe_load_all(self.text))

    @property
    def rules(self) -> Mapping[str, list[str]]:
        """The rules of each role, by its namespace (none for the cluster's), such as `create,patch secrets/a,b`."""
        return {
            role["metadata"].get("namespace", ""): [_rule(rule) for rule in role["rules"]]
            for role in self.documents
            if role["kind"] in {"ClusterRole", "Role"}
        }


def printed(text: str, *, cluster: str = "", is_adopter: bool = False) -> Printed:
    """Return the roles that are printed for the text of a file of objects."""
    return Printed(roles(load_objects(text.encode(), "objects.yaml"), cluster=cluster, is_adopter=is_adopter))


def _rule(rule: Mapping[str, Any]) -> str:
    assert rule["apiGroups"] == [""]
    (resource,) = rule["resources"]
    names = ",".join(rule.get("resourceNames", ["*"]))
    return f"{','.join(rule['verbs'])} {resource}/{names}"
