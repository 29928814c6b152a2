"""Asks a kubelet's own parser what a docker config means to it.

`python -m tests.support.kubelet` prints the path of the program, tests/kubelet/main.go, as its last line. It is built
once, against the modules that tests/controlplane/go.mod pins, into the cache of the control plane.
"""

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import assets
from tests.support.assets import AssetsMissing
from tests.support.processes import ChildFailed, Workspace

_SOURCE = assets.REPOSITORY / "tests" / "kubelet" / "main.go"
_NAME = "kubelet-docker-config"
_ANSWER_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Question:
    """The bytes of a ``.dockerconfigjson``, or of a ``.dockercfg``, and images as pods name them."""

    config: bytes
    images: tuple[str, ...]
    is_legacy: bool = False


@dataclass(frozen=True, slots=True)
class Login:
    """A login as a kubelet sends it; `host` is the spelling of the entry that it comes from.

    What is no UTF-8 stands as surrogates (PEP 383).
    """

    host: str
    username: str
    password: str


# The logins of an image: a kubelet tries the groups in their order, those of one group in an order of chance.
type Groups = tuple[tuple[Login, ...], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a kubelet makes of a question: an error for the whole Secret, or its hosts and each image's logins.

    None in place of an image's logins: a kubelet takes it for no image name.
    """

    error: str | None
    hosts: tuple[str, ...]
    pulls: tuple[Groups | None, ...]


def build() -> Path:
    """Build the program into the cache unless it is there, with progress on standard error; return its path.

    Raises `AssetsMissing` without the Go toolchain and `ChildFailed` if it fails.
    """
    source = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    folder = assets._cache() / f"{assets._key(assets.NEWEST)}-kubelet-{source}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with assets._only_one(folder.parent / "build.lock"):
        if not folder.exists():
            go = assets.TOOLCHAIN / "bin" / "go"
            if not go.exists():
                raise AssetsMissing(f"no Go toolchain at {go}: run `make assets`, which installs it")
            with Workspace(prefix="build-", parent=folder.parent) as workspace:
                built = workspace.folder / "bin"
                assets._build_one(workspace, go, assets.NEWEST, str(_SOURCE), built / _NAME)
                built.rename(folder)
    return folder / _NAME


def ask(questions: Iterable[Question]) -> list[Verdict]:
    """Return the verdict on each question, in their order, by the program that `build` returns."""
    lines = [
        json.dumps(
            {
                "config": base64.b64encode(question.config).decode(),
                "legacy": question.is_legacy,
                "images": question.images,
            }
        )
        for question in questions
    ]
    answered = subprocess.run(
        [build()], input="\n".join(lines).encode(), capture_output=True, timeout=_ANSWER_SECONDS, check=False
    )
    if answered.returncode != 0:
        raise ChildFailed(f"{_NAME} ended with status {answered.returncode}:\n{answered.stderr.decode()}")
    verdicts = [_verdict(json.loads(line)) for line in answered.stdout.splitlines()]
    if len(verdicts) != len(lines):
        raise ChildFailed(f"{_NAME} answered {len(verdicts)} of {len(lines)} questions")
    return verdicts


def _verdict(answer: dict[str, Any]) -> Verdict:
    pulls = (None if "error" in pull else _groups(pull.get("groups", ())) for pull in answer.get("pulls", ()))
    return Verdict(answer.get("error"), tuple(answer.get("hosts", ())), tuple(pulls))


def _groups(groups: Iterable[list[dict[str, str]]]) -> Groups:
    return tuple(
        tuple(Login(login["host"], _decoded(login["username"]), _decoded(login["password"])) for login in group)
        for group in groups
    )


def _decoded(value: str) -> str:
    return base64.b64decode(value).decode(errors="surrogateescape")


def main() -> int:
    """Print the path of the program as the last line of standard output; return the exit status."""
    try:
        program = build()
    except (AssetsMissing, ChildFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(os.fspath(program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
