"""A Parameter Store of the tests' own, as far as the functions use it; contract tests hold it to the emulator."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.support.standin import Reply, Request, Standin

MOST_NAMES = 10
CHANGED = datetime(2026, 11, 6, 7, 8, 9, tzinfo=UTC)

_PREFIX = "arn:aws:ssm:eu-central-1:123456789012:parameter"
_DENIED = "User: function is not authorized to perform: ssm:GetParameters on resource: {}"
_MESSAGES = {
    "InvalidKeyId": "The key is disabled.",
    "KmsDenied": "The ciphertext refers to a customer master key that does not exist, or that you may not use.",
}

type Hook = Callable[[], object]


@dataclass
class Parameter:
    """A parameter's versions, oldest first, and the labels on them, each with the number of its version."""

    values: list[str]
    type: str = "SecureString"
    labels: dict[str, int] | None = None


class ParametersStandin(Standin):
    """Serves GetParameters and PutParameter on a free loopback port while the `with` block lasts.

    `kept` holds parameters by name. `refusal` is the code of an error to answer everything with, `refused` those for
    single names, which a whole call then gets: so does AWS. `before_put` is called before anything is created.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.kept: dict[str, Parameter] = {}
        self.refusal = ""
        self.refused: dict[str, str] = {}
        self.before_put: Hook = lambda: None

    @property
    def asked(self) -> list[list[str]]:
        """The names of each call so far, oldest first."""
        return [names for request in self.requests if (names := json.loads(request.body).get("Names"))]

    def keep(self, **values: str) -> None:
        """Keep secure strings under names, in which ``__`` stands for a slash."""
        self.kept |= {name.replace("__", "/"): Parameter([value]) for name, value in values.items()}

    def _answer(self, request: Request) -> Reply:
        body = json.loads(request.body)
        if request.headers["X-Amz-Target"] == "AmazonSSM.PutParameter":
            return self._put(body)
        assert request.headers["X-Amz-Target"] == "AmazonSSM.GetParameters"
        names = body["Names"]
        assert body["WithDecryption"], "a secure string is of use decrypted alone"
        assert 1 <= len(names) <= MOST_NAMES, "a call has one to ten names"
        if len({_bare(name)[0] for name in names}) != len(names):
            return _error("ValidationException", "Duplicate parameter names")
        code = self.refusal or next((self.refused[name] for name in names if name in self.refused), "")
        if code:
            message = _MESSAGES.get(code, _DENIED.format(names))
            return _error("AccessDeniedException" if code == "KmsDenied" else code, message)
        found = {name: self._get(*_bare(name)) for name in names}
        # Not in the order in which they were asked for.
        given = sorted((one for one in found.values() if one), key=lambda one: str(one["Name"]))
        return _ok({"Parameters": given, "InvalidParameters": [name for name, one in found.items() if not one]})

    def _put(self, body: dict[str, Any]) -> Reply:
        assert body["Type"] == "SecureString", "a value is never kept in the clear"
        assert body.keys() == {"Name", "Value", "Type"}, "without Overwrite, and under the key of the service"
        name = body["Name"]
        self.before_put()
        if code := self.refusal or self.refused.get(name, ""):
            return _error(code, _DENIED.format(name))
        if name in self.kept:
            return _error("ParameterAlreadyExists", "The parameter already exists.")
        self.kept[name] = Parameter([body["Value"]])
        return _ok({"Version": 1, "Tier": "Standard"})

    def _get(self, name: str, selector: str) -> dict[str, Any] | None:
        kept = self.kept.get(name)
        if kept is None:
            return None
        version = int(selector) if selector.isdecimal() else (kept.labels or {}).get(selector, 0)
        version = version if selector else len(kept.values)
        if not 1 <= version <= len(kept.values):
            return None
        return {
            "Name": name,
            "ARN": _PREFIX + (name if name.startswith("/") else f"/{name}"),
            "Type": kept.type,
            "Value": kept.values[version - 1],
            "Version": version,
            "LastModifiedDate": CHANGED.timestamp(),
            "DataType": "text",
            **({"Selector": f":{selector}"} if selector else {}),
        }


def _bare(asked: str) -> tuple[str, str]:
    """Return a parameter's name and the selector of what was asked for by name or ARN."""
    name, _, selector = asked.removeprefix(_PREFIX).partition(":")
    return name, selector


def _ok(answer: dict[str, Any]) -> Reply:
    return Reply(200, answer, {"Content-Type": "application/x-amz-json-1.1"})


def _error(code: str, message: str) -> Reply:
    return Reply(400, {"__type": code, "message": message}, {"Content-Type": "application/x-amz-json-1.1"})
