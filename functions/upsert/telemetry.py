"""The logger, its guard, and metrics. What is in a record is said in `records` and `adopt_records`."""

import json
import logging
import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import Any, Protocol, Self

from upsert.core.identity import FIELD_MANAGER
from upsert.core.redaction import MASK, Redactor
from upsert.core.sensitive import Sensitive
from upsert.errors import ObjectsFailed, SourceFailed, UpsertError


def _obey_no_variables() -> None:
    """Take the variables away by which Powertools would write other lines and metrics than alarms and queries expect.

    It reads one of them when it is imported, and the others for each of its objects.
    https://docs.powertools.aws.dev/lambda/python/latest/environment_variables/
    """
    for name in [name for name in os.environ if name.startswith("POWERTOOLS_") or name == "AWS_LAMBDA_LOG_LEVEL"]:
        del os.environ[name]


_obey_no_variables()

from aws_lambda_powertools import Logger  # noqa: E402
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter  # noqa: E402
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit  # noqa: E402

SERVICE = FIELD_MANAGER
METRICS_NAMESPACE = "EksUpsert"

# At DEBUG these print headers and bodies. They stay silent, whatever level someone sets on the root logger.
FOREIGN_LOGGERS = ("boto3", "botocore", "s3transfer", "urllib3")


# What these hold is known from elsewhere: the file of objects, the API server's own names and identifiers. A credential
# that is called like its cluster must not hide which cluster a record is about.
_NAMES = frozenset(
    {
        "level", "message", "timestamp", "service", "request_id", "cluster", "object", "namespace", "uid",
        "resource_version",
    }
)  # fmt: skip


class Unit(StrEnum):
    """What a metric counts."""

    COUNT = MetricUnit.Count.value
    SECONDS = MetricUnit.Seconds.value
    MILLISECONDS = MetricUnit.Milliseconds.value


class Detail(StrEnum):
    """How finely a deployment measures: each step adds to the one before."""

    FLEET = "fleet"
    CLUSTER = "cluster"
    OBJECT = "object"


class Context(Protocol):
    """What Lambda tells a handler about its invocation, as far as it is used."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


class Telemetry:
    """Log records and metrics of one invocation.

    As a context manager it writes the metrics at the end, and the record of an error that stopped the run: `run` is
    ``refresh`` or ``adopt``. Where `is_watched`, nobody waits for the answer, so such an error is measured, too. A run
    that `is_dry_run` measures nothing.
    """

    def __init__(self, context: Context, run: str = "refresh", *, is_watched: bool = False) -> None:
        _obey_no_variables()
        if reconfigure := getattr(sys.stdout, "reconfigure", None):
            # PYTHONIOENCODING may name an encoding in which nobody finds a metric.
            reconfigure(encoding="utf-8")
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
        self._is_watched = is_watched
        self.is_dry_run = False
        self._detail = Detail.OBJECT
        # From the environment, since a run may stop at its configuration. What is measured of a fleet as a whole names
        # no cluster.
        self._is_fleet = os.environ.get("FLEET") == "true"
        self._dimensions = {"stack": os.environ.get("STACK") or SERVICE}
        if not self._is_fleet and os.environ.get("CLUSTER_NAME"):
            self._dimensions["cluster"] = os.environ["CLUSTER_NAME"]
        self._metrics: dict[str, EphemeralMetrics] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, UpsertError) and not isinstance(error, ObjectsFailed):
            self._logger.error(self._stopped, error=type(error).__name__, remedy=str(error))
        # A source that failed has a metric of its own, which must not hide a run that did not get as far.
        if self._is_watched and error is not None and not isinstance(error, (ObjectsFailed, SourceFailed)):
            self.measure("RunsStopped", 1)
        for metrics in self._metrics.values():
            metrics.flush_metrics()

    def configure(self, level: str, cluster: str = "", *, dry_run: bool = False, detail: str = Detail.OBJECT) -> None:
        """Set the level, and how finely to measure; name the cluster in every record and metric from here on.

        Records of a dry run are marked as such, and it measures nothing.
        """
        self._logger.setLevel(level)
        self._detail = Detail(detail)
        self.is_dry_run = dry_run
        if cluster:
            self._logger.append_keys(cluster=cluster)
            self._dimensions["cluster"] = cluster
        if dry_run:
            # A dry run answers with a uid that no object has: whoever compares uids has to leave it out.
            self._logger.append_keys(dry_run=True)

    def conceal(self, secret: Sensitive[str]) -> None:
        """Mask the parts of `secret` in every record from here on."""
        self._redactor.learn(secret)

    def info(self, event: str, **fields: Any) -> None:
        """Write a record."""
        self._logger.info(event, **fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Write a record of something that will be a fault later."""
        self._logger.warning(event, **fields)

    def error(self, event: str, **fields: Any) -> None:
        """Write a record of a fault."""
        self._logger.error(event, **fields)

    def measure(self, name: str, value: float, unit: Unit = Unit.COUNT, *, title: str = "") -> None:
        """Add to a metric of the cluster, or of the fleet if none is named; with a title, to one of that object."""
        if self.is_dry_run or (title and self._detail is not Detail.OBJECT):
            return
        if self._is_fleet and "cluster" in self._dimensions and self._detail is Detail.FLEET:
            return
        if title not in self._metrics:
            self._metrics[title] = EphemeralMetrics(namespace=METRICS_NAMESPACE)
            for dimension, called in (self._dimensions | ({"object": title} if title else {})).items():
                self._metrics[title].add_dimension(dimension, called)
        self._metrics[title].add_metric(name, unit.value, value)

    def _serialise(self, record: Mapping[str, Any]) -> str:
        line = json.dumps(record, default=str)
        if not self._redactor.finds_in(line):
            return line
        plain = json.loads(line)
        named = {name: value for name, value in plain.items() if name in _NAMES}
        rest = {name: self._masked(value) for name, value in plain.items() if name not in _NAMES}
        if self._redactor.finds_in(json.dumps(rest)):
            # The secret is spread over several values.
            rest = dict.fromkeys(rest, MASK)
        return json.dumps({**named, **rest, "masked": sorted(name for name in rest if rest[name] != plain[name])})

    def _masked(self, value: Any) -> Any:
        """Return a value of a record with the parts of secrets in it masked, in names as in texts."""
        match value:
            case str():
                return self._redactor.masked(value)
            case list():
                return [self._masked(one) for one in value]
            case dict():
                return {self._redactor.masked(name): self._masked(one) for name, one in value.items()}
            case _:
                return value
