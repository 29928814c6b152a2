"""An AWS Secrets Manager of the tests' own, as far as the functions use it; contract tests hold it to the emulator."""

import base64
import json
import uuid
from collections.abc import Callable
from threading import Lock
from typing import Any

from tests.support.standin import RESET, Reply, Request, Standin

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:registries-AbCdEf"
Watcher = Callable[[str], object]

_CURRENT = "AWSCURRENT"
_ELSEWHERE = "The staging label AWSCURRENT is attached to another version than RemoveFromVersionId says."


class SecretsStandin(Standin):
    """Serves what reads and writes secrets on a free loopback port while the `with` block lasts.

    `kept` holds the current values of all secrets, text or bytes by name or ARN, None before the first one is put;
    `value` is that of `ARN`. `refusal` is the code of an error to answer everything with, if any, `refusals` those for
    single calls. `before` gets the name of each call before it is dealt with; if `loses_answer_to` says so, the call is
    dealt with and its answer does not arrive.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.kept: dict[str, str | bytes | None] = {ARN: None}
        self.refusal = ""
        self.refusals: dict[str, str] = {}
        self.before: Watcher = lambda _: None
        self.loses_answer_to: Watcher = lambda _: False
        self._versions: dict[str, str | bytes | None] = {}
        self._current: dict[str, str] = {}
        self._one_at_a_time = Lock()

    @property
    def value(self) -> str | None:
        """The text that is kept under `ARN`, if any."""
        value = self.kept[ARN]
        assert not isinstance(value, bytes), "a binary value is kept"
        return value

    @value.setter
    def value(self, value: str | None) -> None:
        self.kept[ARN] = value

    @property
    def calls(self) -> list[str]:
        """The name of each call so far, oldest first."""
        return [_operation(request) for request in self.requests]

    def _answer(self, request: Request) -> Reply:
        operation = _operation(request)
        self.before(operation)
        with self._one_at_a_time:
            reply = self._deal(operation, json.loads(request.body))
        return RESET if self.loses_answer_to(operation) else reply

    def _deal(self, operation: str, body: dict[str, Any]) -> Reply:
        secret = body["SecretId"]
        if refusal := self.refusal or self.refusals.get(operation):
            return _error(refusal, f"refused: {json.dumps(body)}")
        if secret not in self.kept:
            return _error("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
        answer = {"ARN": ARN, "Name": "registries"}
        if operation == "PutSecretValue":
            return _ok(answer | self._put(secret, body))
        if operation == "UpdateSecretVersionStage":
            return _ok(answer) if self._move(secret, body) else _error("InvalidParameterException", _ELSEWHERE)
        value = self.kept[secret]
        if value is None:
            # What AWS answers; the emulator answers without SecretString instead.
            return _error(
                "ResourceNotFoundException",
                "Secrets Manager can't find the specified secret value for staging label: AWSCURRENT",
            )
        held = {"SecretString": value} if isinstance(value, str) else {"SecretBinary": base64.b64encode(value).decode()}
        return _ok(answer | {"VersionId": self._version(secret), **held})

    def _put(self, secret: str, body: dict[str, Any]) -> dict[str, Any]:
        stages, version = body.get("VersionStages", [_CURRENT]), body["ClientRequestToken"]
        self._versions[version] = body["SecretString"]
        if self.kept[secret] is None or _CURRENT in stages:
            # The first version gets the label whatever the call says.
            stages = sorted({*stages, _CURRENT})
            self._set(secret, version)
        return {"VersionId": version, "VersionStages": stages}

    def _move(self, secret: str, body: dict[str, Any]) -> bool:
        assert body["VersionStage"] == _CURRENT, "no other label is moved"
        here = self._version(secret)
        if here not in {body["MoveToVersionId"], body.get("RemoveFromVersionId", "")}:
            return False
        self._set(secret, body["MoveToVersionId"])
        return True

    def _set(self, secret: str, version: str) -> None:
        self._current[secret], self.kept[secret] = version, self._versions[version]

    def _version(self, secret: str) -> str:
        """Return the id of the current version, a new one if a test has put another value there."""
        value, version = self.kept[secret], self._current.get(secret, "")
        if value is not None and (not version or self._versions[version] != value):
            version = self._current[secret] = str(uuid.uuid4())
            self._versions[version] = value
        return version if value is not None else ""


def _operation(request: Request) -> str:
    return request.headers["X-Amz-Target"].partition(".")[2]


def _ok(answer: dict[str, Any]) -> Reply:
    return Reply(200, answer, {"Content-Type": "application/x-amz-json-1.1"})


def _error(code: str, message: str) -> Reply:
    return Reply(400, {"__type": code, "Message": message}, {"Content-Type": "application/x-amz-json-1.1"})
