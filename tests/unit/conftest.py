"""Settings and fixtures of the unit tests."""

import logging

import pytest
from hypothesis import settings

from tests.support.written import Written
from upsert import telemetry

# A busy machine is no failure: pytest's own time limit is enough.
settings.register_profile("unit", deadline=None)
settings.load_profile("unit")


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Written:
    """What is written, by a logger as in a new environment: it writes to the standard output of its time."""
    logging.Logger.manager.loggerDict.pop(telemetry.SERVICE, None)
    return Written(capsys)
