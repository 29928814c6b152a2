"""The whole adopt function in this process: its handler and adapters, AWS played by stand-ins on the loopback."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import pytest
from kubernetes.client import ApiException

from tests.support import objects
from tests.support.controlplane import ControlPlane
from tests.support.invocation import Aws, Seen, invoke
from tests.support.objects import ARN
from tests.support.parameters_standin import ParametersStandin
from tests.support.secrets_standin import SecretsStandin
from tests.support.standin import Reply, Request
from upsert.handlers import adopt

# The functions have a role each; here they are told apart by the key that signs their bearer token.
ADOPTER_KEY = "ASIAADOPTERADOPTERAD"


class Migration(Aws):
    """The stand-ins, Secrets Manager and Parameter Store too, and a TokenReview webhook that knows both functions."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets = SecretsStandin()
        self.parameters = ParametersStandin()
        self.plane: ControlPlane
        self._more = ExitStack()

    def __enter__(self) -> Self:
        self._more.enter_context(self.secrets)
        self._more.enter_context(self.parameters)
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._more.close()

    @property
    def environment(self) -> dict[str, str]:
        """Return the functions' environment."""
        endpoints = {
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": self.secrets.url,
            "AWS_ENDPOINT_URL_SSM": self.parameters.url,
        }
        return super().environment | endpoints

    def adopt(self, event: object, **more: Any) -> Seen:
        """Run the adopt function once."""
        return invoke(self, event, handler=adopt.handler, AWS_ACCESS_KEY_ID=ADOPTER_KEY, **more)

    def refresh(self, event: object = None, **more: Any) -> Seen:
        """Run the refresh function once."""
        return invoke(self, event, **more)

    def _review(self, request: Request) -> Reply:
        reply = super()._review(request)
        bearer = json.loads(request.body)["spec"]["token"].removeprefix("k8s-aws-v1.")
        if ADOPTER_KEY in base64.urlsafe_b64decode(bearer + "===").decode(errors="replace"):
            assert isinstance(reply.body, dict)
            reply.body["status"]["user"] = {"username": "adopter", "groups": ["eks-upsert-adopter"]}
        return reply


@pytest.fixture(scope="package")
def migration() -> Iterator[Migration]:
    """The stand-ins, with a control plane of their own."""
    with Migration() as aws, ControlPlane(authentication_webhook=aws.token_review) as plane:
        aws.point_at(plane.endpoint, plane.ca_pem)
        aws.plane = plane
        yield aws


@pytest.fixture
def aws(migration: Migration) -> Migration:
    """The stand-ins, with nothing kept in Secrets Manager yet."""
    migration.secrets.value = None
    migration.secrets.refusal = ""
    migration.secrets.before = lambda _: None
    migration.secrets.kept = {ARN: None}
    migration.parameters.kept = {}
    migration.parameters.refused = {}
    migration.parameters.before_put = lambda: None
    return migration


@pytest.fixture
def plane(migration: Migration) -> ControlPlane:
    """The control plane that takes the functions' bearer tokens."""
    return migration.plane


type Team = Callable[..., str]


@pytest.fixture
def team(plane: ControlPlane) -> Iterator[Team]:
    """Make a namespace with a Secret, or without one; they are gone after the test."""
    made: list[str] = []

    def wait_until_writable(name: str) -> None:
        """Wait until the server knows that the namespace of this name that was removed before is another one."""
        deadline = time.monotonic() + 10
        path, probe = f"/api/v1/namespaces/{name}/secrets", {"metadata": {"name": "probe"}}
        while True:
            try:
                plane.request("POST", path, probe, query={"dryRun": "All"})
            except ApiException as error:
                if error.status != 403 or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def make(name: str, body: dict[str, Any] | None = None, manager: str = "kubectl-create") -> str:
        plane.create_namespace(name)
        made.append(name)
        wait_until_writable(name)
        if body:
            plane.create_secret(name, body, manager)
        return name

    yield make
    for name in made:
        plane.remove_namespace(name)


# The shipped file of objects, with a place for other registries' entries.
KEEPS: dict[str, Any] = {"objects": [objects.entry(kept=True)]}
