"""Several objects of one file in one run: the real handler on a real API server, as the role that `make rbac` prints.

The second object's login comes from a registry of another account, whose role STS lets the function assume.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.audit import AuditLog
from tests.support.controlplane import REPOSITORY, ControlPlane
from tests.support.invocation import ACCESS_KEY, USER, Aws, Seen, invoke
from tests.support.objects import ARN, HOST, SECRET, entry, roles
from tests.support.refresher import password_in
from tests.support.secrets_standin import SecretsStandin
from upsert.errors import ObjectsFailed, SourceFailed
from upsert.kube import api as kube_api

TEAM_B = "team-b-registry"
ROLE = "arn:aws:iam::210987654321:role/pull"
ROLE_KEY = "ASIAROLEROLEROLEROLE"
HOST_OF_ROLE = "210987654321.dkr.ecr.eu-central-1.amazonaws.com"
SCHEDULED = json.loads((REPOSITORY / "events" / "scheduled.json").read_text())


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with Aws() as aws:
        yield aws


@pytest.fixture(scope="module")
def plane(aws: Aws) -> Iterator[ControlPlane]:
    with ControlPlane(authentication_webhook=aws.token_review) as plane:
        aws.point_at(plane.endpoint, plane.ca_pem)
        yield plane


@pytest.fixture(autouse=True)
def _assumable(aws: Aws) -> None:
    aws.assumable = {ROLE: ROLE_KEY}


class Cluster:
    """Namespaces of one test, refreshes of objects there, and the admin's view of them."""

    def __init__(self, plane: ControlPlane, aws: Aws) -> None:
        self.plane, self.aws = plane, aws
        self.created: list[str] = []

    def add(self, *names: str, **labels: str) -> None:
        for name in names:
            self.plane.create_namespace(name, labels)
            self.created.append(name)

    def permit(self, *objects: Mapping[str, Any]) -> None:
        """Do what the admin does after the file was changed: apply what `make rbac` prints."""
        self.plane.apply_roles(roles(*objects))

    def refresh(self, *objects: Mapping[str, Any], event: object = None, **environment: str) -> Seen:
        return invoke(self.aws, event, objects=objects, **environment)  # type: ignore[arg-type] # names of variables

    def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        return self.plane.get_secret(namespace, name)

    def proof(self, namespace: str, name: str) -> tuple[str, str]:
        secret = self.secret(namespace, name)
        assert secret is not None
        return secret["metadata"]["uid"], secret["metadata"]["resourceVersion"]

    @property
    def all_namespaces(self) -> list[str]:
        found = self.plane.request("GET", "/api/v1/namespaces")["items"]
        return sorted(item["metadata"]["name"] for item in found)


@pytest.fixture
def cluster(plane: ControlPlane, aws: Aws) -> Iterator[Cluster]:
    cluster = Cluster(plane, aws)
    yield cluster
    for name in cluster.created:
        plane.remove_namespace(name)


@pytest.fixture
def audit(plane: ControlPlane) -> AuditLog:
    return AuditLog(plane.audit_log)


def patches(audit: AuditLog) -> Counter[tuple[str, str]]:
    """Count the PATCHes by namespace and name, as the API server logged them."""
    audit.counts(user=USER)
    return Counter((one.namespace, one.name) for one in audit.events(user=USER) if one.verb == "patch")


def once(*pairs: tuple[str, str]) -> dict[tuple[str, str], int]:
    return dict.fromkeys(pairs, 1)


def selectors(audit: AuditLog) -> Counter[str]:
    """Count the pages of namespaces by the label selector that was asked for."""
    audit.counts(user=USER)
    lists = [event.uri for event in audit.events(user=USER) if event.verb == "list"]
    return Counter(parse_qs(urlsplit(uri).query).get("labelSelector", [""])[0] for uri in lists)


def access_keys(aws: Aws, since: int) -> list[str]:
    """Return the access keys that ECR was asked with."""
    asked = [re.search(r"Credential=([^/]+)/", one.headers["Authorization"]) for one in aws.ecr.requests[since:]]
    return [found[1] for found in asked if found]


def applied(seen: Seen) -> set[tuple[str, str]]:
    return {(record["namespace"], record["object"]) for record in seen.named("object.applied")}


def failed(seen: Seen) -> dict[tuple[str, str], str]:
    return {(record["namespace"], record["object"]): record["reason"] for record in seen.named("object.failed")}


def team_b(**changes: Any) -> dict[str, Any]:
    """Return the second object: a registry of another account, for the namespaces of one team."""
    known = {"include": ["team-b-*"], "registries": [{"ecr": {"role_arn": ROLE}}]}
    return entry(name=TEAM_B, **{**known, **changes})


def test_a_second_object_is_refreshed_in_the_same_run_under_its_own_role(
    cluster: Cluster, aws: Aws, audit: AuditLog
) -> None:
    objects = entry(), team_b()
    cluster.permit(*objects)
    cluster.add("team-a", "team-b-1", "team-b-2")
    everywhere = cluster.all_namespaces
    asked, assumed = len(aws.ecr.requests), len(aws.sts.requests)

    seen = cluster.refresh(*objects)

    assert seen.error is None
    # One page of the one selector, and one PATCH for each object and namespace.
    expected = once(*((name, SECRET) for name in everywhere), ("team-b-1", TEAM_B), ("team-b-2", TEAM_B))
    assert patches(audit) == expected
    assert audit.counts(user=USER) == {("list", "namespaces"): 1, ("patch", "secrets"): len(everywhere) + 2}
    # Each object's login was granted to the identity that its entry names.
    granted = dict(zip(access_keys(aws, asked), seen.passwords, strict=True))
    assert len(aws.sts.requests) == assumed + 1
    assert password_in(cluster.secret("team-b-1", SECRET)) == granted[ACCESS_KEY]
    assert password_in(cluster.secret("team-b-1", TEAM_B), HOST_OF_ROLE) == granted[ROLE_KEY]
    assert applied(seen) == {(namespace, f"secret/{name}") for namespace, name in expected}
    (summary,) = seen.named("refresh.completed")
    assert (summary["applied"], summary["objects"], summary["failed"]) == (len(expected), 2, 0)
    assert summary["api_requests"] == 1 + len(expected)


def test_the_second_run_costs_the_same_and_keeps_every_object(cluster: Cluster, audit: AuditLog) -> None:
    objects = entry(include=["team-*"]), team_b()
    cluster.permit(*objects)
    cluster.add("team-a", "team-b-1")
    assert cluster.refresh(*objects).error is None
    places = [("team-a", SECRET), ("team-b-1", SECRET), ("team-b-1", TEAM_B)]
    before = {place: cluster.proof(*place) for place in places}
    audit.mark()

    seen = cluster.refresh(*objects)

    assert seen.error is None
    assert patches(audit) == once(*places)
    assert audit.counts(user=USER) == {("list", "namespaces"): 1, ("patch", "secrets"): 3}
    for place in places:
        uid, version = cluster.proof(*place)
        assert uid == before[place][0]
        assert version != before[place][1]


def test_each_distinct_selector_costs_its_own_pages_and_no_more(
    cluster: Cluster, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_api, "_PAGE", 3)
    objects = (
        entry(selector="env in (prod,stage)"),
        entry(name="second", selector="team=b"),
        entry(name="third", selector="team=b", include=["web-*"]),
    )
    cluster.permit(*objects)
    cluster.add("web-1", "web-2", "web-3", env="prod", team="a")
    cluster.add("web-4", env="stage", team="b")
    cluster.add("job-5", env="dev", team="b")

    seen = cluster.refresh(*objects)

    assert seen.error is None
    # Four match the first selector, two the second, which two objects share.
    assert selectors(audit) == {"env in (prod,stage)": 2, "team=b": 1}
    assert patches(audit) == once(
        *((f"web-{number}", SECRET) for number in range(1, 5)),
        ("web-4", "second"),
        ("job-5", "second"),
        ("web-4", "third"),
    )


def test_one_object_by_hand_is_read_and_written_alone(cluster: Cluster, aws: Aws, audit: AuditLog) -> None:
    objects = entry(), team_b()
    cluster.permit(*objects)
    cluster.add("team-a", "team-b-1", "team-b-2")
    asked = len(aws.ecr.requests)

    seen = cluster.refresh(*objects, event={"objects": ["team-b-*"], "namespaces": ["team-b-2"]})

    assert seen.error is None
    assert patches(audit) == once(("team-b-2", TEAM_B))
    assert access_keys(aws, asked) == [ROLE_KEY]
    assert seen.result["is_whole"] is False


def test_with_the_role_of_the_file_before_the_new_object_fails_by_name_and_the_rest_is_written(
    cluster: Cluster,
) -> None:
    cluster.permit(entry())
    cluster.add("team-a", "team-b-1")

    seen = cluster.refresh(entry(), team_b())

    assert isinstance(seen.error, ObjectsFailed)
    assert failed(seen) == {("team-b-1", f"secret/{TEAM_B}"): "forbidden"}
    (record,) = seen.named("object.failed")
    assert "`make rbac` prints it for your objects" in record["remedy"]
    assert f"with {TEAM_B} in resourceNames" in record["remedy"]
    assert {("team-a", f"secret/{SECRET}"), ("team-b-1", f"secret/{SECRET}")} <= applied(seen)


def may(cluster: Cluster, verb: str, namespace: str, name: str) -> bool:
    """Return whether the API server lets the refresher's group do that to a Secret."""
    attributes = {"verb": verb, "resource": "secrets", "name": name}
    if namespace:
        attributes["namespace"] = namespace
    review = cluster.plane.request(
        "POST",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {"spec": {"user": USER, "groups": ["eks-upsert"], "resourceAttributes": attributes}},
    )
    return bool(review["status"]["allowed"])


@pytest.fixture
def named(cluster: Cluster) -> dict[str, Any]:
    """An object whose namespaces the file gives by name, and what `make rbac` prints for it."""
    cluster.add("apps", "tools", "elsewhere")
    named = entry(include=["apps", "tools"])
    cluster.permit(named)
    return named


def test_where_namespaces_are_known_by_name_a_role_in_those_alone_is_enough(
    cluster: Cluster, named: dict[str, Any], audit: AuditLog
) -> None:
    seen = cluster.refresh(named)

    assert seen.error is None
    assert patches(audit) == once(("apps", SECRET), ("tools", SECRET))
    for namespace in cluster.all_namespaces:
        for verb in ("create", "patch"):
            assert may(cluster, verb, namespace, SECRET) is (namespace in ("apps", "tools")), (verb, namespace)
    assert not may(cluster, "patch", "", SECRET)
    assert not may(cluster, "get", "apps", SECRET)


def test_a_named_namespace_that_was_made_anew_needs_the_role_again_and_the_remedy_says_so(
    cluster: Cluster, named: dict[str, Any]
) -> None:
    # With a namespace its roles go; here is no controller that would remove them.
    for plural in ("rolebindings", "roles"):
        cluster.plane.request("DELETE", f"/apis/rbac.authorization.k8s.io/v1/namespaces/tools/{plural}/eks-upsert")
    cluster.plane.apply_roles("")

    seen = cluster.refresh(named)

    assert isinstance(seen.error, ObjectsFailed)
    assert applied(seen) == {("apps", f"secret/{SECRET}")}
    assert failed(seen) == {("tools", f"secret/{SECRET}"): "forbidden"}
    assert "`make rbac` prints it for your objects" in seen.named("object.failed")[0]["remedy"]
    cluster.permit(named)
    assert cluster.refresh(named).error is None


@pytest.fixture
def overlapping(cluster: Cluster) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two objects of one name, of which only the cluster can tell that a namespace has the labels of both."""
    objects = entry(selector="overlap=a"), entry(selector="tier=prod", registries=[{"ecr": {"role_arn": ROLE}}])
    cluster.permit(*objects)
    cluster.add("only-a", overlap="a")
    cluster.add("only-prod", tier="prod")
    cluster.add("both", overlap="a", tier="prod")
    return objects


def test_where_two_objects_overlap_only_on_the_cluster_neither_is_written_by_name(
    cluster: Cluster, overlapping: tuple[dict[str, Any], dict[str, Any]], audit: AuditLog
) -> None:
    seen = cluster.refresh(*overlapping)

    assert patches(audit) == once(("only-a", SECRET), ("only-prod", SECRET))
    assert cluster.secret("both", SECRET) is None
    (record,) = seen.named("object.failed")
    assert (record["object"], record["namespace"], record["reason"]) == (f"secret/{SECRET}", "both", "overlap")
    assert "let their namespaces differ" in record["remedy"]
    assert isinstance(seen.error, ObjectsFailed)
    assert str(seen.error).startswith(f"1 of 3 writes failed: secret/{SECRET} in both: overlap")
    assert password_in(cluster.secret("only-prod", SECRET), HOST_OF_ROLE)
    assert password_in(cluster.secret("only-a", SECRET), HOST)


def test_what_overlaps_is_not_written_either_while_the_source_of_one_of_the_two_fails(
    cluster: Cluster, aws: Aws, overlapping: tuple[dict[str, Any], dict[str, Any]], audit: AuditLog
) -> None:
    aws.assumable = {}

    seen = cluster.refresh(*overlapping)

    assert patches(audit) == once(("only-a", SECRET))
    assert failed(seen) == {("both", f"secret/{SECRET}"): "overlap"}
    assert isinstance(seen.error, SourceFailed)


@pytest.mark.parametrize("how", ["role", "refused", "empty", "malformed"])
@pytest.mark.parametrize("event", [SCHEDULED, {}], ids=["scheduled", "by hand"])
def test_a_source_that_fails_fails_its_objects_alone_and_is_raised_after_the_rest(
    cluster: Cluster, aws: Aws, audit: AuditLog, how: str, event: dict[str, Any]
) -> None:
    own_role = {"ecr": {"role_arn": ROLE}} if how == "role" else {"ecr": {}}
    kept = [] if how == "role" else [{"auths": {"secret": ARN}}]
    objects = entry(include=["team-*"]), team_b(registries=[own_role, *kept])
    cluster.permit(*objects)
    cluster.add("team-a", "team-b-1", "team-b-2")
    with SecretsStandin() as store:
        where = {"AWS_ENDPOINT_URL_SECRETS_MANAGER": store.url}
        store.value = json.dumps({"auths": {"quay.io": {"auth": base64.b64encode(b"robot:token").decode()}}})
        assert cluster.refresh(*objects, **where).error is None
        places = [("team-b-1", TEAM_B), ("team-b-2", TEAM_B)]
        before = {place: cluster.proof(*place) for place in places}
        rest = {name: cluster.proof(name, SECRET) for name in ("team-a", "team-b-1", "team-b-2")}
        audit.mark()
        match how:
            case "role":
                aws.assumable = {}
            case "refused":
                store.refusal = "AccessDeniedException"
            case "empty":
                store.value = None
            case "malformed":
                store.value = '{"auths": []}'

        seen = cluster.refresh(*objects, event=event, **where)

    assert isinstance(seen.error, SourceFailed)
    (record,) = seen.named("source.failed")
    assert record["object"] == f"secret/{TEAM_B}"
    assert record["remedy"] == str(seen.error)
    assert patches(audit) == once(*((name, SECRET) for name in rest))
    assert {place: cluster.proof(*place) for place in places} == before
    for name, (uid, version) in rest.items():
        assert cluster.proof(name, SECRET)[0] == uid
        assert cluster.proof(name, SECRET)[1] != version
    (summary,) = seen.named("refresh.completed")
    assert (summary["applied"], summary["failed"], summary["objects_not_made"]) == (3, 0, [f"secret/{TEAM_B}"])
    assert summary["not_refreshed"] == [f"secret/{TEAM_B}"]
    assert [measured(seen, name) for name in ("FullRefreshes", "SourcesFailed", "NotRefreshed")] == [[1], [1], [1]]


def measured(seen: Seen, metric: str) -> list[float]:
    """Return the values of a metric of the cluster."""
    found = [
        record[metric] for record in seen.records if metric in record and "_aws" in record and "object" not in record
    ]
    return [value for values in found for value in values]


def test_where_every_source_fails_the_cluster_is_asked_nothing(cluster: Cluster, aws: Aws, audit: AuditLog) -> None:
    objects = team_b(), entry(include=["team-*"], registries=[{"ecr": {"role_arn": ROLE, "region": "us-east-1"}}])
    cluster.permit(*objects)
    cluster.add("team-b-1")
    aws.assumable = {}

    seen = cluster.refresh(*objects)

    assert isinstance(seen.error, SourceFailed)
    assert {record["object"] for record in seen.named("source.failed")} == {f"secret/{TEAM_B}", f"secret/{SECRET}"}
    assert not seen.named("refresh.completed")
    assert audit.counts(user=USER) == {}


def test_an_object_without_namespaces_is_said_and_the_rest_is_written(cluster: Cluster, audit: AuditLog) -> None:
    objects = entry(include=["team-*"]), team_b(include=["nowhere-*"])
    cluster.permit(*objects)
    cluster.add("team-a")

    seen = cluster.refresh(*objects)

    assert seen.error is None
    assert patches(audit) == once(("team-a", SECRET))
    (record,) = seen.named("object.unplaced")
    assert (record["object"], record["level"]) == (f"secret/{TEAM_B}", "WARNING")
    assert "check include, exclude and selector" in record["remedy"]


def test_by_hand_an_object_that_has_others_than_the_named_namespaces_is_not_called_without_any(
    cluster: Cluster,
) -> None:
    objects = entry(include=["team-a"]), team_b()
    cluster.add("team-a", "team-b-1")
    cluster.permit(*objects)

    seen = cluster.refresh(*objects, event={"namespaces": ["team-a"]})

    assert seen.error is None
    assert seen.named("object.unplaced") == []


def test_where_only_objects_fail_a_scheduled_run_returns_and_one_by_hand_raises(
    cluster: Cluster, overlapping: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    scheduled = cluster.refresh(*overlapping, event=SCHEDULED)
    by_hand = cluster.refresh(*overlapping)

    assert scheduled.error is None
    assert (scheduled.result["applied"], scheduled.result["failed"]) == (2, 1)
    assert isinstance(by_hand.error, ObjectsFailed)
    for seen in (scheduled, by_hand):
        assert measured(seen, "ObjectsFailed") == [1]
