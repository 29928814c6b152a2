"""A namespace that asks for patience gets it outside of the workers: none of them waits for it."""

import threading
import time

import pytest

from tests.support.fake_cluster import FakeCluster
from tests.support.refresher import run
from upsert import rounds
from upsert.core.answers import Answer, Written

NAMES = [f"team-{number}" for number in range(8)]
PATIENT = NAMES[:4]


def patient(cluster: FakeCluster, namespace: str) -> None:
    """Let the server ask for patience once in this namespace."""

    def once() -> Answer[Written]:
        del cluster.instead[namespace]
        return Answer(429, retry_after=0.05)

    cluster.instead[namespace] = once


def test_no_worker_waits_for_a_namespace_that_asks_for_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    monkeypatch.setattr(time, "sleep", lambda _: waited.append(threading.current_thread().name))
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.0)
    cluster = FakeCluster()
    for name in NAMES:
        cluster.add(name)
    for name in PATIENT:
        patient(cluster, name)

    report = run(cluster).report

    assert report.applied == len(NAMES)
    applies = [call for call in cluster.calls if call.startswith("apply")]
    assert sorted(applies[: len(NAMES)]) == [f"apply {name}" for name in NAMES]
    assert sorted(applies[len(NAMES) :]) == [f"apply {name}" for name in PATIENT]
    assert waited == []
