"""A run that is killed at any moment leaves every Secret whole, old or new, and the next run completes."""

import multiprocessing
import random
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

import pytest

from tests.proofs import victims
from tests.proofs.conftest import Crowd
from tests.support import refresher
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import new_password
from tests.support.refresher import SECRET

SEED = 20261130
KILLS = 20
NAMESPACES = 30

type Victim = Callable[[victims.Orders, Any], None]


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Real child processes that start at once, since the server they are forked from has all imports done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.proofs.victims"])
    return context


def run_and_kill(processes: ForkServerContext, victim: Victim, orders: victims.Orders, seconds: float | None) -> float:
    """Start a run, kill it that many seconds after its first write was due (or let it end), return how long it took."""
    ours, theirs = processes.Pipe()
    child: ForkServerProcess = processes.Process(target=victim, args=(orders, theirs))
    child.start()
    assert ours.recv() == "started", "the child did not start"
    if seconds is None:
        took = float(ours.recv())
        child.join(30)
        assert child.exitcode == 0
    else:
        child.join(seconds)
        child.kill()
        child.join(30)
        took = seconds
    for end in (ours, theirs):
        end.close()
    child.close()
    return took


def states(plane: ControlPlane, namespaces: list[str], old: str, new: str) -> Counter[str]:
    """Count what the Secrets hold now: the old password, the new one, something else, or there is none."""
    found: Counter[str] = Counter()
    names = {old: "old", new: "new"}
    for space in namespaces:
        secret = plane.get_secret(space, SECRET)
        found["absent" if secret is None else names.get(refresher.password_in(secret), "torn")] += 1
    return found


def kill_often(
    plane: ControlPlane, processes: ForkServerContext, victim: Victim, namespaces: list[str], kills: int
) -> Iterator[Counter[str]]:
    """Yield what the Secrets hold after each kill; every Secret is there and holds one password before each."""
    moments = random.Random(SEED)
    old = new_password()
    refresher.run(refresher.writer(plane), refresher.login(password=old), namespaces=namespaces)
    orders = victims.Orders(plane.endpoint, plane.ca_pem, plane.token_of("admin"), tuple(namespaces), old)
    whole_run = min(run_and_kill(processes, victim, orders, None) for _ in range(3))
    for _ in range(kills):
        new = new_password()
        run_and_kill(processes, victim, orders.with_password(new), moments.uniform(0, whole_run))
        yield states(plane, namespaces, old, new)
        old = new_password()
        report = refresher.run(refresher.writer(plane), refresher.login(password=old), namespaces=namespaces).report
        assert report.applied == len(namespaces), "the next run did not complete"


def test_a_killed_run_leaves_every_secret_whole_and_the_next_run_completes(
    plane: ControlPlane, processes: ForkServerContext, crowd: Crowd
) -> None:
    namespaces = list(crowd(NAMESPACES))
    found = list(kill_often(plane, processes, victims.refresh, namespaces, KILLS))
    halfway = sum(0 < states["new"] < NAMESPACES for states in found)
    print(f"\nproof: kill: kills={KILLS} halfway={halfway} secrets={dict(sum(found, Counter()))}")
    assert all(set(states) <= {"old", "new"} and states.total() == NAMESPACES for states in found)
    assert halfway >= 2, "too few kills came in the middle of a run to prove anything"


def test_the_same_kills_find_secrets_missing_when_they_are_deleted_and_created_anew(
    plane: ControlPlane, processes: ForkServerContext, crowd: Crowd
) -> None:
    namespaces = list(crowd(NAMESPACES))
    found: list[Counter[str]] = []
    for states in kill_often(plane, processes, victims.delete_then_create, namespaces, KILLS):
        found.append(states)
        if states["absent"]:
            break
    print(f"\nproof: kill, delete and create: kills={len(found)} secrets={dict(sum(found, Counter()))}")
    assert found[-1]["absent"] > 0
