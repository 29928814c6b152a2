"""The refresher's log records, metrics and answer: the one place that names their fields."""

from datetime import UTC, datetime, timedelta
from typing import Any

from upsert.core.account_outcomes import AccountCounts, AccountMissing, AccountOutcome, AccountPatched
from upsert.core.document import timestamp
from upsert.core.objects import Object
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.reports import RefreshReport
from upsert.errors import SourceFailed
from upsert.telemetry import Telemetry, Unit


class Records:
    """Writes what a refresh comes to, as it comes."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def outcome(self, outcome: Outcome) -> None:
        """Write the record of one object in one namespace."""
        match outcome:
            case Applied():
                self._telemetry.info(
                    "object.applied",
                    object=outcome.title,
                    namespace=outcome.namespace,
                    uid=outcome.uid,
                    resource_version=outcome.resource_version,
                    change=outcome.change,
                    took_over_from=list(outcome.took_over_from),
                    status=outcome.status,
                    duration_ms=outcome.duration_ms,
                )
            case Skipped():
                self._telemetry.info(
                    "object.skipped", object=outcome.title, namespace=outcome.namespace, reason=outcome.reason
                )
            case Failed():
                self._telemetry.error("object.failed", **failure(outcome))

    def account(self, outcome: AccountOutcome) -> None:
        """Write the record of one ServiceAccount, unless it needed nothing."""
        match outcome:
            case AccountPatched():
                self._telemetry.info(
                    "service_account.patched",
                    namespace=outcome.namespace,
                    service_account=outcome.service_account,
                    uid=outcome.uid,
                    resource_version=outcome.resource_version,
                    status=outcome.status,
                )
            case AccountMissing():
                self._telemetry.info(
                    "service_account.missing", namespace=outcome.namespace, service_account=outcome.service_account
                )
            case Failed():
                self._telemetry.error("object.failed", **failure(outcome))

    def source_failed(self, one: Object, why: SourceFailed) -> None:
        """Write the record of an object that could not be made, and stays as it is in every namespace."""
        self._telemetry.error("source.failed", object=one.title, remedy=str(why))

    def unplaced(self, one: Object) -> None:
        """Write the record of an object that selects no namespace."""
        self._telemetry.warning(
            "object.unplaced",
            object=one.title,
            remedy="no namespace of the cluster is in its scope; check include, exclude and selector",
        )

    def completed(self, report: RefreshReport, schedule: timedelta) -> None:
        """Write the summary of a run that went to its end, and measure it, unless it was a dry run or had no work.

        A run over a part that failed nowhere says nothing about the rest: it counts no full refresh, and measures no 0
        of ObjectsFailed, which would end an alarm that a full run raised.
        """
        if report.expires_at:
            self._expiry(report.expires_at, schedule)
        self._telemetry.info("refresh.completed", **summary(report))
        if report.dry_run or not report.had_work:
            return
        failed = _failed(report)
        self._telemetry.measure("ObjectsApplied", report.applied)
        self._telemetry.measure("ObjectsSkipped", report.skipped)
        self._telemetry.measure("RefreshDuration", report.duration_ms, Unit.MILLISECONDS)
        if report.is_whole or failed:
            self._telemetry.measure("ObjectsFailed", failed)
        if report.is_whole:
            self._telemetry.measure("FullRefreshes", int(report.applied > 0 and not report.not_made))

    def _expiry(self, expires_at: datetime, schedule: timedelta) -> None:
        """Measure how long what was written lives, and warn if that is not until the next scheduled run."""
        seconds = round((expires_at - datetime.now(UTC)).total_seconds())
        spare = seconds - round(schedule.total_seconds())
        self._telemetry.measure("TokenSecondsToExpiry", seconds, Unit.SECONDS)
        self._telemetry.measure("TokenSecondsToSpare", spare, Unit.SECONDS)
        if spare < 0:
            self._telemetry.warning(
                "token.expires_early",
                token_expires_at=timestamp(expires_at),
                seconds_to_expiry=seconds,
                remedy="the registry token ends before the next scheduled refresh; shorten Schedule",
            )


def summary(report: RefreshReport) -> dict[str, Any]:
    """Return the fields of the summary, which is also the function's answer."""
    return {
        "applied": report.applied,
        # Not "created": that is the name of a record's own time in logging.
        "newly_created": report.created,
        "took_over": report.took_over,
        "skipped": report.skipped,
        "failed": _failed(report),
        "objects": report.objects,
        "objects_not_made": [title for title, _ in report.not_made],
        **_accounts(report.accounts),
        "token_expires_at": timestamp(report.expires_at) if report.expires_at else None,
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
