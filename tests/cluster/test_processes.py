"""Whatever starts in a workspace ends with its owner, however the owner ends."""

import fcntl
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.controlplane import REPOSITORY
from tests.support.processes import ChildFailed, Workspace

# The child holds a lock and so does its own child, which inherits the open file: it is free when both are gone.
HOLD_LOCK = """
import fcntl, pathlib, subprocess, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
grandchild = subprocess.Popen(["sleep", "600"], pass_fds=[file.fileno()])
pathlib.Path("held").touch()
grandchild.wait()
"""

OWN_A_CHILD = f"""
import pathlib, sys
from tests.support.processes import Workspace
with Workspace() as workspace:
    child = workspace.start("child", [sys.executable, "-c", {HOLD_LOCK!r}, sys.argv[1]], cwd=workspace.folder)
    child.wait_ready((workspace.folder / "held").exists, 10)
    print(workspace.folder, flush=True)
    sys.stdin.readline()
    if sys.argv[2] == "raise":
        raise RuntimeError("as a failing test would")
"""

TEST_THAT_WAITS = f"""
import sys
from tests.support.processes import Workspace

def test_that_waits(capsys):
    with Workspace() as workspace:
        child = workspace.start("child", [sys.executable, "-c", {HOLD_LOCK!r}, LOCK], cwd=workspace.folder)
        child.wait_ready((workspace.folder / "held").exists, 10)
        with capsys.disabled():
            print("folder:", workspace.folder, flush=True)
        child.wait(600)
"""


def is_free(lock: Path) -> bool:
    """Return whether no process holds the lock."""
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def gone_within(seconds: float, lock: Path, folder: Path) -> bool:
    """Wait for the lock to be free and the folder to be removed; return whether both came true in time."""
    deadline = time.monotonic() + seconds
    while not is_free(lock) or folder.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("ending", ["end", "raise", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_children_grandchildren_and_the_folder_are_gone_when_the_owner_is(
    ending: str | signal.Signals, tmp_path: Path
) -> None:
    lock = tmp_path / "lock"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWN_A_CHILD, str(lock), str(ending)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=REPOSITORY,
    )
    with owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert folder.is_dir()
        assert not is_free(lock)

        if isinstance(ending, signal.Signals):
            owner.send_signal(ending)
        else:
            owner.communicate("\n")
        owner.wait(10)

        assert gone_within(10, lock, folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_test_session_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    test = tmp_path / "test_that_waits.py"
    test.write_text(TEST_THAT_WAITS.replace("LOCK]", f"{str(lock)!r}]"))
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", str(test)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=REPOSITORY,
    )
    with session:
        assert session.stdout is not None
        folder = Path(next(line for line in session.stdout if "folder:" in line).partition("folder:")[2].strip())
        assert folder.is_dir()

        session.send_signal(number)
        try:
            output = session.communicate(timeout=20)[0]
        finally:
            session.kill()

        # The fixtures did it, not the guardian: both are gone by the time the session ends.
        assert is_free(lock)
        assert not folder.exists()
        assert session.returncode != 0, output


def test_a_child_that_ends_early_shows_the_end_of_its_log() -> None:
    with Workspace() as workspace:
        child = workspace.start("child", ["sh", "-c", "echo no such flag; exit 3"])

        with pytest.raises(ChildFailed, match=r"child ended with status 3(.|\n)*no such flag"):
            child.wait_ready(lambda: False, 10)


def test_a_child_that_is_not_ready_in_time_shows_the_end_of_its_log() -> None:
    with Workspace() as workspace:
        child = workspace.start("child", ["sh", "-c", "echo still loading; sleep 600"])

        with pytest.raises(ChildFailed, match=r"child was not ready after 0.5 s(.|\n)*still loading"):
            child.wait_ready(lambda: False, 0.5)


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    with Workspace() as workspace:
        child = workspace.start("child", ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"])
        child.wait_ready(lambda: "deaf" in child.log_tail(), 10)

        workspace.stop(child, grace=0.2)

        assert child.exit_status == -signal.SIGKILL
