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
    **dict.fromkeys(("e2e", "pages"), "deployed"),
    **dict.fromkeys(
        ("test_alone.py", "test_build.py", "test_command.py", "test_release.py", "test_shipped.py"), "made"
    ),
}


# Before pytest-xdist, which reads the groups in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have each file run by one process."""
    for item in items:
        folder, file = item.path.parent.name, item.path.name
        group = _TOGETHER.get(folder) or _TOGETHER.get(file) or f"{folder}/{file}"
        item.add_marker(pytest.mark.xdist_group(group))
