"""The bill of materials of a release: the packages in its layer and in its compiler, in CycloneDX's JSON."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.release.compiler import ROOT

TOOLS = ROOT / ".venv" / "release" / "bin"

# What is imported, without what that needs itself.
_DIRECT = ("layers/dependencies/requirements.in", "functions/compiler/requirements.in")
_VALIDATE = (
    "import sys; from cyclonedx.schema import SchemaVersion; from cyclonedx.validation.json import JsonStrictValidator;"
    "sys.exit(repr(fault) if (fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())) else 0)"
)


class NoSbom(Exception):
    """A command that lists what ships ended with an error; the message holds its output."""


def project() -> dict[str, Any]:
    """Return what pyproject.toml says of the project. Its version is there and nowhere else."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def sbom(shipped: Sequence[Path], scratch: Path) -> str:
    """Return the bill of the packages in these folders, with the shared libraries that their wheels bring along.

    `scratch` is an empty folder. Raises `NoSbom`.
    """
    bill = _of_packages(shipped, scratch)
    for folder in shipped:
        for libraries in sorted(folder.glob("*.libs")):
            _add(bill, libraries.name.removesuffix(".libs"), [*_linked(libraries), *_files(libraries)])
    text = json.dumps(bill, indent=2, sort_keys=True) + "\n"
    _run([TOOLS / "python", "-c", _VALIDATE], text=text)
    return text


def _of_packages(shipped: Sequence[Path], scratch: Path) -> dict[str, Any]:
    """Have the packages in these folders listed and no other: the tool asks an interpreter where it finds packages."""
    interpreter, known, target = scratch / "python", scratch / "pyproject.toml", scratch / "sbom.json"
    interpreter.write_text(f'#!/bin/sh\nexec "{TOOLS / "python"}" -S "$@"\n')
    interpreter.chmod(0o755)
    known.write_text(_known())
    command: list[str | Path] = [
        TOOLS / "cyclonedx-py", "environment", "-S", "--output-reproducible", "--spec-version", "1.6",
        "--mc-type", "application", "--pyproject", known, "--output-file", target, interpreter,
    ]  # fmt: skip
    _run(command, path=shipped)
    bill: dict[str, Any] = json.loads(target.read_text())
    return bill


def _known() -> str:
    """Return a pyproject.toml of what is shipped: the repository's own is about the hook, which pip installs."""
    lines = (line for file in _DIRECT for line in (ROOT / file).read_text().splitlines())
    known = {key: project()[key] for key in ("name", "version", "description", "license")}
    known["dependencies"] = [line for line in lines if line and not line.startswith("#")]
    # A JSON text of texts is one in TOML, too.
    return "\n".join(["[project]", *(f"{key} = {json.dumps(value)}" for key, value in known.items())])


def _files(libraries: Path) -> list[dict[str, Any]]:
    """Return each shared library as a file. Their names hold their versions as linkers know them."""
    return [
        {
            "type": "file",
            "bom-ref": f"{libraries.name}/{file.name}",
            "name": f"{libraries.name}/{file.name}",
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}],
        }
        for file in sorted(libraries.iterdir())
    ]


def _linked(libraries: Path) -> list[dict[str, Any]]:
    """Return the libraries that libcurl says it is linked with, by their makers' versions; for others, none."""
    if libraries.name != "pycurl.libs":
        return []
    said = _run([sys.executable, "-S", "-c", "import pycurl; print(pycurl.version)"], path=[libraries.parent])
    return [
        {
            "type": "library",
            "bom-ref": f"{name}=={version}",
            "name": name,
            "version": version,
            "purl": f"pkg:generic/{name.lower()}@{version}",
        }
        for name, version in re.findall(r"(\S+)/(\S+)", said.strip())[1:]
    ]


def _add(bill: dict[str, Any], package: str, components: Sequence[dict[str, Any]]) -> None:
    (owner,) = (one["bom-ref"] for one in bill["components"] if one["name"] == package)
    (entry,) = (one for one in bill["dependencies"] if one["ref"] == owner)
    references = [component["bom-ref"] for component in components]
    bill["components"] += components
    bill["dependencies"] += [{"ref": reference} for reference in references]
    entry["dependsOn"] = [*entry.get("dependsOn", ()), *references]


def _run(command: Sequence[str | Path], *, path: Sequence[Path] = (), text: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        command, env=environment, input=text, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode:
        raise NoSbom(f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
