"""The one place that names log events, their fields, and metrics."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol, Self

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from pullsecret.core.manifest import timestamp
from pullsecret.core.outcomes import Applied, Failed, Outcome, Skipped
from pullsecret.core.redaction import Redactor
from pullsecret.core.sensitive import Sensitive
from pullsecret.errors import NamespacesFailed, PullSecretError
from pullsecret.refresh import Report
from pullsecret.settings import Settings

SERVICE = "pull-secret-refresher"
METRICS_NAMESPACE = "PullSecretRefresher"

# At DEBUG these print headers and bodies. They stay silent, whatever level someone sets on the root logger.
FOREIGN_LOGGERS = ("boto3", "botocore", "kubernetes", "s3transfer", "tenacity", "urllib3")


class Context(Protocol):
    """What Lambda tells a handler about its invocation, as far as it is used."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


class Telemetry:
    """Log records and metrics of one invocation.

    As a context manager it writes the metrics at the end, and the record of an error that stopped the run.
    """

    def __init__(self, context: Context) -> None:
        for name in FOREIGN_LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._redactor = Redactor()
        self._logger = Logger(
            service=SERVICE, level="INFO", utc=True, use_rfc3339=True, location=None, json_serializer=self._serialise
        )
        self._logger.append_keys(request_id=context.aws_request_id)
        self._metrics = Metrics(namespace=METRICS_NAMESPACE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, PullSecretError) and not isinstance(error, NamespacesFailed):
            self._logger.error("refresh.stopped", error=type(error).__name__, remedy=str(error))
        if self._metrics.metric_set:
            self._metrics.flush_metrics()

    def configure(self, settings: Settings) -> None:
        """Set the level, and name the cluster in every record and metric from here on."""
        self._logger.setLevel(settings.log_level)
        self._logger.append_keys(cluster=settings.cluster_name, secret=settings.secret_name)
        self._metrics.add_dimension("cluster", settings.cluster_name)

    def conceal(self, secret: Sensitive[str]) -> None:
        """Withhold every record that holds a part of `secret` from here on."""
        self._redactor.learn(secret)

    def token(self, expires_at: datetime, settings: Settings) -> None:
        """Measure how long the registry token lives, and warn if that is not until the next scheduled run."""
        seconds = round((expires_at - datetime.now(UTC)).total_seconds())
        self._metrics.add_metric("TokenSecondsToExpiry", MetricUnit.Seconds, seconds)
        if seconds < settings.schedule.total_seconds():
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
                    "namespace.applied",
                    namespace=outcome.namespace,
                    uid=outcome.uid,
                    resource_version=outcome.resource_version,
                    change=outcome.change,
                    took_over_from=list(outcome.took_over_from),
                    status=outcome.status,
                    duration_ms=outcome.duration_ms,
                )
            case Skipped():
                self._logger.info("namespace.skipped", namespace=outcome.namespace, reason=outcome.reason)
            case Failed():
                self._logger.error("namespace.failed", **failure(outcome))

    def completed(self, report: Report) -> None:
        """Write the summary of a run that went to its end, and measure it."""
        self._logger.info("refresh.completed", **summary(report))
        self._metrics.add_metric("NamespacesApplied", MetricUnit.Count, report.applied)
        self._metrics.add_metric("NamespacesSkipped", MetricUnit.Count, report.skipped)
        self._metrics.add_metric("NamespacesFailed", MetricUnit.Count, len(report.failures))
        self._metrics.add_metric("RefreshDuration", MetricUnit.Milliseconds, report.duration_ms)

    def _serialise(self, record: Mapping[str, Any]) -> str:
        line = json.dumps(record, default=str)
        if self._redactor.finds_in(line):
            return json.dumps({"level": "ERROR", "message": "telemetry.withheld", "service": SERVICE})
        return line


def summary(report: Report) -> dict[str, Any]:
    """Return the fields of the summary."""
    return {
        "applied": report.applied,
        "created": report.created,
        "took_over": report.took_over,
        "skipped": report.skipped,
        "failed": len(report.failures),
        "token_expires_at": timestamp(report.token_expires_at),
        "api_requests": report.api_requests,
        "duration_ms": report.duration_ms,
        "dry_run": report.dry_run,
    }


def failure(failed: Failed) -> dict[str, Any]:
    """Return the fields of one failure."""
    return {
        "namespace": failed.namespace,
        "reason": failed.reason,
        "status": failed.status,
        "remedy": failed.remedy,
    }
