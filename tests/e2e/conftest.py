"""The deployed stack, once for all tests of this folder, and the namespaces it works on."""

from collections.abc import Iterator

import pytest

from tests.support import sam
from tests.support.rie import Artifact
from tests.support.world import World

NAMESPACES = ("team-blue", "team-green", "ops")
SECRET = "aws-ecr-token"


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """The joined world with the shipped template deployed on a minute schedule, which is off unless a test needs it."""
    with World() as running:
        for name in NAMESPACES:
            running.control_plane.create_namespace(name)
        running.deploy(Schedule="rate(1 minute)", ExcludeNamespaces="kube-*,default")
        running.set_schedule(enabled=False)
        yield running


@pytest.fixture(scope="session")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """What `sam build` makes of the shipped template, built once, deployed nowhere."""
    return Artifact.beside(sam.build(tmp_path_factory.mktemp("artifact")))
