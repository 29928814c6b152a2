"""The whole refresh function in this process: its real handler and adapters, AWS played by stand-ins on the loopback.

The API server is whatever the test points `Aws` at; a control plane that is started with `Aws.token_review` as its
authentication webhook takes the function's presigned bearer token as the user refresher.
"""

import base64
import io
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

import pytest

from tests.support import objects as objects_of
from tests.support.canary import Canary, told_by, told_by_object
from tests.support.context import Context
from tests.support.ecr_standin import EcrStandin, new_password
from tests.support.objects import HOST, REGION
from tests.support.standin import Reply, Request, Standin
from upsert.handlers import refresh
from upsert.telemetry import SERVICE, Telemetry

CLUSTER = "test"
USER = "refresher"
GROUP = "eks-upsert"
ACCESS_KEY = "ASIAQQQQQQQQQQQQQQQQ"
SECRET_KEY = "oXm3yTq8WkZr5vBnC1sLh7JdF2gPa9UeQ4iRt6Yw"
SESSION_TOKEN = base64.b64encode(b"session " + bytes(range(33, 120)) * 3).decode()

_BEARER = "k8s-aws-v1."
_ASSUMED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>{access_key}</AccessKeyId><SecretAccessKey>{secret_key}</SecretAccessKey>
<SessionToken>{session_token}</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>"""
_ASSUME_DENIED = b"""<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>User is not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>"""


@dataclass(frozen=True)
class Seen:
    """All that one invocation let out: `output` is both standard streams, `foreign` what reached the root logger.

    `passwords` are those that ECR gave it, which must not be in there.
    """

    result: Any
    error: Exception | None
    output: str
    foreign: str
    passwords: tuple[str, ...]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The log records and metrics, oldest first."""
        return [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]

    def named(self, event: str) -> list[dict[str, Any]]:
        """Return the records of one event."""
        return [record for record in self.records if record.get("message") == event]

    @property
    def reasons(self) -> dict[str, str]:
        """Why each namespace that was not refreshed was not."""
        return {
            record["namespace"]: record["reason"]
            for record in self.records
            if record.get("message") in ("object.failed", "object.skipped")
        }

    @property
    def texts(self) -> list[str]:
        """Everything that anybody can read afterwards."""
        return [self.output, self.foreign, *told_by(self.error), *told_by_object(self.result)]


class Aws:
    """ECR and EKS stand-ins and a TokenReview webhook, with the environment that points the function at them.

    `endpoint` and `ca_pem` of the cluster may be set at any time; `describe` may be replaced to answer otherwise.
    `assumable` are the ARNs of the roles that may be assumed, each with the id of the access key that is given for it.
    """

    def __init__(self) -> None:
        self.ecr = EcrStandin()
        self.endpoint = ""
        self.ca_pem = ""
        self.describe: Callable[[Request], Reply] = self._describe
        self.bearers: list[str] = []
        self.assumable: dict[str, str] = {}
        self.sts = Standin(self._assume)
        self._eks = Standin(lambda request: self.describe(request))  # noqa: PLW0108 - it may be replaced later
        self._webhook = Standin(self._review)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for standin in (self.ecr, self.sts, self._eks, self._webhook):
            self._stack.enter_context(standin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def token_review(self) -> str:
        """Return the URL for a control plane's `authentication_webhook`."""
        return f"{self._webhook.url}/"

    def point_at(self, endpoint: str, ca_pem: str) -> None:
        """Let DescribeCluster name this endpoint and CA."""
        self.endpoint, self.ca_pem = endpoint, ca_pem

    @property
    def environment(self) -> dict[str, str]:
        """Return the function's environment."""
        return {
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_SESSION_TOKEN": SESSION_TOKEN,
            "AWS_ENDPOINT_URL_ECR": self.ecr.url,
            "AWS_ENDPOINT_URL_EKS": self._eks.url,
            "AWS_ENDPOINT_URL_STS": self.sts.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
        }

    def _describe(self, _request: Request) -> Reply:
        authority = base64.b64encode(self.ca_pem.encode()).decode()
        cluster = {"name": CLUSTER, "status": "ACTIVE", "endpoint": self.endpoint}
        return Reply(body={"cluster": cluster | {"certificateAuthority": {"data": authority}}})

    def _assume(self, request: Request) -> Reply:
        (arn,) = parse_qs(request.body.decode())["RoleArn"]
        if arn not in self.assumable:
            return Reply(403, _ASSUME_DENIED, {"Content-Type": "text/xml"})
        given = _ASSUMED.format(access_key=self.assumable[arn], secret_key=SECRET_KEY, session_token=SESSION_TOKEN)
        return Reply(200, given.encode(), {"Content-Type": "text/xml"})

    def _review(self, request: Request) -> Reply:
        review = json.loads(request.body)
        bearer = review["spec"]["token"]
        self.bearers.append(bearer)
        known = {"authenticated": True, "user": {"username": USER, "groups": [GROUP]}}
        status = known if bearer.startswith(_BEARER) else {"authenticated": False}
        return Reply(body={"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status})


def invoke(
    aws: Aws,
    event: object = None,
    *,
    objects: Sequence[Mapping[str, Any]] = (),
    clusters: Sequence[Mapping[str, str]] = (),
    seconds: float = 300.0,
    root_level: int = logging.WARNING,
    handler: Callable[[Any, Any], Any] = refresh.handler,
    **environment: str,
) -> Seen:
    """Run the function once and return all that it let out.

    `objects` are the entries of its file, the shipped one by default. `environment` changes single variables.
    """
    output, foreign = io.StringIO(), io.StringIO()
    context = Context(seconds)
    known = len(aws.ecr.passwords)
    result: Any = None
    raised: Exception | None = None
    with (
        TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(output),
        redirect_stderr(output),
        _root_logger_into(foreign, root_level),
        _own_logger_into(output, context),
    ):
        installed = objects_of.install(Path(folder), *objects, clusters=clusters)
        for name, value in {**aws.environment, **installed, **environment}.items():
            patch.setenv(name, value)
        try:
            result = handler({} if event is None else event, context)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
            raised = error
    return Seen(result, raised, output.getvalue(), foreign.getvalue(), tuple(aws.ecr.passwords[known:]))


def canary(passwords: Iterable[str], bearers: Iterable[str]) -> Canary:
    """Return a canary that knows every secret of an invocation that had these passwords and bearer tokens."""
    known = Canary()
    known.learn("secret key", SECRET_KEY)
    known.learn("session token", SESSION_TOKEN)
    for password in passwords:
        known.learn("password", password)
        known.learn("docker config", _docker_config(password), like=_docker_config(new_password()))
    for bearer in bearers:
        url = base64.urlsafe_b64decode(bearer.removeprefix(_BEARER) + "==").decode()
        signature = url.rpartition("X-Amz-Signature=")[2]
        # The rest of the URL is public: a host, a date, the id of a key.
        known.learn("presigned URL", url, like=url.replace(signature, "0" * len(signature)))
        known.learn("bearer token", bearer)
    return known


def _docker_config(password: str) -> str:
    auth = base64.b64encode(f"AWS:{password}".encode()).decode()
    return json.dumps({"auths": {HOST: {"username": "AWS", "password": password, "auth": auth}}}, separators=(",", ":"))


@contextmanager
def _root_logger_into(stream: io.StringIO, level: int) -> Iterator[None]:
    """Let every record of any logger that reaches the root be written to `stream`, tracebacks included."""
    root = logging.getLogger()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s %(args)s"))
    before = root.level
    root.addHandler(handler)
    root.setLevel(level)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)


@contextmanager
def _own_logger_into(stream: io.StringIO, context: Context) -> Iterator[None]:
    """Let the function's own logger write to `stream`; by itself it keeps the stream that it was made with."""
    with Telemetry(context):
        pass
    (handler,) = logging.getLogger(SERVICE).handlers
    assert isinstance(handler, logging.StreamHandler)
    # Not by setStream: it flushes the stream from before, which may be one that pytest has closed since.
    before, handler.stream = handler.stream, stream
    try:
        yield
    finally:
        handler.stream = before
