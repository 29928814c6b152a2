"""No variable that an operator may set changes what alarms and queries rely on: metrics, and one JSON object a line.

Each case is a new interpreter, since Powertools reads its variables when it is imported as well.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FUNCTIONS = Path(__file__).parents[2] / "functions"
PROGRAM = """
from upsert.telemetry import Telemetry, Unit

class Context:
    aws_request_id = "request-1"

for run in ("refresh", "adopt"):
    with Telemetry(Context(), run) as telemetry:
        telemetry.configure(level="INFO", cluster="test")
        telemetry.info("object.applied", namespace="team-a")
        telemetry.warning("token.expires_early")
        telemetry.error("object.failed", namespace="team-b")
        telemetry.measure("ObjectsApplied", 3)
        telemetry.measure("TokenSecondsToSpare", 5, Unit.SECONDS)
"""
# Each with what is on, off, and no such thing at all.
VARIABLES = {
    "POWERTOOLS_SERVICE_NAME": ("billing", "", " "),
    "POWERTOOLS_DEV": ("true", "1", "", "garbage"),
    "POWERTOOLS_DEBUG": ("true", "1", "", "garbage"),
    "POWERTOOLS_METRICS_DISABLED": ("true", "", "garbage"),
    "POWERTOOLS_METRICS_NAMESPACE": ("Billing", ""),
    "POWERTOOLS_METRICS_FUNCTION_NAME": ("billing",),
    "POWERTOOLS_LOG_LEVEL": ("CRITICAL", "DEBUG", "", "garbage"),
    "POWERTOOLS_LOGGER_SAMPLE_RATE": ("1", "0", "", "garbage"),
    "POWERTOOLS_LOGGER_LOG_EVENT": ("true", "garbage"),
    "POWERTOOLS_LOG_DEDUPLICATION_DISABLED": ("true", "", "garbage"),
    "POWERTOOLS_TRACE_DISABLED": ("true", "garbage"),
    "POWERTOOLS_TRACER_CAPTURE_RESPONSE": ("true", "garbage"),
    "AWS_LAMBDA_LOG_LEVEL": ("FATAL", "TRACE", "garbage", ""),
    "AWS_LAMBDA_LOG_FORMAT": ("JSON", "Text", "garbage"),
    "AWS_LAMBDA_INITIALIZATION_TYPE": ("provisioned-concurrency",),
    "DD_FLUSH_TO_LOG": ("true",),
    "LOG_LEVEL": ("CRITICAL", "garbage"),
    "PYTHONWARNINGS": ("error", "default", "garbage"),
    "PYTHONDEVMODE": ("1",),
    "PYTHONOPTIMIZE": ("2",),
    "PYTHONUNBUFFERED": ("1",),
    "PYTHONIOENCODING": ("utf-16", "cp037", "ascii"),
    "PYTHONUTF8": ("0", "1"),
    "LC_ALL": ("C", "nowhere"),
    "TZ": ("Asia/Kathmandu", "nowhere"),
}


def lines(**environment: str) -> list[dict[str, Any]]:
    """Return what the program writes, without the times in it. There must be nothing else on either output."""
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(FUNCTIONS)} | environment
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    # Python itself says in a line of its own what it does not know.
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if "Invalid -W option" not in line]
    assert said == []
    found = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    for line in found:
        if metrics := line.get("_aws"):
            assert metrics.pop("Timestamp") > 0
        else:
            assert line.pop("timestamp").endswith("+00:00")
    return found


@pytest.fixture(scope="module")
def plain() -> list[dict[str, Any]]:
    """What is written where nobody has set anything."""
    found = lines()
    metrics = [line["_aws"]["CloudWatchMetrics"][0] for line in found if "_aws" in line]
    assert [one["Namespace"] for one in metrics] == ["EksUpsert"] * 2
    assert [one["Dimensions"] for one in metrics] == [[["stack", "cluster"]]] * 2
    assert [line["level"] for line in found if "_aws" not in line] == ["INFO", "WARNING", "ERROR"] * 2
    return found


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in VARIABLES.items() for value in values])
def test_no_variable_changes_what_is_written(plain: list[dict[str, Any]], name: str, value: str) -> None:
    assert lines(**{name: value}) == plain


@pytest.mark.parametrize("nth", [0, -1])
def test_nor_do_all_of_them_together(plain: list[dict[str, Any]], nth: int) -> None:
    assert lines(**{name: values[nth] for name, values in VARIABLES.items()}) == plain
