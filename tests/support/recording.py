"""A local run with everything that an operator meets: the real handler on a real API server, its output kept.

Other writers, people who delete or break Secrets, a registry whose token is short, a cluster that is down. What is
played is told by `play`; a `Recording` has one run per invocation.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.support import ecr_standin
from tests.support.controlplane import REPOSITORY, ControlPlane
from tests.support.invocation import CLUSTER, Aws, Seen, invoke
from tests.support.objects import SECRET, entry
from tests.support.standin import Reply

# As a stack has it that leaves the namespaces of Kubernetes itself alone.
FILE = (entry(exclude=["kube-*", "default"]),)
SCHEDULED = json.loads((REPOSITORY / "events" / "scheduled.json").read_text())
TEAMS = ("billing", "checkout", "invoices", "payments", "search", "web")
CONTESTED, RECREATED, FROZEN, OTHER_TYPE, LEAVING = "legacy-cron", "tidied-up", "frozen", "opaque", "leaving"

_OLD_JOB = ("secret", "docker-registry", SECRET, "--docker-username=AWS", "--docker-password=old", "--dry-run=client")


@dataclass(frozen=True)
class Run:
    """One invocation, when it began, and how long it took."""

    name: str
    began: datetime
    duration_ms: float
    seen: Seen

    @property
    def records(self) -> list[dict[str, Any]]:
        """The log records and metrics, oldest first."""
        return self.seen.records


@dataclass(frozen=True)
class Recording:
    """All runs, and the log as CloudWatch would hold it."""

    runs: tuple[Run, ...]

    def named(self, name: str) -> Run:
        """Return the first run of that name."""
        return next(run for run in self.runs if run.name == name)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records of all runs, oldest first."""
        return [record for run in self.runs for record in run.records]

    @property
    def lines(self) -> list[str]:
        """The lines of all runs, oldest first."""
        return [line for run in self.runs for line in run.seen.output.splitlines()]


@contextmanager
def stage() -> Iterator[tuple[ControlPlane, Aws]]:
    """Start a control plane and the stand-ins for AWS, and remove them at the end."""
    with Aws() as aws, ControlPlane(authentication_webhook=aws.token_review) as plane:
        aws.point_at(plane.endpoint, plane.ca_pem)
        yield plane, aws


class Stage:
    """The means to play a story: acts of the people in the cluster, and runs of the function."""

    def __init__(self, plane: ControlPlane, aws: Aws) -> None:
        self._plane, self._aws = plane, aws
        self._runs: list[Run] = []

    @property
    def recording(self) -> Recording:
        """Return everything played so far."""
        return Recording(tuple(self._runs))

    def run(self, name: str, event: object = None, **environment: str) -> Run:
        """Invoke the function once, as its schedule does unless there is an event, and keep what it let out."""
        began, started = datetime.now(UTC), time.monotonic()
        seen = invoke(self._aws, event or SCHEDULED, objects=FILE, **environment)  # type: ignore[arg-type] # names of variables
        run = Run(name, began, (time.monotonic() - started) * 1000, seen)
        self._runs.append(run)
        return run

    def create(self, *namespaces: str) -> None:
        """Create namespaces."""
        for namespace in namespaces:
            self._plane.create_namespace(namespace)

    def leave(self, namespace: str) -> None:
        """Create a namespace that is being deleted."""
        self._plane.create_namespace(namespace)
        self._plane.delete_namespace(namespace)

    def old_job(self, namespace: str) -> None:
        """Write the Secret as a forgotten job does, with kubectl apply."""
        manifest = self._plane.kubectl("create", *_OLD_JOB, "--output=yaml")
        arguments = ("--server-side", "--force-conflicts", "--field-manager=old-cron-job")
        self._plane.kubectl("apply", f"--namespace={namespace}", *arguments, "--filename=-", stdin=manifest)

    def delete_secret(self, namespace: str) -> None:
        """Delete the Secret, as someone who tidies up does."""
        self._plane.kubectl("delete", "secret", SECRET, f"--namespace={namespace}")

    def freeze(self, namespace: str) -> None:
        """Make the Secret immutable."""
        self._plane.kubectl("patch", "secret", SECRET, f"--namespace={namespace}", "--patch", '{"immutable": true}')

    def hold(self, namespace: str, **body: Any) -> None:
        """Create a Secret of that name in another form."""
        self._plane.create_secret(namespace, {"metadata": {"name": SECRET}, **body}, "platform-team")

    @contextmanager
    def cluster_down(self) -> Iterator[None]:
        """Let EKS say that the cluster does not serve."""
        describe = self._aws.describe
        self._aws.describe = lambda _request: Reply(body={"cluster": {"name": CLUSTER, "status": "FAILED"}})
        try:
            yield
        finally:
            self._aws.describe = describe

    @contextmanager
    def short_tokens(self) -> Iterator[None]:
        """Let the registry give tokens that live ten minutes."""
        with self._aws.ecr.answering(ecr_standin.expiring_soon):
            yield

    @contextmanager
    def no_tokens(self) -> Iterator[None]:
        """Let the registry refuse the function's role."""
        with self._aws.ecr.answering(ecr_standin.denied):
            yield


def play(stage: Stage, *, quiet_runs: int = 1) -> Recording:
    """Play the story and return it; `quiet_runs` is how many runs with nothing to tell come in a row."""

    def quiet(name: str) -> None:
        for _ in range(quiet_runs):
            stage.run(name)

    stage.create(*TEAMS, CONTESTED, RECREATED)
    quiet("clean")
    stage.run("dry run", {"dry_run": True})
    stage.run("by hand", {"namespaces": [TEAMS[0]]})
    stage.old_job(CONTESTED)
    stage.run("contested")
    quiet("clean")
    stage.old_job(CONTESTED)
    stage.delete_secret(RECREATED)
    # A dry run now is answered with a uid that no Secret will have.
    stage.run("dry run of a missing Secret", {"dry_run": True})
    stage.run("recreated")
    stage.create(FROZEN, OTHER_TYPE)
    stage.leave(LEAVING)
    stage.hold(OTHER_TYPE, type="Opaque", stringData={"password": "old"})
    stage.hold(FROZEN, type="Opaque", immutable=True, stringData={"password": "old"})
    stage.run("failing")
    stage.run("by hand while failing", {"namespaces": [TEAMS[0]]})
    stage.run("failing by hand", {"namespaces": [FROZEN]})
    with stage.cluster_down():
        stage.run("cluster down")
    with stage.short_tokens():
        stage.run("short token")
    with stage.no_tokens():
        stage.run("no token")
    stage.run("wrong setting", SCHEDULE="often")
    stage.delete_secret(FROZEN)
    stage.delete_secret(OTHER_TYPE)
    quiet("repaired")
    return stage.recording
