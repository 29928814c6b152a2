"""The refresher's parts as tests need them: realistic logins, settings, and the adapter for a test's API server."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import new_password
from upsert import refresh
from upsert.adapters.eks import BearerTokens, ClusterAccess
from upsert.adapters.kube import Cluster
from upsert.core import docker_config, manifest
from upsert.core.docker_config import Login
from upsert.core.outcomes import Outcome
from upsert.core.sensitive import Sensitive
from upsert.settings import Request, Settings, load

SECRET = "aws-ecr-token"
HOST = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"
EXPIRES_AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
LAST_APPLIED = manifest.LAST_APPLIED
FIELD_MANAGER = manifest.FIELD_MANAGER

_ENVIRONMENT = {
    "CLUSTER_NAME": "test",
    "REGISTRIES": '[{"account": "123456789012", "region": "eu-central-1"}]',
    "CONCURRENCY": "4",
}


@dataclass(frozen=True)
class Logins:
    """Registry logins and when the first of them expires."""

    entries: tuple[Login, ...]
    expires_at: datetime


@dataclass(frozen=True)
class Run:
    """What a refresh came to: its report, and each namespace's outcome by name."""

    report: refresh.Report
    outcomes: Mapping[str, Outcome]


def settings(**changes: Any) -> Settings:
    """Return valid settings with some fields changed."""
    return replace(load(_ENVIRONMENT, {})[0], **changes)


def logins(*hosts: str, password: str | None = None, expires_at: datetime = EXPIRES_AT) -> Logins:
    """Return a login for each host (one host by default), with a password as long as ECR's unless one is given."""
    secret = Sensitive(password or new_password())
    return Logins(tuple(Login(host, "AWS", secret) for host in hosts or (HOST,)), expires_at)


def document(granted: Logins | None = None, name: str = SECRET) -> Sensitive[bytes]:
    """Return the manifest that the refresher would apply for these logins (new ones by default)."""
    granted = granted or logins()
    return manifest.render(manifest.pull_secret(name, docker_config.render(granted.entries), granted.expires_at))


def password_in(secret: Mapping[str, Any] | None, host: str = HOST) -> str:
    """Return the password for `host` that a Secret holds, as a kubelet would read it."""
    assert secret is not None, "there is no such Secret"
    config = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))
    password: str = config["auths"][host]["password"]
    return password


def pull_secret(password: str = "an-older-password", **fields: Any) -> dict[str, Any]:
    """Return a docker-registry Secret as other tools write it, with some fields changed or added."""
    config = docker_config.render(logins(password=password).entries).reveal()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(config).decode()},
        **fields,
    }


def cluster(
    control_plane: ControlPlane,
    *,
    user: str = "refresher",
    token: str | None = None,
    ca_pem: str | None = None,
    concurrency: int = 4,
    remaining: Callable[[], float] = lambda: 300.0,
) -> Cluster:
    """Return the adapter for a control plane, as the user with the shipped ClusterRole unless another is named."""
    bearer = token or control_plane.token_of(user)
    return connect(control_plane.endpoint, ca_pem or control_plane.ca_pem, bearer, concurrency, remaining)


def connect(
    endpoint: str,
    ca_pem: str,
    bearer: str = "a-bearer-token",
    concurrency: int = 4,
    remaining: Callable[[], float] = lambda: 300.0,
) -> Cluster:
    """Return the adapter for an endpoint, with one bearer token that is signed anew each time."""
    access = ClusterAccess(endpoint, ca_pem)
    return Cluster(access, BearerTokens(lambda: Sensitive(bearer)), concurrency=concurrency, remaining=remaining)


def run(
    target: refresh.Cluster,
    granted: Logins | None = None,
    *,
    namespaces: Sequence[str] = (),
    dry_run: bool = False,
    **changes: Any,
) -> Run:
    """Run the use case against `target`, with `changes` to the settings, and return what it came to."""
    outcomes: dict[str, Outcome] = {}

    def record(outcome: Outcome) -> None:
        assert outcome.namespace not in outcomes, "a namespace has two outcomes"
        outcomes[outcome.namespace] = outcome

    report = refresh.refresh(
        settings(**changes),
        Request(tuple(namespaces), dry_run),
        logins=lambda: granted or logins(),
        connect=lambda: target,
        record=record,
    )
    return Run(report, outcomes)
