"""What people run today to keep a pull Secret fresh, each as it is found in their scripts and controllers.

Every contender writes a new token into each of the given namespaces, in which the Secret exists already.
"""

import base64
import json
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kubernetes import client

from bench.bed import SECRET, Bed
from bench.standins import ACCOUNT, REGION
from tests.support import assets
from tests.support.ecr_standin import new_password
from upsert.core.registries import private_host

_HOST = private_host(ACCOUNT, REGION)

# https://kubernetes.io/docs/reference/kubectl/generated/kubectl_create/kubectl_create_secret_docker-registry/
_CREATE = f"""kubectl create secret docker-registry {SECRET} --namespace "$namespace" \
--docker-server={_HOST} --docker-username=AWS --docker-password="$PASSWORD" """

_DELETE_CREATE = f"""
while read -r namespace; do
  kubectl delete secret {SECRET} --namespace "$namespace" --ignore-not-found
  {_CREATE}
done
"""

_CREATE_APPLY = f"""
while read -r namespace; do
  {_CREATE} --dry-run=client --output=yaml | kubectl apply --filename=-
done
"""


@dataclass(frozen=True)
class Contender:
    """A way to do it: `run` writes into the namespaces, through the endpoint.

    `sample` is how many it is timed on, `wire_sample` on how many its bytes are counted.
    """

    name: str
    title: str
    sample: int
    wire_sample: int
    run: Callable[[Bed, str, Sequence[str]], None]


def _shell(script: str) -> Callable[[Bed, str, Sequence[str]], None]:
    def run(bed: Bed, endpoint: str, namespaces: Sequence[str]) -> None:
        subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", script],
            input="".join(f"{namespace}\n" for namespace in namespaces),
            text=True,
            env={
                "PATH": f"{assets.locate()}:/usr/bin:/bin",
                # kubectl keeps what it learned about the API there, as on a machine where the loop runs each day.
                "HOME": str(bed.folder),
                "KUBECONFIG": str(_kubeconfig(bed, endpoint)),
                "PASSWORD": new_password(),
            },
            stdout=subprocess.DEVNULL,
            # `kubectl apply` warns about a Secret that it did not make.
            stderr=subprocess.DEVNULL,
            check=True,
        )

    return run


def _kubeconfig(bed: Bed, endpoint: str) -> Path:
    path = bed.control_plane.kubeconfig(bed.control_plane.token_of("admin"))
    path.write_text(path.read_text().replace(bed.control_plane.endpoint, endpoint))
    return path


def _typed_patch(bed: Bed, endpoint: str, namespaces: Sequence[str]) -> None:
    data = _data()
    with closing(_api_client(bed, endpoint)) as api:
        core = client.CoreV1Api(api)
        for namespace in namespaces:
            core.patch_namespaced_secret(SECRET, namespace, {"data": data})


def _read_then_replace(bed: Bed, endpoint: str, namespaces: Sequence[str]) -> None:
    data = _data()
    with closing(_api_client(bed, endpoint)) as api:
        core = client.CoreV1Api(api)
        for namespace in namespaces:
            try:
                secret = core.read_namespaced_secret(SECRET, namespace)
            except client.ApiException as error:
                if error.status != 404:
                    raise
                new = client.V1Secret(
                    metadata=client.V1ObjectMeta(name=SECRET), type="kubernetes.io/dockerconfigjson", data=data
                )
                core.create_namespaced_secret(namespace, new)
            else:
                secret.data = data
                core.replace_namespaced_secret(SECRET, namespace, secret)


def _api_client(bed: Bed, endpoint: str) -> client.ApiClient:
    api = bed.control_plane.api_client(bed.control_plane.token_of("admin"))
    api.configuration.host = endpoint
    return api


def _data() -> dict[str, str]:
    password = new_password()
    auth = base64.b64encode(f"AWS:{password}".encode()).decode()
    config = {"auths": {_HOST: {"username": "AWS", "password": password, "auth": auth}}}
    return {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()}


CONTENDERS = (
    Contender("delete_create_loop", "kubectl delete; kubectl create", 20, 5, _shell(_DELETE_CREATE)),
    Contender("create_apply_loop", "kubectl create --dry-run | kubectl apply", 40, 5, _shell(_CREATE_APPLY)),
    Contender("read_then_replace", "read, then create or replace, one by one", 300, 50, _read_then_replace),
    Contender("typed_patch", "the official client's typed patch, one by one", 300, 50, _typed_patch),
)
