"""An AWS Secrets Manager of the tests' own, as far as the functions use it; contract tests hold it to the emulator."""

import base64
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from tests.support.standin import RESET, Reply, Request, Standin

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:registries-AbCdEf"
MOST_IDS = 20
CREATED = datetime(2026, 11, 5, 6, 7, 8, tzinfo=UTC)
Watcher = Callable[[str], object]

_CURRENT = "AWSCURRENT"
_DENIED = "User: function is not authorized to perform: secretsmanager:{} on resource: {}"
_MESSAGES = {
    "ResourceNotFoundException": "Secrets Manager can't find the specified secret.",
    "InvalidRequestException": "You can't perform this operation on the secret because it was marked for deletion.",
    "DecryptionFailure": "Secrets Manager can't decrypt the protected secret text using the provided KMS key.",
}
_ELSEWHERE = "The staging label AWSCURRENT is attached to another version than RemoveFromVersionId says."


class SecretsStandin(Standin):
    """Serves what reads and writes secrets on a free loopback port while the `with` block lasts.

    `kept` holds the current values of all secrets, text or bytes by name or ARN, None before the first one is put;
    `value` is that of `ARN`. `others` are values by secret and by staging label or version. `refusal` is the code of an
    error to answer everything with, if any, `refusals` those for single calls, `refused` those for single secrets. A
    batch is answered in pages of `page` secrets, in the order of `sort`. `before` gets the name of each call before it
    is dealt with; if `loses_answer_to` says so, the call is dealt with and its answer does not arrive.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.kept: dict[str, str | bytes | None] = {ARN: None}
        self.others: dict[tuple[str, str], str | bytes] = {}
        self.refusal = ""
        self.refusals: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.page = 20
        self.sort: Callable[[list[str]], list[str]] = sorted
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
        if refusal := self.refusal or self.refusals.get(operation):
            return _error(refusal, _MESSAGES.get(refusal, _DENIED).format(operation, json.dumps(body)))
        if operation == "BatchGetSecretValue":
            return self._batch(body)
        if operation == "GetSecretValue":
            found = self._get(body["SecretId"], body.get("VersionId") or body.get("VersionStage", _CURRENT))
            return _ok(found) if "__type" not in found else _error(found["__type"], found["Message"])
        secret = self._key(body["SecretId"])
        if secret is None:
            return _error("ResourceNotFoundException", _MESSAGES["ResourceNotFoundException"])
        answer = _called(secret)
        if operation == "PutSecretValue":
            return _ok(answer | self._put(secret, body))
        assert operation == "UpdateSecretVersionStage", operation
        return _ok(answer) if self._move(secret, body) else _error("InvalidParameterException", _ELSEWHERE)

    def _batch(self, body: dict[str, Any]) -> Reply:
        ids = body["SecretIdList"]
        assert 1 <= len(ids) <= MOST_IDS, "a batch has one to twenty ids"
        assert len(set(ids)) == len(ids), "an id is there once"
        start = int(body.get("NextToken", "0"))
        values, errors = [], []
        for secret in self.sort(ids)[start : start + self.page]:
            found = self._get(secret, _CURRENT)
            if "__type" in found:
                errors.append({"SecretId": secret, "ErrorCode": found["__type"], "Message": found["Message"]})
            else:
                values.append(found)
        more = {"NextToken": str(start + self.page)} if start + self.page < len(ids) else {}
        return _ok({"SecretValues": values, "Errors": errors, **more})

    def _get(self, asked: str, which: str) -> dict[str, Any]:
        """Return what reads of one secret answer, or an error's type and message."""
        if code := self.refused.get(asked):
            return {"__type": code, "Message": _MESSAGES.get(code, _DENIED).format("GetSecretValue", asked)}
        secret = self._key(asked)
        if secret is None:
            return {"__type": "ResourceNotFoundException", "Message": _MESSAGES["ResourceNotFoundException"]}
        value = self.kept[secret] if which == _CURRENT else self.others.get((secret, which))
        if value is None:
            # What AWS answers; the emulator answers without SecretString instead.
            message = f"Secrets Manager can't find the specified secret value for staging label: {which}"
            return {"__type": "ResourceNotFoundException", "Message": message}
        held = {"SecretString": value} if isinstance(value, str) else {"SecretBinary": base64.b64encode(value).decode()}
        version = self._version(secret) if which == _CURRENT else str(uuid.uuid4())
        return _called(secret) | {"VersionId": version, "CreatedDate": CREATED.timestamp(), **held}

    def _key(self, asked: str) -> str | None:
        """Return the key of the secret that is asked for by its name, its ARN, or its ARN without the last part."""
        if asked in self.kept:
            return asked
        names = {
            name: secret for secret in self.kept for name in (*_called(secret).values(), _called(secret)["ARN"][:-7])
        }
        return names.get(asked)

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


def _called(secret: str) -> dict[str, str]:
    """Return the ARN and the name of a secret that is kept under one of them."""
    if secret.startswith("arn:"):
        return {"ARN": secret, "Name": secret.split(":", 6)[6][:-7]}
    return {"ARN": f"{ARN.rpartition(':')[0]}:{secret}-AbCdEf", "Name": secret}


def _operation(request: Request) -> str:
    return request.headers["X-Amz-Target"].partition(".")[2]


def _ok(answer: dict[str, Any]) -> Reply:
    return Reply(200, answer, {"Content-Type": "application/x-amz-json-1.1"})


def _error(code: str, message: str) -> Reply:
    return Reply(400, {"__type": code, "Message": message}, {"Content-Type": "application/x-amz-json-1.1"})
