"""Child processes and the temporary folder they live in, gone together when their owner is gone."""

import http.client
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self
from urllib.parse import urlsplit

_GUARDIAN = Path(__file__).with_name("guardian.py")
# What a `make` that runs tests leaves in their environment. With it, a make that they run says on standard output where
# it is.
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
_TAIL_LINES = 30


class ChildFailed(Exception):
    """A child process ended or did not become ready; the message shows the end of its log."""


class Child:
    """One running program that a `Workspace` started."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        """Take over a started process; `Workspace.start` makes these."""
        self.name = name
        self.log = log
        self._process = process

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group and session."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """Exit status, negative for a signal, or None while it runs."""
        return self._process.poll()

    def log_tail(self, lines: int = _TAIL_LINES) -> str:
        """Return the last lines that the child wrote."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait_ready(self, probe: Callable[[], bool], timeout: float) -> None:
        """Wait until the probe says yes; raise `ChildFailed` if the child ends or `timeout` seconds pass before."""
        deadline = time.monotonic() + timeout
        while not probe():
            if self.exit_status is not None:
                self._fail(f"ended with status {self.exit_status}")
            if time.monotonic() > deadline:
                self._fail(f"was not ready after {timeout:g} s")
            time.sleep(0.05)

    def wait(self, timeout: float) -> int | None:
        """Wait at most `timeout` seconds for the child to end and return its exit status, or None if it still runs."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, grace: float = 5.0) -> None:
        """End the child and all of its process group: SIGTERM, then SIGKILL after `grace` seconds."""
        self._signal(signal.SIGTERM)
        self.wait(grace)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS answers EPERM for a group that holds only zombies
            return

    def _fail(self, what: str) -> NoReturn:
        raise ChildFailed(f"{self.name} {what}. The end of its log:\n{self.log_tail()}")


class Workspace:
    """A temporary folder and the processes that were started in it; leaving the context ends both.

    A guardian process does the same if the owner is killed, so nothing outlives the owner in any case.
    """

    def __init__(self, prefix: str = "eks-upsert-", parent: Path | None = None) -> None:
        """Make the folder below `parent` (by default the system's temporary folder) and start its guardian."""
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._children: list[Child] = []
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARDIAN), str(self.folder)],
            stdin=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Child:
        """Start a program in its own session, its output in `<folder>/<name>.log`.

        `environment` replaces the whole environment; without it the child gets the owner's.
        """
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=cwd,
                start_new_session=True,
            )
        self._tell_guardian("start", process.pid)
        child = Child(name, process, log)
        self._children.append(child)
        return child

    def stop(self, child: Child, grace: float = 5.0) -> None:
        """End one child before the rest."""
        child.stop(grace)
        self._children.remove(child)
        self._tell_guardian("stop", child.pid)

    def close(self) -> None:
        """End the children, the last one started first, and remove the folder."""
        while self._children:
            self.stop(self._children[-1])
        shutil.rmtree(self.folder, ignore_errors=True)
        self._guardian.communicate()

    def _tell_guardian(self, word: str, group: int) -> None:
        pipe = self._guardian.stdin
        if pipe is None:
            raise RuntimeError("the guardian was started without a pipe")
        pipe.write(f"{word} {group}\n")

    def __enter__(self) -> Self:
        """Return the workspace itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the workspace."""
        self.close()


def answers(url: str, *, context: ssl.SSLContext | None = None, headers: Mapping[str, str] | None = None) -> bool:
    """Return whether GET `url` answers 200 within 2 seconds, without any proxy."""
    parts = urlsplit(url)
    host = parts.netloc
    connection = (
        http.client.HTTPSConnection(host, timeout=2, context=context)
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, timeout=2)
    )
    try:
        connection.request("GET", parts.path or "/", headers=dict(headers or {}))
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
