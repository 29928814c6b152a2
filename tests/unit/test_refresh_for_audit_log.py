"""A refresh where the audit log says that something is missing: only there, and nothing at all if it is nowhere."""

from collections.abc import Collection, Mapping, Sequence
from copy import replace
from typing import Any

import pytest

from tests.support.fake_cluster import FakeCluster
from tests.support.objects import pull_object
from tests.support.refresher import SECRET, login, run
from upsert import kinds, refresh
from upsert.audit_events import Gap
from upsert.core.objects import Material, Object, Part, Ref, Target
from upsert.core.reports import RefreshReport
from upsert.errors import SourceFailed
from upsert.request import Request

OTHER = pull_object(name="other", parts=(Part("registries[0]", Ref("ecr", (("region", "us-east-1"),))),))


class World:
    """A cluster with namespaces, and what was read."""

    def __init__(self, *names: str) -> None:
        self.cluster = FakeCluster()
        for name in names:
            self.cluster.add(name)
        self.read: list[Ref] = []
        self.unplaced: list[Object] = []

    def _read(self, refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
        self.read += refs
        return {ref: login() for ref in refs}

    def heal(self, gaps: Sequence[str | Gap], *objects: Object, **changes: Any) -> tuple[RefreshReport, list[str]]:
        healed: list[str] = []
        report = refresh.refresh(
            Request(
                Target("test"),
                objects or (pull_object(**changes),),
                gaps=tuple(Gap(gap) if isinstance(gap, str) else gap for gap in gaps),
                is_whole=False,
            ),
            refresh.Parts(
                read=self._read,
                build=kinds.build,
                connect=lambda: self.cluster,
                record=lambda outcome: healed.append(outcome.namespace),
                source_failed=lambda *_: None,
                unplaced=self.unplaced.append,
            ),
        )
        return report, sorted(healed)


def test_only_the_named_namespaces_are_asked_for_and_written() -> None:
    world = World("team-a", "team-b", "team-c")

    report, healed = world.heal(["team-a", "team-c"])

    assert healed == ["team-a", "team-c"]
    assert world.cluster.names_listed == [("team-a", "team-c")]
    assert sorted(world.cluster.calls) == ["apply team-a", "apply team-c", "list"]
    assert SECRET not in world.cluster.contents["team-b"].secrets
    assert (report.applied, report.created, len(world.read)) == (2, 2, 1)


def test_it_is_no_refresh_of_every_namespace() -> None:
    assert World("team-a").heal(["team-a"])[0].is_whole is False
    assert World().heal([])[0].is_whole is False


@pytest.mark.parametrize(
    ("names", "changes"),
    [
        ([], {}),
        (["kube-system"], {"exclude": ("kube-*",)}),
        (["ops"], {"include": ("team-*",)}),
    ],
)
def test_with_nothing_to_do_nothing_is_called(names: list[str], changes: dict[str, Any]) -> None:
    world = World("kube-system", "ops", "team-a")

    report, healed = world.heal(names, **changes)

    assert (healed, world.cluster.calls, world.read) == ([], [], [])
    assert (report.applied, report.skipped, report.api_requests, report.expires_at) == (0, 0, 0, None)
    assert not report.had_work
    assert report.error(is_by_hand=False) is None


def test_a_namespace_that_is_gone_again_is_passed_over() -> None:
    report, healed = World("team-a").heal(["gone", "team-a"])

    assert healed == ["team-a"]
    assert report.error(is_by_hand=False) is None


def test_a_namespace_that_the_selector_leaves_out_is_passed_over() -> None:
    world = World("team-a")
    world.cluster.add("team-b", env="prod")

    report, healed = world.heal(["team-a", "team-b"], selector="env=prod")

    assert healed == ["team-b"]
    assert report.error(is_by_hand=False) is None


def test_a_namespace_that_is_going_away_is_skipped() -> None:
    world = World("ending")
    world.cluster.contents["ending"].terminating = True

    report, _ = world.heal(["ending"])

    assert (report.applied, report.skipped, report.error(is_by_hand=False)) == (0, 1, None)


def test_more_names_than_fit_into_a_url_are_picked_from_the_whole_list() -> None:
    names = [f"team-{number:03}" for number in range(101)]
    world = World(*names, "other")

    _, healed = world.heal(names)

    assert healed == names
    assert world.cluster.names_listed == [()]


def test_names_by_hand_are_asked_for_alone_too() -> None:
    world = World("team-a", "team-b")

    run(world.cluster, namespaces=["team-b"])

    assert world.cluster.names_listed == [("team-b",)]


def test_globs_by_hand_are_matched_with_the_whole_list() -> None:
    world = World("team-a", "team-b")

    run(world.cluster, namespaces=["team-a", "team-*"])

    assert world.cluster.names_listed == [()]


def test_only_what_was_deleted_is_written_again_and_only_its_source_is_read() -> None:
    world = World("team-a")

    report, _ = world.heal([Gap("team-a", "secret/other")], pull_object(), OTHER)

    assert list(world.cluster.contents["team-a"].secrets) == ["other"]
    assert world.read == [OTHER.parts[0].ref]
    assert (report.applied, report.objects) == (1, 1)


def test_where_all_secrets_were_deleted_each_is_written_again() -> None:
    world = World("team-a", "team-b")

    world.heal([Gap("team-a", "secret/"), Gap("team-b", "secret/other")], pull_object(), OTHER)

    there = {name: sorted(place.secrets) for name, place in world.cluster.contents.items()}
    assert there == {"team-a": [SECRET, "other"], "team-b": ["other"]}


def test_what_another_kind_of_object_misses_is_not_written() -> None:
    world = World("team-a")

    report, healed = world.heal([Gap("team-a", "configmap/"), Gap("team-a", f"configmap/{SECRET}")])

    assert (healed, world.cluster.calls, world.read) == ([], [], [])
    assert not report.had_work


def test_a_new_namespace_outside_of_one_objects_scope_is_given_the_others() -> None:
    world = World("team-a")

    world.heal(["team-a"], pull_object(include=["prod-*"]), replace(OTHER, service_accounts=()))

    assert list(world.cluster.contents["team-a"].secrets) == ["other"]
    assert world.unplaced == [], "that one namespace is not its own says nothing about an object"


def test_where_two_objects_meet_neither_fills_the_gap() -> None:
    world = World("team-a", "team-b")
    first, second = pull_object(), pull_object(include=["team-a"])

    report, _ = world.heal(["team-a", "team-b"], first, second)

    assert [(failed.namespace, failed.reason) for failed in report.failures] == [("team-a", "overlap")]
    assert list(world.cluster.contents["team-a"].secrets) == []
    assert list(world.cluster.contents["team-b"].secrets) == [SECRET]
