"""The folder `rbac` is a Kustomization of exactly what a refresh needs."""

from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane import ControlPlane

RBAC = Path(__file__).parents[2] / "rbac"


def by_name(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(objects, key=lambda found: (found["kind"], found["metadata"]["name"]))


def test_it_is_the_role_and_the_binding_of_the_refresher_and_nothing_else(control_plane: ControlPlane) -> None:
    built = list(yaml.safe_load_all(control_plane.kubectl("kustomize", str(RBAC))))
    shipped = list(yaml.safe_load_all((RBAC / "refresher.yaml").read_text()))
    assert by_name(built) == by_name(shipped)


def test_an_api_server_takes_it(control_plane: ControlPlane) -> None:
    said = control_plane.kubectl("apply", "--dry-run=server", f"--kustomize={RBAC}")
    assert said.count("(server dry run)") == 2


def test_every_file_of_the_folder_is_named_in_its_comment() -> None:
    comment = (RBAC / "kustomization.yaml").read_text()
    assert not [file.name for file in RBAC.iterdir() if file.name != "kustomization.yaml" and file.name not in comment]
