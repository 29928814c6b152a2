"""A refresh for the namespaces that the audit log names: only these, and nothing at all if there are none."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.cloudwatch_logs import batch
from tests.support.fake_cluster import FakeCluster
from tests.support.refresher import SECRET, Logins, logins, run
from tests.support.refresher import settings as settings_with
from tests.unit.test_audit_events import CREATED, DELETED
from upsert import refresh
from upsert.settings import Request, load

ENVIRONMENT = {"CLUSTER_NAME": "test", "REGISTRIES": '[{"account": "123456789012", "region": "eu-central-1"}]'}


class World:
    """A cluster with namespaces, and how often a login was asked for."""

    def __init__(self, *names: str) -> None:
        self.cluster = FakeCluster()
        for name in names:
            self.cluster.add(name)
        self.logins = 0

    def _granted(self) -> Logins:
        self.logins += 1
        return logins()

    def heal(self, names: Sequence[str], **changes: Any) -> tuple[refresh.Report, list[str]]:
        healed: list[str] = []
        report = refresh.refresh(
            settings_with(**changes),
            Request(tuple(names), from_audit_log=True),
            logins=self._granted,
            connect=lambda: self.cluster,
            record=lambda outcome: healed.append(outcome.namespace),
        )
        return report, sorted(healed)


def test_only_the_named_namespaces_are_asked_for_and_written() -> None:
    world = World("team-a", "team-b", "team-c")

    report, healed = world.heal(["team-a", "team-c"])

    assert healed == ["team-a", "team-c"]
    assert world.cluster.names_listed == [("team-a", "team-c")]
    assert sorted(world.cluster.calls) == ["apply team-a", "apply team-c", "list"]
    assert SECRET not in world.cluster.contents["team-b"].secrets
    assert (report.applied, report.created, world.logins) == (2, 2, 1)


def test_it_is_no_refresh_of_every_namespace() -> None:
    assert World("team-a").heal(["team-a"])[0].every_namespace is False


@pytest.mark.parametrize(
    ("names", "changes"),
    [
        ([], {}),
        (["kube-system"], {"exclude_namespaces": ("kube-*",)}),
        (["ops"], {"include_namespaces": ("team-*",)}),
    ],
)
def test_with_nothing_to_do_nothing_is_called(names: list[str], changes: dict[str, Any]) -> None:
    world = World("kube-system", "ops", "team-a")

    report, healed = world.heal(names, **changes)

    assert (healed, world.cluster.calls, world.logins) == ([], [], 0)
    assert (report.applied, report.skipped, report.api_requests, report.token_expires_at) == (0, 0, 0, None)
    assert report.error() is None


def test_a_namespace_that_is_gone_again_is_passed_over() -> None:
    report, healed = World("team-a").heal(["gone", "team-a"])

    assert healed == ["team-a"]
    assert report.error() is None


def test_a_namespace_that_the_selector_leaves_out_is_passed_over() -> None:
    world = World("team-a")
    world.cluster.add("team-b", env="prod")

    report, healed = world.heal(["team-a", "team-b"], namespace_selector="env=prod")

    assert healed == ["team-b"]
    assert report.error() is None


def test_a_namespace_that_is_going_away_is_skipped() -> None:
    world = World("ending")
    world.cluster.contents["ending"].terminating = True

    report, _ = world.heal(["ending"])

    assert (report.applied, report.skipped, report.error()) == (0, 1, None)


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


def test_the_event_of_a_subscription_is_read_with_the_name_of_the_secret() -> None:
    assert load(ENVIRONMENT, batch([CREATED]))[1] == Request(("team-blue",), from_audit_log=True)
    assert load(ENVIRONMENT, batch([DELETED]))[1] == Request(("team-blue",), from_audit_log=True)
    assert load({**ENVIRONMENT, "SECRET_NAME": "other"}, batch([DELETED]))[1] == Request((), from_audit_log=True)


@pytest.mark.parametrize("event", [{"awslogs": {"data": "?"}}, {"awslogs": None}])
def test_a_broken_subscription_event_is_an_error_and_no_refresh_of_everything(event: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"event\.awslogs: is not what CloudWatch Logs delivers; expected"):
        load(ENVIRONMENT, event)


def test_a_subscription_event_with_other_keys_is_refused() -> None:
    with pytest.raises(Exception, match="event: unknown key 'awslogs'"):
        load(ENVIRONMENT, {**batch([CREATED]), "dry_run": True})
