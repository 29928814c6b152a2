"""A check of 10,000 namespaces: linear time, little memory, and an answer that is still of use."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.template import ROOT
from upsert import kinds
from upsert.adopt import AdoptParts, adopt
from upsert.adopt_records import AdoptRecords, adopt_answer
from upsert.adopt_request import Action, AdoptRequest
from upsert.check import Sources
from upsert.core import live
from upsert.core.answers import Answer, Written
from upsert.core.claims import Held
from upsert.core.identity import ADOPTER, Identity
from upsert.core.live import ExternalSecret, LiveObject
from upsert.core.objects import Material, Object, Part, Ref, Target
from upsert.core.resources import named_by
from upsert.core.sensitive import Sensitive
from upsert.errors import SourceFailed
from upsert.kinds import comparison
from upsert.kube.pace import Pace

OBJECTS = 5
KEYS = ("DB_PASSWORD", "LOG_TOKEN", "settings.json")
MEGABYTE = 1_000_000


@dataclass
class ManyNamespaces:
    """An API server with so many namespaces, in which one value in a hundred ends with a newline."""

    count: int
    requests: int = 0
    identity: Identity = ADOPTER
    may_see_external_secrets: bool = False

    def __post_init__(self) -> None:
        self.pace = Pace(16)

    def namespaces(self, _selector: str, _names: Sequence[str] = ()) -> Sequence[str]:
        return [f"team-{number:05}" for number in range(self.count)]

    def live(self, path: str) -> Answer[LiveObject]:
        namespace, name = named_by(path)
        number = int(namespace.removeprefix("team-"))
        body = json.dumps(
            {
                "kind": "Secret",
                "type": "Opaque",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "uid": f"5d7e9c1e-0000-4000-8000-{number:012}",
                    "resourceVersion": str(number),
                    "managedFields": [
                        {
                            "manager": "kubectl-create",
                            "operation": "Update",
                            "fieldsV1": {"f:data": {f"f:{key}": {} for key in KEYS}},
                        }
                    ],
                },
                "data": {key: base64.b64encode(value(key) + b"\n" * (number % 100 == 0)).decode() for key in KEYS},
            }
        )
        return Answer(200, value=live.parse_of(namespace, name, 200, json.loads(body)))

    def external_secrets(self, _namespace: str, _name: str) -> tuple[ExternalSecret, ...]:
        return ()

    def time_left(self) -> float:
        return 600.0

    def held(self, path: str) -> Answer[Held]:
        raise NotImplementedError(path)

    def claim(self, path: str, configuration: Sensitive[bytes]) -> Answer[Written]:
        raise NotImplementedError(path, configuration)

    def disclaim(self, path: str, patch: Sensitive[bytes]) -> Answer[Written]:
        raise NotImplementedError(path, patch)

    def remove_last_applied(self, path: str, written: Written) -> Answer[Written]:
        raise NotImplementedError(path, written)


class Counting:
    """In the place of the log: counts the records by their message."""

    def __init__(self) -> None:
        self.records: dict[str, int] = {}

    def info(self, message: str, **fields: Any) -> None:
        json.dumps(fields)
        self.records[message] = self.records.get(message, 0) + 1


def value(key: str) -> bytes:
    return f"{len(key)} bytes of some application: {'x' * 400}".encode()


def read(refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
    return {ref: Material({"value": Sensitive(value(ref.get("secret")))}) for ref in refs}


def measure(count: int) -> dict[str, Any]:
    """Check five objects in so many namespaces; return the answer without its lines, and what it took."""
    parts = tuple(Part(key, Ref("secret", (("secret", key),))) for key in KEYS)
    objects = tuple(Object(f"application-{number}", "generic", parts) for number in range(OBJECTS))
    cluster, log = ManyNamespaces(count), Counting()
    records = AdoptRecords(log)  # type: ignore[arg-type]
    sources = Sources(read, kinds.build, comparison.compare)
    connected = AdoptParts(
        sources,
        connect=lambda: (cluster, cluster),
        record=records.result,
        source_failed=records.source_failed,
        unplaced=records.unplaced,
    )
    started = time.process_time()
    report = adopt(AdoptRequest(Action.CHECK, Target("test"), objects), connected)
    answer = adopt_answer(report, as_markdown=True)
    lines = answer.pop("lines")
    return {
        **answer,
        "lines": len(lines),
        "bytes": len(json.dumps(lines)),
        "first": lines[0],
        "records": log.records,
        "seconds": time.process_time() - started,
    }


def measured(count: int) -> dict[str, Any]:
    """Return the same of a process of its own, with the most memory that it ever had."""
    script = (
        "import json, pathlib\n"
        "from upsert.handlers import adopt\n"
        "from tests.adopt.test_many_checks import measure\n"
        f"found = measure({count})\n"
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "found['peak'] = int(status.partition('VmHWM:')[2].split()[0]) * 1024\n"
        "print(json.dumps(found))\n"
    )
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'functions'}", "PATH": str(Path(sys.executable).parent)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return measure(1000)


def test_the_answer_of_a_thousand_namespaces_counts_by_verdict_and_by_cause_and_shows_trouble_first(
    found: dict[str, Any],
) -> None:
    assert found["verdicts"] == {"MISMATCH": 150, "MATCH": 14_850}
    assert found["causes"] == {"trailing newline": 150}
    assert (found["adoptable"], found["not_adoptable"]) == (4950, 50)
    assert found["records"] == {"adopt.verdict": 15_000, "adopt.checked": 5000}
    assert found["first"].startswith(
        "team-00000/application-0/DB_PASSWORD: MISMATCH (431 vs 430 bytes; trailing newline)"
    )
    assert "| secret/application-0 | DB\\_PASSWORD | MISMATCH" in found["report"]


def test_twenty_times_as_many_objects_are_checked_in_little_more_than_twenty_times_the_time(
    found: dict[str, Any],
) -> None:
    few = min(measure(50)["seconds"] for _ in range(3))
    # What compares each of the 5,000 with all before it takes more than 30 times as long.
    assert found["seconds"] <= 26 * few


@pytest.mark.soak
def test_a_check_of_fifty_thousand_objects_is_linear_and_small() -> None:
    small, large = measured(1000), measured(10_000)
    growth = large["seconds"] / small["seconds"]
    print(
        f"check: namespaces=10000 objects={OBJECTS} peak={large['peak'] / MEGABYTE:.0f} MB "
        f"(1000: {small['peak'] / MEGABYTE:.0f} MB) time_10000/time_1000={growth:.1f} "
        f"answer={large['bytes'] / MEGABYTE:.1f} MB left_out={large['left_out']}"
    )
    assert large["peak"] <= 200 * MEGABYTE
    assert growth <= 13
    assert large["bytes"] <= 5.5 * MEGABYTE
    assert large["causes"] == {"trailing newline": 1500}
    assert large["first"].startswith("team-00000/application-0/DB_PASSWORD: MISMATCH")
