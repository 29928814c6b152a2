"""What a case comes to: an object, or that there is none."""

import base64
import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.parity.cases import NAME, Case
from tests.support import assets


@dataclass(frozen=True, slots=True)
class Made:
    """An object, as far as kubectl and we both say what is in it."""

    kind: str
    type: str
    data: Mapping[str, bytes]
    binary: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """Return a text that is equal for equal objects alone."""
        values = [{key: value.hex() for key, value in one.items()} for one in (self.data, self.binary)]
        parts = [self.kind, self.type, *(json.dumps(one, sort_keys=True) for one in values)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Refused:
    """That there is no such object, and why."""

    why: str

    digest = "refused"


type Side = Made | Refused


def by_kubectl(case: Case) -> Side:
    """Return what `kubectl create` makes of a case."""
    with TemporaryDirectory(prefix="parity-") as name:
        folder = Path(name)
        write(case, folder)
        done = subprocess.run(
            [assets.locate() / "kubectl", "create", *case.arguments, "--dry-run=client", "--output=json"],
            cwd=folder,
            env={"HOME": name, "PATH": os.environ["PATH"]},
            capture_output=True,
            timeout=60,
            check=False,
        )
    return made(json.loads(done.stdout)) if done.returncode == 0 else Refused(done.stderr.decode(errors="replace"))


def difference(case: Case, theirs: str, ours: Side) -> str:
    """Return what is wrong with our side of a case, given the digest of kubectl's, or nothing."""
    if case.stricter and theirs != Refused.digest:
        is_said = isinstance(ours, Refused) and case.stricter in ours.why
        return "" if is_said else f"{case.name}: expected to be refused with {case.stricter!r}, found {ours}"
    return "" if theirs == ours.digest else f"{case.name}: kubectl makes {theirs}, we make {ours.digest}: {ours}"


def write(case: Case, folder: Path) -> None:
    """Write the files of a case."""
    for path, content in case.files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)


def made(found: Mapping[str, Any]) -> Made:
    """Return an object that is given as JSON."""
    assert found["metadata"]["name"] == NAME
    data, binary = found.get("data", {}), found.get("binaryData", {})
    is_secret = found["kind"] == "Secret"
    return Made(
        found["kind"],
        found.get("type", "Opaque" if is_secret else ""),
        {key: base64.b64decode(value) if is_secret else value.encode() for key, value in data.items()},
        {key: base64.b64decode(value) for key, value in binary.items()},
    )
