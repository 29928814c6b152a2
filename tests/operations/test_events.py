"""Each event in the folder events is one that the functions take, and asks for what its name says."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.operations.test_fleet import CLUSTERS, FLEET, configured
from tests.support.template import ROOT
from upsert.adopt_request import Action, adopt_request
from upsert.audit_events import Gap
from upsert.callers import is_by_hand, is_summary
from upsert.fleet import fleet_report
from upsert.request import ClustersFor, Request, refresh_request

EVENTS = {file.name: json.loads(file.read_text()) for file in sorted((ROOT / "events").glob("*.json"))}
ONE = configured([], ClusterName="demo")
MANY = configured(CLUSTERS, **FLEET)


def asked(name: str) -> Request:
    request = refresh_request(EVENTS[name], ONE)
    assert isinstance(request, Request)
    return request


def test_every_event_is_tried_here() -> None:
    assert set(EVENTS) == {
        *("emergency.json", "scheduled.json", "named-dry-run.json", "one-object.json"),
        *("one-cluster.json", "one-of-fleet.json", "clusters-for.json", "summary-of.json"),
        *("audit-namespace-created.json", "audit-secret-deleted.json"),
        *("secret-changed.json", "parameter-changed.json"),
        *("adopt-check.json", "adopt-import.json", "adopt-adopt.json"),
    }


@pytest.mark.parametrize(("name", "is_by_hand"), [("emergency.json", True), ("scheduled.json", False)])
def test_everything_is_asked_for(name: str, is_by_hand: bool) -> None:
    request = asked(name)
    assert (request.is_whole, request.dry_run, request.is_by_hand) == (True, False, is_by_hand)
    assert request.objects == ONE.objects


def test_a_dry_run_of_named_namespaces_is_asked_for() -> None:
    request = asked("named-dry-run.json")
    assert (request.namespaces, request.dry_run, request.is_whole) == (("team-*",), True, False)


def test_one_object_is_asked_for() -> None:
    assert [one.name for one in asked("one-object.json").objects] == ["aws-ecr-token"]


@pytest.mark.parametrize(("name", "is_by_hand"), [("one-cluster.json", True), ("one-of-fleet.json", False)])
def test_one_cluster_is_asked_for(name: str, is_by_hand: bool) -> None:
    request = refresh_request(EVENTS[name], MANY)
    assert isinstance(request, Request)
    assert (request.target.name, request.is_by_hand, request.is_whole) == ("team-blue", is_by_hand, True)


def test_the_state_machine_asks_for_the_names_of_all_clusters() -> None:
    assert refresh_request(EVENTS["clusters-for.json"], MANY) == ClustersFor(tuple(one["name"] for one in CLUSTERS))


def test_the_state_machine_asks_for_the_sum_of_what_its_clusters_answered() -> None:
    event = EVENTS["summary-of.json"]
    assert [is_summary(one) for one in EVENTS.values()].count(True) == 1
    report = fleet_report(event, MANY)
    assert [(row.cluster, row.error) for row in report.rows] == [
        ("production-eu", None),
        ("team-blue", "ClusterUnreachable"),
    ]
    # The file has one more, of which there is no answer.
    assert report.not_refreshed == ["production-us", "team-blue"]


def test_only_what_a_person_sends_is_by_hand() -> None:
    found = {name for name, event in EVENTS.items() if is_by_hand(event) and not name.startswith("adopt")}
    assert found == {"emergency.json", "named-dry-run.json", "one-object.json", "one-cluster.json"}


@pytest.mark.parametrize("name", ["secret-changed.json", "parameter-changed.json"])
def test_a_source_that_is_in_no_object_of_the_file_wakes_nothing(name: str) -> None:
    request = asked(name)
    assert (request.objects, request.is_whole, request.is_by_hand) == ((), False, False)


@pytest.mark.parametrize(
    ("name", "gap"),
    [
        ("audit-namespace-created.json", Gap("team-blue")),
        ("audit-secret-deleted.json", Gap("team-blue", "secret/aws-ecr-token")),
    ],
)
def test_a_batch_of_audit_events_names_the_namespace_and_the_object(name: str, gap: Gap) -> None:
    request = asked(name)
    assert (request.gaps, request.objects, request.is_by_hand) == ((gap,), ONE.objects, False)
    content = json.loads(gzip.decompress(base64.b64decode(EVENTS[name]["awslogs"]["data"])))
    assert [one.partition("-AuditSubscription")[0] for one in content["subscriptionFilters"]] == ["eks-upsert"]


@pytest.mark.parametrize(
    ("name", "action", "namespaces"),
    [
        ("adopt-check.json", Action.CHECK, ("team-*",)),
        ("adopt-adopt.json", Action.ADOPT, ("team-*",)),
        ("adopt-import.json", Action.IMPORT, ("team-a",)),
    ],
)
def test_the_adopter_is_asked_for_one_action(name: str, action: Action, namespaces: tuple[str, ...]) -> None:
    request = adopt_request(EVENTS[name], ONE)
    assert (request.action, request.namespaces) == (action, namespaces)


def test_the_scheduled_event_is_of_the_schedule_that_the_template_makes() -> None:
    event: dict[str, Any] = EVENTS["scheduled.json"]
    (arn,) = event["resources"]
    assert Path(arn).name.startswith("eks-upsert-RefreshSchedule-")
