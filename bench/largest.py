"""Events and files of the largest size that is allowed, against an eighth of it: what grows with the square shows."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from compiler.checks import MOST_OBJECTS
from compiler.compiled import compile_objects
from compiler.loading import MOST_BYTES
from tests.support.cloudwatch_logs import batch
from tests.support.objects import config, entry, pull_object, written
from upsert.core import env_files, planning
from upsert.request import MOST_NAMES, Request, refresh_request

PART = 8
# Short ones get more rounds.
_ROUNDS = 2
_LEAST_SECONDS = 0.3
_AUDITED = Path(__file__).parents[1] / "tests" / "data" / "audit-events.jsonl"
# Of events like those that are recorded, a batch that is as long as it may be unpacked holds so many.
_MOST_EVENTS = 32_000

type Work = Callable[[], object]


def _names_by_hand(share: int) -> Work:
    """An event that names namespaces, half of them globs, in a cluster of as many."""
    names = [f"team-{number:05}" for number in range(MOST_NAMES // share)]
    event = {"namespaces": [name if number % 2 else f"{name[:-1]}?" for number, name in enumerate(names)]}
    one, existing = pull_object(), {"": names}

    def plan() -> None:
        request = refresh_request(event, config(one))
        assert isinstance(request, Request)
        planning.plan((one,), existing, requested=request.namespaces)

    return plan


def _audit_batch(share: int) -> Work:
    """A batch of the audit log in which as many namespaces are created."""
    lines = [json.loads(line) for line in _AUDITED.read_text().splitlines()]
    created = next(line for line in lines if line["verb"] == "create" and line["objectRef"]["resource"] == "namespaces")
    del created["objectRef"]["name"]

    def of(number: int) -> str:
        return json.dumps({**created, "objectRef": {**created["objectRef"], "name": f"team-{number:05}"}})

    event = batch([of(number) for number in range(_MOST_EVENTS // share)])
    return lambda: refresh_request(event, config(pull_object()))


def _objects(share: int) -> Work:
    """A file of objects, each of another name."""
    text = written(
        *(entry(name=f"login-{number}", include=[f"team-{number}-*"]) for number in range(MOST_OBJECTS // share))
    )
    return lambda: compile_objects(text, "objects.yaml")


def _objects_of_one_name(share: int) -> Work:
    """A file of objects of one name, each for other namespaces."""
    return _compiled(share, "login")


def _compiled(share: int, name: str) -> Work:
    numbers = range(MOST_OBJECTS // share)
    text = written(*(entry(name=name.format(number), include=[f"team-{number}-*"]) for number in numbers))
    return lambda: compile_objects(text, "objects.yaml")


def _env_file(share: int) -> Work:
    """A file of `KEY=value` lines."""
    line = "KEY_{:06}=" + "v" * 40 + "\n"
    text = "".join(line.format(number) for number in range(MOST_BYTES // share // len(line.format(0)))).encode()
    return lambda: list(env_files.parse(text))


WORKS: Mapping[str, Callable[[int], Work]] = {
    "event_of_names": _names_by_hand,
    "event_of_audit_log": _audit_batch,
    "file_of_objects": _objects,
    "file_of_one_name": _objects_of_one_name,
    "env_file": _env_file,
}


@dataclass(frozen=True)
class Largest:
    """Seconds of processor time at the largest size, and how many times those at an eighth of it."""

    seconds: float
    growth: float


def measure(name: str) -> Largest:
    """Return what the largest one costs, the best of a few each."""
    part, whole = (_seconds(WORKS[name](share)) for share in (PART, 1))
    return Largest(whole, whole / part)


def _seconds(work: Work) -> float:
    times: list[float] = []
    while len(times) < _ROUNDS or sum(times) < _LEAST_SECONDS:
        started = time.thread_time()
        work()
        times.append(time.thread_time() - started)
    return min(times)
