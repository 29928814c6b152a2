"""A patch is judged by what it says, since what it leaves out is in what it patches."""

from pathlib import Path

import pytest

from tests.hooks.conftest import Check
from tests.hooks.support import (
    DELETE_ELSEWHERE,
    HEAD,
    NO_POLICY,
    OWNER,
    OWNER_ELSEWHERE,
    PARTIAL,
    TAKES_AWAY,
    Cases,
    delete_with,
    external_secret,
    indented,
)

PATCH = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata:\n  name: database\n"
CLUSTER_PATCH = PATCH.replace("kind: ", "kind: Cluster")
PULL_PATCH = PATCH.replace("database", "aws-ecr-token")

# By $patch, or by its shape: nothing in the repository needs to name these.
BY_ITSELF: Cases = {
    "deletes": (PATCH + "$patch: delete\n", []),
    "deletes, in JSON": (
        '{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "$patch": "delete"}',
        [],
    ),
    "deletes a ClusterExternalSecret": (CLUSTER_PATCH + "$patch: delete\n", []),
    "deletes what would be whole": (external_secret("$patch: delete\n"), []),
    "deletes the spec": (PATCH + "spec:\n  $patch: delete\n", [f"6: note: ExternalSecret database: {TAKES_AWAY}"]),
    "replaces the target": (
        external_secret("  target:\n    $patch: replace\n    name: x\n"),
        [f"9: note: ExternalSecret database: {TAKES_AWAY}"],
    ),
    "replaces the target, which is said once": (
        external_secret("  target: {$patch: replace, name: aws-ecr-token}\n"),
        [f"8: note: ExternalSecret database: {TAKES_AWAY}"],
    ),
    "replaces the target, and says its policy": (
        external_secret("  target:\n    $patch: replace\n    creationPolicy: Merge\n"),
        [],
    ),
    "changes the interval": (
        PATCH + "spec:\n  refreshInterval: 1h\n",
        [f"6: note: ExternalSecret database: {PARTIAL}"],
    ),
    "changes the store": (
        PATCH + "spec:\n  secretStoreRef: {name: b}\n",
        [f"6: note: ExternalSecret database: {PARTIAL}"],
    ),
    "changes the data": (
        PATCH + "spec:\n  data: [{secretKey: a, remoteRef: {key: b}}]\n",
        [f"6: note: ExternalSecret database: {PARTIAL}"],
    ),
    "changes labels": (PATCH + "  labels: {a: b}\n", [f"1: note: ExternalSecret database: {PARTIAL}"]),
    "changes what a ClusterExternalSecret makes": (
        CLUSTER_PATCH + "spec:\n  externalSecretSpec:\n    refreshInterval: 1h\n",
        [f"6: note: ClusterExternalSecret database: {PARTIAL}"],
    ),
    "names the pull Secret and its owner": (
        PATCH + "spec:\n  target:\n    name: aws-ecr-token\n    creationPolicy: Owner\n",
        [f"8: ExternalSecret database: {OWNER}"],
    ),
    "says its policy": (PATCH + "spec:\n  target: {creationPolicy: Owner}\n", []),
}

# A kustomization names these.
LISTED: Cases = {
    "what looks whole": (external_secret("  target: {name: x}\n"), []),
    "changes the interval": (PATCH + "spec:\n  refreshInterval: 1h\n", []),
    "changes labels": (PATCH + "  labels: {a: b}\n", []),
    "takes the policy away": (
        PATCH + "spec:\n  target:\n    creationPolicy: null\n",
        [f"7: note: ExternalSecret database: {TAKES_AWAY}"],
    ),
    "takes the target away": (PATCH + "spec:\n  target:\n", [f"6: note: ExternalSecret database: {TAKES_AWAY}"]),
    "aims at the pull Secret": (
        PATCH + "spec:\n  target: {name: aws-ecr-token}\n",
        [f"6: note: ExternalSecret database: {OWNER_ELSEWHERE}"],
    ),
    "owns, where what it patches may aim elsewhere": (
        PULL_PATCH + "spec:\n  target: {creationPolicy: Owner}\n",
        [f"6: note: ExternalSecret aws-ecr-token: {OWNER_ELSEWHERE}"],
    ),
    "owns the pull Secret": (
        PATCH + "spec:\n  target: {name: aws-ecr-token, creationPolicy: Owner}\n",
        [f"6: ExternalSecret database: {OWNER}"],
    ),
    "deletes, where what it patches may merge": (
        PATCH + "spec:\n  target: {deletionPolicy: Delete}\n",
        [f"6: note: ExternalSecret database: {DELETE_ELSEWHERE}"],
    ),
    "deletes and merges": (
        PATCH + "spec:\n  target: {deletionPolicy: Delete, creationPolicy: Merge}\n",
        [f"6: ExternalSecret database: {delete_with('Merge')}"],
    ),
    "merges": (PATCH + "spec:\n  target: {creationPolicy: Merge}\n", []),
}

KUSTOMIZATIONS = {
    "patches": ("overlay/kustomization.yaml", "patches:\n- path: patch.yaml\n  target: {kind: ExternalSecret}\n"),
    "patches in folders": ("kustomization.yaml", "patches: [{path: ./overlay/patch.yaml}]\n"),
    "patches beside it": ("overlay/kustomization.yaml", "patches:\n- path: ../overlay/patch.yaml\n"),
    "patchesStrategicMerge": ("overlay/kustomization.yml", "patchesStrategicMerge: [patch.yaml]\n"),
    "patchesJson6902": ("overlay/Kustomization", "patchesJson6902: [{path: patch.yaml}]\n"),
    "a byte order mark": ("overlay/kustomization.yaml", "\ufeffpatches: [{path: patch.yaml}]\n"),
}
NO_KUSTOMIZATIONS = {
    "a resource": ("overlay/kustomization.yaml", "resources: [patch.yaml]\npatches: [{path: other.yaml}]\n"),
    "a file of the same name": ("kustomization.yaml", "patches: [{path: patch.yaml}]\n"),
    "a patch in the kustomization": ("overlay/kustomization.yaml", "patches: [{patch: patch.yaml}, x, [y], null]\n"),
    "no list": ("overlay/kustomization.yaml", "patches: patch.yaml\n"),
    "no kustomization": ("overlay/kustomization.yaml", "{{ patch.yaml }"),
    "another repository's": ("../kustomization.yaml", "patches: [{path: REPOSITORY/overlay/patch.yaml}]\n"),
}

INLINE = {
    "a patch": "kind: Kustomization\npatches:\n- patch: |\n",
    "of Flux": "kind: Kustomization\nspec:\n  patches:\n  - target: {kind: ExternalSecret}\n    patch: |\n",
    "of a Helm release": "kind: HelmRelease\nspec:\n  postRenderers:\n  - kustomize:\n     patches:\n     - patch: |\n",
    "of Argo CD": "kind: Application\nspec: \n  source:\n    kustomize:\n      patches:\n      - patch: |\n",
    "a strategic merge": "kind: Kustomization\npatchesStrategicMerge:\n- |\n",
}


@pytest.mark.parametrize("case", BY_ITSELF)
def test_a_patch_that_shows_itself_is_no_whole_object(check: Check, case: str) -> None:
    content, found = BY_ITSELF[case]
    assert check(content) == found


@pytest.mark.parametrize("case", LISTED)
def test_a_patch_of_a_kustomization_is_judged_by_what_it_says(check: Check, tmp_path: Path, case: str) -> None:
    (tmp_path / "kustomization.yaml").write_text("patches: [{path: manifest.yaml}]\n")
    content, found = LISTED[case]
    assert check(content) == found


@pytest.mark.parametrize("case", KUSTOMIZATIONS)
def test_a_kustomization_beside_or_above_names_its_patches(check: Check, tmp_path: Path, case: str) -> None:
    name, content = KUSTOMIZATIONS[case]
    (tmp_path / "overlay").mkdir()
    (tmp_path / name).write_text(content)
    assert check(HEAD, "overlay/patch.yaml") == []


@pytest.mark.parametrize("case", NO_KUSTOMIZATIONS)
def test_nothing_else_makes_a_whole_object_a_patch(check: Check, tmp_path: Path, case: str) -> None:
    name, content = NO_KUSTOMIZATIONS[case]
    (tmp_path / "overlay").mkdir()
    (tmp_path / name).write_text(content.replace("REPOSITORY", tmp_path.name))
    assert check(HEAD, "overlay/patch.yaml") == [f"6: ExternalSecret database: {NO_POLICY}"]


def test_a_kustomization_is_found_from_the_folder_of_the_file(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay/kustomization.yaml").write_text("patches: [{path: patch.yaml}]\n")
    monkeypatch.chdir(tmp_path)
    assert check(HEAD, "overlay/../overlay/patch.yaml") == []


@pytest.mark.parametrize("case", INLINE)
def test_a_patch_in_a_text_is_judged_by_what_it_says(check: Check, case: str) -> None:
    lines, by = INLINE[case].count("\n"), 12
    assert check(INLINE[case] + indented(HEAD, by)) == []
    owner = external_secret("  target: {name: aws-ecr-token, creationPolicy: Owner}\n")
    assert check(INLINE[case] + indented(owner, by)) == [f"{lines + 8}: ExternalSecret database: {OWNER}"]


def test_operations_on_an_object_are_no_object(check: Check) -> None:
    operations = "- op: remove\n  path: /spec/target/creationPolicy # of the ExternalSecret\n"
    assert check(operations) == []
    kustomization = "patches:\n- target: {group: external-secrets.io, kind: ExternalSecret}\n  patch: |\n"
    assert check(kustomization + indented(operations, 4), "kustomization.yaml") == []
