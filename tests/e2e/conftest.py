"""The deployed stack, once for all tests of this folder, and the namespaces it works on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support import sam, story
from tests.support.controlplane import ControlPlane
from tests.support.fleet import MEMBER_ROLE, OTHER_ACCOUNT, Fleet
from tests.support.objects import SECRET, entry
from tests.support.rie import Artifact
from tests.support.world import World

NAMESPACES = ("team-blue", "team-green", "ops")
FLEET_NAMESPACES = ("team-blue", "team-green")
EXCLUDE = ("kube-*", "default")
FROZEN = "frozen"
PULL_ROLE = f"arn:aws:iam::{OTHER_ACCOUNT}:role/pull"


def pull_secret(**changes: Any) -> dict[str, Any]:
    """Return the shipped entry without the namespaces that every cluster has, and with these changes."""
    return entry(**{"exclude": list(EXCLUDE)} | changes)


@contextmanager
def frozen_namespace(control_plane: ControlPlane) -> Iterator[None]:
    """Have one more namespace while the block lasts, whose Secret nobody can change."""
    body = {
        "metadata": {"name": SECRET},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths": {}}'},
        "immutable": True,
    }
    control_plane.create_namespace(FROZEN)
    try:
        control_plane.create_secret(FROZEN, body, field_manager="somebody")
        yield
    finally:
        control_plane.remove_namespace(FROZEN)


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """The joined world with the shipped template deployed on a minute schedule, which is off unless a test needs it."""
    with World() as running:
        for name in NAMESPACES:
            running.control_plane.create_namespace(name)
        running.deploy(pull_secret(), Schedule="rate(1 minute)", ReadableArns=story.READABLE_ARNS)
        running.set_schedule(enabled=False)
        yield running


@pytest.fixture(scope="session")
def fleet() -> Iterator[Fleet]:
    """Three clusters with the template deployed for all of them; its schedule is off unless a test needs it."""
    with Fleet() as running:
        for plane in running.planes.values():
            for name in FLEET_NAMESPACES:
                plane.create_namespace(name)
        running.deploy(
            pull_secret(),
            Schedule="rate(1 minute)",
            ScheduleState="DISABLED",
            AssumableRoleArns=f"arn:aws:iam::*:role/{MEMBER_ROLE},{PULL_ROLE}",
        )
        yield running


@pytest.fixture(scope="session")
def artifact() -> Artifact:
    """What `sam build` makes of the shipped template for the refresher."""
    return Artifact.beside(sam.built())


@pytest.fixture(scope="session")
def adopter() -> Artifact:
    """What the same build makes for the adopter."""
    return Artifact.beside(sam.built(), "AdoptFunction")
