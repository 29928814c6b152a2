"""The README to the letter: what its steps end with, and that no step can be left out or be wrong."""

from dataclasses import replace

import pytest

from tests.pages.conftest import STEPS, laid_out
from tests.pages.desk import CommandFailed, Desk
from tests.pages.verdict import NAMESPACES, Ending, follow, judge
from tests.support.objects import SECRET
from tests.support.world import STACK, World

# What a slip of the hand makes of each step.
SLIPS = {
    "make rbac | kubectl apply": ("make rbac", "make rbca"),
    "sam build && sam deploy": ("ScheduleState", "ScheduleSate"),
    '{"dry_run": true}': ('"dry_run"', '"dryrun"'),
    "--event-file": ("emergency", "emergancy"),
    "sam deploy --parameter-overrides ScheduleState": ("ScheduleState", "ScheduleSate"),
}


def test_its_steps_end_with_the_schedule_on_the_secret_in_place_and_somebody_told(ending: Ending) -> None:
    assert judge(ending) == []
    assert len(ending.told) >= 8


GOOD = Ending(
    "ENABLED", dict.fromkeys(NAMESPACES, True), {"eks-upsert-no-refresh": True}, tried_first=True, waited=True
)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (replace(GOOD, schedule="DISABLED"), "the schedule is DISABLED"),
        (replace(GOOD, schedule=""), "the schedule is not there"),
        (replace(GOOD, logins={**GOOD.logins, "team-a": False}), "team-a has no login"),
        (replace(GOOD, told={"eks-upsert-no-refresh": False}), "eks-upsert-no-refresh reaches nobody"),
        (replace(GOOD, told={}), "there is no alarm"),
        (replace(GOOD, tried_first=False), "nothing was tried without writing"),
        (replace(GOOD, waited=False), "the schedule was on before anything was tried"),
    ],
)
def test_whatever_is_missing_in_the_end_is_told(bad: Ending, problem: str) -> None:
    assert judge(GOOD) == []
    assert judge(bad) == [problem]


def test_there_is_a_slip_for_every_step() -> None:
    assert [sum(part in step for part in SLIPS) for step in STEPS] == [1] * len(SLIPS)


@pytest.mark.soak
@pytest.mark.parametrize("step", range(len(STEPS)))
@pytest.mark.parametrize("how", ["left out", "wrong"])
def test_a_step_that_is_left_out_or_wrong_is_noticed(step: int, how: str) -> None:
    steps = list(STEPS)
    if how == "left out":
        del steps[step]
    else:
        (slip,) = (words for part, words in SLIPS.items() if part in steps[step])
        assert slip[0] in steps[step]
        steps[step] = steps[step].replace(*slip)
    with World() as world:
        desk = laid_out(world)
        try:
            problems = judge(follow(desk, steps))
        except CommandFailed as error:
            problems = str(error).splitlines()[-1:]
    print(f"{how}: {STEPS[step]}: {problems}")
    assert problems


def test_uninstalling_leaves_every_secret(deployed: Desk) -> None:
    """This is the last test that wants the stack."""
    plane = deployed.world.control_plane
    before = {name: plane.get_secret(name, SECRET) for name in NAMESPACES}
    deployed.follow("README.md", "Uninstall and roll back")
    assert {name: plane.get_secret(name, SECRET) for name in NAMESPACES} == before
    assert all(before.values())
    listed = deployed.shell("kubectl get clusterroles,clusterrolebindings --output=name")
    assert "/eks-upsert\n" not in listed
    stacks = deployed.world.aws.client("cloudformation").list_stacks()["StackSummaries"]
    assert {one["StackStatus"] for one in stacks if one["StackName"] == STACK} == {"DELETE_COMPLETE"}
