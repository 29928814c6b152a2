"""Two runs at once, the schedule's and one by hand, are harmless."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.proofs.conftest import Crowd
from tests.support import refresher
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import new_password
from tests.support.readers import Eyes
from tests.support.refresher import SECRET, Run

NAMESPACES = 60
ROUNDS = 4


def test_two_runs_at_once_leave_one_of_the_two_tokens_in_every_secret_and_no_error(
    plane: ControlPlane, crowd: Crowd
) -> None:
    namespaces = list(crowd(NAMESPACES))
    start = Barrier(2)

    def run(password: str) -> Run:
        target = refresher.writer(plane, concurrency=8)
        start.wait(30)
        return refresher.run(target, refresher.login(password=password), namespaces=namespaces)

    def both(passwords: tuple[str, str]) -> list[Run]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, passwords))

    # The first pair of runs meets no Secret at all, so both of them create.
    pairs = [(new_password(), new_password()) for _ in range(ROUNDS)]
    for result in both(pairs[0]):
        assert result.report.applied == NAMESPACES
    with Eyes(plane, SECRET, namespaces) as eyes:
        for pair in pairs[1:]:
            for result in both(pair):
                assert result.report.applied == NAMESPACES
            held = {refresher.password_in(plane.get_secret(space, SECRET)) for space in namespaces}
            assert held <= set(pair)
    print(f"\nproof: overlap: rounds={ROUNDS} failed=0 reads={eyes.reads} absent={eyes.absent}")
    assert set(eyes.answers) == {200}
    assert eyes.events["DELETED"] == 0
    assert {len(uids) for uids in eyes.uids.values()} == {1}
