"""The command: what it writes and where, and that nothing is ever written in half."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from compiler import files
from compiler.command import run
from compiler.loading import MOST_BYTES
from tests.compiler.cases import KINDS, NAMED_CLUSTERS, RICH, a_file, an_object

GOLDEN = (Path(__file__).parent / "golden" / "rich.json").read_text()
OLD = "the old text\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "objects.yaml"
    file.write_text(RICH)
    return file


@pytest.fixture
def targets(tmp_path: Path) -> list[Path]:
    """The folders of two built functions, which hold an older form."""
    folders = [tmp_path / "RefreshFunction", tmp_path / "AdoptFunction"]
    for folder in folders:
        folder.mkdir()
        (folder / "objects.json").write_text(OLD)
    return folders


def texts(folders: list[Path]) -> list[dict[str, str]]:
    return [{file.name: file.read_text() for file in folder.iterdir()} for folder in folders]


def test_it_writes_the_compiled_form_into_a_file(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "compiled.json"
    assert run([str(source), str(target)]) == 0
    assert target.read_text() == GOLDEN
    assert capsys.readouterr().out == ""


def test_it_writes_into_every_folder_that_is_named(source: Path, targets: list[Path]) -> None:
    assert run([str(source), *map(str, targets)]) == 0
    assert texts(targets) == [{"objects.json": GOLDEN}] * 2


def test_everybody_may_read_what_it_writes(source: Path, targets: list[Path]) -> None:
    mask = os.umask(0o077)
    try:
        run([str(source), *map(str, targets)])
    finally:
        os.umask(mask)
    assert (targets[0] / "objects.json").stat().st_mode & 0o777 == 0o644


def test_a_wrong_file_leaves_every_target_as_it_was(
    source: Path, targets: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    source.write_text(a_file(an_object(name="A", type="none")))
    assert run([str(source), *map(str, targets)]) == 1
    assert texts(targets) == [{"objects.json": OLD}] * 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        f"{source}:3: objects[0].type: 'none' is wrong; expected {KINDS}",
        f"{source}:3: objects[0].name: 'A' is wrong; expected an object's name: lower-case letters, digits, - and .",
    ]


def test_a_wrong_file_makes_no_target(source: Path, tmp_path: Path) -> None:
    source.write_text("")
    assert run([str(source), str(tmp_path / "objects.json")]) == 1
    assert list(tmp_path.iterdir()) == [source]


def test_a_target_that_cannot_be_written_leaves_the_others_as_they_were(
    source: Path, targets: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "nowhere" / "objects.json"
    assert run([str(source), *map(str, targets), str(nowhere)]) == 1
    assert texts(targets) == [{"objects.json": OLD}] * 2
    assert "No such file or directory" in capsys.readouterr().err


def test_a_full_disk_leaves_the_target_as_it_was(
    source: Path, targets: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "chmod", full)
    assert run([str(source), *map(str, targets)]) == 1
    assert texts(targets) == [{"objects.json": OLD}] * 2


def test_a_source_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(tmp_path / "none.yaml"), str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none.yaml'}: No such file or directory\n"


def test_no_more_is_read_than_a_file_may_have(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    with file.open("wb") as sparse:
        sparse.truncate(10 * MOST_BYTES)
    assert len(files.load(file)) == MOST_BYTES + 1


def test_without_a_target_it_only_checks(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(source)]) == 0
    assert list(tmp_path.iterdir()) == [source]
    assert capsys.readouterr() == ("", "")


def test_it_prints_the_roles_when_asked(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--rbac", "--adopter", "--cluster", "team-blue", str(source)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("# What the adopter may do in your cluster")


@pytest.mark.parametrize(
    ("clusters", "cluster", "said"),
    [
        (NAMED_CLUSTERS, (), "all 3 clusters, which get the same; CLUSTER=NAME prints those of one\n"),
        (NAMED_CLUSTERS, ("--cluster", "test"), ""),
        ("clusters: [{name: test}]", (), ""),
        ("", (), ""),
    ],
)
def test_roles_for_several_clusters_are_told_to_be(
    source: Path, capsys: pytest.CaptureFixture[str], clusters: str, cluster: tuple[str, ...], said: str
) -> None:
    source.write_text(a_file(an_object(), more=clusters))
    assert run(["--rbac", *cluster, str(source)]) == 0
    printed = capsys.readouterr()
    assert printed.err.endswith(said)
    assert bool(printed.err) is bool(said)
    assert printed.out.startswith("# What the refresher may do in your cluster")


def test_roles_of_a_wrong_file_are_none(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_text("")
    assert run(["--rbac", str(source)]) == 1
    assert capsys.readouterr().out == ""


def test_make_puts_a_file_into_the_built_functions(targets: list[Path], source: Path) -> None:
    built = targets[0].parent
    (built / "DependenciesLayer").mkdir()
    arguments = ["make", "--silent", "objects", f"OBJECTS={source}", f"BUILT={built}"]
    subprocess.run(arguments, cwd=Path(__file__).parents[2], check=True, capture_output=True, timeout=120)
    assert texts(targets) == [{"objects.json": GOLDEN}] * 2
    assert not list((built / "DependenciesLayer").iterdir())
    assert json.loads(GOLDEN)["version"] == 1
