"""Roles that are printed for files of objects, as tests read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from compiler.compiled import load_objects
from compiler.rbac import SHIPPED, roles
from tests.compiler.cases import an_object
from tests.support.objects import FOLDER


@dataclass(frozen=True)
class Printed:
    """What is printed for a file: its text, and its documents."""

    text: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        return list(yaml.safe_load_all(self.text))

    @property
    def rules(self) -> Mapping[str, list[str]]:
        """The rules of each role, by its namespace (none for the cluster's), such as `create,patch secrets/a,b`.

        Resources of an API group are told with it, such as `networkpolicies.networking.k8s.io`.
        """
        return {
            role["metadata"].get("namespace", ""): [_rule(rule) for rule in role["rules"]]
            for role in self.documents
            if role["kind"] in {"ClusterRole", "Role"}
        }


def a_manifest(name: str, namespaces: str = "{include: ['team-*']}") -> str:
    """Return the entry of a manifest of the folder `baseline`."""
    return f"{{manifest: {{file: baseline/{name}.yaml}}, namespaces: {namespaces}}}"


def a_config_map(name: str, namespaces: str = "{include: ['team-*']}") -> str:
    """Return the entry of a ConfigMap."""
    return an_object(name=name, kind="ConfigMap", type="", registries="", data="{a: {value: b}}", namespaces=namespaces)


def printed(text: str, *, cluster: str = "", is_adopter: bool = False, source: str = SHIPPED) -> Printed:
    """Return the roles that are printed for the text of a file of objects."""
    found = load_objects(text.encode(), "objects.yaml", FOLDER)
    return Printed(roles(found, cluster=cluster, is_adopter=is_adopter, source=source))


def _rule(rule: Mapping[str, Any]) -> str:
    (group,), (plural,) = rule["apiGroups"], rule["resources"]
    resource = f"{plural}.{group}" if group else plural
    names = ",".join(rule.get("resourceNames", ["*"]))
    return f"{','.join(rule['verbs'])} {resource}/{names}"
