"""The world of the proofs: a control plane that takes the function's own bearer tokens, and AWS by stand-ins."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.invocation import Aws


@pytest.fixture(scope="package")
def aws() -> Iterator[Aws]:
    """ECR and EKS stand-ins, and the webhook that knows the function's bearer tokens."""
    with Aws() as aws:
        yield aws


@pytest.fixture(scope="package")
def plane(aws: Aws) -> Iterator[ControlPlane]:
    """A control plane whose certificate has no authority key identifier, as those of some clusters have none."""
    with ControlPlane(authentication_webhook=aws.token_review, authority_key_identifier=False) as plane:
        aws.point_at(plane.endpoint, plane.ca_pem)
        yield plane


@pytest.fixture(autouse=True)
def _point_at_the_control_plane(request: pytest.FixtureRequest) -> None:
    if "plane" in request.fixturenames:
        aws, plane = request.getfixturevalue("aws"), request.getfixturevalue("plane")
        aws.point_at(plane.endpoint, plane.ca_pem)
        aws.describe = aws._describe


@pytest.fixture
def audit(plane: ControlPlane) -> AuditLog:
    """The audit log from the start of the test on."""
    return AuditLog(plane.audit_log)


type Crowd = Callable[[int], Sequence[str]]


@pytest.fixture
def crowd(plane: ControlPlane, request: pytest.FixtureRequest) -> Crowd:
    """Make that many namespaces, named after the test, gone after it."""

    def make(count: int) -> Sequence[str]:
        stem = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.lower())[:40].strip("-")
        names = [f"{stem}-{number:04}" for number in range(count)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(plane.create_namespace, names))
        request.addfinalizer(lambda: _remove(plane, names))
        return names

    return make


def _remove(plane: ControlPlane, names: Sequence[str]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(plane.remove_namespace, names))
