"""Promise 1: the Secret is never absent. Watched by readers and by the API server's own watch."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.proofs.conftest import Crowd
from tests.support.controlplane import ControlPlane
from tests.support.invocation import Aws, invoke
from tests.support.readers import Eyes
from tests.support.refresher import SECRET, pull_secret

NAMESPACES = 50
ROTATIONS = 20
READS = 10_000


def rotate_under_watch(
    plane: ControlPlane, namespaces: list[str], rotate: Callable[[], None], *, rotations: int, reads: int
) -> Eyes:
    """Rotate that often, spread over that many reads, and return what the eyes saw."""
    with Eyes(plane, SECRET, namespaces) as eyes:
        for rotation in range(rotations):
            rotate()
            eyes.wait_for_reads(reads * (rotation + 1) // rotations)
        eyes.wait_for_events("MODIFIED", rotations * len(namespaces))
    return eyes


def test_no_reader_and_no_watch_ever_misses_a_secret_while_it_is_rotated(
    plane: ControlPlane, aws: Aws, crowd: Crowd
) -> None:
    namespaces = list(crowd(NAMESPACES))
    event = {"namespaces": namespaces}
    assert invoke(aws, event).error is None

    def rotate() -> None:
        assert invoke(aws, event).error is None

    eyes = rotate_under_watch(plane, namespaces, rotate, rotations=ROTATIONS, reads=READS)
    print(f"\nproof: never absent: reads={eyes.reads} absent={eyes.absent} watch={dict(eyes.events)}")
    assert eyes.reads >= READS
    assert set(eyes.answers) == {200}
    assert eyes.events == {"ADDED": NAMESPACES, "MODIFIED": NAMESPACES * ROTATIONS}
    assert {space: len(eyes.uids[space]) for space in namespaces} == dict.fromkeys(namespaces, 1)


def test_the_same_eyes_see_a_secret_that_is_deleted_and_created_anew(plane: ControlPlane, crowd: Crowd) -> None:
    namespaces = list(crowd(10))
    for space in namespaces:
        plane.create_secret(space, pull_secret(), "kubectl-create")

    def replace(space: str) -> None:
        plane.request("DELETE", f"/api/v1/namespaces/{space}/secrets/{SECRET}")
        plane.create_secret(space, pull_secret(), "kubectl-create")

    def rotate() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(replace, namespaces))

    with Eyes(plane, SECRET, namespaces) as eyes:
        while not eyes.absent:
            rotate()
            eyes.wait_for_reads(eyes.reads + 50)
        eyes.wait_for_events("DELETED", len(namespaces))
    print(f"\nproof: delete and create: reads={eyes.reads} absent={eyes.absent} watch={dict(eyes.events)}")
    assert eyes.absent > 0
    assert eyes.events["DELETED"] >= len(namespaces)
    assert all(len(eyes.uids[space]) > 1 for space in namespaces)
