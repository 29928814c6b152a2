"""An AWS Secrets Manager of the tests' own, as far as the functions use it; contract tests hold it to the emulator."""

import json
from types import TracebackType
from typing import Self

from tests.support.standin import Reply, Request, Standin

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:registries-AbCdEf"


class SecretsStandin:
    """Serves GetSecretValue and PutSecretValue of one secret on a free loopback port while the `with` block lasts.

    `value` is None before the first one is put; `refusal` is the code of an error to answer with, if any.
    """

    def __init__(self) -> None:
        self.value: str | None = None
        self.refusal = ""
        self._server = Standin(self._answer)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        """The value for AWS_ENDPOINT_URL_SECRETS_MANAGER."""
        return self._server.url

    @property
    def requests(self) -> list[Request]:
        """Every request so far, oldest first."""
        return self._server.requests

    @property
    def calls(self) -> list[str]:
        """The name of each call so far, oldest first."""
        return [_operation(request) for request in self.requests]

    def _answer(self, request: Request) -> Reply:
        body = json.loads(request.body)
        if self.refusal:
            return _error(self.refusal, f"refused: {request.body.decode()}")
        if body["SecretId"] != ARN:
            return _error("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
        if _operation(request) == "PutSecretValue":
            self.value = body["SecretString"]
        elif self.value is None:
            # What AWS answers; the emulator answers without SecretString instead.
            return _error(
                "ResourceNotFoundException",
                "Secrets Manager can't find the specified secret value for staging label: AWSCURRENT",
            )
        answer = {"ARN": ARN, "Name": "registries", "VersionId": "1", "SecretString": self.value}
        return Reply(200, answer, {"Content-Type": "application/x-amz-json-1.1"})


def _operation(request: Request) -> str:
    return request.headers["X-Amz-Target"].partition(".")[2]


def _error(code: str, message: str) -> Reply:
    return Reply(400, {"__type": code, "Message": message}, {"Content-Type": "application/x-amz-json-1.1"})
