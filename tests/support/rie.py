"""The built artifact under AWS's own Lambda runtime: the Runtime Interface Emulator and the Python runtime client.

The emulator's binary comes with the SAM CLI, the client (awslambdaric) with the dev requirements. Of what is installed
here, the function sees the client alone; the rest must be in the artifact.
"""

import http.client
import json
import os
import platform
import re
import sys
import sysconfig
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.ports import reserved_port
from tests.support.processes import Workspace
from tests.support.sam import BIN

_BOOTSTRAP = Path(__file__).with_name("rie_bootstrap.py")
_BINARY = {"x86_64": "aws-lambda-rie-x86_64", "aarch64": "aws-lambda-rie-arm64", "arm64": "aws-lambda-rie-arm64"}
_INIT_DURATION = re.compile(r"INIT REPORT\(durationMs: ([0-9.]+)\)")
_TIMEOUT_S = 60


@dataclass(frozen=True)
class Artifact:
    """The folders that Lambda would see as /var/task and /opt/python."""

    function: Path
    layer: Path

    @classmethod
    def beside(cls, template: Path, function: str = "RefreshFunction") -> Self:
        """Return what `sam build` laid beside the template that it wrote, for one of the functions."""
        return cls(template.parent / function, template.parent / "DependenciesLayer" / "python")


@dataclass(frozen=True)
class Answer:
    """What an invocation gives back, and how long it took in seconds, the start of the function included."""

    payload: Any
    seconds: float


class Runtime:
    """One execution environment, cold until its first invocation, as a context manager."""

    def __init__(
        self,
        artifact: Artifact,
        *,
        handler: str = "upsert.handlers.refresh.handler",
        environment: Mapping[str, str] | None = None,
        timeout_s: int = 30,
    ) -> None:
        """Prepare it; `environment` is what the template would set, `timeout_s` the function's Timeout."""
        self._artifact = artifact
        self._handler = handler
        self._environment = dict(environment or {})
        self._timeout_s = timeout_s
        self._stack = ExitStack()
        self._port: int

    def invoke(self, event: object) -> Answer:
        """Send one event and wait for the answer; an error of the function is a payload with errorType."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT_S)
        started = time.monotonic()
        connection.request("POST", "/2015-03-31/functions/function/invocations", json.dumps(event))
        payload = json.loads(connection.getresponse().read())
        seconds = time.monotonic() - started
        connection.close()
        return Answer(payload, seconds)

    @property
    def log(self) -> str:
        """Everything that the function and the emulator wrote so far."""
        return self._child.log.read_text()

    @property
    def init_duration_ms(self) -> float:
        """Milliseconds from the start of the runtime process until the handler was imported, as Lambda reports it."""
        found = _INIT_DURATION.search(self.log)
        if found is None:
            raise ValueError(f"the log names no init duration:\n{self.log}")
        return float(found[1])

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self, stack: ExitStack) -> None:
        workspace = stack.enter_context(Workspace())
        with reserved_port() as port, reserved_port() as api_port:
            self._port = port
            emulator = Path(BIN).parent.joinpath(
                "lib", "python3.13", "site-packages", "samcli", "local", "rapid", _BINARY[platform.machine()]
            )
            self._child = workspace.start(
                "runtime",
                [
                    emulator,
                    "--runtime-interface-emulator-address", f"127.0.0.1:{port}",
                    "--runtime-api-address", f"127.0.0.1:{api_port}",
                    # -I -S: nothing that is installed here. -B: Lambda's file system is read-only.
                    sys.executable, "-I", "-S", "-B", _BOOTSTRAP,
                    self._handler, sysconfig.get_path("purelib"), self._artifact.function, self._artifact.layer,
                ],
                environment={
                    "PATH": os.environ["PATH"],
                    "LAMBDA_TASK_ROOT": str(self._artifact.function),
                    "AWS_REGION": "eu-central-1",
                    "AWS_LAMBDA_FUNCTION_NAME": "refresh",
                    "AWS_LAMBDA_FUNCTION_TIMEOUT": str(self._timeout_s),
                    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
                    **self._environment,
                },
                cwd=workspace.folder,
            )  # fmt: skip
            self._child.wait_ready(self._listens, timeout=10)

    def _listens(self) -> bool:
        # Any answer will do: a GET is not an invocation and does not start the function.
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=2)
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
        except OSError:
            return False
        finally:
            connection.close()
        return True
