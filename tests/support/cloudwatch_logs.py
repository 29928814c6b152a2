"""CloudWatch Logs as a subscriber sees it: which lines a filter pattern lets through, and how a batch of them comes."""

import base64
import gzip
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LOG_GROUP = "/aws/eks/test/cluster"

_TOKEN = re.compile(r"""\s*(?:(&&|\|\||[(){}]|!=|<=|>=|[=<>])|(\$(?:\.[A-Za-z]+)+)|"([^"]*)"|(\d+))""")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

type Test = Callable[[Mapping[str, Any]], bool]


def batch(lines: Sequence[str], kind: str = "DATA_MESSAGE") -> dict[str, Any]:
    """Return the event that a subscribed Lambda function gets for these log lines."""
    content = {
        "messageType": kind,
        "owner": "123456789012",
        "logGroup": LOG_GROUP,
        "logStream": "kube-apiserver-audit-0123456789abcdef0123456789abcdef",
        "subscriptionFilters": ["eks-upsert"],
        "logEvents": [
            {"id": f"{index:056d}", "timestamp": 1796022000000 + index, "message": line}
            for index, line in enumerate(lines)
        ],
    }
    return {"awslogs": {"data": base64.b64encode(gzip.compress(json.dumps(content).encode())).decode()}}


class FilterPattern:
    """A filter pattern for JSON lines, with the parts of the grammar that audit events need.

    These are comparisons of a property with a text or a number, &&, || and parentheses. A line without the property
    fulfils no comparison. Grammar:
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/matching-terms-json-log-events.html
    """

    def __init__(self, pattern: str) -> None:
        """Read the pattern; raises ValueError at what is not in the grammar."""
        self._tokens = _tokens(pattern)
        self._expect("{")
        self._test = self._any_of()
        self._expect("}")
        if self._tokens:
            raise ValueError(f"more after the pattern: {self._tokens}")

    def lets_through(self, line: str) -> bool:
        """Return whether a subscriber gets the line."""
        try:
            event = json.loads(line)
        except ValueError:
            return False
        return isinstance(event, dict) and self._test(event)

    def _any_of(self) -> Test:
        tests = [self._all_of()]
        while self._take("||"):
            tests.append(self._all_of())
        return lambda event: any(test(event) for test in tests)

    def _all_of(self) -> Test:
        tests = [self._one()]
        while self._take("&&"):
            tests.append(self._one())
        return lambda event: all(test(event) for test in tests)

    def _one(self) -> Test:
        if self._take("("):
            inner = self._any_of()
            self._expect(")")
            return inner
        path, comparison, wanted = (self._tokens.pop(0) for _ in range(3))
        if not (isinstance(path, str) and path.startswith("$.") and comparison in _COMPARISONS):
            raise ValueError(f"expected a comparison, got {path!r} {comparison!r} {wanted!r}")
        compare, names = _COMPARISONS[str(comparison)], path.split(".")[1:]

        def test(event: Mapping[str, Any]) -> bool:
            value: Any = event
            for name in names:
                value = value.get(name) if isinstance(value, dict) else None
            given = wanted[1:] if isinstance(wanted, str) else wanted
            return isinstance(value, type(given)) and compare(value, given)

        return test

    def _take(self, token: str) -> bool:
        if self._tokens and self._tokens[0] == token:
            self._tokens.pop(0)
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise ValueError(f"expected {token!r} before {self._tokens[:3]}")


def _tokens(pattern: str) -> list[str | int]:
    """Return the pattern's tokens: numbers as they are, texts with a quote before them."""
    tokens: list[str | int] = []
    rest = pattern.strip()
    while rest:
        found = _TOKEN.match(rest)
        if not found:
            raise ValueError(f"not in the grammar: {rest[:40]!r}")
        sign, path, text, number = found.groups()
        tokens.append(int(number) if number else sign or path or f'"{text}')
        rest = rest[found.end() :].strip()
    return tokens
