"""Runs CloudWatch Logs Insights queries over local log lines, for the part of the language that the template uses.

    commands      fields, display, filter, stats … by, sort, limit
    conditions    and, or, not, =, !=, <, >, <=, >=, in, like
    functions     ispresent, coalesce; count, count_distinct, sum, avg, min, max, pct, earliest, latest

Anything else is an error, so that no query seems to work that was not understood. The language:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

type Row = dict[str, Any]
type Value = Callable[[Row], Any]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<regex>/(?:[^/\\]|\\.)+/)
      | (?P<number>-?\d+(?:\.\d+)?)
      | (?P<name>`[^`]+`|@?[A-Za-z_][\w.@]*)
      | (?P<sign>!=|<=|>=|[=<>()\[\],*|])
    )""",
    re.VERBOSE,
)


class QueryError(ValueError):
    """The query uses what this evaluator does not know, or is malformed."""


def read(lines: Iterable[str]) -> list[Row]:
    """Return the fields of every line that holds a JSON record, as Logs Insights discovers them.

    Nested fields are joined by dots, booleans are 1 and 0, ``@message`` is the record as it was written, and
    ``@timestamp`` is the record's own time. What stands before the record in a line is cut off; a line without one is
    left out.
    """
    rows: list[Row] = []
    for line in lines:
        text = line[line.find("{") :].strip()
        try:
            record = json.loads(text)
        except ValueError:
            continue
        if isinstance(record, dict):
            rows.append({"@message": text, "@timestamp": _time(record), **_flat(record)})
    return rows


def run(query: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that the query makes of these. Raises `QueryError` if it is not understood."""
    parser = _Parser(query)
    found = [dict(row) for row in rows]
    for command in parser.commands():
        found = command(found)
    if parser.shown:
        found = [{name: row.get(name) for name in parser.shown} for row in found]
    return found


def _time(record: Row) -> str:
    given = record.get("timestamp")
    if isinstance(given, str):
        moment = datetime.fromisoformat(given)
    elif isinstance(metrics := record.get("_aws"), dict):
        moment = datetime.fromtimestamp(metrics["Timestamp"] / 1000, UTC)
    else:
        return ""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _flat(value: Any, prefix: str = "") -> Row:
    items: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    elif value is None:
        return {}
    else:
        return {prefix: int(value) if isinstance(value, bool) else value}
    flat: Row = {}
    for key, item in items:
        flat |= _flat(item, f"{prefix}.{key}" if prefix else str(key))
    return flat


class _Parser:
    """Turns the text of a query into functions over rows, one per command; `shown` are the columns that it asks for."""

    def __init__(self, query: str) -> None:
        self._tokens = list(self._split(re.sub(r"(?m)^\s*#.*$", "", query)))
        self._at = 0
        self.shown: list[str] = []

    def commands(self) -> list[Callable[[list[Row]], list[Row]]]:
        """Return the commands in their order."""
        found = [self._command()]
        while self._at < len(self._tokens):
            self._expect("|")
            found.append(self._command())
        return found

    @staticmethod
    def _split(text: str) -> Iterable[tuple[str, str]]:
        at = 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if not found or not found.lastgroup:
                raise QueryError(f"not understood: {text[at : at + 40]!r}")
            yield found.lastgroup, found[found.lastgroup]
            at = found.end()

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _takes(self, text: str) -> bool:
        kind, found = self._peek()
        if kind in ("sign", "name") and found.lower() == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise QueryError(f"expected {text!r}, found {self._peek()[1]!r}")

    def _name(self) -> str:
        kind, text = self._next()
        if kind != "name":
            raise QueryError(f"expected a name, found {text!r}")
        return text.strip("`")

    def _many[T](self, one: Callable[[], T]) -> list[T]:
        found = [one()]
        while self._takes(","):
            found.append(one())
        return found

    def _command(self) -> Callable[[list[Row]], list[Row]]:  # noqa: PLR0911 - one case per command
        match self._name().lower():
            case "source":
                self._next()
                return lambda rows: rows
            case "fields":
                return self._fields()
            case "display":
                self.shown = []
                return self._fields()
            case "filter":
                condition = self._condition()
                return lambda rows: [row for row in rows if condition(row)]
            case "stats":
                return self._stats()
            case "sort":
                return self._sort()
            case "limit":
                count = int(self._next()[1])
                return lambda rows: rows[:count]
            case other:
                raise QueryError(f"the command {other!r} is not known here")

    def _fields(self) -> Callable[[list[Row]], list[Row]]:
        shown = self._many(lambda: self._aliased(self._value))
        self.shown += [name for name, _ in shown]
        # The commands that follow can still use every other field.
        return lambda rows: [row | {name: value(row) for name, value in shown} for row in rows]

    def _aliased[T](self, one: Callable[[], T]) -> tuple[str, T]:
        start = self._at
        found = one()
        written = "".join(text for _, text in self._tokens[start : self._at]).strip("`")
        return (self._name() if self._takes("as") else written), found

    def _stats(self) -> Callable[[list[Row]], list[Row]]:
        aggregates = self._many(lambda: self._aliased(self._aggregate))
        groups = self._many(lambda: self._aliased(self._value)) if self._takes("by") else []
        self.shown = [name for name, _ in (*groups, *aggregates)]

        def apply(rows: list[Row]) -> list[Row]:
            members: dict[tuple[Any, ...], list[Row]] = {}
            for row in rows:
                members.setdefault(tuple(value(row) for _, value in groups), []).append(row)
            names = [name for name, _ in groups]
            return [
                {**dict(zip(names, key, strict=True)), **{name: aggregate(group) for name, aggregate in aggregates}}
                for key, group in members.items()
            ]

        return apply

    def _aggregate(self) -> Callable[[list[Row]], Any]:
        function = self._name().lower()
        self._expect("(")
        if function == "count" and self._takes("*"):
            self._expect(")")
            return len
        value = self._value()
        share = float(self._next()[1]) if self._takes(",") else None
        self._expect(")")
        if function == "pct" and share is not None:
            return lambda rows: _percentile(_present(value, rows), share)
        if function in ("earliest", "latest"):
            first = 0 if function == "earliest" else -1
            return lambda rows: (_present(value, sorted(rows, key=lambda row: row["@timestamp"])) or [None])[first]
        if function not in _AGGREGATES:
            raise QueryError(f"the function {function!r} is not known here")
        return lambda rows: _AGGREGATES[function](_present(value, rows))

    def _sort(self) -> Callable[[list[Row]], list[Row]]:
        def key() -> tuple[Value, bool]:
            value = self._value()
            return value, self._takes("desc") or (self._takes("asc") and False)

        keys = self._many(key)

        def apply(rows: list[Row]) -> list[Row]:
            for value, down in reversed(keys):
                rows = sorted(rows, key=lambda row, value=value: _order(value(row)), reverse=down)  # type: ignore[misc]
            return rows

        return apply

    def _condition(self) -> Value:
        either = [self._both()]
        while self._takes("or"):
            either.append(self._both())
        return either[0] if len(either) == 1 else lambda row: any(part(row) for part in either)

    def _both(self) -> Value:
        parts = [self._inverted()]
        while self._takes("and"):
            parts.append(self._inverted())
        return parts[0] if len(parts) == 1 else lambda row: all(part(row) for part in parts)

    def _inverted(self) -> Value:
        if self._takes("not"):
            inner = self._inverted()
            return lambda row: not inner(row)
        if self._takes("("):
            inner = self._condition()
            self._expect(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Value:
        left = self._value()
        if self._takes("like"):
            kind, text = self._next()
            pattern = re.compile(text[1:-1] if kind == "regex" else re.escape(_unquoted(text)))
            return lambda row: left(row) is not None and bool(pattern.search(str(left(row))))
        if self._takes("in"):
            self._expect("[")
            choices = self._many(self._value)
            self._expect("]")
            return lambda row: any(_compare(left(row), "=", choice(row)) for choice in choices)
        if self._peek()[1] in _COMPARISONS:
            sign = self._next()[1]
            right = self._value()
            return lambda row: _compare(left(row), sign, right(row))
        return left

    def _value(self) -> Value:
        kind, text = self._next()
        match kind:
            case "string":
                constant = _unquoted(text)
                return lambda _row: constant
            case "number":
                number = float(text)
                return lambda _row: number
            case "name" if self._takes("("):
                arguments = self._many(self._value)
                self._expect(")")
                return _function(text, arguments)
            case "name":
                name = text.strip("`")
                return lambda row: row.get(name)
            case _:
                raise QueryError(f"expected a field or a value, found {text!r}")


def _function(name: str, arguments: Sequence[Value]) -> Value:
    if name == "ispresent" and len(arguments) == 1:
        return lambda row: arguments[0](row) is not None
    if name == "coalesce":
        return lambda row: next((found for value in arguments if (found := value(row)) is not None), None)
    raise QueryError(f"the function {name!r} is not known here")


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _present(value: Value, rows: Iterable[Row]) -> list[Any]:
    return [found for row in rows if (found := value(row)) is not None]


def _percentile(values: list[Any], share: float) -> Any:
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share / 100 * len(ordered)) - 1)] if ordered else None


def _order(value: Any) -> tuple[bool, float, str]:
    """Return a key under which numbers come before texts, and what is missing before both."""
    if isinstance(value, int | float):
        return True, float(value), ""
    return (value is not None, math.inf if value is not None else -math.inf, str(value))


def _compare(left: Any, sign: str, right: Any) -> bool:
    if left is None or right is None:
        return False
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        left, right = str(left), str(right)
    return _COMPARISONS[sign](left, right)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    ">": lambda left, right: bool(left > right),
    "<=": lambda left, right: bool(left <= right),
    ">=": lambda left, right: bool(left >= right),
}

_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "count_distinct": lambda values: len(set(values)),
    "sum": sum,
    "avg": lambda values: sum(values) / len(values) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
}
