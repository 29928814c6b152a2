"""A release: what is in it, that it is the same bytes everywhere, and that it deploys without the repository."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from compiler import archives
from tests.release import contents
from tests.release.contents import CannotBeReleased, version
from tests.release.notes import notes
from tests.release.template import ARTIFACTS, CannotBePackaged, packaged
from tests.support import sam
from tests.support.objects import SECRET, entry
from tests.support.processes import OF_MAKE
from tests.support.template import FILE, ROOT, load
from tests.support.world import World

FUNCTIONS = ("RefreshFunction.zip", "AdoptFunction.zip")
# What python3.13 is called here.
HERE = {**{name: value for name, value in os.environ.items() if name not in OF_MAKE}, "PYTHON": sys.executable}


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "dist"
    contents.write(folder, sam.built().parent)
    return folder


@pytest.fixture
def copy(dist: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(dist, tmp_path / "a copy"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(folder: Path, *command: str, environment: Mapping[str, str] = HERE, timeout: int = 120) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_sums_are_of_all_that_is_there(dist: Path) -> None:
    said = (dist / contents.SUMS).read_text().splitlines()
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files(dist).items()}
    assert said == [f"{sums[name]}  {name}" for name in sorted(sums.keys() - {contents.SUMS})]
    run(dist, "sha256sum", "--quiet", "-c", contents.SUMS)


def test_it_is_the_same_bytes_whatever_the_umask_and_the_times_of_the_files(dist: Path, tmp_path: Path) -> None:
    built = shutil.copytree(sam.built().parent, tmp_path / "built elsewhere", copy_function=shutil.copyfile)
    before = os.umask(0o077)
    try:
        contents.write(tmp_path / "dist", Path(built))
    finally:
        os.umask(before)
    assert files(tmp_path / "dist") == files(dist)


def test_nothing_in_it_names_this_machine(dist: Path) -> None:
    held = {**files(dist), **{f"{name}/{file}": content for name in FUNCTIONS
                              for file, content in archives.read(dist / name).items()}}  # fmt: skip
    for here in (str(ROOT), str(Path.home()), str(sam.built().parent), "/tmp/"):
        assert [name for name, content in held.items() if here.encode() in content] == []


def test_the_archives_hold_what_is_built(dist: Path) -> None:
    for name in ARTIFACTS:
        assert archives.read(dist / f"{name}.zip") == files(sam.built().parent / name)


def test_its_template_is_the_shipped_one_with_the_code_beside_it(dist: Path) -> None:
    released, shipped = load(dist / "template.yaml"), load()
    assert shipped["Globals"]["Function"].pop("CodeUri") == "functions/"
    for name in ARTIFACTS:
        resource = shipped["Resources"][name]
        assert resource.pop("Metadata") == {"BuildMethod": "makefile"}
        resource["Properties"]["ContentUri" if "Layer" in name else "CodeUri"] = f"{name}.zip"
    shipped["Description"] += f" Version {version()}."
    assert released == shipped
    assert (dist / shipped["Resources"]["FleetStateMachine"]["Properties"]["DefinitionUri"]).is_file()


def test_its_template_keeps_the_comments(dist: Path) -> None:
    comment = re.compile(r"^ *#.*$", re.MULTILINE)
    assert comment.findall((dist / "template.yaml").read_text()) == comment.findall(FILE.read_text())


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("    CodeUri: functions/\n", ""),
        ("Metadata: {BuildMethod: makefile}", "Metadata: {BuildMethod: python3.13}"),
        ("ContentUri: layers/dependencies/", "Content: layers/dependencies/"),
    ],
)
def test_a_template_that_names_its_code_otherwise_is_refused(was: str, is_now: str) -> None:
    assert was in FILE.read_text()
    with pytest.raises(CannotBePackaged):
        packaged(FILE.read_text().replace(was, is_now), "1.2.3")


def pinned() -> set[str]:
    locks = (ROOT / "layers/dependencies/requirements.txt", ROOT / "functions/compiler/requirements.txt")
    pins = (pin for lock in locks for pin in re.findall(r"^\S+==[^\s;]+", lock.read_text(), re.MULTILINE))
    return {pin.replace("==", "@") for pin in pins}


def test_the_sbom_lists_what_is_pinned_and_nothing_else(dist: Path) -> None:
    sbom = json.loads((dist / contents.SBOM).read_text())
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    packages = [component for component in sbom["components"] if component.get("purl", "").startswith("pkg:pypi/")]
    assert {component["purl"] for component in packages} == {f"pkg:pypi/{pin}" for pin in pinned()}
    assert all(component["licenses"] for component in packages)
    root = sbom["metadata"]["component"]
    assert (root["name"], root["version"]) == ("eks-upsert", version())
    (direct,) = (one["dependsOn"] for one in sbom["dependencies"] if one["ref"] == root["bom-ref"])
    assert {name.split("==")[0] for name in direct} > {"PyYAML", "aws_lambda_powertools"}


def test_the_sbom_lists_every_shared_library_by_its_sum(dist: Path) -> None:
    sbom = json.loads((dist / contents.SBOM).read_text())
    listed = {one["name"]: one["hashes"][0]["content"] for one in sbom["components"] if one["type"] == "file"}
    held = archives.read(dist / "DependenciesLayer.zip").items()
    assert listed == {
        name.removeprefix("python/"): hashlib.sha256(content).hexdigest() for name, content in held if ".libs/" in name
    }
    (own,) = (one for one in sbom["dependencies"] if one["ref"].startswith("pycurl=="))
    assert set(listed) < set(own["dependsOn"])
    named = {one["purl"].partition("@")[0] for one in sbom["components"] if "purl" in one}
    assert {"pkg:generic/libcurl", "pkg:generic/openssl"} <= named


def test_the_page_on_installing_names_every_shared_library(dist: Path) -> None:
    bill = json.loads((dist / contents.SBOM).read_text())
    held = {one["name"] for one in bill["components"] if one["type"] == "file"}
    page = (dist / "docs" / "installing.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `lib")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted({re.sub(r"^[^/]+/|-[0-9a-f]{8}\.so.*$", "", name) for name in held})


def test_the_licence_of_each_of_them_is_there(dist: Path) -> None:
    texts = {folder.name: list(folder.iterdir()) for folder in (dist / "licences").iterdir()}
    assert {name.lower().replace("_", "-") for name in texts} == {pin.replace("@", "-") for pin in pinned()}
    for found in texts.values():
        assert any(re.search("LICENSE|COPYING", file.name) and file.stat().st_size > 500 for file in found), found


def test_a_package_without_a_licence_is_not_shipped(tmp_path: Path) -> None:
    notes_on_it = tmp_path / "built" / "DependenciesLayer" / "python" / "it-1.0.dist-info"
    notes_on_it.mkdir(parents=True)
    (notes_on_it / "METADATA").write_text("Metadata-Version: 2.1\nName: it\nVersion: 1.0\n")
    for name in ARTIFACTS[:2]:
        (tmp_path / "built" / name).mkdir()
    with pytest.raises(CannotBeReleased, match=r"it-1\.0 says no licence"):
        contents.write(tmp_path / "dist", tmp_path / "built")


def test_its_roles_are_those_of_the_file_in_it(dist: Path) -> None:
    assert run(dist, "make", "--silent", "rbac") == (dist / "rbac" / "refresher.yaml").read_text()
    assert run(dist, "make", "--silent", "rbac", "ADOPTER=1") == (dist / "rbac" / "adopter.yaml").read_text()


def test_its_file_of_objects_is_in_its_functions(copy: Path, dist: Path) -> None:
    run(copy, "make", "--silent", "objects")
    assert files(copy) == files(dist)


def test_a_wrong_file_of_objects_leaves_its_functions_as_they_are(copy: Path, dist: Path) -> None:
    (copy / "my.yaml").write_text("version: 2\nobjects: []\n")
    command = ["make", "--silent", "objects", "OBJECTS=my.yaml"]
    done = subprocess.run(command, cwd=copy, env=HERE, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode
    assert "my.yaml:1: version: 2 is wrong; expected 1" in done.stderr
    (copy / "my.yaml").unlink()
    assert files(copy) == files(dist)


def test_the_page_on_installing_tells_of_everything_in_it(dist: Path) -> None:
    told = (dist / "docs" / "installing.md").read_text()
    # These say themselves what they are.
    for path in {path.name for path in dist.iterdir()} - {"LICENSE", "CHANGELOG.md", "SECURITY.md"}:
        assert f"`{path}" in told, path


def test_the_version_is_in_one_place() -> None:
    """Documents write VERSION; the changelog has headings; requirements and other programs' versions are not ours."""
    tracked = run(ROOT, "git", "grep", "-lwF", version(), "--", "*.py", "*.yaml", "*.yml", "*.toml", "*.md", "Makefile")
    assert set(tracked.split()) == {"pyproject.toml", "CHANGELOG.md"}


def test_the_changelog_tells_of_this_version() -> None:
    assert re.search(rf"^## \[{re.escape(version())}\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


CHANGELOG = (
    "# Changelog\n\n## [1.3.0]\n\nnew\n\n## [1.2.0] - 2027-01-31\n\n### Added\n\n- This.\n\n## [1.1.0] - 2027-01-01\n"
)


def test_the_notes_are_the_section_on_the_version() -> None:
    assert notes("v1.2.0", "1.2.0", CHANGELOG) == "### Added\n\n- This."


@pytest.mark.parametrize(
    ("tag", "of_tree", "told"),
    [
        ("v1.2.0", "1.3.0", "the tag is v1.2.0; expected v1.3.0"),
        ("1.2.0", "1.2.0", "expected v1.2.0"),
        ("v1.3.0", "1.3.0", "no heading"),
        ("v1.2.1", "1.2.1", "no heading"),
    ],
)
def test_there_is_no_release_of_another_version_or_without_a_day(tag: str, of_tree: str, told: str) -> None:
    with pytest.raises(CannotBeReleased, match=told):
        notes(tag, of_tree, CHANGELOG)


def test_it_deploys_without_the_repository_and_refreshes_what_ones_own_file_says(dist: Path) -> None:
    with World(release=dist) as world:
        world.control_plane.create_namespace("team-blue")
        world.deploy(entry(include=["team-*"]), ScheduleState="DISABLED")
        run = world.invoke({}).run
        assert [record["namespace"] for record in run.named("object.applied")] == ["team-blue"]
        assert world.control_plane.get_secret("team-blue", SECRET)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_two_clones_in_two_folders_make_the_same_release(tmp_path: Path) -> None:
    places = tmp_path / "one", tmp_path / "a longer" / "way" / "to the other"
    environment = {name: value for name, value in HERE.items() if name not in {"PYTHONPATH", "PYTHON", "MAKEFLAGS"}}
    for place, mask in zip(places, (0o022, 0o077), strict=True):
        before = os.umask(mask)
        try:
            run(tmp_path, "git", "clone", "--quiet", str(ROOT), str(place))
            run(place, "make", "release", environment=environment, timeout=400)
        finally:
            os.umask(before)
    one, other = (place / "dist" for place in places)
    run(other, "sha256sum", "--quiet", "-c", str(one / contents.SUMS))
    assert files(one) == files(other)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_it_passes_the_demo(dist: Path) -> None:
    environment = {**HERE, "FROM": str(dist), "PYTHONPATH": "functions"}
    shown = run(ROOT, sys.executable, "-m", "tests.demo", environment=environment, timeout=400)
    assert re.search(r"^proof: namespaces=25 .* absent=0$", shown, re.MULTILINE)
