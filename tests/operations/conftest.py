"""One recorded story for all tests of what an operator sees, and the template that shows it to them."""

from collections.abc import Iterator

import pytest

from tests.support.invocation import CLUSTER
from tests.support.recording import Recording, Stage, play, stage
from tests.support.template import Stack


@pytest.fixture(scope="package")
def recording() -> Iterator[Recording]:
    """What the function let out while the story was played on a real API server."""
    with stage() as (plane, aws):
        yield play(Stage(plane, aws))


@pytest.fixture(scope="package")
def stack() -> Stack:
    """The template, resolved for the cluster of the recording."""
    return Stack(ClusterName=CLUSTER)
