"""The refresher's log records, metrics and answer: the one place that names their fields."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from upsert.core.document import timestamp
from upsert.core.objects import Object
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.reports import AccountCounts, RefreshReport
from upsert.errors import SourceFailed
from upsert.lifetimes import Lifetime, is_token, lifetimes, not_refreshed
from upsert.tables import table
from upsert.telemetry import Telemetry, Unit
from upsert.watched import measure_watched

_TRIED = ("object", "namespace", "change")
_FIRST = ("failed", "created", "updated", "unchanged", "skipped")


class Records:
    """Writes what a refresh comes to, as it comes."""

    def __init__(self, telemetry: Telemetry) -> None:
        self.telemetry = telemetry
        self._not_made: set[str] = set()
        self._tried: list[Outcome] = []

    def outcome(self, outcome: Outcome) -> None:
        """Write the record of one object in one namespace."""
        if self.telemetry.is_dry_run:
            self._tried.append(outcome)
        match outcome:
            case Applied(altered=()):
                self.telemetry.info("object.applied", **_applied(outcome))
            case Applied():
                self.telemetry.warning("object.applied", **_applied(outcome), altered=list(outcome.altered))
            case Skipped():
                self.telemetry.info(
                    "object.skipped", object=outcome.title, namespace=outcome.namespace, reason=outcome.reason
                )
            case Failed():
                self.telemetry.error("object.failed", **failure(outcome))

    def source_failed(self, one: Object, why: SourceFailed) -> None:
        """Write the record of an object that could not be made, and stays as it is in every namespace."""
        self.telemetry.error("source.failed", object=one.title, remedy=str(why))
        self._not_made.add(one.title)
        if is_token(one):
            self.telemetry.measure("TokenSecondsToSpare", 0, Unit.SECONDS)

    @contextmanager
    def of_sources(self) -> Iterator[None]:
        """Measure a refresh that stops since none of its objects could be made."""
        try:
            yield
        except SourceFailed:
            self.telemetry.measure("SourcesFailed", len(self._not_made))
            self.telemetry.measure("NotRefreshed", len(self._not_made))
            raise

    def unplaced(self, one: Object) -> None:
        """Write the record of an object that selects no namespace."""
        self.telemetry.warning(
            "object.unplaced",
            object=one.title,
            remedy="no namespace of the cluster is in its scope; check include, exclude and selector",
        )

    def completed(self, report: RefreshReport, schedule: timedelta, objects: Sequence[Object]) -> dict[str, Any]:
        """Write the summary of a run over these objects that went to its end, measure it, and return it.

        A run that had no work measures nothing. One over a part that failed nowhere says nothing about the rest: it
        counts no full refresh, and measures no 0 that would end an alarm which a full run raised.
        """
        now = datetime.now(UTC)
        found = lifetimes(report, objects, schedule=schedule, now=now)
        spares = {
            "token_seconds_to_spare": min((one.spare for one in found if one.is_token), default=None),
            "certificate_seconds_to_spare": min((one.spare for one in found if not one.is_token), default=None),
        }
        for one in found:
            self._lifetime(one)
        answer = summary(report) | spares
        self.telemetry.info("refresh.completed", **answer)
        if report.dry_run:
            return answer | {"table": self._rehearsed(report)}
        if not report.had_work:
            return answer
        measure = self.telemetry.measure
        measure("ObjectsApplied", report.applied)
        measure("ObjectsUnchanged", report.unchanged)
        measure("ObjectsSkipped", report.skipped)
        measure_watched(measure, answer, sources_failed=len(report.not_made))
        for title, counts in report.by_object.items():
            measure("ObjectsApplied", counts.applied, title=title)
            measure("ObjectsUnchanged", counts.unchanged, title=title)
            measure("ObjectsFailed", counts.failed, title=title)
            if counts.changed_at:
                age = round((now - counts.changed_at).total_seconds())
                measure("SourceAge", age, Unit.SECONDS, title=title)
        return answer

    def _rehearsed(self, report: RefreshReport) -> list[str]:
        """Return the table of a dry run: what would become of what where, failures first."""
        not_made = [(title, "-", f"failed: {why}") for title, why in report.not_made]
        tried = map(_tried, (*self._tried, *(report.accounts.failures if report.accounts else ())))
        return table(_TRIED, sorted((*not_made, *tried), key=_by_change))

    def _lifetime(self, one: Lifetime) -> None:
        """Warn of what ends too early."""
        if one.spare > 0:
            return
        fields = {
            "object": one.title,
            "expires_at": timestamp(one.expires_at),
            "seconds_to_expiry": one.seconds,
        }
        if one.is_token:
            remedy = "the registry token ends before the next scheduled run but one; shorten Schedule"
            self.telemetry.warning("token.expires_early", **fields, remedy=remedy)
        else:
            remedy = "the certificate ends soon; put a new one into its source"
            self.telemetry.warning("certificate.expires_early", **fields, remedy=remedy)


def summary(report: RefreshReport) -> dict[str, Any]:
    """Return the fields of the summary, which is also the function's answer."""
    return {
        "applied": report.applied,
        # Not "created": that is the name of a record's own time in logging.
        "newly_created": report.created,
        "unchanged": report.unchanged,
        "took_over": report.took_over,
        "altered": report.altered,
        "skipped": report.skipped,
        "failed": _failed(report),
        "objects": report.objects,
        "objects_not_made": [title for title, _ in report.not_made],
        "not_refreshed": not_refreshed(report),
        **_accounts(report.accounts),
        "expires_at": timestamp(report.expires_at) if report.expires_at else None,
        "oldest_value_from": _oldest(report),
        "api_requests": report.api_requests,
        "duration_ms": report.duration_ms,
        "is_whole": report.is_whole,
        "dry_run": report.dry_run,
    }


def failure(failed: Failed) -> dict[str, Any]:
    """Return the fields of one failure."""
    return {
        "object": failed.title,
        "namespace": failed.namespace,
        "reason": failed.reason,
        "status": failed.status,
        "remedy": failed.remedy,
    }


def _applied(outcome: Applied) -> dict[str, Any]:
    return {
        "object": outcome.title,
        "namespace": outcome.namespace,
        "uid": outcome.uid,
        "resource_version": outcome.resource_version,
        "change": outcome.change,
        "took_over_from": list(outcome.took_over_from),
        "status": outcome.status,
        "duration_ms": outcome.duration_ms,
        **({"keeps_keys_of": list(outcome.keeps_keys_of)} if outcome.keeps_keys_of else {}),
    }


def _failed(report: RefreshReport) -> int:
    return len(report.failures) + (len(report.accounts.failures) if report.accounts else 0)


def _accounts(counts: AccountCounts | None) -> dict[str, int]:
    if counts is None:
        return {}
    return {
        "service_accounts_patched": counts.patched,
        "service_accounts_unchanged": counts.unchanged,
        "service_accounts_missing": counts.missing,
        "service_accounts_failed": len(counts.failures),
    }


def _oldest(report: RefreshReport) -> str | None:
    changes = (counts.changed_at for counts in report.by_object.values() if counts.changed_at)
    oldest = min(changes, default=None)
    return timestamp(oldest) if oldest else None


def _tried(outcome: Outcome) -> Sequence[str]:
    """Return the line of a dry run's table: what would become of one object in one namespace."""
    change = outcome.change if isinstance(outcome, Applied) else f"{type(outcome).__name__.lower()}: {outcome.reason}"
    return outcome.title, outcome.namespace, change


def _by_change(line: Sequence[str]) -> tuple[int, Sequence[str]]:
    return _FIRST.index(line[2].partition(":")[0]), line
