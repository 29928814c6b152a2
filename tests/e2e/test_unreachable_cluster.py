"""A fleet with one cluster that is down. It does not come back: this file is the last one of those on the fleet."""

import time

import pytest

from tests.e2e.conftest import FLEET_NAMESPACES as NAMESPACES
from tests.e2e.test_fleet import password_in
from tests.support.fleet import FAR, HOME, MEMBER, SITES, Fleet


def test_with_one_cluster_down_the_others_are_refreshed_and_the_summary_names_it(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.stop(FAR)
    tokens = len(fleet.ecr.passwords)

    started = time.monotonic()
    execution = fleet.execute()
    seconds = time.monotonic() - started

    with capsys.disabled():
        print(f"\nfleet: {len(SITES)} clusters, 1 of them down: {execution.status} after {seconds:.1f} s")
    assert (execution.status, execution.error) == ("FAILED", "ClustersFailed")
    assert execution.cause.startswith(f"1 of 3 clusters failed: {FAR.name} (")
    assert "no connection to https://127.0.0.1" in execution.cause
    assert execution.cause.splitlines()[0].endswith(". Applied in all: 4")
    new = set(fleet.ecr.passwords[tokens:])
    assert {password_in(fleet, site, name) for site in (HOME, MEMBER) for name in NAMESPACES} <= new
