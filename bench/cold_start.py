"""The cold start: from the invocation of a function that is not running to its first log line."""

import compileall
import py_compile
import shutil
import statistics
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.rie import Artifact, Runtime

_BOTO3_ALONE = Path(__file__).with_name("boto3_alone")
# boto3 and what it imports.
_BOTO3 = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six.py", "urllib3")

# Refused by the settings, so the handler's first log line is also its last.
_EVENT = {"unknown": True}


@dataclass(frozen=True)
class ColdStarts:
    """Seconds, medians of rounds in which the three took turns."""

    artifact: float
    without_bytecode: float
    boto3_alone: float
    ratio: float


@dataclass(frozen=True)
class ColdRuns:
    """Seconds of cold invocations that do their work, medians of rounds by turns, and the median of the ratios."""

    refresh: float
    boto3_calls: float
    ratio: float


def measure(artifact: Artifact, folder: Path, rounds: int) -> ColdStarts:
    """Return the cold starts of the artifact, of the same without bytecode, and of a handler that imports boto3."""
    bare = Artifact(_copy_without_bytecode(artifact.function, folder), _copy_without_bytecode(artifact.layer, folder))
    boto3 = Artifact(_BOTO3_ALONE, boto3_layer(folder))
    seconds: dict[str, list[float]] = {"artifact": [], "bare": [], "boto3": []}
    for _ in range(rounds):
        seconds["artifact"].append(_first_line(artifact))
        seconds["boto3"].append(_first_line(boto3, handler="boto3_alone.handler", event={}))
        seconds["bare"].append(_first_line(bare))
    ratios = [ours / theirs for ours, theirs in zip(seconds["artifact"], seconds["boto3"], strict=True)]
    return ColdStarts(
        statistics.median(seconds["artifact"]),
        statistics.median(seconds["bare"]),
        statistics.median(seconds["boto3"]),
        statistics.median(ratios),
    )


def whole_runs(artifact: Artifact, folder: Path, environment: Mapping[str, str], rounds: int) -> ColdRuns:
    """Return the cold invocations that refresh for real, and those that only ask AWS what a refresh has to ask."""
    boto3 = Artifact(_BOTO3_ALONE, boto3_layer(folder))
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_whole_run(artifact, environment))
        theirs.append(_whole_run(boto3, environment, handler="boto3_calls.handler"))
    ratios = [mine / its for mine, its in zip(ours, theirs, strict=True)]
    return ColdRuns(statistics.median(ours), statistics.median(theirs), statistics.median(ratios))


def boto3_layer(folder: Path) -> Path:
    """Return a layer of boto3 as it is installed here, with bytecode as the function's own layer has it."""
    layer = folder / "boto3"
    if layer.exists():
        return layer
    for name in _BOTO3:
        source, target = Path(sysconfig.get_path("purelib")) / name, layer / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(layer, quiet=1, invalidation_mode=mode):
        raise RuntimeError("boto3 was not compiled")
    return layer


def _whole_run(
    artifact: Artifact, environment: Mapping[str, str], *, handler: str = "upsert.handlers.refresh.handler"
) -> float:
    with Runtime(artifact, handler=handler, environment=environment) as runtime:
        answer = runtime.invoke({})
    if answer.payload and "errorType" in answer.payload:
        raise RuntimeError(f"the run failed: {answer.payload}")
    return answer.seconds


def _first_line(
    artifact: Artifact, *, handler: str = "upsert.handlers.refresh.handler", event: object = _EVENT
) -> float:
    with Runtime(artifact, handler=handler) as runtime:
        return runtime.invoke(event).seconds


def _copy_without_bytecode(source: Path, folder: Path) -> Path:
    return shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
