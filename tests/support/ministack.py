"""MiniStack, a local AWS, with IAM enforced: started on a free loopback port, gone with everything it wrote."""

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3
from botocore.config import Config

from tests.support.ports import reserved_port
from tests.support.processes import Child, Workspace, answers

PYTHON = Path(__file__).parents[2] / ".venv" / "ministack" / "bin" / "python"

ACCOUNT = "123456789012"
REGION = "eu-central-1"

_STARTUP_TIMEOUT_S = 60

# A run of the function may take its whole five minutes on a busy machine, and must not be started twice by a retry.
_CONFIG = Config(read_timeout=330, retries={"total_max_attempts": 1})


@dataclass(frozen=True)
class Keys:
    """An access key."""

    id: str
    secret: str

    def client(self, service: str, endpoint: str, region: str = REGION) -> Any:
        """Return a boto3 client of the service that signs with this key."""
        session = boto3.Session(self.id, self.secret, region_name=region)
        return session.client(service, endpoint_url=endpoint, config=_CONFIG)  # type: ignore[call-overload]


# The emulator takes this key for the account's root user.
ROOT = Keys("test", "test")


class MiniStack:
    """The emulator, as a context manager; functions that it runs inherit `environment`."""

    account = ACCOUNT
    region = REGION

    def __init__(self, *, environment: Mapping[str, str] | None = None, python: Path = PYTHON) -> None:
        """Prepare the emulator; `environment` adds to what it and every function it runs see."""
        self._stack = ExitStack()
        self._python = python
        self._extra = dict(environment or {})
        self._child: Child | None = None
        self._workspace: Workspace
        self._port: int

    @property
    def url(self) -> str:
        """The endpoint of every service."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def client_environment(self) -> dict[str, str]:
        """Environment variables for a command line tool (SAM, AWS CLI) that shall talk to this emulator alone."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ROOT.id,
            "AWS_SECRET_ACCESS_KEY": ROOT.secret,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_CONFIG_FILE": str(self._workspace.folder / "no-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self._workspace.folder / "no-credentials"),
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def client(self, service: str, keys: Keys = ROOT) -> Any:
        """Return a boto3 client of the emulator, as root unless another key is given."""
        return keys.client(service, self.url)

    def user_with_policy(self, actions: Sequence[str]) -> Keys:
        """Create an IAM user who may do `actions` on everything, and return a key of that user."""
        iam, name = self.client("iam"), f"user-{uuid.uuid4().hex[:8]}"
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="test", PolicyDocument=policy)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return Keys(key["AccessKeyId"], key["SecretAccessKey"])

    def edit_state(self, service: str, edit: Callable[[dict[str, Any]], None]) -> None:
        """Restart the emulator with an edited state of one service: for what its API cannot set.

        `edit` changes the service's state in place, in the form the emulator saves it when it stops.
        """
        self._stop()
        path = self._workspace.folder / "state" / f"{service}.json"
        saved = json.loads(path.read_text())
        edit(saved["payload"])
        path.write_text(json.dumps(saved))
        self._start()

    def __enter__(self) -> Self:
        if not self._python.exists():
            raise FileNotFoundError(f"{self._python} is missing: run `make` to create it")
        try:
            self._workspace = self._stack.enter_context(Workspace(prefix="ministack-"))
            self._port = self._stack.enter_context(reserved_port())
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self) -> None:
        self._child = self._workspace.start(
            "ministack", [self._python, "-m", "ministack"], environment=self._environment(), cwd=self._workspace.folder
        )
        self._child.wait_ready(lambda: answers(f"{self.url}/_ministack/ready"), _STARTUP_TIMEOUT_S)

    def _stop(self) -> None:
        if self._child is not None:
            self._workspace.stop(self._child)
            self._child = None

    def _environment(self) -> dict[str, str]:
        """Return the emulator's whole environment: nothing of the caller's but PATH."""
        folder = str(self._workspace.folder)
        return {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "TMPDIR": folder,
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_ACCOUNT_ID": self.account,
            "MINISTACK_REGION": self.region,
            "AWS_ACCESS_KEY_ID": ROOT.id,
            "AWS_SECRET_ACCESS_KEY": ROOT.secret,
            "AUTH": "true",
            "PERSIST_STATE": "1",
            "STATE_DIR": f"{folder}/state",
            "S3_DATA_DIR": f"{folder}/s3",
            "LAMBDA_EXECUTOR": "local",
            # Listeners that nothing here needs, and on fixed ports.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            # With a Docker daemon the emulator would run a container for an EKS cluster: keep it from finding one.
            "DOCKER_HOST": f"unix://{folder}/no-docker.sock",
        } | self._extra
