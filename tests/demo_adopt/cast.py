"""The namespaces of the migration: Secrets as people and tools write them, and how each should end."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.adopter import entry, secret
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import ACCOUNT
from tests.support.ministack import REGION
from tests.support.objects import SECRET

REGISTRY = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com"
PASSWORD = "the-password-of-yesterday"
ROBOT = "the-password-of-a-robot-account"
ECR = {REGISTRY: entry("AWS", PASSWORD)}
TWO = ECR | {"quay.io": entry("team+puller", ROBOT)}


@dataclass(frozen=True)
class Part:
    """One namespace: what its Secret is like, and how it should end: adopted, refused or missing."""

    namespace: str
    state: str
    ending: str
    prepare: Callable[[ControlPlane, str], object]


def _by_kubectl_create(control_plane: ControlPlane, namespace: str) -> None:
    login = ("--docker-username=AWS", f"--docker-password={PASSWORD}", f"--docker-server={REGISTRY}")
    control_plane.kubectl("create", "secret", "docker-registry", SECRET, f"--namespace={namespace}", *login)


def _by_kubectl_apply(control_plane: ControlPlane, namespace: str) -> None:
    """Apply it once and patch it since: kubectl's annotation keeps the password of that time."""
    body = json.dumps(secret({REGISTRY: entry("AWS", "the-password-of-last-week")}))
    control_plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=body)
    patch = json.dumps({"data": secret(ECR)["data"]})
    control_plane.kubectl("patch", "secret", SECRET, f"--namespace={namespace}", f"--patch={patch}")


def _owned(control_plane: ControlPlane, namespace: str) -> None:
    """Write the Secret as a controller does: with an owner that is really there."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    owner = control_plane.request("POST", path, {"metadata": {"name": "registry-login"}})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"]}
    control_plane.create_secret(namespace, secret(ECR, metadata={"ownerReferences": [reference]}), "login-controller")


def _written(field_manager: str, docker_config: bytes | Mapping[str, Any], **fields: Any) -> Callable[..., object]:
    def write(control_plane: ControlPlane, namespace: str) -> None:
        control_plane.create_secret(namespace, secret(docker_config, **fields), field_manager)

    return write


def _nothing(control_plane: ControlPlane, namespace: str) -> None:
    """Leave the namespace without a Secret."""


_HELM = {
    "labels": {"app.kubernetes.io/managed-by": "Helm"},
    "annotations": {"meta.helm.sh/release-name": "registry-login", "meta.helm.sh/release-namespace": "team-helm"},
}
_BY_A_WINDOWS_EDITOR = (json.dumps({"auths": ECR}, indent=2) + "\n").replace("\n", "\r\n").encode()
# As `echo AWS | base64` makes it: the newline of echo is in the value.
_BY_ECHO = {REGISTRY: entry("AWS", PASSWORD) | {"username": "AWS\n"}}

TWO_REGISTRIES = "team-two-registries"

CAST = (
    Part("team-applied", "kubectl apply", "adopted", _by_kubectl_apply),
    Part("team-created", "kubectl create", "adopted", _by_kubectl_create),
    Part("team-crlf", "CRLF in the text", "adopted", _written("windows-editor", _BY_A_WINDOWS_EDITOR)),
    Part("team-helm", "Helm's labels", "adopted", _written("helm", ECR, metadata=_HELM)),
    Part("team-immutable", "immutable", "refused", _written("platform-team", ECR, immutable=True)),
    Part("team-new", "no Secret", "missing", _nothing),
    Part("team-newline", "newline in a value", "refused", _written("cron-job", _BY_ECHO)),
    Part("team-owned", "an ownerReference", "adopted", _owned),
    Part(TWO_REGISTRIES, "quay.io as well", "adopted", _written("cron-job", TWO)),
)

# Every value that no line may hold a part of.
VALUES = (
    PASSWORD,
    ROBOT,
    "the-password-of-last-week",
    *(base64.b64encode(value.encode()).decode() for value in (f"AWS:{PASSWORD}", f"team+puller:{ROBOT}")),
)


def prepare(control_plane: ControlPlane) -> None:
    """Create the namespaces with their Secrets."""
    for part in CAST:
        control_plane.create_namespace(part.namespace)
        part.prepare(control_plane, part.namespace)
