"""Manifests, through the whole adopt function: adopting one changes nothing of it, and nor does giving it back."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.adopt.conftest import Migration, Team
from tests.support import keyed, objects
from tests.support.controlplane import ControlPlane
from tests.support.keyed import owners_of
from upsert.core.identity import FIELD_MANAGER
from upsert.core.manifests import REPLACED_WHOLE
from upsert.core.resources import MANIFESTS
from upsert.kinds.shapes import SPECS, Record

NAME = "baseline"
BY_APPLY = "kubectl-client-side-apply"
# What is there, in other spellings than those of the file, and with what the API server adds of its own.
LIVE: Mapping[str, tuple[str, dict[str, Any]]] = {
    "ResourceQuota": ("quota", {"hard": {"pods": "20", "requests.cpu": "4000m", "secrets": "9"}}),
    "LimitRange": ("limits", {"limits": [{"type": "Container", "max": {"cpu": "2000m", "memory": "2048Mi"}}]}),
    "NetworkPolicy": ("network-policy", {"podSelector": {}, "policyTypes": ["Ingress"]}),
    "PodDisruptionBudget": ("disruption-budget", {"maxUnavailable": 1, "selector": {}}),
}
RESOURCES = {resource.kind: resource for resource in MANIFESTS}
KINDS = pytest.mark.parametrize("kind", LIVE)


class Desk:
    """One manifest of the file, as it stands in its namespace, and both functions for it."""

    def __init__(self, aws: Migration, plane: ControlPlane, namespace: str, kind: str, spec: Mapping[str, Any]) -> None:
        self.aws, self.plane, self.namespace, self.resource = aws, plane, namespace, RESOURCES[kind]
        self.entry = objects.manifest(LIVE[kind][0], namespace, write="never")
        self.document = {
            "apiVersion": self.resource.api_version,
            "kind": kind,
            "metadata": {"name": NAME, "labels": {"team": "theirs"}},
            "spec": spec,
        }
        plane.apply_roles("\n---\n".join([objects.roles(self.entry), objects.roles(self.entry, is_adopter=True)]))
        keyed.apply(plane, namespace, self.document)

    def adopter(self, action: str) -> list[str]:
        seen = self.aws.adopt({"action": action, "objects": [NAME]}, objects=[self.entry])
        assert seen.error is None, seen.error
        return [line.removeprefix(f"{self.namespace}/{NAME}") for line in seen.result["lines"]]

    def refresh(self) -> None:
        written = self.entry | {"write": "always"}
        seen = self.aws.refresh({"namespaces": [self.namespace]}, objects=[written])
        assert seen.error is None, seen.error

    @property
    def live(self) -> dict[str, Any]:
        return self.plane.request("GET", self.resource.path(self.namespace, NAME))


def said(live: Mapping[str, Any]) -> dict[str, Any]:
    """Return all of an object but its version, and who claims what of it."""
    uncounted = ("resourceVersion", "managedFields", "generation")
    metadata = {name: value for name, value in live["metadata"].items() if name not in uncounted}
    return {**live, "metadata": metadata}


@pytest.fixture(autouse=True)
def _own_roles(plane: ControlPlane) -> Iterator[None]:
    yield
    plane.apply_roles("\n---\n".join([objects.roles(), objects.roles(is_adopter=True)]))


@KINDS
def test_a_manifest_is_adopted_and_given_back_with_nothing_changed(
    aws: Migration, plane: ControlPlane, team: Team, kind: str
) -> None:
    namespace = team(f"has-{kind.lower()}")
    desk = Desk(aws, plane, namespace, kind, LIVE[kind][1])
    before = desk.live
    assert desk.adopter("check")[-1] == ": adoptable"
    assert desk.adopter("adopt")[-1].startswith(": adopted (uid the same")
    assert said(desk.live) == said(before)
    assert FIELD_MANAGER in owners_of(desk.live)
    assert desk.adopter("adopt")[-1].startswith(": adopted already")
    assert desk.adopter("release")[-1].startswith(": released (uid and bytes the same")
    assert said(desk.live) == said(before)
    assert FIELD_MANAGER not in owners_of(desk.live)
    theirs = json.loads(json.dumps(desk.document))
    if kind == "ResourceQuota":
        theirs["spec"]["hard"]["pods"] = "21"
    keyed.apply(plane, namespace, theirs, "--server-side", "--field-manager=next-writer")
    assert "next-writer" in owners_of(desk.live)
    assert desk.live["metadata"]["uid"] == before["metadata"]["uid"]


def test_what_is_only_in_the_file_is_written_by_the_next_refresh_and_by_no_adoption(
    aws: Migration, plane: ControlPlane, team: Team
) -> None:
    namespace = team("has-less")
    desk = Desk(aws, plane, namespace, "ResourceQuota", {"hard": {"pods": "20", "secrets": "9"}})
    before = desk.live
    assert '/spec.hard["requests.cpu"]: ONLY IN NEW' in desk.adopter("check")
    assert desk.adopter("adopt") == [
        "/spec.hard.pods: MATCH",
        "/spec.hard.secrets: ONLY IN LIVE",
        f": adopted (uid the same, ownerReferences untouched, claim of {BY_APPLY} dropped)",
    ]
    assert said(desk.live) == said(before)
    desk.refresh()
    assert desk.live["spec"]["hard"] == {"pods": "20", "secrets": "9", "requests.cpu": "4"}
    assert desk.live["metadata"]["uid"] == before["metadata"]["uid"]


def test_one_that_differs_is_refused_untouched(aws: Migration, plane: ControlPlane, team: Team) -> None:
    namespace = team("has-another")
    desk = Desk(aws, plane, namespace, "ResourceQuota", {"hard": {"pods": "21"}})
    before = desk.live
    seen = aws.adopt({"action": "adopt"}, objects=[desk.entry])
    assert f"{namespace}/resourcequota/{NAME}: not adoptable: differs: spec.hard.pods" in str(seen.error)
    assert desk.live == before


def test_an_empty_config_map_has_nothing_to_claim(aws: Migration, plane: ControlPlane, team: Team) -> None:
    """An apply that says nothing leaves no trace of who sent it."""
    namespace = team("has-nothing")
    entry = keyed.entry(
        "settings", {"LEVEL": b""}, kind="ConfigMap", write="never", namespaces={"include": [namespace]}
    )
    plane.apply_roles(objects.roles(entry, is_adopter=True))
    aws.secrets.kept[keyed.KEPT] = json.dumps({"LEVEL": "info"})
    keyed.apply(plane, namespace, yaml.safe_load("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"))
    seen = aws.adopt({"action": "adopt"}, objects=[entry])
    assert seen.error is None, seen.error
    assert seen.result["adopted"] == 1
    assert "data" not in plane.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/settings")


def test_the_objects_that_an_apply_replaces_whole_are_those_of_the_shapes() -> None:
    found = {
        name
        for spec in SPECS.values()
        for name, shape in spec.fields.items()
        if isinstance(shape, Record) and shape.is_atomic
    }
    assert found == REPLACED_WHOLE
