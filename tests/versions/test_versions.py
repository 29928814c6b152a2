"""The versions are pinned as they should be, and the closing line tells how the tests went on each."""

import re
from pathlib import Path

import pytest

from tests.support import assets
from tests.versions import runs

MODULES = (assets.NEWEST, assets.OLDEST)


def minor(module: Path) -> int:
    return int(assets.release(module).split(".")[1])


def test_the_versions_are_at_least_two_minor_ones_apart() -> None:
    assert minor(assets.NEWEST) - minor(assets.OLDEST) >= 2


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_all_of_kubernetes_is_of_the_one_version(module: Path) -> None:
    text = (module / "go.mod").read_text()
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (\S+) (\S+)$", text, re.MULTILINE)
    assert len(replaced) > 30
    published = assets.release(module).replace("v1.", "v0.", 1)
    assert {(name, version) for _, name, version in replaced} == {(name, published) for name, _, _ in replaced}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_the_documents_say_which_versions_were_tried(document: str, module: Path) -> None:
    version = assets.release(module).removeprefix("v")
    said = version if document == "CONTRIBUTING.md" else version.rpartition(".")[0]
    assert re.search(rf"Kubernetes .*\b{re.escape(said)}\b", (assets.REPOSITORY / document).read_text())


@pytest.mark.parametrize("folder", runs.FOLDERS)
def test_the_folders_of_tests_are_there(folder: str) -> None:
    assert list((assets.REPOSITORY / folder).glob("test_*.py"))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a program that says its version as kube-apiserver does."""
    program = tmp_path / "kube-apiserver"
    program.write_text("#!/bin/sh\necho Kubernetes v1.2.3\n")
    program.chmod(0o755)
    return tmp_path


def write_tests(folder: Path, text: str) -> list[str]:
    file = folder / "test_written.py"
    file.write_text(f"import os\nimport pytest\n\n{text}")
    return ["-q", "-p", "no:cacheprovider", str(file)]


def test_the_closing_line_has_the_version_and_what_passed(programs: Path) -> None:
    arguments = write_tests(
        programs,
        f"def test_assets(record_property): assert os.environ['KUBEBUILDER_ASSETS'] == {str(programs)!r}\n"
        "@pytest.mark.soak\n"
        "def test_long(): assert False\n",
    )

    outcome = runs.run(programs, arguments)

    assert re.fullmatch(r"Kubernetes v1\.2\.3: passed: 1 passed, 0 failed, 0 skipped, in \d+ s", str(outcome))
    assert outcome.status == 0


def test_what_failed_and_what_was_skipped_is_said(programs: Path) -> None:
    arguments = write_tests(
        programs,
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "def test_skipped(): pytest.skip('not on this version')\n"
        "@pytest.fixture\n"
        "def broken(): raise ValueError\n"
        "def test_error(broken): pass\n",
    )

    outcome = runs.run(programs, arguments)

    assert str(outcome).startswith("Kubernetes v1.2.3: FAILED (status 1): 1 passed, 2 failed, 1 skipped, in ")


def test_a_run_without_any_test_has_not_passed(programs: Path) -> None:
    outcome = runs.run(programs, write_tests(programs, ""))

    assert str(outcome).startswith("Kubernetes v1.2.3: FAILED (status 5): 0 passed")
