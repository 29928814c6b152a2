"""The entry points import on their own: with nothing in the environment, and nothing called."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[2] / "functions"
HANDLERS = sorted(path.stem for path in (FUNCTIONS / "upsert" / "handlers").glob("[!_]*.py"))

IMPORT = """
import socket, sys
sys.path[:0] = {paths!r}
def refuse(*_):
    raise AssertionError("called out while importing")
socket.socket.connect = socket.getaddrinfo = refuse
from upsert.handlers.{name} import handler
assert callable(handler)
"""


@pytest.mark.parametrize("name", HANDLERS)
def test_a_handler_imports_with_an_empty_environment(name: str) -> None:
    program = IMPORT.format(paths=[str(FUNCTIONS), sysconfig.get_path("purelib")], name=name)

    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", program], env={}, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
