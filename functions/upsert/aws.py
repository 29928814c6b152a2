"""The AWS APIs: clients made when first needed, assumed roles, and errors reduced to their code."""

import re
from collections.abc import Mapping
from threading import Lock
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from upsert.core.identity import FIELD_MANAGER
from upsert.errors import AwsError

# A call answers in well under a second; the retries of botocore's standard mode cover the rest within a minute.
_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
SESSION_NAME = FIELD_MANAGER

_CODE = re.compile(r"[A-Za-z0-9.]{1,80}")


class Aws:
    """The AWS APIs for one run. Threads may share it."""

    def __init__(self, *, account: str, region: str | None) -> None:
        self.account = account
        self._lock = Lock()
        self._sessions = {("", ""): boto3.Session(region_name=region)}
        self._clients: dict[tuple[str, str, str], Any] = {}

    @property
    def region(self) -> str:
        """Return the function's own region."""
        return self._sessions["", ""].region_name or ""

    def call(
        self, service: str, operation: str, *, region: str = "", role_arn: str = "", **parameters: object
    ) -> Mapping[str, Any]:
        """Return what an operation answers, in a region and as a role if these are given. Raises `AwsError`."""
        client = self._client(service, region, role_arn)
        try:
            answer: Mapping[str, Any] = getattr(client, operation)(**parameters)
        except (ClientError, BotoCoreError) as error:
            raise AwsError(_code_of(error), is_about_a_stage="staging label" in str(error)) from None
        except Exception as error:  # noqa: BLE001 - botocore breaks over what is no answer of the service, and quotes it
            raise AwsError(f"an unreadable answer ({type(error).__name__})") from None
        return answer

    def session(self, *, region: str = "", role_arn: str = "") -> boto3.Session:
        """Return a session in that region, as that role. Raises `AwsError`."""
        with self._lock:
            return self._session(region, role_arn)

    def _session(self, region: str, role_arn: str) -> boto3.Session:
        if (region, role_arn) not in self._sessions:
            self._sessions[region, role_arn] = (
                self._assume(role_arn, region) if role_arn else boto3.Session(region_name=region)
            )
        return self._sessions[region, role_arn]

    def _client(self, service: str, region: str, role_arn: str) -> Any:
        # Under a lock, since making clients is not safe between threads:
        # https://boto3.amazonaws.com/v1/documentation/api/latest/guide/session.html#multithreading-or-multiprocessing-with-sessions
        with self._lock:
            if (service, region, role_arn) not in self._clients:
                session = self._session(region, role_arn)
                try:
                    make: Any = session.client
                    self._clients[service, region, role_arn] = make(service, config=_CONFIG)
                except BotoCoreError as error:
                    raise AwsError(_code_of(error)) from None
            return self._clients[service, region, role_arn]

    def _assume(self, role_arn: str, region: str) -> boto3.Session:
        own = self._sessions["", ""]
        try:
            answer = own.client("sts", config=_CONFIG).assume_role(RoleArn=role_arn, RoleSessionName=SESSION_NAME)
        except (ClientError, BotoCoreError) as error:
            raise AwsError(_code_of(error), while_assuming=True) from None
        credentials = answer["Credentials"]
        return boto3.Session(
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials["SessionToken"],
            region_name=region or own.region_name,
        )


def _code_of(error: ClientError | BotoCoreError) -> str:
    """Return the error's code, such as ``AccessDeniedException``. Its message stays here: it can quote the request."""
    if isinstance(error, ClientError):
        code = str(error.response.get("Error", {}).get("Code", ""))
        return code if _CODE.fullmatch(code) else "an error without a known code"
    return type(error).__name__
