"""Fixtures that every folder of tests may use."""

import secrets
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

import pytest

from tests.support.controlplane import ControlPlane


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    pytest.exit(f"stopped by {signal.Signals(number).name}", returncode=128 + number)


def pytest_configure() -> None:
    """Let SIGTERM end the session as Ctrl-C does, so that fixtures clean up."""
    signal.signal(signal.SIGTERM, _stop)
    # A shell starts a command in the background with SIGINT ignored, and every child would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """One control plane for the whole session, started by the first test that asks for it."""
    with ControlPlane() as control_plane:
        yield control_plane


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """Name of a new namespace that is removed after the test."""
    name = f"test-{secrets.token_hex(4)}"
    control_plane.create_namespace(name)
    yield name
    control_plane.remove_namespace(name)


# What these files share, only one process may have: a deployment, or what `make` leaves in this folder.
_TOGETHER = {
    "pages": "pages",
    **dict.fromkeys(
        ("test_alone.py", "test_build.py", "test_command.py", "test_release.py", "test_shipped.py"), "made"
    ),
}
_DEPLOYED = ("fleet", "world")

# The longest come first, so that no process has one left when the others are done.
_FIRST = ("e2e", "pages", "operations", "proofs", "adopt", "cluster", "parity", "versions")


def _group(item: pytest.Item) -> str:
    folder, file = item.path.parent.name, item.path.name
    if folder == "e2e":
        return next((name for name in _DEPLOYED if name in getattr(item, "fixturenames", ())), file)
    return _TOGETHER.get(folder) or _TOGETHER.get(file) or f"{folder}/{file}"


def _rank(item: pytest.Item) -> int:
    folder = item.path.parent.name
    return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)


# Before pytest-xdist, which reads the groups in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have each file run by one process."""
    items.sort(key=_rank)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop where pytest-xdist has not taken the groups: with some versions of pytest it ignores them in silence."""
    if hasattr(session.config, "workerinput"):
        alone = [item.nodeid for item in session.items if not item.nodeid.endswith(f"@{_group(item)}")]
        if alone:
            raise pytest.UsageError(f"{len(alone)} tests are in no group of pytest-xdist, such as {alone[0]}")
