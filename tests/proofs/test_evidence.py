"""What a run asks of the API server, counted by the API server: lists of namespaces and one PATCH for each, no more."""

import math

import pytest

from tests.proofs.conftest import Crowd
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.invocation import USER, Aws, invoke

NAMESPACES = 520
PAGE = 500


@pytest.fixture
def everything(plane: ControlPlane, crowd: Crowd) -> int:
    """Fill the cluster; the number of all of its namespaces."""
    crowd(NAMESPACES)
    return len(plane.request("GET", "/api/v1/namespaces")["items"])


def test_a_run_in_the_steady_state_sends_one_list_per_page_and_one_patch_per_namespace(
    aws: Aws, audit: AuditLog, everything: int
) -> None:
    assert invoke(aws).error is None
    audit.counts(user=USER)
    audit.mark()
    seen = invoke(aws)
    counts = audit.counts(user=USER)
    print(f"\nproof: evidence: namespaces={everything} requests={ {' '.join(key): n for key, n in counts.items()} }")
    assert seen.error is None
    assert counts == {("list", "namespaces"): math.ceil(everything / PAGE), ("patch", "secrets"): everything}
    (summary,) = seen.named("refresh.completed")
    assert summary["api_requests"] == counts.total()
