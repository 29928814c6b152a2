"""The joined world: a real API server, a local AWS that trusts it, an ECR whose tokens change, and the deployed stack.

    sam deploy ─► MiniStack ── schedule ─► the function ─► ECR stand-in (asks MiniStack's IAM first)
                     ▲                        │
                     │ TokenReview            ▼
                     └──────────────── kube-apiserver

The function finds the cluster through DescribeCluster, and the API server knows the function by its own presigned
token, its role's access entry and the shipped RBAC. Nobody hands it a token or an address.
"""

import base64
import io
import json
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support import sam
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import EcrStandin
from tests.support.ministack import ROOT, Keys, MiniStack
from tests.support.objects import written
from tests.support.processes import Workspace
from upsert.config import COMPILED

CLUSTER = "demo"
STACK = "eks-upsert"
GROUP = "eks-upsert"

Step = Callable[[str], AbstractContextManager[object]]
"""Shows that something long is going on, from entering to leaving."""

_START = re.compile(r"START RequestId: (\S+)")
_PLATFORM = re.compile(r"(START|END|REPORT) RequestId: ")
_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?::|$)")


@dataclass(frozen=True)
class Run:
    """One run of the function, as its log group holds it."""

    request_id: str
    ended: datetime
    text: str
    """Everything the function wrote, the traceback of an error included."""

    @property
    def records(self) -> list[dict[str, Any]]:
        """The JSON log records, oldest first."""
        return [json.loads(line) for line in self.text.splitlines() if line.startswith("{")]

    def named(self, event: str) -> list[dict[str, Any]]:
        """Return the log records of one kind of event, such as `object.applied`, oldest first."""
        return [record for record in self.records if record.get("message") == event]

    @property
    def raised(self) -> str | None:
        """The name of the exception class that ended the run, or None.

        The emulator's own error type is the same for every exception, so it is read off the traceback.
        """
        _, found, traceback = self.text.rpartition("Traceback (most recent call last):\n")
        if not found:
            return None
        names = [match[1] for line in traceback.splitlines() if (match := _RAISED.match(line))]
        return names[0] if names else None


@dataclass(frozen=True)
class Invocation:
    """One invocation by hand: what came back to the caller, and the run behind it."""

    payload: Any
    failed: bool
    run: Run


class Trail:
    """Calls of some operations of AWS since this was made, as the local AWS recorded them: the last 50 of each."""

    def __init__(self, cloudtrail: Any, operations: Sequence[str]) -> None:
        self._cloudtrail = cloudtrail
        self._operations = tuple(operations)
        self._known = {name: self._ids(name) for name in operations}

    def counts(self) -> dict[str, int]:
        """Return how often each of them was called; one that never was is left out."""
        found = {name: len(self._ids(name) - self._known[name]) for name in self._operations}
        return {name: count for name, count in found.items() if count}

    def _ids(self, name: str) -> set[str]:
        wanted = [{"AttributeKey": "EventName", "AttributeValue": name}]
        return {event["EventId"] for event in self._cloudtrail.lookup_events(LookupAttributes=wanted)["Events"]}


class World:
    """Everything running, nothing deployed, while the `with` block lasts; `deploy` brings the stack."""

    folder: Path
    control_plane: ControlPlane
    aws: MiniStack
    ecr: EcrStandin
    function: str
    role: str
    log_group: str
    outputs: dict[str, str]

    def __init__(self, *, step: Step = nullcontext, release: Path | None = None) -> None:
        """Prepare the world; `step` shows progress, and what is deployed is `release` in place of what is built."""
        self.invoked = 0
        self._step = step
        self._release = release
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self.folder = self._stack.enter_context(Workspace()).folder
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def user(self) -> str:
        """The Kubernetes user name of the function: its session of the role."""
        role = self.role.rpartition("/")[2]
        return f"arn:aws:sts::{self.aws.account}:assumed-role/{role}/{self.function[:64]}"

    def deploy(
        self, *objects: Mapping[str, Any], clusters: Sequence[Mapping[str, str]] = (), **parameters: str
    ) -> None:
        """Deploy the shipped template with these entries in the file of objects (the shipped one by default).

        Maps its role to the group, as the access entry does on AWS.
        """
        with self._step("sam build" if self._release is None else f"the release in {self._release}"):
            template, self._code = self._built(written(*objects, clusters=clusters))
            self._compiled = (self._code / COMPILED).read_bytes()
        with self._step("sam deploy onto the local AWS"):
            settings = {
                "ClusterName": CLUSTER,
                # The emulator knows no AWS::EKS::AccessEntry, which is created through the API below, and no
                # AWS::Logs::QueryDefinition.
                "CreateAccessEntry": "false",
                "Monitoring": "false",
                "Architecture": "x86_64",
            }
            self.outputs = sam.deploy(
                template, stack=STACK, parameters=settings | parameters, environment=self.aws.client_environment
            )
            self.function, self.role, self.log_group = (
                self.outputs[name] for name in ("FunctionName", "RoleArn", "LogGroup")
            )
            self._create_access_entry([GROUP])
            if ":ssm:" in parameters.get("ReadableArns", ""):
                self._let_parameters_be_read()

    @contextmanager
    def objects(self, *objects: Mapping[str, Any], clusters: Sequence[Mapping[str, str]] = ()) -> Iterator[None]:
        """Deploy another file of objects with the same code while the block lasts, as who may deploy can."""
        source = self.folder / "objects.yaml"
        source.write_bytes(written(*objects, clusters=clusters))
        with self.file(source):
            yield

    @contextmanager
    def file(self, source: Path) -> Iterator[None]:
        """Deploy the file of objects at that path, with what lies beside it, while the block lasts."""
        folder = self.folder / "objects"
        folder.mkdir(exist_ok=True)
        sam.compile_into(source, folder)
        with self.compiled((folder / COMPILED).read_bytes()):
            yield

    def trail(self, *operations: str) -> "Trail":
        """Return a window on the calls of these operations of AWS, from now on."""
        return Trail(self.aws.client("cloudtrail"), operations)

    @contextmanager
    def compiled(self, content: bytes) -> Iterator[None]:
        """Deploy the same code beside these bytes in place of the compiled file while the block lasts."""
        before = self._compiled
        self._update_code(content)
        try:
            yield
        finally:
            self._update_code(before)

    @contextmanager
    def access_entry(self, groups: Sequence[str] | None) -> Iterator[None]:
        """Let the role's access entry name other groups while the block lasts, or be missing for None."""
        eks = self.aws.client("eks")
        eks.delete_access_entry(clusterName=CLUSTER, principalArn=self.role)
        if groups is not None:
            self._create_access_entry(groups)
        try:
            yield
        finally:
            if groups is not None:
                eks.delete_access_entry(clusterName=CLUSTER, principalArn=self.role)
            self._create_access_entry([GROUP])

    @contextmanager
    def without_permission(self, action: str) -> Iterator[None]:
        """Take the statement that allows `action` out of the policies of the function's role while the block lasts."""
        iam, role = self.aws.client("iam"), self.role.rpartition("/")[2]
        for attached in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
            arn = attached["PolicyArn"]
            version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
            policy = iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]
            rest = [statement for statement in policy["Statement"] if action not in statement["Action"]]
            if len(rest) < len(policy["Statement"]):
                break
        else:
            raise ValueError(f"no statement of a policy of the role allows {action}")
        self._replace_policy(arn, policy | {"Statement": rest})
        try:
            yield
        finally:
            self._replace_policy(arn, policy)

    @contextmanager
    def environment(self, **variables: str) -> Iterator[None]:
        """Set environment variables of the deployed function while the block lasts."""
        client = self.aws.client("lambda")
        before = client.get_function_configuration(FunctionName=self.function)["Environment"]["Variables"]
        client.update_function_configuration(FunctionName=self.function, Environment={"Variables": before | variables})
        try:
            yield
        finally:
            client.update_function_configuration(FunctionName=self.function, Environment={"Variables": before})

    @property
    def schedule(self) -> Mapping[str, Any]:
        """The deployed schedule, as EventBridge Scheduler gives it."""
        scheduler = self.aws.client("scheduler")
        (summary,) = scheduler.list_schedules()["Schedules"]
        found: Mapping[str, Any] = scheduler.get_schedule(Name=summary["Name"], GroupName=summary["GroupName"])
        return found

    def set_schedule(self, *, enabled: bool) -> None:
        """Switch the deployed schedule on or off; one that is due fires within seconds of being switched on."""
        keep = ("Name", "GroupName", "ScheduleExpression", "FlexibleTimeWindow", "Target")
        kept = {key: value for key, value in self.schedule.items() if key in keep}
        self.aws.client("scheduler").update_schedule(**kept, State="ENABLED" if enabled else "DISABLED")

    def invoke(self, event: object, *, keys: Keys = ROOT) -> Invocation:
        """Run the function by hand, as root unless a key is given, and return what the caller of `invoke` sees."""
        client = self.aws.client("lambda", keys)
        self.invoked += 1
        answer = client.invoke(
            FunctionName=self.function,
            InvocationType="RequestResponse",
            LogType="Tail",
            Payload=json.dumps(event).encode(),
        )
        payload = json.loads(answer["Payload"].read())
        if "LogResult" not in answer and "FunctionError" in answer:
            raise RuntimeError(f"the local AWS could not run the function: {payload}")
        if "LogResult" not in answer:
            return Invocation(payload, failed=False, run=Run("", datetime.now(UTC), ""))  # it had nothing to log
        tail = base64.b64decode(answer["LogResult"]).decode(errors="ignore").rstrip()
        return Invocation(
            payload=payload,
            failed="FunctionError" in answer,
            # Only the end of the log comes back with the answer, and it names no run: so find the run that ends so.
            run=next(run for run in self.runs() if run.text.endswith(tail)),
        )

    def runs(self) -> list[Run]:
        """Return every run so far, by hand or scheduled, retries included, in the order they ended."""
        logs = self.aws.client("logs")
        lines: dict[str, list[dict[str, Any]]] = {}
        for event in logs.filter_log_events(logGroupName=self.log_group)["events"]:
            lines.setdefault(event["logStreamName"], []).append(event)
        runs = [run for events in lines.values() if (run := _run(events)) is not None]
        return sorted(runs, key=lambda run: run.ended)

    def wait_for_run(self, known: Sequence[Run], timeout: float) -> Run:
        """Return the first run that is not in `known`, waiting at most `timeout` seconds; raises TimeoutError."""
        ids = {run.request_id for run in known}
        deadline = time.monotonic() + timeout
        while True:
            for run in self.runs():
                if run.request_id not in ids:
                    return run
            if time.monotonic() > deadline:
                raise TimeoutError(f"the function was not run within {timeout:.0f} s")
            time.sleep(0.5)

    def _built(self, objects: bytes) -> tuple[Path, Path]:
        """Return the template to deploy, and the folder of the function's code."""
        folder = self.folder / "build"
        if self._release is None:
            template = sam.with_objects(objects, folder)
            return template, folder / "RefreshFunction"
        template = sam.with_objects_of_release(objects, self._release, folder)
        shutil.unpack_archive(folder / "RefreshFunction.zip", self.folder / "code")
        return template, self.folder / "code"

    def _replace_policy(self, arn: str, document: Mapping[str, Any]) -> None:
        iam = self.aws.client("iam")
        before = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=json.dumps(document), SetAsDefault=True)
        iam.delete_policy_version(PolicyArn=arn, VersionId=before)

    def _update_code(self, compiled: bytes) -> None:
        """Give the deployed functions the code that they have, and another compiled file beside it."""
        client = self.aws.client("lambda")
        adopter = self.outputs.get("AdoptFunctionName")
        for function, code in ((self.function, self._code), (adopter, self._code.parent / "AdoptFunction")):
            if function is None:
                continue
            client.update_function_code(FunctionName=function, ZipFile=_archive(code, compiled))
            client.get_waiter("function_updated_v2").wait(
                FunctionName=function, WaiterConfig={"Delay": 0.1, "MaxAttempts": 100}
            )
        self._compiled = compiled

    def _let_parameters_be_read(self) -> None:
        """Allow the role all parameters: AWS asks its policies for each one by ARN, the emulator for ``*`` alone."""
        statement = {"Effect": "Allow", "Action": "ssm:GetParameters", "Resource": "*"}
        self.aws.client("iam").put_role_policy(
            RoleName=self.role.rpartition("/")[2],
            PolicyName="emulator",
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        )

    def _create_access_entry(self, groups: Sequence[str]) -> None:
        self.aws.client("eks").create_access_entry(
            clusterName=CLUSTER, principalArn=self.role, kubernetesGroups=list(groups)
        )

    def _start(self) -> None:
        with self._step("local AWS, with IAM enforced"):
            self.ecr = self._stack.enter_context(EcrStandin())
            environment = {"AWS_ENDPOINT_URL_ECR": self.ecr.url, "CLOUDTRAIL_RECORDING": "1"}
            self.aws = self._stack.enter_context(MiniStack(environment=environment))
            self.ecr.upstream = self.aws.url
        with self._step("Kubernetes control plane"):
            key = secrets.token_urlsafe(32)
            webhook = f"{self.aws.url}/_ministack/eks-auth/{self.aws.account}/{self.aws.region}/{CLUSTER}/{key}"
            self.control_plane = self._stack.enter_context(ControlPlane(authentication_webhook=webhook))
            self._create_cluster(key)

    def _create_cluster(self, webhook_key: str) -> None:
        """Create an EKS cluster whose endpoint, CA and webhook are those of the control plane.

        The emulator would run a cluster in a container and know these by itself; they can only be set in its state.
        """
        trust = {"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}
        role = self.aws.client("iam").create_role(
            RoleName="cluster", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        )["Role"]["Arn"]
        self.aws.client("eks").create_cluster(name=CLUSTER, roleArn=role, resourcesVpcConfig={})

        def point_at_control_plane(state: dict[str, Any]) -> None:
            (cluster,) = state["clusters"]["data"].values()
            cluster["endpoint"] = self.control_plane.endpoint
            cluster["certificateAuthority"]["data"] = base64.b64encode(self.control_plane.ca_pem.encode()).decode()
            cluster["_auth_token"] = webhook_key
            del cluster["_port"]  # from which the emulator would make the endpoint again

        self.aws.edit_state("eks", point_at_control_plane)


def _archive(code: Path, compiled: bytes) -> bytes:
    """Return the archive of a function's folder, with other bytes in place of the compiled file."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        for path in code.rglob("*"):
            if path.is_file():
                content = compiled if path.name == COMPILED else path.read_bytes()
                target.writestr(str(path.relative_to(code)), content)
    return archive.getvalue()


def _run(events: Sequence[Mapping[str, Any]]) -> Run | None:
    """Return the run that one log stream holds, or None while it holds no whole one."""
    messages = [str(event["message"]) for event in events]
    start = next((found for message in messages if (found := _START.match(message))), None)
    if start is None or not any(message.startswith("REPORT ") for message in messages):
        return None
    text = "\n".join(message for message in messages if not _PLATFORM.match(message))
    return Run(start[1], datetime.fromtimestamp(events[-1]["timestamp"] / 1000, UTC), text)
