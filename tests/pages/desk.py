"""A reader's desk: a copy of the repository, a shell in it, and the programs that the pages want, aimed at a world."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.pages import emulated
from tests.support import assets
from tests.support.pages import blocks
from tests.support.processes import OF_MAKE
from tests.support.template import ROOT
from tests.support.world import STACK, Run, World

_VENVS = ROOT / ".venv"

# What whoever types commands does not have: the settings of these tests, and those of a `make` that runs them.
_NOT_A_PERSONS = ("PYTHONPATH", "PYTHON", "OBJECTS", *OF_MAKE)


class CommandFailed(Exception):
    """A command of a page ended with an error; the message holds what it printed."""


class Desk:
    """Runs what pages print, as they print it, in a copy of the repository."""

    def __init__(self, world: World) -> None:
        """Lay out the copy and the programs in the world's folder, which is gone with it."""
        self.world = world
        self.copy = world.folder / "eks-upsert"
        self._bin = world.folder / "bin"
        copy_repository(self.copy)
        self._bin.mkdir()
        for name in emulated.PROGRAMS:
            self._program(name, f"PYTHONPATH={ROOT} exec {sys.executable} -P -m {emulated.__name__} {name}")
        self._program("kubectl", f"exec {assets.locate() / 'kubectl'}")
        self._program("python3.13", f"exec {_VENVS / 'sam' / 'bin' / 'python3.13'}")
        self._kubeconfig = world.control_plane.kubeconfig(world.control_plane.token_of("admin"))

    def shell(self, text: str, folder: Path | None = None) -> str:
        """Return what these lines print in a shell in `folder`, the copy by default; raises `CommandFailed`."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=folder or self.copy,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CommandFailed(f"{text}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def follow(
        self, page: str, section: str, words: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> list[str]:
        """Run every block of a section that a test can run, in order, and return what each printed."""
        return [self.shell(text, folder) for text in self.texts(page, section, words)]

    def texts(self, page: str, section: str, words: Mapping[str, str] | None = None) -> list[str]:
        """Return those blocks, filled in with the reader's own words, for who runs each in a folder of its own."""
        here = [block for block in blocks(ROOT / page) if block.section == section and block.needs is None]
        if not here:
            raise LookupError(f"{page} has nothing to run under {section}")
        return [block.filled(words or {}) for block in here]

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the stack, which has to be there."""
        (stack,) = self.world.aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}

    def runs(self) -> list[Run]:
        """Return every run of the refresh function so far, oldest first."""
        self.world.log_group = self.outputs()["LogGroup"]
        return self.world.runs()

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the shell."""
        kept = {name: value for name, value in os.environ.items() if name not in _NOT_A_PERSONS}
        path = f"{self._bin}{os.pathsep}{os.environ['PATH']}"
        return {
            **kept, **self.world.aws.client_environment,
            "PATH": path, "KUBECONFIG": str(self._kubeconfig), "SAM_CLI_TELEMETRY": "0",
        }  # fmt: skip

    def _program(self, name: str, command: str) -> None:
        program = self._bin / name
        program.write_text(f'#!/bin/sh\n{command} "$@"\n')
        program.chmod(0o755)


def copy_repository(folder: Path) -> None:
    """Copy what is in the repository, with its times, so that no tool is installed anew."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # A link for each: a target that installs one anew removes the link, and not what the repository has.
    (folder / ".venv").mkdir()
    for venv in _VENVS.iterdir():
        (folder / ".venv" / venv.name).symlink_to(venv)
