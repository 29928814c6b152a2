"""The compiler needs the standard library and PyYAML, nothing of the layer, and can be packed into one file."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.compiler.cases import RICH, a_file, an_object

ROOT = Path(__file__).parents[2]
GOLDEN = (Path(__file__).parent / "golden" / "rich.json").read_text()
# Without site-packages and environment: what is on the path is named here.
ALONE = [sys.executable, "-I", "-S", "-B"]
START = "import sys; sys.path[:0] = sys.argv[1:3]; sys.argv[1:3] = []; from compiler.__main__ import main; main()"


@pytest.fixture
def parser(tmp_path: Path) -> Path:
    """A folder with PyYAML alone, in Python alone."""
    folder = tmp_path / "parser"
    package = Path(yaml.__file__).parent
    shutil.copytree(package, folder / "yaml", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "my.yaml"
    file.write_text(RICH)
    return file


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make compiler` makes."""
    subprocess.run(["make", "--silent", "compiler"], cwd=ROOT, check=True, capture_output=True, timeout=300)
    return Path(shutil.copy(ROOT / "dist" / "compiler.pyz", tmp_path_factory.mktemp("release")))


def test_it_runs_without_the_layer_and_with_the_parser_in_python(parser: Path, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "objects.json"
    command = [*ALONE, "-c", START, str(ROOT / "functions"), str(parser), str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert target.read_text() == GOLDEN


def test_it_loads_nothing_but_itself_its_parser_and_what_is_pure(parser: Path) -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1:3]; import compiler.command\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))\n"
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('upsert.')}))"
    )
    command = [*ALONE, "-c", code, str(ROOT / "functions"), str(parser)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    loaded, of_upsert = done.stdout.splitlines()
    assert set(loaded.split()) <= {"__main__", "compiler", "upsert", "yaml"}
    assert of_upsert.split() == ["core", "errors", "kinds", "sources"]


def test_the_packed_one_needs_python_alone(packed: Path, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "objects.json"
    done = subprocess.run([*ALONE, packed, source, target], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert target.read_text() == GOLDEN


def test_the_packed_one_says_what_is_wrong_and_prints_roles(packed: Path, source: Path) -> None:
    source.write_text(a_file(an_object(), an_object(name="X")))
    done = subprocess.run([*ALONE, packed, source], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr[: len(f"{source}:4: objects[1].name: ")]) == (
        1,
        f"{source}:4: objects[1].name: ",
    )
    source.write_text(a_file(an_object()))
    done = subprocess.run([*ALONE, packed, "--rbac", source], capture_output=True, text=True, check=True, timeout=60)
    assert len(list(yaml.safe_load_all(done.stdout))) == 4


def test_the_packed_one_holds_sources_alone(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    assert {name.split("/")[0] for name in names} == {"__main__.py", "compiler", "upsert", "yaml"}
    assert all(name.endswith(".py") for name in names)
    assert packed.stat().st_size < 300_000


@pytest.mark.parametrize("name", ["python3.11", "python3.12"])
def test_an_older_python_is_told_what_is_needed(packed: Path, name: str) -> None:
    older = list(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}*/bin/python3"))
    python = str(older[0]) if older else shutil.which(name)
    if not python:
        pytest.skip(f"{name} is missing on this machine")
    done = subprocess.run([python, packed], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("The compiler needs Python 3.13, this is 3.1")
