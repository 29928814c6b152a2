"""The bed of the benchmark: a control plane of its own, namespaces in it, and ways to invoke the function on it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import urllib3

from bench.standins import ACCOUNT, CLUSTER, REGION, EksStandin
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import EcrStandin
from tests.support.processes import Workspace

REPOSITORY = Path(__file__).parents[1]
SECRET = "aws-ecr-token"
_CREATORS = 16


@dataclass(frozen=True)
class Invocation:
    """What one invocation of the handler cost, in a process of its own."""

    seconds: float
    cpu_seconds: float
    import_seconds: float
    import_cpu_seconds: float
    peak_mb: float
    answer: dict[str, Any]


class Bed:
    """Everything that the measurements share, while the `with` block lasts."""

    def __init__(self, artifact: Sequence[Path]) -> None:
        """`artifact` is the import path of the function: its folder and its layer's."""
        self._artifact = [str(path) for path in artifact]
        self._namespaces: list[str] = []

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            self.eks = cleanup.enter_context(EksStandin())
            self._ecr = cleanup.enter_context(EcrStandin())
            self.folder = cleanup.enter_context(Workspace(prefix="bench-")).folder
            self.control_plane = cleanup.enter_context(ControlPlane(authentication_webhook=f"{self.eks.url}/review"))
            self.eks.endpoint, self.eks.ca_pem = self.control_plane.endpoint, self.control_plane.ca_pem
            self.audit = AuditLog(self.control_plane.audit_log)
            self._namespaces = [
                item["metadata"]["name"] for item in self.control_plane.request("GET", "/api/v1/namespaces")["items"]
            ]
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    @property
    def namespaces(self) -> list[str]:
        """The names of all namespaces of the cluster."""
        return list(self._namespaces)

    def grow(self, count: int) -> None:
        """Create namespaces until the cluster has `count`."""
        new = [f"team-{number:05}" for number in range(len(self._namespaces), count)]
        with self.pool() as pool, ThreadPoolExecutor(_CREATORS) as threads:
            list(threads.map(lambda name: self._create(pool, name), new))
        self._namespaces += new

    def pool(self) -> urllib3.PoolManager:
        """Return connections to the API server, as many as are ever used at once."""
        return urllib3.PoolManager(maxsize=64, ssl_context=self.control_plane.tls_context(), retries=False)

    def invoke(self, *, concurrency: int = 16, endpoint: str | None = None) -> Invocation:
        """Invoke the handler, as built, in a process of its own, its log going to a file."""
        self.eks.endpoint = endpoint or self.control_plane.endpoint
        result, log = self.folder / "invocation.json", self.folder / "function.log"
        program = [
            sys.executable,
            "-I",
            "-S",
            "-B",
            str(REPOSITORY / "bench" / "invoke.py"),
            str(result),
            str(concurrency),
        ]
        with log.open("wb") as output:
            done = subprocess.run(
                [*program, *self._artifact],
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environment(),
                check=False,
            )
        if done.returncode != 0:
            raise RuntimeError(f"the handler failed: {done.stderr[-2000:]}\n{log.read_text()[-2000:]}")
        return Invocation(**json.loads(result.read_text()))

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the function."""
        return {
            "PATH": os.environ["PATH"],
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self.eks.access_key,
            "AWS_SECRET_ACCESS_KEY": "not-a-secret",
            "AWS_ENDPOINT_URL_ECR": self._ecr.url,
            "AWS_ENDPOINT_URL_EKS": self.eks.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": "127.0.0.1",
            "LAMBDA_TASK_ROOT": self._artifact[0],
            "CLUSTER_NAME": CLUSTER,
            "ACCOUNT_ID": ACCOUNT,
        }

    def _create(self, pool: urllib3.PoolManager, name: str) -> None:
        response = pool.request(
            "POST",
            f"{self.control_plane.endpoint}/api/v1/namespaces",
            headers={"Authorization": f"Bearer {self.control_plane.token_of('admin')}"},
            json={"metadata": {"name": name}},
        )
        if response.status != 201:
            raise RuntimeError(f"namespace {name} was not created: {response.status}")
