"""The SAM CLI of `.venv/sam`: build and deploy the shipped template, as its users do."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.processes import Workspace

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"
BIN = ROOT / ".venv" / "sam" / "bin"
# Not a temporary folder: what was built last may be looked at. Git ignores it.
BUILD_FOLDER = ROOT / ".out" / "sam"

_TIMEOUT_S = 600


class SamFailed(Exception):
    """A `sam` command ended with an error; the message holds its output."""


def build(folder: Path | None = None, *, architecture: str = "arm64") -> Path:
    """Build the shipped template into `folder` and return the built template, beside which the built code lies."""
    folder = folder or BUILD_FOLDER / architecture
    _sam(
        "build",
        "--template", str(TEMPLATE),
        "--build-dir", str(folder / "build"),
        "--no-cached",
        "--parameter-overrides", _overrides({"Architecture": architecture}),
    )  # fmt: skip
    return folder / "build" / "template.yaml"


def deploy(
    template: Path, *, stack: str, parameters: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Deploy a built template and return the stack's outputs; `environment` says to which AWS, and as whom."""
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
    )  # fmt: skip
    outputs = _sam("list", "stack-outputs", "--stack-name", stack, "--output", "json", environment=environment)
    return {output["OutputKey"]: output["OutputValue"] for output in json.loads(outputs)}


def _overrides(parameters: Mapping[str, str]) -> str:
    """Return the parameters as one word in SAM's own grammar, quoted, since values hold spaces and quotes."""
    return " ".join(f"{name}={json.dumps(value)}" for name, value in parameters.items())


def _sam(*arguments: str, environment: Mapping[str, str] | None = None) -> str:
    # SAM copies sources into the temporary folder; if it is stopped there, the workspace still removes them.
    with Workspace() as workspace:
        done = subprocess.run(
            [str(BIN / "sam"), *arguments],
            cwd=ROOT,
            env={
                **os.environ,
                **(environment or {}),
                "SAM_CLI_TELEMETRY": "0",
                "TMPDIR": str(workspace.folder),
                # The build runs python3.13, and only the virtual environment is sure to have it.
                "PATH": f"{BIN}:{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    if done.returncode:
        raise SamFailed(f"sam {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
