"""A reader at a desk, once for all tests of this folder, who followed the README's steps to their end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.desk import Desk
from tests.pages.verdict import ADDRESS, NAMESPACES, Ending, gather, judge
from tests.support.world import CLUSTER, World

WORDS = {"NAME": CLUSTER, "CLUSTER": CLUSTER, "YOU@EXAMPLE.COM": ADDRESS}


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk in a world where nothing is deployed, and no role is in the cluster."""
    with World() as world:
        yield laid_out(world, tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="session")
def ending(desk: Desk) -> Ending:
    """What is there once the README's steps are taken."""
    desk.follow("README.md", "Deploy", WORDS)
    return gather(desk)


@pytest.fixture(scope="session")
def deployed(desk: Desk, ending: Ending) -> Desk:
    """The desk of somebody who has deployed as the README says."""
    assert judge(ending) == []
    return desk


def laid_out(world: World, folder: Path) -> Desk:
    """Return a desk in a world with the namespaces of a reader's cluster, and without our roles."""
    for name in NAMESPACES:
        world.control_plane.create_namespace(name)
    for kind in ("clusterrole", "clusterrolebinding"):
        world.control_plane.kubectl("delete", kind, "eks-upsert", "eks-upsert-adopter", "--ignore-not-found")
    return Desk(world, folder)
