"""The AWS APIs: clients made when first needed, assumed roles, and errors reduced to their code."""

import os
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from upsert import variables
from upsert.core.aws_errors import as_error
from upsert.core.identity import FIELD_MANAGER
from upsert.errors import AwsError, InputError

# A call answers in well under a second; the retries of botocore's standard mode cover the rest within a minute.
_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
SESSION_NAME = FIELD_MANAGER

_CREDENTIALS = ("AccessKeyId", "SecretAccessKey", "SessionToken")


class Aws:
    """The AWS APIs for one run. Threads may share it."""

    def __init__(self, *, account: str, region: str) -> None:
        """Raises `InputError` if the environment leads the SDK to no credentials."""
        self.account = account
        self.region = region
        self._lock = Lock()
        self._locks: dict[tuple[str, str], Lock] = {}
        self._sessions = {("", ""): _set_up(lambda: _own_session(region))}
        self._clients: dict[tuple[str, str, str], Any] = {}

    def call(
        self, service: str, operation: str, *, region: str = "", role_arn: str = "", **parameters: object
    ) -> Mapping[str, Any]:
        """Return what an operation answers, in a region and as a role if these are given.

        Raises `AwsError`, or `InputError` if the environment is why there is no client to ask with.
        """
        return _call(self._client(service, region, role_arn), operation, parameters)

    def session(self, *, region: str = "", role_arn: str = "") -> boto3.Session:
        """Return a session in that region, as that role. Raises `AwsError`."""
        with self._alone(region, role_arn):
            return self._session(region, role_arn)

    def _alone(self, region: str, role_arn: str) -> Lock:
        """Return the lock of one session, since making its clients is not safe between threads.

        Each has its own: a role that is not assumed for a long time holds up nobody else.
        https://boto3.amazonaws.com/v1/documentation/api/latest/guide/session.html#multithreading-or-multiprocessing-with-sessions
        """
        with self._lock:
            return self._locks.setdefault((region, role_arn), Lock())

    def _session(self, region: str, role_arn: str) -> boto3.Session:
        if (region, role_arn) not in self._sessions:
            self._sessions[region, role_arn] = (
                self._assume(role_arn, region) if role_arn else _set_up(lambda: boto3.Session(region_name=region))
            )
        return self._sessions[region, role_arn]

    def _client(self, service: str, region: str, role_arn: str) -> Any:
        with self._alone(region, role_arn):
            if (service, region, role_arn) not in self._clients:
                session: Any = self._session(region, role_arn)
                client = _set_up(lambda: session.client(service, config=_CONFIG))
                self._clients[service, region, role_arn] = client
            return self._clients[service, region, role_arn]

    def _assume(self, role_arn: str, region: str) -> boto3.Session:
        try:
            answer = _call(
                self._client("sts", "", ""), "assume_role", {"RoleArn": role_arn, "RoleSessionName": SESSION_NAME}
            )
        except AwsError as error:
            raise AwsError(error.code, while_assuming=True, remedy=error.remedy) from None
        given = answer.get("Credentials", {})
        key, secret, token = (given.get(name) for name in _CREDENTIALS)
        if not all(isinstance(one, str) and one for one in (key, secret, token)):
            raise AwsError("an answer without credentials", while_assuming=True)
        return boto3.Session(key, secret, token, region_name=region or self.region)


def _own_session(region: str) -> boto3.Session:
    session = boto3.Session(region_name=region)
    credentials = session.get_credentials()
    # Asked for now: what keeps them from coming is no answer to any of the calls.
    if credentials is None or credentials.get_frozen_credentials() is None:
        raise NoCredentialsError
    return session


def _set_up[R](make: Callable[[], R]) -> R:
    """Return what the SDK makes of its variables. Raises `InputError` that names those that can be at fault."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - a wrong variable breaks botocore in as many ways as it has providers
        has_none = isinstance(error, NoCredentialsError | PartialCredentialsError)
        names = variables.CREDENTIALS if has_none else variables.of_the_sdk(os.environ)
        problem = (
            f"{names}: the AWS SDK cannot work with it ({type(error).__name__}); expected what the SDK understands, or "
            "nothing beside what Lambda sets for the function's role"
        )
        raise InputError([problem]) from None


def _call(client: Any, operation: str, parameters: Mapping[str, object]) -> Mapping[str, Any]:
    try:
        answer: Mapping[str, Any] = getattr(client, operation)(**parameters)
    except ClientError as error:
        given = error.response.get("Error", {})
        raise as_error(given.get("Code"), given.get("Message")) from None
    except BotoCoreError as error:
        raise as_error(type(error).__name__, "") from None
    except Exception as error:  # noqa: BLE001 - botocore breaks over what is no answer of the service, and quotes it
        raise AwsError(f"an unreadable answer ({type(error).__name__})") from None
    return answer
