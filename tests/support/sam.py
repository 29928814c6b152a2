"""The SAM CLI of `.venv/sam`: build and deploy the shipped template, as its users do."""

import atexit
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.support.processes import Workspace

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"
BIN = ROOT / ".venv" / "sam" / "bin"

_TIMEOUT_S = 600


class SamFailed(Exception):
    """A command that builds or deploys ended with an error; the message holds its output."""


def build(folder: Path, *, architecture: str = "arm64") -> Path:
    """Build the shipped template into `folder` and return the built template, beside which the built code lies."""
    _sam(
        "build",
        "--template", str(TEMPLATE),
        "--build-dir", str(folder / "build"),
        "--no-cached",
        "--parameter-overrides", _overrides({"Architecture": architecture}),
    )  # fmt: skip
    return folder / "build" / "template.yaml"


@cache
def built() -> Path:
    """Build the shipped template, once for all of this process, and gone with it; it serves every processor."""
    workspace = Workspace(prefix="built-")
    atexit.register(workspace.close)
    return build(workspace.folder)


def with_objects(objects: bytes, folder: Path) -> Path:
    """Copy what was built to `folder`, put a file of objects into its functions, and return the template there."""
    template = built()
    shutil.copytree(template.parent, folder, dirs_exist_ok=True)
    put_objects(objects, *folder.glob("*Function"))
    return folder / template.name


def with_objects_of_release(objects: bytes, release: Path, folder: Path) -> Path:
    """Copy a release to `folder`, put a file of objects into it as its guide says, and return the template there."""
    shutil.copytree(release, folder, dirs_exist_ok=True)
    (folder / "my.yaml").write_bytes(objects)
    # What this process imports is no part of a release.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    _run(["make", "--silent", "objects", "OBJECTS=my.yaml"], {**environment, "PYTHON": sys.executable}, folder)
    return folder / TEMPLATE.name


def put_objects(objects: bytes, *functions: Path) -> None:
    """Put a file of objects into built functions as `make objects` does, without building them."""
    with Workspace() as workspace:
        source = workspace.folder / "objects.yaml"
        source.write_bytes(objects)
        compile_into(source, *functions)


def compile_into(source: Path, *functions: Path) -> None:
    """Put a file of objects, with what lies beside it, into built functions as `make objects` does."""
    _run(
        [sys.executable, "-m", "compiler", str(source), *map(str, functions)],
        {**os.environ, "PYTHONPATH": str(ROOT / "functions")},
    )


def deploy(
    template: Path, *, stack: str, parameters: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Deploy a built template from its folder and return the stack's outputs.

    `environment` says to which AWS, and as whom.
    """
    _sam(
        "deploy",
        "--template-file", str(template),
        "--stack-name", stack,
        "--parameter-overrides", _overrides(parameters),
        "--capabilities", "CAPABILITY_IAM",
        "--resolve-s3",
        "--no-confirm-changeset",
        "--no-fail-on-empty-changeset",
        "--no-progressbar",
        environment=environment,
        folder=template.parent,
    )  # fmt: skip
    outputs = _sam("list", "stack-outputs", "--stack-name", stack, "--output", "json", environment=environment)
    return {output["OutputKey"]: output["OutputValue"] for output in json.loads(outputs)}


def _overrides(parameters: Mapping[str, str]) -> str:
    """Return the parameters as one word in SAM's own grammar, quoted, since values hold spaces and quotes."""
    return " ".join(f"{name}={json.dumps(value)}" for name, value in parameters.items())


def _sam(*arguments: str, environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> str:
    # SAM copies sources into the temporary folder; if it is stopped there, the workspace still removes them.
    with Workspace() as workspace:
        return _run(
            [str(BIN / "sam"), *arguments],
            {
                **os.environ,
                **(environment or {}),
                "SAM_CLI_TELEMETRY": "0",
                "OBJECTS": "",
                "TMPDIR": str(workspace.folder),
                # The build runs python3.13, and only the virtual environment is sure to have it.
                "PATH": f"{BIN}:{os.environ['PATH']}",
            },
            folder,
        )


def _run(command: Sequence[str], environment: Mapping[str, str], folder: Path = ROOT) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise SamFailed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
