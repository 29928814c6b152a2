"""The migration on the deployed stack: the shipped template with its IAM enforced, and the roles of `make rbac`."""

import re
from pathlib import Path

from tests.demo_adopt.story import play
from tests.demo_adopt.verdict import judge
from tests.support.world import World


def test_a_migration_ends_as_it_should_on_the_deployed_stack(tmp_path: Path) -> None:
    with World() as world:
        story = play(world, lambda _title, _lines: None, tmp_path)
    verdict = judge(story)
    assert verdict.problems == ()
    assert re.fullmatch(
        r"proof: applications=9 keys=40 causes_found=(\d+)/\1 adopted=9 identical=9/9 uid_stable=9/9 rotated=1 "
        r"given_back=1 absent=0 values_said=0",
        verdict.proof,
    )
