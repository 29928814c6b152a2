"""The adopter's parts as tests need them: live Secrets of every kind, and the use case on a control plane."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support import refresher
from tests.support.controlplane import ControlPlane
from tests.support.refresher import HOST, SECRET, Logins
from upsert import adopt
from upsert.adapters.eks import BearerTokens, ClusterAccess
from upsert.adapters.kube_adopter import Adopter
from upsert.core.adoption import Result, lines_of
from upsert.core.docker_config import Login, basic_auth
from upsert.core.manifest import DATA_KEY, SECRET_TYPE
from upsert.core.sensitive import Sensitive
from upsert.settings import Action, Adoption

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:registries-AbCdEf"
# Of other lengths than the next login, so that lines with lengths can be told apart.
OLD = "an-older-password-of-the-registry"
NEW = "the-next-password-of-the-same-registry"


class FakeKept:
    """A secret outside the cluster, in memory. It is held to the real one by contract tests."""

    def __init__(self, value: str | None = None) -> None:
        self.value = value
        self.writes = 0

    def read(self) -> Sensitive[str] | None:
        """Return the current value."""
        return None if self.value is None else Sensitive(self.value)

    def write(self, value: Sensitive[str]) -> None:
        """Make `value` the current one."""
        self.value = value.reveal()
        self.writes += 1


@dataclass(frozen=True)
class Run:
    """What a run of the adopter came to, and every line of it."""

    report: adopt.Report
    results: Mapping[str, Result]

    @property
    def lines(self) -> list[str]:
        """Every line, in order."""
        return [line for result in self.report.results for line in lines_of(result)]


def entry(username: str, password: str, **more: str) -> dict[str, str]:
    """Return an entry of a docker config as kubectl writes it."""
    return {"username": username, "password": password, **more, "auth": basic_auth(username, password)}


def config(auths: Mapping[str, Mapping[str, str]], **more: Any) -> bytes:
    """Return a docker config as kubectl writes it: compact."""
    return json.dumps({"auths": auths, **more}, separators=(",", ":")).encode()


# 189 bytes as a docker config, with an auth of 52; the next one has an auth of 56.
ECR = {HOST: entry("AWS", OLD)}


def secret(docker_config: bytes | Mapping[str, Mapping[str, str]] = ECR, **fields: Any) -> dict[str, Any]:
    """Return a pull Secret with that docker config; `fields` may name other data, metadata, type and so on."""
    text = docker_config if isinstance(docker_config, bytes) else config(docker_config)
    data = {DATA_KEY: text, **fields.pop("data", {})}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, **fields.pop("metadata", {})},
        "type": fields.pop("type", SECRET_TYPE),
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        **fields,
    }


def digests(found: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the SHA-256 of each value of a Secret."""
    assert found is not None, "there is no such Secret"
    return {key: hashlib.sha256(base64.b64decode(value)).hexdigest() for key, value in found["data"].items()}


def managers(found: Mapping[str, Any] | None) -> set[str]:
    """Return the field managers of a Secret's docker config."""
    assert found is not None, "there is no such Secret"
    return {
        field["manager"]
        for field in found["metadata"]["managedFields"]
        if f"f:{DATA_KEY}" in field["fieldsV1"].get("f:data", {})
    }


def allowed(control_plane: ControlPlane, verb: str, resource: str, **attributes: str) -> bool:
    """Return whether the API server lets the adopter's group do that."""
    review = control_plane.request(
        "POST",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {
            "spec": {
                "user": "adopter",
                "groups": ["eks-upsert-adopter"],
                "resourceAttributes": {"verb": verb, "resource": resource, **attributes},
            }
        },
    )
    return bool(review["status"]["allowed"])


def cluster(control_plane: ControlPlane, user: str = "adopter") -> Adopter:
    """Return the adapter for a control plane, as the user that holds the shipped ClusterRole of the adopter."""
    access = ClusterAccess(control_plane.endpoint, control_plane.ca_pem)
    bearer = BearerTokens(lambda: Sensitive(control_plane.token_of(user)))
    return Adopter(access, bearer, concurrency=4, remaining=lambda: 300.0)


def run(
    target: adopt.Cluster,
    action: Action,
    *namespaces: str,
    granted: Logins | None = None,
    kept: FakeKept | None = None,
    record: Callable[[Result], None] | None = None,
    **changes: Any,
) -> Run:
    """Run the use case against `target` and return what it came to; with `kept`, other registries are configured."""
    results: dict[str, Result] = {}
    credentials: list[Sensitive[str]] = []
    given: Sequence[Login] = (granted or refresher.logins(password=NEW)).entries

    def remember(result: Result) -> None:
        results[result.namespace] = result
        if record:
            record(result)

    report = adopt.run(
        refresher.settings(**({"extra_registries_secret": ARN} if kept else {}) | changes),
        Adoption(action, namespaces),
        logins=lambda: given,
        kept=lambda: kept or FakeKept(),
        connect=lambda: target,
        record=remember,
        conceal=credentials.append,
    )
    return Run(report, results)
