"""What `sam build` makes: complete, precompiled, the same for every processor and on every machine."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.rie import Artifact
from tests.support.sam import BIN, ROOT

# AWS's limits for a function with all of its layers, and for one archive.
UNZIPPED_LIMIT = 250 * 1024 * 1024
ZIPPED_LIMIT = 50 * 1024 * 1024

UNCHECKED_HASH = 0b01


def run_inside(artifact: Artifact, code: str) -> str:
    """Run code that finds nothing but the standard library and the artifact, with an empty environment."""
    paths = [str(artifact.function), str(artifact.layer)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-W", "error", "-c", f"import sys; sys.path[:0] = {paths}\n{code}"],
        env={},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def layer_files(artifact: Artifact) -> dict[str, bytes]:
    return files(artifact.layer)


def test_the_handler_imports_from_the_artifact_alone_with_an_empty_environment(artifact: Artifact) -> None:
    run_inside(artifact, "from upsert.handlers.refresh import handler; assert callable(handler)")


def test_every_package_of_the_layer_is_imported(artifact: Artifact) -> None:
    # By the audit hook and not by sys.modules, from which the kubernetes packages are taken away again.
    code = (
        "import json; seen = set(); sys.addaudithook(lambda event, of: event == 'import' and seen.add(of[0]))\n"
        "import upsert.handlers.refresh, upsert.handlers.adopt\n"
        "print(json.dumps([name.partition('.')[0] for name in seen]))"
    )
    imported = set(json.loads(run_inside(artifact, code)))
    shipped = {path.stem for path in artifact.layer.iterdir() if path.suffix != ".dist-info"} - {"__pycache__"}
    assert shipped - imported == set()


def test_every_aws_client_that_the_functions_make_exists_in_the_layer(artifact: Artifact) -> None:
    calls = [
        node
        for path in artifact.function.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "client"
    ]
    services = sorted({ast.literal_eval(call.args[0]) for call in calls})
    assert {"ecr", "eks", "sts"} <= set(services)
    run_inside(
        artifact,
        f"import boto3; session = boto3.Session('key', 'secret', region_name='eu-central-1')\n"
        f"for service in {services}: session.client(service)",
    )


def test_the_function_holds_its_package_and_nothing_else(artifact: Artifact) -> None:
    shipped = {path.relative_to(artifact.function) for path in artifact.function.rglob("*") if path.is_file()}
    source = {path.relative_to(ROOT / "functions") for path in (ROOT / "functions").rglob("*.py")}
    assert shipped == source


def test_the_layer_holds_no_compiled_code_so_that_it_serves_every_processor(layer_files: dict[str, bytes]) -> None:
    assert [name for name, content in layer_files.items() if content.startswith(b"\x7fELF")] == []


def test_the_layer_holds_no_tests_no_scripts_and_no_notes_of_pip(layer_files: dict[str, bytes]) -> None:
    unwanted = {"test", "tests", "bin", "RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    assert [name for name in layer_files if unwanted & set(Path(name).parts) or name.endswith("_test.py")] == []


def test_the_layer_holds_a_licence_and_metadata_of_every_package(artifact: Artifact) -> None:
    packages = list(artifact.layer.glob("*.dist-info"))
    assert len(packages) > 10
    for package in packages:
        assert (package / "METADATA").is_file(), package.name
        assert any("licen" in path.name.lower() for path in package.rglob("*") if path.is_file()), package.name


def test_every_module_of_the_layer_has_bytecode_that_is_never_checked_and_is_of_its_source(
    layer_files: dict[str, bytes],
) -> None:
    modules = {name: content for name, content in layer_files.items() if name.endswith(".py")}
    assert len(modules) > 500
    for name, source in modules.items():
        bytecode = layer_files[importlib.util.cache_from_source(name)]
        assert bytecode[:4] == importlib.util.MAGIC_NUMBER, name
        assert int.from_bytes(bytecode[4:8], "little") == UNCHECKED_HASH, name
        assert bytecode[8:16] == importlib.util.source_hash(source), name


def test_the_layer_is_the_same_bytes_wherever_it_is_built(layer_files: dict[str, bytes], tmp_path: Path) -> None:
    command = ["make", "--silent", "--directory", str(ROOT / "layers" / "dependencies"), "build-DependenciesLayer"]
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHON": sys.executable}
    subprocess.run([*command, f"ARTIFACTS_DIR={tmp_path}"], env=environment, check=True, timeout=300)
    again = files(tmp_path / "python")
    assert sorted(again) == sorted(layer_files)
    assert [name for name, content in again.items() if content != layer_files[name]] == []


def test_the_layer_keeps_far_from_the_limits_of_lambda(
    layer_files: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unzipped = sum(map(len, layer_files.values()))
    archive = tmp_path / "layer.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in layer_files.items():
            target.writestr(name, content)
    zipped = archive.stat().st_size
    with capsys.disabled():
        print(f"\nlayer: {unzipped / 1e6:.1f} MB unzipped, {zipped / 1e6:.1f} MB zipped, {len(layer_files)} files")
    assert unzipped < UNZIPPED_LIMIT / 2
    assert zipped < ZIPPED_LIMIT / 2
