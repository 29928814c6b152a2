"""The bed of the benchmark: a control plane of its own, namespaces in it, and ways to invoke the function on it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import urllib3

from bench.served import Served, Window
from bench.standins import ACCOUNT, ADOPTERS, CLUSTER, REFRESHERS, REGION, USER, EksStandin
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import EcrStandin, token
from tests.support.objects import compiled, roles
from tests.support.processes import Workspace

REPOSITORY = Path(__file__).parents[1]
SECRET = "aws-ecr-token"
SCHEDULED = json.loads((REPOSITORY / "events" / "scheduled.json").read_text())
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


@dataclass(frozen=True)
class Run:
    """One run of the refresher, and what the API server did for it."""

    invocation: Invocation
    served: Served


class Unsound(Exception):
    """What was measured is not what was to be measured."""


class Bed:
    """Everything that the measurements share, while the `with` block lasts."""

    def __init__(self, refresher: Sequence[Path], adopter: Sequence[Path]) -> None:
        """Each is the import path of a function: its folder and its layer's."""
        self._import_paths = {
            "refresh": [str(path) for path in refresher],
            "adopt": [str(path) for path in adopter],
        }
        self._task_root = self._import_paths["refresh"][0]
        self._namespaces: list[str] = []
        self.is_filled = False

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            self.eks = cleanup.enter_context(EksStandin())
            self.ecr = cleanup.enter_context(EcrStandin())
            self.folder = cleanup.enter_context(Workspace(prefix="bench-")).folder
            self.control_plane = cleanup.enter_context(ControlPlane(authentication_webhook=f"{self.eks.url}/review"))
            self.eks.endpoint, self.eks.ca_pem = self.control_plane.endpoint, self.control_plane.ca_pem
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
        """Create namespaces until the cluster has `count`, and let the function create the Secret in all of them."""
        new = [f"team-{number:05}" for number in range(len(self._namespaces), count)]
        with self.pool() as pool, ThreadPoolExecutor(_CREATORS) as threads:
            list(threads.map(lambda name: self._create(pool, name), new))
        self._namespaces += new
        self.refresh()
        self.is_filled = True

    def pool(self) -> urllib3.PoolManager:
        """Return connections to the API server, as many as are ever used at once."""
        return urllib3.PoolManager(maxsize=64, ssl_context=self.control_plane.tls_context(), retries=False)

    @property
    def layer(self) -> str:
        """The folder of the packages that the functions import."""
        return self._import_paths["refresh"][-1]

    def keep(self, *entries: Mapping[str, Any]) -> None:
        """Have the functions keep these objects of the file from now on, and may do so."""
        (self.folder / "objects.json").write_text(compiled(*entries))
        self._task_root = str(self.folder)
        for is_adopter in (False, True):
            self.control_plane.apply_roles(roles(*entries, is_adopter=is_adopter))

    @contextmanager
    def slow_source(self, seconds: float) -> Iterator[None]:
        """Let the source take its time while the block lasts."""

        def later(region: str) -> Any:
            time.sleep(seconds)
            return token(region)

        with self.ecr.answering(later):
            yield

    def refresh(self, objects: int | None = None, *, concurrency: int = 16) -> Run:
        """Return a run that wrote so many objects, one for each namespace unless said otherwise.

        Raises `Unsound` if it wrote others. What another writer left behind may cost a second PATCH.
        """
        run = self.run(concurrency=concurrency)
        due = len(self._namespaces) if objects is None else objects
        applied, failed = run.invocation.answer["applied"], run.invocation.answer["failed"]
        if (applied, failed) != (due, 0) or run.served.patches < due:
            raise Unsound(
                f"{applied} applied, {failed} failed, {run.served.patches} PATCHes; expected {due}, none, {due}"
            )
        return run

    def run(self, event: object = None, *, concurrency: int = 16, **environment: str) -> Run:
        """Return a run, whatever it came to."""
        window = Window(self.control_plane.audit_log)
        invocation = self.invoke(event, concurrency=concurrency, **environment)
        return Run(invocation, window.served(USER))

    def invoke(
        self,
        event: object = None,
        *,
        function: str = "refresh",
        concurrency: int = 16,
        endpoint: str | None = None,
        **environment: str,
    ) -> Invocation:
        """Invoke a handler, as built, in a process of its own, as scheduled unless there is an event."""
        self.eks.endpoint = endpoint or self.control_plane.endpoint
        self.eks.group = {"refresh": REFRESHERS, "adopt": ADOPTERS}[function]
        result = self.folder / "invocation.json"
        program = [
            sys.executable, "-I", "-S", "-B", str(REPOSITORY / "bench" / "invoke.py"),
            str(result), str(concurrency), function, json.dumps(SCHEDULED if event is None else event),
            *self._import_paths[function],
        ]  # fmt: skip
        with self._log.open("wb") as output:
            done = subprocess.run(
                program,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environment() | environment,
                check=False,
            )
        if done.returncode != 0:
            raise RuntimeError(f"the handler failed: {done.stderr[-2000:]}\n{self._log.read_text()[-2000:]}")
        return Invocation(**json.loads(result.read_text()))

    def records(self, event: str) -> list[dict[str, Any]]:
        """Return the records of one event in the log of the last invocation."""
        found = (json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{"))
        return [record for record in found if record.get("message") == event]

    @property
    def _log(self) -> Path:
        return self.folder / "function.log"

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the function."""
        return {
            "PATH": os.environ["PATH"],
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self.eks.access_key,
            "AWS_SECRET_ACCESS_KEY": "not-a-secret",
            "AWS_ENDPOINT_URL_ECR": self.ecr.url,
            "AWS_ENDPOINT_URL_EKS": self.eks.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": "127.0.0.1",
            "LAMBDA_TASK_ROOT": self._task_root,
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
