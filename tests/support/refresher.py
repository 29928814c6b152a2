"""The refresher's parts as tests need them: realistic logins, documents, and what writes to a test's API server."""

import base64
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import new_password
from tests.support.objects import HOST, SECRET, pull_object
from upsert import kinds, refresh, writing
from upsert.core import docker_config
from upsert.core import document as documents
from upsert.core.docker_config import Login
from upsert.core.identity import FIELD_MANAGER, REFRESHER, Identity
from upsert.core.objects import Material, Object, Ref, Target
from upsert.core.outcomes import Outcome
from upsert.core.reports import RefreshReport
from upsert.core.sensitive import Sensitive
from upsert.errors import SourceFailed
from upsert.kube.access import ClusterAccess
from upsert.kube.api import Api
from upsert.kube.bearer import BearerTokens
from upsert.kube.writer import KubeWriter
from upsert.request import Request

EXPIRES_AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
LAST_APPLIED = documents.LAST_APPLIED

__all__ = ["EXPIRES_AT", "FIELD_MANAGER", "HOST", "LAST_APPLIED", "SECRET"]


@dataclass(frozen=True)
class Run:
    """What a refresh came to: its report, and each namespace's outcome by name, of all objects together."""

    report: RefreshReport
    outcomes: Mapping[str, Outcome]


def login(host: str = HOST, *, password: str | None = None, expires_at: datetime | None = EXPIRES_AT) -> Material:
    """Return what ECR gives for a host, with a password as long as ECR's unless one is given."""
    secret = password or new_password()
    texts = {"server": host, "username": "AWS", "password": secret}
    return Material(
        {key: Sensitive(text.encode()) for key, text in texts.items()},
        rotates=True,
        expires_at=expires_at,
        secrets=(Sensitive(secret),),
    )


def document(material: Material | None = None, one: Object | None = None) -> Sensitive[bytes]:
    """Return the document that the refresher would apply for this login (a new one by default)."""
    one = one or pull_object()
    return documents.desired(kinds.build(one, {"registries[0]": material or login()}))


def password_in(secret: Mapping[str, Any] | None, host: str = HOST) -> str:
    """Return the password for `host` that a Secret holds, as a kubelet would read it."""
    assert secret is not None, "there is no such Secret"
    config = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))
    password: str = config["auths"][host]["password"]
    return password


def pull_secret(password: str = "an-older-password", **fields: Any) -> dict[str, Any]:
    """Return a docker-registry Secret as other tools write it, with some fields changed or added."""
    config = docker_config.write(docker_config.merge([Login(HOST, "AWS", Sensitive(password))])).reveal()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(config).decode()},
        **fields,
    }


def api(
    control_plane: ControlPlane,
    *,
    user: str = "refresher",
    token: str | None = None,
    ca_pem: str | None = None,
    concurrency: int = 4,
    remaining: Callable[[], float] = lambda: 300.0,
    identity: Identity = REFRESHER,
) -> Api:
    """Return the API of a control plane, as the user with the shipped ClusterRole unless another is named."""
    bearer = token or control_plane.token_of(user)
    return connect(
        control_plane.endpoint, ca_pem or control_plane.ca_pem, bearer, concurrency, remaining, identity=identity
    )


def connect(
    endpoint: str,
    ca_pem: str,
    bearer: str = "a-bearer-token",
    concurrency: int = 4,
    remaining: Callable[[], float] = lambda: 300.0,
    *,
    identity: Identity = REFRESHER,
) -> Api:
    """Return the API at an endpoint, with one bearer token that is signed anew each time."""
    access = ClusterAccess(endpoint, ca_pem)
    tokens = BearerTokens(lambda: Sensitive(bearer))
    return Api(access, tokens, identity, remaining=remaining, concurrency=concurrency)


def writer(control_plane: ControlPlane, **options: Any) -> KubeWriter:
    """Return what writes to a control plane, with the options of `api`."""
    return KubeWriter(api(control_plane, **options))


def run(
    target: writing.Writer,
    material: Material | SourceFailed | Mapping[Ref, Material | SourceFailed] | None = None,
    *objects: Object,
    namespaces: Sequence[str] = (),
    dry_run: bool = False,
    request: Request | None = None,
    **changes: Any,
) -> Run:
    """Run the use case against `target` and return what it came to.

    It refreshes `objects`, or the shipped one with `changes`. `material` is what every source gives, or each by ref.
    """
    outcomes: dict[str, Outcome] = {}
    wanted = objects or (pull_object(**changes),)

    def record(outcome: Outcome) -> None:
        assert outcome.namespace not in outcomes or len(wanted) > 1, "a namespace has two outcomes"
        outcomes[outcome.namespace] = outcome

    def read(refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
        if isinstance(material, Mapping):
            return {ref: material[ref] for ref in refs}
        return {ref: material or login() for ref in refs}

    asked = request or Request(
        Target("test"),
        wanted,
        tuple(namespaces),
        dry_run=dry_run,
        is_by_hand=True,
        is_whole=not namespaces,
    )
    report = refresh.refresh(
        asked,
        refresh.Parts(
            read=read,
            build=kinds.build,
            connect=lambda: target,
            record=record,
            source_failed=lambda _one, _why: None,
            unplaced=lambda _one: None,
        ),
    )
    return Run(report, outcomes)
