"""What trouble costs, beside the same run without it."""

import json
import statistics
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from bench.bed import Bed
from tests.support.certificates import make_serving_certificate
from tests.support.raw_server import raw_server
from tests.support.webhooks import configuration, hook

_LABEL = "behind-the-webhook"
_NAME = "bench-dead-webhook"
_TIMEOUT_SECONDS = 10
_DEAD = 5  # one of so many namespaces
_DELAY_SECONDS = 2.0
_ROUNDS = 3
_MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class SlowSource:
    """What a source that takes its time adds to a run, in times its delay."""

    costs: float


@dataclass(frozen=True)
class DeadWebhook:
    """When the last healthy namespace was done, with the webhook and without, in times the webhook's timeout."""

    healthy_lost: int
    last_healthy: float
    last_without: float
    seconds: float


def slow_source(bed: Bed) -> SlowSource:
    """Return what a slow source costs a run."""
    costs = []
    for _ in range(_ROUNDS):
        without = bed.invoke().seconds
        with bed.slow_source(_DELAY_SECONDS):
            costs.append((bed.invoke().seconds - without) / _DELAY_SECONDS)
    return SlowSource(statistics.median(costs))


def dead_webhook(bed: Bed) -> DeadWebhook:
    """Return what a webhook costs the others that takes connections of a fifth of the namespaces and never answers."""
    behind = bed.namespaces[::_DEAD]
    healthy = set(bed.namespaces) - set(behind)
    labelled = {"metadata": {"labels": {_LABEL: "yes"}}}
    for name in behind:
        bed.control_plane.request("PATCH", f"/api/v1/namespaces/{name}", labelled, content_type=_MERGE)
    _, without = _last_done(bed, healthy)
    with _dead_webhook(bed):
        started = time.monotonic()
        done, last = _last_done(bed, healthy)
        seconds = time.monotonic() - started
    return DeadWebhook(len(healthy) - done, last / _TIMEOUT_SECONDS, without / _TIMEOUT_SECONDS, seconds)


def _last_done(bed: Bed, names: Collection[str]) -> tuple[int, float]:
    """Return how many of the names were refreshed, and after how many seconds the last of them."""
    began = time.time()
    bed.invoke()
    times = [
        datetime.fromisoformat(record["timestamp"]).timestamp()
        for record in bed.records("object.applied")
        if record["namespace"] in names
    ]
    return len(times), max(times) - began


@contextmanager
def _dead_webhook(bed: Bed) -> Iterator[None]:
    over = threading.Event()
    ca_pem = make_serving_certificate().ca_pem

    def hold(_connection: object) -> None:
        over.wait(600)

    with raw_server(hold) as url:
        dead = hook(f"{_NAME}.example.com", url, ca_pem, label=_LABEL, seconds=_TIMEOUT_SECONDS, policy="Fail")
        bed.control_plane.apply_yaml(json.dumps(configuration(_NAME, dead)))
        # The API server learns of it through a watch.
        time.sleep(2)
        try:
            yield
        finally:
            bed.control_plane.kubectl("delete", "validatingwebhookconfiguration", _NAME)
            over.set()
