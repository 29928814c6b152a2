"""Ten thousand namespaces in one run: none lost, memory flat, the API server's limits met.

The runs happen in child processes, so that the peak of each is its own.
"""

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.proofs import victims
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane

NAMESPACES = 10_000
FEW = 1_000
MOST_MEGABYTES = 160

LIMITED = [
    {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "refresher"},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 1,
                "lendablePercent": 0,
                "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"},
            },
        },
    },
    {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "refresher"},
        "spec": {
            "priorityLevelConfiguration": {"name": "refresher"},
            "matchingPrecedence": 100,
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": "refresher"}}],
                    "resourceRules": [
                        {
                            "apiGroups": ["*"],
                            "resources": ["*"],
                            "verbs": ["*"],
                            "namespaces": ["*"],
                            "clusterScope": True,
                        }
                    ],
                }
            ],
        },
    },
]


@pytest.fixture(scope="module")
def crowded() -> Iterator[ControlPlane]:
    """A control plane with 10,000 namespaces."""
    with ControlPlane() as plane:
        names = [f"crowd-{number:05}" for number in range(NAMESPACES)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(plane.create_namespace, names))
        yield plane


def run(plane: ControlPlane, include: str = "*", workers: int = 16) -> dict[str, Any]:
    """Refresh in a child process and return its report."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    orders = victims.Orders(plane.endpoint, plane.ca_pem, plane.token_of("refresher"), (), "p" * 2500)
    child = context.Process(target=victims.measure, args=(orders, theirs, include, workers))
    child.start()
    report: dict[str, Any] = json.loads(ours.recv())
    child.join(30)
    assert child.exitcode == 0
    return report


def statuses(audit: AuditLog) -> dict[int, int]:
    """Count the refresher's PATCHes by status."""
    found: dict[int, int] = {}
    for event in audit.events(user="refresher"):
        if event.verb == "patch":
            found[event.status] = found.get(event.status, 0) + 1
    return found


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_ten_thousand_namespaces_in_one_run_lose_none_and_need_no_more_memory_than_one_thousand(
    crowded: ControlPlane,
) -> None:
    few = run(crowded, include="crowd-00*")
    many = run(crowded, include="crowd-*")
    print(f"\nproof: load: {few}\nproof: load: {many}")
    assert few["applied"] == FEW
    assert many["applied"] == NAMESPACES
    assert many["failed"] == 0
    assert many["peak_mb"] <= MOST_MEGABYTES
    # What grows is a plan, a future and an outcome for each namespace: less than 4 KB together.
    assert many["peak_mb"] - few["peak_mb"] <= 32


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_no_namespace_is_lost_when_priority_and_fairness_refuses_most_requests(crowded: ControlPlane) -> None:
    crowded.apply_yaml("\n---\n".join(json.dumps(each) for each in LIMITED))
    audit = AuditLog(crowded.audit_log)
    try:
        report = run(crowded, workers=32)
    finally:
        for kind in ("flowschema", "prioritylevelconfiguration"):
            crowded.kubectl("delete", kind, "refresher")
    counts = statuses(audit)
    print(f"\nproof: throttled: {report} patches by status={counts}")
    assert report["applied"] >= NAMESPACES
    assert report["failed"] == 0
    assert report["requests"] - report["applied"] > 20, "the server did not refuse enough to prove anything"
