"""The one place that names log events, their fields, and metrics."""

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol, Self

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import MetricUnit

from upsert import adopt
from upsert.core.account_outcomes import AccountMissing, AccountOutcome, AccountPatched
from upsert.core.adoption import Adopted, Imported, Refused, Result, ending, lines_of
from upsert.core.manifest import timestamp
from upsert.core.outcomes import Applied, Failed, Outcome, Skipped
from upsert.core.redaction import Redactor
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Check, Verdict
from upsert.errors import NamespacesFailed, UpsertError
from upsert.refresh import Report
from upsert.service_accounts import Counts
from upsert.settings import Settings

SERVICE = "eks-upsert"
METRICS_NAMESPACE = "EksUpsert"

_MOST_BYTES_OF_LINES = 5 * 1024 * 1024
_LEFT_OUT = "the answer would be too long; the log has every line, as the records adopt.verdict and adopt.checked"

# At DEBUG these print headers and bodies. They stay silent, whatever level someone sets on the root logger.
FOREIGN_LOGGERS = ("boto3", "botocore", "kubernetes", "s3transfer", "tenacity", "urllib3")


class Context(Protocol):
    """What Lambda tells a handler about its invocation, as far as it is used."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


class Telemetry:
    """Log records and metrics of one invocation.

    As a context manager it writes the metrics at the end, and the record of an error that stopped the run: `run` is
    ``refresh`` or ``adopt``.
    """

    def __init__(self, context: Context, run: str = "refresh") -> None:
        self._stopped = f"{run}.stopped"
        for name in FOREIGN_LOGGERS:
            # Not by their level alone: urllib3 quotes a malformed header of an answer in a warning.
            foreign = logging.getLogger(name)
            foreign.setLevel(logging.WARNING)
            foreign.propagate = False
            foreign.handlers = [logging.NullHandler()]
        self._redactor = Redactor()
        formatter = LambdaPowertoolsFormatter(
            json_serializer=self._serialise,
            utc=True,
            use_rfc3339=True,
            location=None,
            service=SERVICE,
            request_id=context.aws_request_id,
        )
        self._logger = Logger(service=SERVICE, level="INFO", logger_formatter=formatter)
        # A warm environment keeps the logger of the invocation before, with its keys, its level and its guard.
        self._logger.registered_handler.setFormatter(formatter)
        self._logger.setLevel("INFO")
        self._metrics = Metrics(namespace=METRICS_NAMESPACE)
        # All instances share their state, and a run that stopped before it measured anything has flushed nothing.
        self._metrics.clear_metrics()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, UpsertError) and not isinstance(error, NamespacesFailed):
            self._logger.error(self._stopped, error=type(error).__name__, remedy=str(error))
        if self._metrics.metric_set:
            self._metrics.flush_metrics()

    def configure(self, settings: Settings, *, dry_run: bool = False) -> None:
        """Set the level, and name the cluster in every record and metric from here on; mark records of a dry run."""
        self._logger.setLevel(settings.log_level)
        self._logger.append_keys(cluster=settings.cluster_name, secret=settings.secret_name)
        if dry_run:
            # A dry run answers with a uid that no Secret has: whoever compares uids has to leave it out.
            self._logger.append_keys(dry_run=True)
        self._metrics.add_dimension("cluster", settings.cluster_name)

    def conceal(self, secret: Sensitive[str]) -> None:
        """Withhold every record that holds a part of `secret` from here on."""
        self._redactor.learn(secret)

    def token(self, expires_at: datetime, settings: Settings) -> None:
        """Measure how long the registry token lives, and warn if that is not until the next scheduled run."""
        seconds = round((expires_at - datetime.now(UTC)).total_seconds())
        spare = seconds - round(settings.schedule.total_seconds())
        self._metrics.add_metric("TokenSecondsToExpiry", MetricUnit.Seconds, seconds)
        self._metrics.add_metric("TokenSecondsToSpare", MetricUnit.Seconds, spare)
        if spare < 0:
            self._logger.warning(
                "token.expires_early",
                token_expires_at=timestamp(expires_at),
                seconds_to_expiry=seconds,
                remedy="the registry token ends before the next scheduled refresh; shorten Schedule",
            )

    def outcome(self, outcome: Outcome) -> None:
        """Write the record of one namespace."""
        match outcome:
            case Applied():
                self._logger.info(
                    "object.applied",
                    namespace=outcome.namespace,
                    uid=outcome.uid,
                    resource_version=outcome.resource_version,
                    change=outcome.change,
                    took_over_from=list(outcome.took_over_from),
                    status=outcome.status,
                    duration_ms=outcome.duration_ms,
                )
            case Skipped():
                self._logger.info("object.skipped", namespace=outcome.namespace, reason=outcome.reason)
            case Failed():
                self._logger.error("object.failed", **failure(outcome))

    def account(self, outcome: AccountOutcome) -> None:
        """Write the record of one ServiceAccount, unless it needed nothing."""
        match outcome:
            case AccountPatched():
                self._logger.info(
                    "service_account.patched",
                    namespace=outcome.namespace,
                    service_account=outcome.service_account,
                    uid=outcome.uid,
                    resource_version=outcome.resource_version,
                    status=outcome.status,
                )
            case AccountMissing():
                self._logger.info(
                    "service_account.missing", namespace=outcome.namespace, service_account=outcome.service_account
                )
            case Failed():
                self._logger.error("object.failed", **failure(outcome))

    def completed(self, report: Report) -> None:
        """Write the summary of a run that went to its end, and measure it, unless it was a dry run or had no work.

        A run over some namespaces that failed in none says nothing about the others: it counts no full refresh, and
        measures no 0 of NamespacesFailed, which would end an alarm that a full run raised.
        """
        self._logger.info("refresh.completed", **summary(report))
        if report.dry_run or report.token_expires_at is None:
            return
        self._metrics.add_metric("NamespacesApplied", MetricUnit.Count, report.applied)
        self._metrics.add_metric("NamespacesSkipped", MetricUnit.Count, report.skipped)
        self._metrics.add_metric("RefreshDuration", MetricUnit.Milliseconds, report.duration_ms)
        if report.every_namespace or report.failures:
            self._metrics.add_metric("NamespacesFailed", MetricUnit.Count, len(report.failures))
        if report.every_namespace:
            self._metrics.add_metric("FullRefreshes", MetricUnit.Count, int(report.applied > 0))

    def adoption(self, result: Result) -> None:
        """Write the records of one namespace of an adopter's run: one per verdict, and one for what became of it."""
        match result:
            case Check():
                self._verdicts(result.namespace, result.verdicts)
                self._logger.info("adopt.checked", **_checked(result))
            case Adopted():
                self._verdicts(result.namespace, result.verdicts)
                self._logger.info(
                    "adopt.adopted",
                    namespace=result.namespace,
                    uid=result.uid,
                    resource_version=result.resource_version,
                    written=result.written,
                    removed_last_applied=result.removed_last_applied,
                )
            case Refused():
                if result.check:
                    self.adoption(result.check)
                self._logger.error("adopt.refused", namespace=result.namespace, reason=result.reason)
            case Imported():
                self._logger.info(
                    "adopt.imported",
                    namespace=result.namespace,
                    imported=list(result.added),
                    imported_already=list(result.present),
                    left_out=list(result.left_out),
                )
            case Failed():
                self._logger.error("adopt.failed", **failure(result))

    def adoption_completed(self, report: adopt.Report) -> None:
        """Write the summary of an adopter's run that went to its end."""
        self._logger.info("adopt.completed", **adoption_summary(report))

    def _verdicts(self, namespace: str, verdicts: Sequence[Verdict]) -> None:
        for verdict in verdicts:
            self._logger.info(
                "adopt.verdict",
                namespace=namespace,
                key=verdict.key,
                verdict=verdict.kind.value,
                live_bytes=verdict.live_bytes,
                new_bytes=verdict.new_bytes,
                differences=list(verdict.differences),
                line=f"{namespace}/{verdict}",
            )

    def _serialise(self, record: Mapping[str, Any]) -> str:
        line = json.dumps(record, default=str)
        if self._redactor.finds_in(line):
            return json.dumps({"level": "ERROR", "message": "telemetry.withheld", "service": SERVICE})
        return line


def summary(report: Report) -> dict[str, Any]:
    """Return the fields of the summary."""
    return {
        "applied": report.applied,
        # Not "created": that is the name of a record's own time in logging.
        "newly_created": report.created,
        "took_over": report.took_over,
        "skipped": report.skipped,
        "failed": len(report.failures),
        **_accounts(report.accounts),
        "token_expires_at": timestamp(report.token_expires_at) if report.token_expires_at else None,
        "api_requests": report.api_requests,
        "duration_ms": report.duration_ms,
        "every_namespace": report.every_namespace,
        "dry_run": report.dry_run,
    }


def _accounts(counts: Counts | None) -> dict[str, int]:
    if counts is None:
        return {}
    return {
        "service_accounts_patched": counts.patched,
        "service_accounts_unchanged": counts.unchanged,
        "service_accounts_missing": counts.missing,
    }


def adoption_summary(report: adopt.Report) -> dict[str, Any]:
    """Return the fields of the summary of an adopter's run."""
    return {
        "action": report.action.value,
        "namespaces": len(report.results),
        **report.counts,
        "api_requests": report.api_requests,
        "saw_external_secrets": report.saw_external_secrets,
    }


def adoption_answer(report: adopt.Report) -> dict[str, Any]:
    """Return what the adopter answers: the summary, and every line that fits.

    Lambda answers 6 MB at most. The lines that do not fit are those of namespaces with no trouble, and are in the log.
    """
    troubled = [
        result for result in report.results if ending(result) in ("not_adoptable", "refused", "failed", "missing")
    ]
    kept: set[str] = set()
    size = 0
    for result in (*troubled, *report.results):
        if result.namespace in kept:
            continue
        size += sum(len(json.dumps(line)) + len(", ") for line in lines_of(result))
        if size > _MOST_BYTES_OF_LINES:
            break
        kept.add(result.namespace)
    answer = adoption_summary(report) | {
        "lines": [line for result in report.results if result.namespace in kept for line in lines_of(result)]
    }
    left_out = len(report.results) - len(kept)
    return answer | ({"namespaces_left_out": left_out, "remedy": _LEFT_OUT} if left_out else {})


def _checked(check: Check) -> dict[str, Any]:
    live = check.live
    found = (
        {
            "uid": live.uid,
            "resource_version": live.resource_version,
            "type": live.type,
            "immutable": live.immutable,
            "owners": list(live.owners),
            "finalizers": list(live.finalizers),
            "helm_release": live.helm_release,
            "argo_cd": live.argo_cd,
            "last_applied": live.last_applied,
            "managers": list(live.managers),
        }
        if live
        else {}
    )
    return {
        "namespace": check.namespace,
        "adoptable": check.adoptable,
        "reasons": list(check.reasons),
        "notes": list(check.notes),
        **found,
    }


def failure(failed: Failed) -> dict[str, Any]:
    """Return the fields of one failure."""
    return {
        "namespace": failed.namespace,
        "reason": failed.reason,
        "status": failed.status,
        "remedy": failed.remedy,
    }
