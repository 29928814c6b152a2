"""The adopter's parts as tests need them: live Secrets of every kind, and the use case on a control plane."""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support import refresher
from tests.support.controlplane import ControlPlane
from tests.support.objects import HOST, SECRET, pull_object, roles
from upsert import adopt, kinds, release
from upsert.adopt import AdoptParts
from upsert.adopt_request import Action, AdoptRequest
from upsert.check import AdoptReader, AdoptWriter, Sources
from upsert.core.adoptions import Result, lines_of
from upsert.core.docker_config import DATA_KEY, basic_auth
from upsert.core.identity import ADOPTER
from upsert.core.objects import Material, Object, Ref, Target
from upsert.core.sensitive import Sensitive
from upsert.errors import SourceEmpty, SourceFailed
from upsert.kinds.comparison import compare
from upsert.kube.api import Api
from upsert.kube.reader import KubeReader
from upsert.kube.writer import KubeWriter
from upsert.release import ReleaseParts

# Of other lengths than the next login, so that lines with lengths can be told apart.
OLD = "an-older-password-of-the-registry"
NEW = "the-next-password-of-the-same-registry"

type Read = Callable[[Collection[Ref]], Mapping[Ref, Material | SourceFailed]]


@dataclass(frozen=True)
class Cluster:
    """What the adopter asks of an API server."""

    writer: AdoptWriter
    reader: AdoptReader


@dataclass(frozen=True)
class Run:
    """What a run of the adopter came to, the results in the order in which they came, and every line of it."""

    report: adopt.AdoptReport
    results: tuple[Result, ...]

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
        "type": fields.pop("type", kinds.TABLE["docker-registry"].type),
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


@contextmanager
def granted(control_plane: ControlPlane, *entries: Mapping[str, Any]) -> Iterator[None]:
    """Let the adopter do what `make rbac` prints for a file of these entries, as long as the block lasts."""
    control_plane.apply_yaml(roles(*entries, is_adopter=True))
    deadline = time.monotonic() + 10
    while not all(allowed(control_plane, "get", "secrets", name=one["name"], namespace="default") for one in entries):
        assert time.monotonic() < deadline, "the API server did not learn of the role"
        time.sleep(0.05)
    yield
    control_plane.apply_yaml(roles(is_adopter=True))


@contextmanager
def being_deleted(control_plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Have somebody delete the Secret, which a finalizer keeps as long as the block lasts."""
    control_plane.kubectl("delete", "secret", SECRET, "--namespace", namespace, "--wait=false")
    yield
    nothing = '{"metadata":{"finalizers":null}}'
    control_plane.kubectl("patch", "secret", SECRET, "--namespace", namespace, "--patch", nothing)


def by_string_data(control_plane: ControlPlane, namespace: str, docker_config: bytes) -> None:
    """Have another field manager apply the Secret with `stringData`."""
    body = {key: value for key, value in secret().items() if key != "data"}
    text = json.dumps(body | {"stringData": {DATA_KEY: docker_config.decode()}})
    arguments = ["--server-side", "--field-manager=other-writer", "--namespace", namespace]
    control_plane.kubectl("apply", *arguments, "--filename=-", stdin=text)


def api(control_plane: ControlPlane, user: str = "adopter") -> Api:
    """Return the API of a control plane, as the user with the shipped ClusterRole of the adopter."""
    return refresher.api(control_plane, user=user, identity=ADOPTER)


def cluster(control_plane: ControlPlane, user: str = "adopter") -> Cluster:
    """Return a control plane as that user sees it."""
    api_of_user = api(control_plane, user)
    return Cluster(KubeWriter(api_of_user), KubeReader(api_of_user))


def sources(kept: str | SourceFailed | None = None) -> Sources:
    """Return the sources of an adopter: ECR gives the next password, other registries' entries are `kept`."""
    entries: Material | SourceFailed
    if isinstance(kept, str):
        entries = Material({"value": Sensitive(kept.encode())})
    else:
        entries = kept or SourceEmpty("it holds no value yet")

    def read(refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
        return {ref: entries if ref.source == "secret" else refresher.login(password=NEW) for ref in refs}

    return Sources(read, kinds.build, compare)


def run(
    target: Cluster,
    action: Action,
    *namespaces: str,
    kept: str | SourceFailed | None = None,
    objects: Collection[Object] = (),
    read: Read | None = None,
    all_or_nothing: bool = False,
    record: Callable[[Result], None] | None = None,
    **changes: Any,
) -> Run:
    """Run the use case against `target` and return what it came to.

    It is for `objects`, or for the shipped one with `changes`; with `kept`, that one has other registries' entries.
    `read` is in the place of the sources.
    """
    results: list[Result] = []

    def remember(result: Result) -> None:
        results.append(result)
        if record:
            record(result)

    wanted = tuple(objects) or (pull_object(kept=kept is not None, **changes),)
    request = AdoptRequest(action, Target("test"), wanted, namespaces, all_or_nothing=all_or_nothing)
    if action is Action.RELEASE:
        given_back = ReleaseParts(
            lambda one: kinds.of(one).resource, lambda: (target.writer, target.reader), record=remember
        )
        return Run(release.release(request, given_back), tuple(results))
    parts = AdoptParts(
        Sources(read, kinds.build, compare) if read else sources(kept),
        connect=lambda: (target.writer, target.reader),
        record=remember,
        source_failed=lambda _one, _why: None,
        unplaced=lambda _one: None,
    )
    return Run(adopt.adopt(request, parts), tuple(results))
