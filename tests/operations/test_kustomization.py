"""The folder `cluster` is a Kustomization of exactly what a refresh needs, and a base for changes."""

from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane import ControlPlane

CLUSTER = Path(__file__).parents[2] / "rbac"


def built(control_plane: ControlPlane, folder: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(control_plane.kubectl("kustomize", str(folder))))


def by_name(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(objects, key=lambda found: (found["kind"], found["metadata"]["name"]))


def test_it_is_the_role_and_the_binding_of_the_refresher_and_nothing_else(control_plane: ControlPlane) -> None:
    shipped = list(yaml.safe_load_all((CLUSTER / "refresher.yaml").read_text()))
    assert by_name(built(control_plane, CLUSTER)) == by_name(shipped)


def test_an_api_server_takes_it(control_plane: ControlPlane) -> None:
    said = control_plane.kubectl("apply", "--dry-run=server", f"--kustomize={CLUSTER}")
    assert said.count("(server dry run)") == 2


def test_the_patch_that_its_comment_shows_gives_the_secret_another_name(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    comment = [line.removeprefix("#") for line in (CLUSTER / "kustomization.yaml").read_text().splitlines()]
    start = next(index for index, line in enumerate(comment) if line.startswith("   resources:"))
    shown = "\n".join(comment[start : comment.index("", start)])
    base = tmp_path / "eks-upsert" / "rbac"
    base.mkdir(parents=True)
    for file in ("kustomization.yaml", "refresher.yaml"):
        (base / file).write_text((CLUSTER / file).read_text())
    own = tmp_path / "own"
    own.mkdir()
    (own / "kustomization.yaml").write_text(shown)
    (role,) = (found for found in built(control_plane, own) if found["kind"] == "ClusterRole")
    assert role["rules"][1]["resourceNames"] == ["my-pull-secret"]
