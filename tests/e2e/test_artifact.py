"""What `sam build` makes: complete, precompiled, the same for every processor and on every machine."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from compiler.compiled import compile_objects
from tests.support import sam
from tests.support.objects import ACCOUNT, REGION, SECRET, compiled, entry, written
from tests.support.rie import Artifact
from tests.support.sam import BIN, ROOT
from upsert.config import COMPILED

# AWS's limits for a function with all of its layers, and for one archive.
UNZIPPED_LIMIT = 250 * 1024 * 1024
ZIPPED_LIMIT = 50 * 1024 * 1024

UNCHECKED_HASH = 0b01
LAYER = ROOT / "layers" / "dependencies"


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


@pytest.mark.parametrize("function", ["refresh", "adopt"])
def test_each_handler_imports_from_its_artifact_alone_with_an_empty_environment(
    function: str, artifact: Artifact, adopter: Artifact
) -> None:
    code = f"from upsert.handlers.{function} import handler; assert callable(handler)"
    run_inside({"refresh": artifact, "adopt": adopter}[function], code)


def test_every_package_of_the_layer_is_imported(adopter: Artifact) -> None:
    code = (
        "import json, upsert.handlers.refresh, upsert.handlers.adopt\n"
        "print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    )
    imported = set(json.loads(run_inside(adopter, code)))
    shipped = {path.stem for path in adopter.layer.iterdir() if path.suffix != ".dist-info"} - {"__pycache__"}
    assert shipped - imported == set()


def test_every_aws_client_and_operation_that_the_functions_use_exists_in_the_layer(adopter: Artifact) -> None:
    used = {
        (service, operation)
        for path in adopter.function.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in {"call", "client", "_client"}
        for service in texts(node.args[:1])
        for operation in (texts(node.args[1:2]) if node.func.attr == "call" else {"meta"})
    }
    assert {service for service, _ in used} == {"ecr", "ecr-public", "eks", "secretsmanager", "ssm", "sts"}
    assert ("eks", "describe_cluster") in used
    run_inside(
        adopter,
        f"import boto3; session = boto3.Session('key', 'secret', region_name='eu-central-1')\n"
        f"for service, operation in {sorted(used)}: getattr(session.client(service), operation)",
    )


def texts(nodes: list[ast.expr]) -> set[str]:
    """Return the strings that stand in these expressions."""
    found = [part.value for node in nodes for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return {text for text in found if isinstance(text, str)}


@pytest.mark.parametrize("function", ["RefreshFunction", "AdoptFunction"])
def test_a_function_holds_its_package_the_bytecode_of_it_and_the_compiled_file_of_objects(function: str) -> None:
    found = set(files(Artifact.beside(sam.built(), function).function))
    source = {str(path.relative_to(ROOT / "functions")) for path in (ROOT / "functions" / "upsert").rglob("*.py")}
    modules = {name for name in found if name.endswith(".py")}
    assert modules <= source
    assert found - modules == {importlib.util.cache_from_source(name) for name in modules} | {COMPILED}


def test_the_refresher_ships_nothing_of_the_adopter(artifact: Artifact, adopter: Artifact) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (one for one in contracts if one["name"] == "The refresher imports nothing of the adopter")
    foreign = {f"{name.replace('.', '/')}.py" for name in (*contract["forbidden_modules"], "upsert.handlers.adopt")}
    assert foreign & set(files(artifact.function)) == set()
    assert foreign <= set(files(adopter.function))


def test_the_function_reads_the_file_of_objects_as_the_compiler_wrote_it(artifact: Artifact, adopter: Artifact) -> None:
    shipped = compile_objects((ROOT / "functions" / "objects.yaml").read_bytes(), "objects.yaml")
    for one in (artifact, adopter):
        assert (one.function / COMPILED).read_text() == shipped
    environment = {
        "LAMBDA_TASK_ROOT": str(artifact.function),
        "CLUSTER_NAME": "demo",
        "ACCOUNT_ID": ACCOUNT,
        "AWS_REGION": REGION,
    }
    code = f"from upsert.config import load; print(*[one.title for one in load({environment}).objects])"
    assert run_inside(artifact, code) == f"secret/{SECRET}\n"


def test_no_yaml_parser_and_no_file_that_needs_one_ships(artifact: Artifact, adopter: Artifact) -> None:
    assert not (artifact.layer / "yaml").exists()
    for one in (artifact, adopter):
        assert [name for name in files(one.function) if name.endswith((".yaml", ".yml", ".schema.json"))] == []
        assert not (one.function / "yaml").exists()


def test_a_users_own_file_goes_into_a_built_function_and_a_wrong_one_leaves_it_as_it_was(tmp_path: Path) -> None:
    mine = entry(name="mine", include=["team-*"])
    template = sam.with_objects(written(mine), tmp_path / "build")
    functions = [Artifact.beside(template, name).function for name in ("RefreshFunction", "AdoptFunction")]
    for function in functions:
        assert (function / COMPILED).read_text() == compiled(mine)
    with pytest.raises(sam.SamFailed, match=r"objects\.yaml:\d+: objects\[0\]\.name: "):
        sam.put_objects(written(entry(name="no name")), *functions)
    for function in functions:
        assert (function / COMPILED).read_text() == compiled(mine)


# The processor that an ELF file is for: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
PROCESSORS = {62: "x86_64", 183: "arm64"}


def test_the_layer_holds_native_code_of_one_package_and_for_every_processor(layer_files: dict[str, bytes]) -> None:
    native = {name: content for name, content in layer_files.items() if content.startswith(b"\x7fELF")}
    processor = {name: PROCESSORS[int.from_bytes(content[18:20], "little")] for name, content in native.items()}
    modules = {of: name for name, of in processor.items() if name.startswith("pycurl/")}
    assert modules == {
        "x86_64": "pycurl/_pycurl.cpython-313-x86_64-linux-gnu.so",
        "arm64": "pycurl/_pycurl.cpython-313-aarch64-linux-gnu.so",
    }
    for of, module in modules.items():
        # Whatever the module loads by a name that no system has lies beside it.
        needed = set(re.findall(rb"lib[a-z0-9_+-]+-[0-9a-f]{8}\.so[0-9.]*", native[module]))
        assert needed, module
        assert {f"pycurl.libs/{name.decode()}" for name in needed} <= {name for name in native if processor[name] == of}
    assert {name.partition("/")[0] for name in native} == {"pycurl", "pycurl.libs"}


def test_the_layer_holds_no_tests_no_scripts_and_no_notes_of_pip(layer_files: dict[str, bytes]) -> None:
    unwanted = {"test", "tests", "bin", "RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    assert [name for name in layer_files if unwanted & set(Path(name).parts) or name.endswith("_test.py")] == []


def test_the_layer_holds_a_licence_and_metadata_of_every_package(artifact: Artifact) -> None:
    packages = list(artifact.layer.glob("*.dist-info"))
    assert len(packages) == (LAYER / "requirements.txt").read_text().count("==")
    for package in packages:
        assert (package / "METADATA").is_file(), package.name
        of_it = [str(path.relative_to(package)).lower() for path in package.rglob("*") if path.is_file()]
        assert any("licen" in path for path in of_it), package.name


@pytest.mark.parametrize("part", ["function", "layer"])
def test_every_module_has_bytecode_that_is_never_checked_and_is_of_its_source(artifact: Artifact, part: str) -> None:
    shipped = files(getattr(artifact, part))
    modules = {name: content for name, content in shipped.items() if name.endswith(".py")}
    assert len(modules) > {"function": 40, "layer": 400}[part]
    for name, source in modules.items():
        bytecode = shipped[importlib.util.cache_from_source(name)]
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
