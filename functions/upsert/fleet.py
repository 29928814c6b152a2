"""What a run over a fleet came to: what its clusters answered, summed up."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from upsert.config import Config
from upsert.core.fields import Fields, Problem
from upsert.core.grammars import CLUSTER
from upsert.errors import InputError
from upsert.tables import table

_COUNTS = ("objects", "applied", "unchanged", "skipped", "failed", "not_refreshed")
SPARES = ("token_seconds_to_spare", "certificate_seconds_to_spare")
_FIELDS = ("cluster", *_COUNTS, *SPARES, "oldest_value_from", "is_whole", "dry_run", "error", "cause")
_COLUMNS = ("cluster", "objects", "applied", "failed", "oldest value")
_LONGEST_CAUSE = 300


class Row(NamedTuple):
    """What became of one cluster; `error` and `cause` are those of a run that raised, which says nothing else.

    `not_refreshed` counts the objects that stay as they are. What there is to spare is in seconds, None if nothing
    ends.
    """

    cluster: str
    objects: int = 0
    applied: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    not_refreshed: int = 0
    token_seconds_to_spare: int | None = None
    certificate_seconds_to_spare: int | None = None
    oldest_value_from: str | None = None
    is_whole: bool = True
    dry_run: bool = False
    error: str | None = None
    cause: str | None = None

    @property
    def trouble(self) -> str:
        """Return what is wrong there in words, empty if nothing is."""
        if self.error:
            return f"{self.error}: {self.cause or 'no cause'}"[:_LONGEST_CAUSE]
        stays = f", {self.not_refreshed} of {self.objects} objects not refreshed" if self.not_refreshed else ""
        return f"{self.failed} failed, {self.applied} applied{stays}" if self.failed or stays else ""


class FleetReport(NamedTuple):
    """What a run over a fleet came to. `missing` are clusters of the file that it left out, though it was over all."""

    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    is_whole: bool
    dry_run: bool

    @property
    def not_refreshed(self) -> list[str]:
        """Return the clusters of which something stays as it is, those that stopped or were left out among them."""
        return [*self.missing, *(row.cluster for row in self.rows if row.error or row.not_refreshed)]

    def total(self, name: str) -> int:
        """Return the sum of a count over all clusters."""
        return sum(getattr(row, name) for row in self.rows)

    def least(self, name: str) -> int | None:
        """Return the least of what there is to spare, None if nothing ends anywhere."""
        return min((found for row in self.rows if (found := getattr(row, name)) is not None), default=None)

    @property
    def cause(self) -> str:
        """Return in words what went wrong where, empty if nothing did."""
        parts = [f"{name} (left out)" for name in self.missing]
        parts += [f"{row.cluster} ({row.trouble})" for row in self.rows if row.trouble]
        count = len(self.rows) + len(self.missing)
        return f"{len(parts)} of {count} clusters failed: {'; '.join(parts)}" if parts else ""

    @property
    def table(self) -> list[str]:
        """Return the lines of a table, those with trouble first."""
        lines = [(name, "-", "-", "-", "left out") for name in self.missing]
        for row in sorted(self.rows, key=lambda row: (not row.trouble, row.cluster)):
            counts = ("-", "-", "-") if row.error else (str(row.objects), str(row.applied), str(row.failed))
            lines.append((row.cluster, *counts, row.error or row.oldest_value_from or "-"))
        return table(_COLUMNS, lines)

    @property
    def answer(self) -> dict[str, Any]:
        """Return the fields of the summary, which is also the output of the state machine."""
        return {
            "clusters": len(self.rows) + len(self.missing),
            "refreshed": len(self.rows) + len(self.missing) - len(self.not_refreshed),
            "applied": self.total("applied"),
            "unchanged": self.total("unchanged"),
            "skipped": self.total("skipped"),
            "failed": self.total("failed"),
            "not_refreshed": self.not_refreshed,
            "is_whole": self.is_whole,
            "dry_run": self.dry_run,
            "cause": self.cause,
            "table": self.table,
        }


def fleet_report(event: Mapping[str, Any], config: Config) -> FleetReport:
    """Return what the clusters' answers in the event come to, beside those of the file that get an object.

    Raises `InputError` if the event is not as the state machine sends it after every cluster had its run.
    """
    problems: list[Problem] = []
    outer = Fields.of(event, ("event",), problems)
    outer.closed(("summary_of",))
    fields = Fields.of(event["summary_of"], ("event", "summary_of"), problems)
    fields.closed(("event", "clusters"))
    asked = Fields.of(fields.value.get("event"), ("event", "summary_of", "event"), problems)
    answers = fields.value.get("clusters")
    if not isinstance(answers, list):
        fields.wrong("clusters", "is wrong; expected a list of answers")
        answers = []
    path = ("event", "summary_of", "clusters")
    rows = tuple(_row(Fields.of(one, (*path, index), problems)) for index, one in enumerate(answers))
    if problems:
        raise InputError([str(problem) for problem in problems])
    done = [row for row in rows if not row.error]
    # By what ran to its end: of one that did not, nobody knows what it was asked for.
    is_whole = bool(rows) and "cluster" not in asked and all(row.is_whole for row in done)
    named = {row.cluster for row in rows}
    expected = (one.name for one in config.targets if any(each.is_for(one.name) for each in config.objects))
    missing = tuple(name for name in expected if name not in named) if is_whole and done else ()
    return FleetReport(rows, missing, is_whole, dry_run=any(row.dry_run for row in done))


def _row(fields: Fields) -> Row:
    fields.closed(_FIELDS)
    fields.text("cluster", CLUSTER)
    for name, value in fields.value.items():
        kinds: tuple[type, ...] = (str, type(None))
        if name in _COUNTS:
            kinds = (int,)
        elif name in SPARES:
            kinds = (int, type(None))
        elif name in ("is_whole", "dry_run"):
            kinds = (bool,)
        if not isinstance(value, kinds):
            fields.wrong(name, "is of another kind than the answer of a refresh has it")
            return Row("")
    return Row(**{"cluster": "", **{name: value for name, value in fields.value.items() if name in _FIELDS}})
