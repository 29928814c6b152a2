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
from bench.throttle import throttled
from tests.support.certificates import make_serving_certificate
from tests.support.raw_server import raw_server
from tests.support.webhooks import configuration, hook

TIMEOUT_SECONDS = 10
DEAD = 5  # one of so many namespaces
_LABEL = "behind-the-webhook"
_NAME = "bench-dead-webhook"
_DELAY_SECONDS = 2.0
_MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class SlowSource:
    """Seconds of a run whose source takes its time, and without; medians, and what it adds in times its delay."""

    costs: float
    seconds: float
    without: float


@dataclass(frozen=True)
class DeadWebhook:
    """When the last healthy namespace was done, with the webhook and without, in times the webhook's timeout.

    `behind_failed` of the namespaces behind it failed, which shows that it was there.
    """

    healthy_lost: int
    behind_failed: int
    last_healthy: float
    last_without: float
    seconds: float


@dataclass(frozen=True)
class Throttled:
    """PATCHes a second through so many seats, and those of a run with as many workers that nobody throttles.

    Medians of rounds by turns, and the median of the ratios; the refusals for each namespace, and who was left out.
    """

    seats: int
    rate: float
    rate_without: float
    ratio: float
    refusals: float
    not_applied: int


def slow_source(bed: Bed, rounds: int) -> SlowSource:
    """Return what a slow source costs a run."""
    slow, quick = [], []
    for _ in range(rounds):
        quick.append(bed.refresh().invocation.seconds)
        with bed.slow_source(_DELAY_SECONDS):
            slow.append(bed.refresh().invocation.seconds)
    costs = [(mine - its) / _DELAY_SECONDS for mine, its in zip(slow, quick, strict=True)]
    return SlowSource(statistics.median(costs), statistics.median(slow), statistics.median(quick))


def dead_webhook(bed: Bed) -> DeadWebhook:
    """Return what a webhook costs the others that takes connections of a fifth of the namespaces and never answers."""
    behind = bed.namespaces[::DEAD]
    healthy = set(bed.namespaces) - set(behind)
    labelled = {"metadata": {"labels": {_LABEL: "yes"}}}
    for name in behind:
        bed.control_plane.request("PATCH", f"/api/v1/namespaces/{name}", labelled, content_type=_MERGE)
    _, without = _last_done(bed, healthy)
    with _dead_webhook(bed):
        started = time.monotonic()
        done, last = _last_done(bed, healthy)
        seconds = time.monotonic() - started
    failed = {record["namespace"] for record in bed.records("object.failed")} & set(behind)
    return DeadWebhook(len(healthy) - done, len(failed), last / TIMEOUT_SECONDS, without / TIMEOUT_SECONDS, seconds)


def throttle(bed: Bed, workers: int, rounds: int) -> Throttled:
    """Return what an API server costs that lets few requests of the function in at once."""
    rates, alone = [], []
    seats = refused = lost = 0
    for _ in range(rounds):
        with throttled(bed.control_plane) as limit:
            seats, run = limit, bed.run(concurrency=workers)
        rates.append(run.served.patches_per_second)
        refused += run.served.refused
        lost += len(bed.namespaces) - run.invocation.answer["applied"]
        alone.append(bed.refresh(concurrency=seats).served.patches_per_second)
    ratios = [mine / its for mine, its in zip(rates, alone, strict=True)]
    return Throttled(
        seats,
        statistics.median(rates),
        statistics.median(alone),
        statistics.median(ratios),
        refused / rounds / len(bed.namespaces),
        lost,
    )


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
        dead = hook(f"{_NAME}.example.com", url, ca_pem, label=_LABEL, seconds=TIMEOUT_SECONDS, policy="Fail")
        bed.control_plane.apply_yaml(json.dumps(configuration(_NAME, dead)))
        # The API server learns of it through a watch.
        time.sleep(2)
        try:
            yield
        finally:
            over.set()
            bed.control_plane.kubectl("delete", "validatingwebhookconfiguration", _NAME)
