"""The 25 namespaces of the demo, in every state that a Secret of that name is found in."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.demo.verdict import Ending
from tests.support.controlplane import ControlPlane
from tests.support.objects import HOST, SECRET

EXCLUDE = ("kube-*", "sandbox-*")

_LOGIN = ("--docker-username=AWS", "--docker-password=the-password-of-yesterday", f"--docker-server={HOST}")


@dataclass(frozen=True)
class Part:
    """One namespace: the state it starts in, how it gets there, and how it should end."""

    namespace: str
    state: str
    ending: Ending
    prepare: Callable[[ControlPlane, str], object]
    reason: str = ""


def _nothing(control_plane: ControlPlane, namespace: str) -> None:
    """Leave the namespace without a Secret."""


def _by_kubectl_create(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "secret", "docker-registry", SECRET, f"--namespace={namespace}", *_LOGIN)


def _by_kubectl_apply(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=_manifest())


def _by_helm(control_plane: ControlPlane, namespace: str) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    notes = {"meta.helm.sh/release-name": "registry", "meta.helm.sh/release-namespace": namespace}
    body = json.loads(_manifest())
    body["metadata"] |= {"labels": labels, "annotations": notes}
    control_plane.create_secret(namespace, body, field_manager="helm")


def _immutable(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(
        namespace, {**json.loads(_manifest()), "immutable": True}, field_manager="platform-team"
    )


def _opaque(control_plane: ControlPlane, namespace: str) -> None:
    body = {"metadata": {"name": SECRET}, "type": "Opaque", "stringData": {"password": "the-password-of-yesterday"}}
    control_plane.create_secret(namespace, body, field_manager="platform-team")


def _terminating(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.delete_namespace(namespace)


def _terminating_with_secret(control_plane: ControlPlane, namespace: str) -> None:
    _by_kubectl_create(control_plane, namespace)
    control_plane.delete_namespace(namespace)


def _manifest() -> str:
    auth = base64.b64encode(b"AWS:the-password-of-yesterday").decode()
    login = {"username": "AWS", "password": "the-password-of-yesterday", "auth": auth}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET},
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": json.dumps({"auths": {HOST: login}})},
        }
    )


def cast() -> list[Part]:
    """Return the 25 parts; the API server itself brings `default` and the three `kube-*`."""

    def several(prefix: str, count: int, state: str, ending: Ending, prepare: Callable[..., object]) -> list[Part]:
        return [Part(f"{prefix}-{number}", state, ending, prepare) for number in range(1, count + 1)]

    return [
        Part("default", "none", Ending.CREATED, _nothing),
        *several("new", 6, "none", Ending.CREATED, _nothing),
        *several("created", 4, "kubectl create", Ending.UPDATED, _by_kubectl_create),
        *several("applied", 3, "kubectl apply", Ending.UPDATED, _by_kubectl_apply),
        *several("helm", 2, "Helm's labels", Ending.UPDATED, _by_helm),
        Part("leaving-full", "Terminating, there", Ending.UPDATED, _terminating_with_secret),
        Part("leaving-empty", "Terminating, none", Ending.SKIPPED, _terminating, "terminating"),
        Part("frozen", "immutable", Ending.FAILED, _immutable, "immutable"),
        Part("other-type", "Opaque", Ending.FAILED, _opaque, "wrong-type"),
        *(
            Part(f"kube-{name}", "excluded, none", Ending.EXCLUDED, _nothing)
            for name in ("node-lease", "public", "system")
        ),
        Part("sandbox-a", "excluded, there", Ending.EXCLUDED, _by_kubectl_create),
        Part("sandbox-b", "excluded, none", Ending.EXCLUDED, _nothing),
    ]


def prepare(control_plane: ControlPlane, parts: list[Part]) -> None:
    """Create the namespaces that are not there yet and bring each into its state."""
    there = {item["metadata"]["name"] for item in control_plane.request("GET", "/api/v1/namespaces")["items"]}
    for part in parts:
        if part.namespace not in there:
            control_plane.create_namespace(part.namespace)
        part.prepare(control_plane, part.namespace)
