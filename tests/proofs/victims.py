"""What child processes run, some until they are killed. The module is imported where the children are forked from."""

import json
import ssl
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

import urllib3

from tests.support import refresher
from upsert.kube.writer import KubeWriter


@dataclass(frozen=True)
class Orders:
    """Where to write what."""

    endpoint: str
    ca_pem: str
    bearer: str
    namespaces: tuple[str, ...]
    password: str

    def with_password(self, password: str) -> Self:
        """Return the same orders for another password."""
        return replace(self, password=password)


def refresh(orders: Orders, parent: Connection) -> None:
    """Refresh once, with the real parts, and tell the parent when that starts and how long it took."""
    target = KubeWriter(refresher.connect(orders.endpoint, orders.ca_pem, orders.bearer))
    given = refresher.login(password=orders.password)
    parent.send("started")
    started = time.monotonic()
    refresher.run(target, given, namespaces=orders.namespaces)
    parent.send(time.monotonic() - started)


def delete_then_create(orders: Orders, parent: Connection) -> None:
    """Do what the usual cron job does: delete each Secret, then create it anew."""
    trust = ssl.create_default_context(cadata=orders.ca_pem)
    # The CA of the control plane has no Authority Key Identifier.
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    http = urllib3.PoolManager(ssl_context=trust, headers={"Authorization": f"Bearer {orders.bearer}"})
    secret = refresher.pull_secret(orders.password)
    parent.send("started")
    started = time.monotonic()
    for namespace in orders.namespaces:
        path = f"{orders.endpoint}/api/v1/namespaces/{namespace}/secrets"
        http.request("DELETE", f"{path}/{refresher.SECRET}")
        time.sleep(0.01)  # two commands of a shell are further apart
        http.request("POST", path, json=secret)
    parent.send(time.monotonic() - started)


def measure(orders: Orders, parent: Connection, include: str, workers: int) -> None:
    """Refresh all namespaces that match, and tell the parent what came of it and what it took."""
    target = KubeWriter(refresher.connect(orders.endpoint, orders.ca_pem, orders.bearer, workers, lambda: 800.0))
    given = refresher.login(password=orders.password)
    started = time.monotonic()
    report = refresher.run(target, given, include=(include,)).report
    figures = {
        "applied": report.applied,
        "failed": len(report.failures),
        "requests": report.api_requests,
        "seconds": round(time.monotonic() - started, 1),
        "peak_mb": peak_megabytes(),
    }
    parent.send(json.dumps(figures))


def peak_megabytes() -> float:
    """Return the most memory that this process ever held; getrusage would count what it was forked from, too."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return round(int(line.split()[1]) / 1024, 1)
