"""The migration on the deployed stack: the shipped template with its IAM enforced, and the shipped ClusterRoles."""

from tests.demo_adopt.story import judge, play
from tests.support.world import World


def test_a_migration_ends_as_it_should_on_the_deployed_stack() -> None:
    refusals: list[str] = []
    with World() as world:
        story = play(world, lambda title, lines: refusals.extend(lines if title.startswith("5.") else ()))
    problems, proof = judge(story)
    assert problems == []
    assert proof == (
        "proof: namespaces=9 adopted=6 identical=6/6 uid_stable=6/6 refused=2 untouched=2/2 rotated=7/7 values_said=0"
    )
    # ExternalSecrets are asked for by every worker until one hears that it may not: how often depends on how they meet.
    assert {request: times for request, times in story.requests.items() if request[1] != "externalsecrets"} == {
        ("get", "secrets"): 40,
        ("list", "namespaces"): 6,
        # Six Secrets, and kubectl's annotation from one of them.
        ("patch", "secrets"): 7,
    }
    (refusal,) = refusals
    assert refusal.startswith(
        "2 of 9 objects were not adopted: team-immutable/secret/aws-ecr-token: not adoptable: immutable; team-newline"
    )
