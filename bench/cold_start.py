"""The cold start: from the invocation of a function that is not running to its first log line."""

import shutil
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.rie import Artifact, Runtime

_ROUNDS = 9
_BOTO3_ALONE = Path(__file__).with_name("boto3_alone")

# Refused by the settings, so the handler's first log line is also its last.
_EVENT = {"unknown": True}


@dataclass(frozen=True)
class ColdStarts:
    """Seconds, medians of rounds in which the three took turns."""

    artifact: float
    without_bytecode: float
    boto3_alone: float
    ratio: float


def measure(artifact: Artifact, folder: Path) -> ColdStarts:
    """Return the cold starts of the artifact, of the same without bytecode, and of a handler that imports boto3."""
    bare = Artifact(_copy_without_bytecode(artifact.function, folder), _copy_without_bytecode(artifact.layer, folder))
    seconds: dict[str, list[float]] = {"artifact": [], "bare": [], "boto3": []}
    for _ in range(_ROUNDS):
        seconds["artifact"].append(_first_line(artifact))
        seconds["boto3"].append(
            _first_line(Artifact(_BOTO3_ALONE, artifact.layer), handler="boto3_alone.handler", event={})
        )
        seconds["bare"].append(_first_line(bare))
    ratios = [ours / theirs for ours, theirs in zip(seconds["artifact"], seconds["boto3"], strict=True)]
    return ColdStarts(
        statistics.median(seconds["artifact"]),
        statistics.median(seconds["bare"]),
        statistics.median(seconds["boto3"]),
        statistics.median(ratios),
    )


def whole_run(artifact: Artifact, environment: Mapping[str, str]) -> float:
    """Return the seconds of a cold invocation that refreshes for real, from the request to its answer."""
    with Runtime(artifact, environment=environment) as runtime:
        answer = runtime.invoke({})
    if "errorType" in answer.payload:
        raise RuntimeError(f"the refresh failed: {answer.payload}")
    return answer.seconds


def _first_line(
    artifact: Artifact, *, handler: str = "upsert.handlers.refresh.handler", event: object = _EVENT
) -> float:
    with Runtime(artifact, handler=handler) as runtime:
        return runtime.invoke(event).seconds


def _copy_without_bytecode(source: Path, folder: Path) -> Path:
    return shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
