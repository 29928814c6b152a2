"""A policy may come from a merge key: https://yaml.org/type/merge.html."""

import pytest

from tests.hooks.conftest import Check
from tests.hooks.support import CLUSTER_HEAD, NO_POLICY, OWNER, Cases, external_secret

ANCHORS = """\
x-owner: &owner {creationPolicy: Owner}
x-merge: &merge {creationPolicy: Merge}
x-delete: &delete {deletionPolicy: Delete}
x-nested: &nested
  <<: *owner
x-deeper: &deeper
  <<: [*delete, *nested]
x-pull: &pull {name: aws-ecr-token}
"""
NO_POLICY_17 = [f"17: ExternalSecret database: {NO_POLICY}"]
OWNER_17 = [f"1: ExternalSecret database: {OWNER}"]


def merged(target: str) -> str:
    return ANCHORS + external_secret("  target:\n    " + target.replace("\n", "\n    ") + "\n")


CASES: Cases = {
    "a mapping": (merged("<<: *owner"), []),
    "a mapping that merges another": (merged("<<: *nested"), []),
    "a list": (merged("<<: [*delete, *owner]"), []),
    "a list in a merged mapping": (merged("<<: *deeper"), []),
    "two merge keys": (merged("<<: *owner\n<<: *delete"), []),
    "a mapping in place": (merged("<<: {creationPolicy: Orphan}"), []),
    "an alias of the whole target": (ANCHORS + external_secret("  target: *merge\n"), []),
    "an alias of the policy": ("x: &policy Owner\n" + external_secret("  target: {creationPolicy: *policy}\n"), []),
    "one that says nothing": (merged("<<: *pull"), NO_POLICY_17),
    "a list of such": (merged("<<: [*pull, *delete]"), NO_POLICY_17),
    "no merge key but a text": (merged('"<<": *owner'), NO_POLICY_17),
    "nothing": (merged("<<:"), NO_POLICY_17),
    "no mapping": (merged("<<: [a, [*owner], null]"), NO_POLICY_17),
    "itself": (external_secret("  target: &self\n    <<: *self\n"), [f"8: ExternalSecret database: {NO_POLICY}"]),
    "a policy in its place counts": (merged("<<: *owner\nname: aws-ecr-token\ncreationPolicy: Orphan"), []),
    "a policy in its place counts, before it too": (
        merged("creationPolicy: Orphan\nname: aws-ecr-token\n<<: *owner"),
        [],
    ),
    "the first of a list counts": (merged("<<: [*merge, *owner, *pull]"), []),
    "the first of a list counts, the other way round": (merged("<<: [*owner, *merge, *pull]"), OWNER_17),
    "what is nearer counts": (merged("<<: [{<<: *owner, creationPolicy: Merge}, *pull]"), []),
    "an empty policy in its place takes the merged one away": (merged("<<: *owner\ncreationPolicy:"), NO_POLICY_17),
    "a target in its place hides the merged one": (
        "x: &spec {target: {creationPolicy: Owner}}\n" + external_secret("  <<: *spec\n  target: {name: x}\n"),
        [f"10: ExternalSecret database: {NO_POLICY}"],
    ),
    "the last of two equal keys counts": (
        merged("creationPolicy: Owner\nname: aws-ecr-token\ncreationPolicy: Orphan"),
        [],
    ),
    "a merged spec": ("x: &spec {target: {creationPolicy: Owner}}\n" + external_secret("  <<: *spec\n"), []),
    "a merged kind": (
        (
            "items:\n- &head {apiVersion: external-secrets.io/v1, kind: ExternalSecret}\n"
            "- <<: *head\n  metadata: {name: a}\n  spec: {secretStoreRef: {name: a}, data: []}\n"
        ),
        [f"5: ExternalSecret a: {NO_POLICY}"],
    ),
    "a ClusterExternalSecret": (ANCHORS + CLUSTER_HEAD + "    target: {<<: *deeper}\n", []),
    "an anchor that is set twice": (
        "a: &target {creationPolicy: Owner}\nb: &target {name: x}\n" + external_secret("  target: {<<: *target}\n"),
        [f"10: ExternalSecret database: {NO_POLICY}"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_merge_keys_are_resolved(check: Check, case: str) -> None:
    content, found = CASES[case]
    assert check(content) == found


def test_merges_of_merges_take_no_time(check: Check) -> None:
    layers = [f"a{one}: &a{one} {{<<: [{', '.join([f'*a{one - 1}'] * 9)}]}}\n" for one in range(1, 30)]
    content = "a0: &a0 {name: x}\n" + "".join(layers) + external_secret("  target: {<<: *a29}\n")
    assert check(content) == [f"38: ExternalSecret database: {NO_POLICY}"]
