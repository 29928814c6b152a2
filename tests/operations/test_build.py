"""functions/Makefile makes of the source what each function ships: no more than it runs, the same bytes everywhere."""

import ast
import base64
import importlib.util
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.template import ROOT

FUNCTIONS = ROOT / "functions"
PACKAGE = FUNCTIONS / "upsert"
UNCHECKED_HASH = 0b01
FUNCTIONS_BUILT = ("RefreshFunction", "AdoptFunction")

type Files = dict[str, bytes]


def make(function: str, target: Path, source: Path = FUNCTIONS, objects: str = "") -> subprocess.CompletedProcess[str]:
    """Build one function into the folder `target`, as `sam build` does."""
    target.mkdir(parents=True)
    return subprocess.run(
        ["make", "--silent", f"build-{function}"],
        cwd=source,
        env={**os.environ, "PYTHON": sys.executable, "ARTIFACTS_DIR": str(target), "OBJECTS": objects},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def build(function: str, target: Path, source: Path = FUNCTIONS) -> Files:
    done = make(function, target, source)
    assert done.returncode == 0, done.stderr
    return files(target)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    folder = tmp_path_factory.mktemp("built")
    return {function: build(function, folder / function) for function in FUNCTIONS_BUILT}


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[], Path]:
    """Copy the source into a folder with a blank in its name, to change it there."""

    def make_copy() -> Path:
        return Path(shutil.copytree(FUNCTIONS, tmp_path / "a copy", ignore=shutil.ignore_patterns("__pycache__")))

    return make_copy


def modules(found: Files) -> set[str]:
    return {name for name in found if name.endswith(".py")}


def reached(start: str) -> set[str]:
    """Return the files of the package that importing this one brings, itself included."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        waiting += [str(parent / "__init__.py") for parent in Path(file).parents if parent.name]
        waiting += imported(FUNCTIONS / file)
    return seen


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
            case ast.Import():
                names = [alias.name for alias in node.names]
            # A row of a table, which is imported by its text.
            case ast.Constant(value=str(text)) if file.name == "__init__.py":
                package = ".".join(file.relative_to(FUNCTIONS).parent.parts)
                names = [f"{package}.{text.partition('.')[0]}"] if re.fullmatch(r"\w+\.[A-Z_]+", text) else []
            case _:
                continue
        for name in names:
            path = name.replace(".", "/")
            yield from (own for own in (f"{path}.py", f"{path}/__init__.py") if (FUNCTIONS / own).is_file())


def test_the_adopter_ships_the_package_whole(built: dict[str, Files]) -> None:
    assert modules(built["AdoptFunction"]) == {str(path.relative_to(FUNCTIONS)) for path in PACKAGE.rglob("*.py")}


def test_the_refresher_ships_everything_but_what_only_the_adopter_uses(built: dict[str, Files]) -> None:
    of_the_adopter = reached("upsert/handlers/adopt.py") - reached("upsert/handlers/refresh.py")
    assert "upsert/handlers/adopt.py" in of_the_adopter
    assert modules(built["AdoptFunction"]) - modules(built["RefreshFunction"]) == of_the_adopter


@pytest.mark.parametrize("function", FUNCTIONS_BUILT)
def test_a_function_holds_its_modules_their_bytecode_and_the_compiled_file(
    built: dict[str, Files], function: str
) -> None:
    found = built[function]
    bytecode = {importlib.util.cache_from_source(name) for name in modules(found)}
    assert set(found) == modules(found) | bytecode | {"objects.json"}


@pytest.mark.parametrize("function", FUNCTIONS_BUILT)
def test_the_bytecode_is_never_checked_is_of_its_source_and_names_where_lambda_has_it(
    built: dict[str, Files], function: str
) -> None:
    found = built[function]
    for name in modules(found):
        bytecode = found[importlib.util.cache_from_source(name)]
        assert bytecode[:4] == importlib.util.MAGIC_NUMBER, name
        assert int.from_bytes(bytecode[4:8], "little") == UNCHECKED_HASH, name
        assert bytecode[8:16] == importlib.util.source_hash(found[name]), name
        assert marshal.loads(bytecode[16:]).co_filename == f"/var/task/{name}"


def test_the_shipped_file_of_objects_names_the_one_pull_secret(built: dict[str, Files]) -> None:
    compiled = json.loads(built["RefreshFunction"]["objects.json"])
    assert compiled == json.loads(built["AdoptFunction"]["objects.json"])
    assert [(one["kind"], one["type"], one["name"], one["on_conflict"]) for one in compiled["objects"]] == [
        ("Secret", "docker-registry", "aws-ecr-token", "take-over")
    ]


MINE = """\
version: 1
objects:
  - kind: ConfigMap
    name: mine
    data: {notice: {file: notice.txt}}
    namespaces: {include: [team-a]}
"""


@pytest.mark.parametrize("function", FUNCTIONS_BUILT)
def test_a_file_of_ones_own_is_compiled_as_it_lies_with_what_is_beside_it(function: str, tmp_path: Path) -> None:
    mine = tmp_path / "my own" / "objects.yaml"
    mine.parent.mkdir()
    mine.write_text(MINE)
    (mine.parent / "notice.txt").write_text("kept beside it")
    done = make(function, tmp_path / "built", objects=str(mine))
    assert done.returncode == 0, done.stderr
    compiled = files(tmp_path / "built")["objects.json"]
    assert [one["name"] for one in json.loads(compiled)["objects"]] == ["mine"]
    assert base64.b64encode(b"kept beside it") in compiled
    assert f"The objects are those of {mine}\n" in done.stdout


def test_without_one_the_shipped_file_is_compiled_and_said(built: dict[str, Files], tmp_path: Path) -> None:
    done = make("RefreshFunction", tmp_path / "built")
    assert "The objects are those of the shipped functions/objects.yaml\n" in done.stdout
    assert files(tmp_path / "built") == built["RefreshFunction"]


def test_a_path_that_the_builds_own_folder_has_not_is_refused(tmp_path: Path) -> None:
    done = make("RefreshFunction", tmp_path / "built", objects="my/objects.yaml")
    assert done.returncode != 0
    assert "OBJECTS=my/objects.yaml is no whole path" in done.stderr
    assert not files(tmp_path / "built")


@pytest.mark.parametrize("function", FUNCTIONS_BUILT)
def test_it_is_the_same_bytes_wherever_it_is_built(
    built: dict[str, Files], function: str, copy: Callable[[], Path], tmp_path: Path
) -> None:
    source = copy()
    (source / "upsert" / "core" / "__pycache__").mkdir()
    (source / "upsert" / "core" / "__pycache__" / "old.cpython-312.pyc").write_bytes(b"old")
    (source / "upsert" / "notes.txt").write_text("mine")
    before = os.umask(0o077)
    try:
        again = build(function, tmp_path / "built again", source)
    finally:
        os.umask(before)
    assert again == built[function]
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "built again").rglob("*") if path.is_file()}
    assert modes == {0o644}, "Lambda runs the function as another user"


def test_a_fault_in_the_file_of_objects_ends_the_build_and_is_told(copy: Callable[[], Path], tmp_path: Path) -> None:
    source = copy()
    (source / "objects.yaml").write_text("version: 2\nobjects: []\n")
    done = make("RefreshFunction", tmp_path / "built", source)
    assert done.returncode
    assert "version" in done.stderr
    assert files(tmp_path / "built") == {}


def test_a_name_of_the_adopters_list_that_is_not_there_ends_the_build(copy: Callable[[], Path], tmp_path: Path) -> None:
    source = copy()
    (source / "upsert" / "handlers" / "adopt.py").unlink()
    assert make("RefreshFunction", tmp_path / "built", source).returncode


def test_the_build_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    build("RefreshFunction", tmp_path / "built")
    assert list(scratch.iterdir()) == []
