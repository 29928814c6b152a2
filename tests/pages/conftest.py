"""A reader at a desk, once for all tests of this folder, who followed the README's steps to their end."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.pages.desk import Desk
from tests.pages.verdict import ADDRESS, NAMESPACES, Ending, follow, judge
from tests.support.pages import blocks
from tests.support.template import ROOT
from tests.support.world import CLUSTER, World

WORDS = {"NAME": CLUSTER, "CLUSTER": CLUSTER, "YOU@EXAMPLE.COM": ADDRESS}
_DEPLOY = [block for block in blocks(ROOT / "README.md") if block.section == "Deploy"]
STEPS = [command for block in _DEPLOY for command in replace(block, text=block.filled(WORDS)).commands]
"""The commands that deploy, as the README prints them."""


@pytest.fixture(scope="session")
def desk() -> Iterator[Desk]:
    """A desk in a world where nothing is deployed, and no role is in the cluster."""
    with World() as world:
        yield laid_out(world)


@pytest.fixture(scope="session")
def ending(desk: Desk) -> Ending:
    """What is there once the README's steps are taken."""
    return follow(desk, STEPS)


@pytest.fixture(scope="session")
def deployed(desk: Desk, ending: Ending) -> Desk:
    """The desk of somebody who has deployed as the README says."""
    assert judge(ending) == []
    return desk


def laid_out(world: World) -> Desk:
    """Return a desk in a world with the namespaces of a reader's cluster, and without our roles."""
    for name in NAMESPACES:
        world.control_plane.create_namespace(name)
    for kind in ("clusterrole", "clusterrolebinding"):
        world.control_plane.kubectl("delete", kind, "eks-upsert", "eks-upsert-adopter", "--ignore-not-found")
    return Desk(world)
