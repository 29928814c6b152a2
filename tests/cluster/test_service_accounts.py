"""ServiceAccounts name the pull Secret, as the role that the compiler prints for it, and lose nothing."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from kubernetes.client import ApiException

from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.invocation import USER, Aws, Seen, invoke
from tests.support.objects import SECRET, entry, pull_object, roles
from tests.support.refresher import api as api_of
from upsert import service_accounts
from upsert.core.account_outcomes import (
    AccountMissing,
    AccountOutcome,
    AccountPatched,
    AccountUnchanged,
)
from upsert.core.answers import Answer, Written
from upsert.core.outcomes import Applied, Failed
from upsert.core.reports import AccountCounts
from upsert.core.sensitive import Sensitive
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import ServiceAccountsNotListed
from upsert.kube import api as kube_api
from upsert.kube.service_accounts import ServiceAccounts

# The role holds the name of this ServiceAccount.
NAMING = entry(service_accounts=["default"])
OTHERS = [{"name": "first"}, {"name": "second"}]


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with Aws() as aws:
        yield aws


@pytest.fixture(scope="module")
def plane(aws: Aws) -> Iterator[ControlPlane]:
    with ControlPlane(authentication_webhook=aws.token_review) as plane:
        plane.apply_roles(roles(NAMING))
        aws.point_at(plane.endpoint, plane.ca_pem)
        yield plane


class Place:
    """A namespace of one test, and the ServiceAccounts that its admin keeps there."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace

    def path(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/serviceaccounts{f'/{name}' if name else ''}"

    def create(self, name: str = "default", **fields: Any) -> dict[str, Any]:
        return self.plane.request("POST", self.path(), {"metadata": {"name": name}, **fields})

    def read(self, name: str = "default") -> dict[str, Any]:
        return self.plane.request("GET", self.path(name))

    def change(self, fields: Mapping[str, Any], name: str = "default") -> None:
        self.plane.request("PATCH", self.path(name), fields, content_type="application/merge-patch+json")

    def named(self, name: str = "default") -> list[str]:
        return [entry["name"] for entry in self.read(name).get("imagePullSecrets", [])]

    def remove(self) -> None:
        self.plane.request("DELETE", self.path())
        self.plane.remove_namespace(self.namespace)

    def applied(self, change: str = "updated") -> Applied:
        return applied_in(self.namespace, change)


def applied_in(namespace: str, change: str = "updated") -> Applied:
    return Applied(pull_object().title, namespace, "u", "1", change, (), 200, 1)


@pytest.fixture
def place(plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Place]:
    name = request.function.__name__.removeprefix("test_").replace("_", "-")[:60].strip("-")
    plane.create_namespace(name)
    place = Place(plane, name)
    yield place
    place.remove()


class Interrupted(ServiceAccounts):
    """The real thing, with something that happens before each of its first PATCHes."""

    def before_patch(self, *happenings: Callable[[], object]) -> "Interrupted":
        self._happenings = list(happenings)
        return self

    def patch(self, account: ServiceAccount, patch: Sensitive[bytes], *, dry_run: bool) -> Answer[Written]:
        if self._happenings:
            self._happenings.pop(0)()
        return super().patch(account, patch, dry_run=dry_run)


def connect[C: ServiceAccounts](plane: ControlPlane, kind: type[C]) -> C:
    return kind(api_of(plane))


def name_secrets(
    accounts: ServiceAccounts,
    *applied: Applied,
    names: tuple[str, ...] = ("default",),
    dry_run: bool = False,
    pause: Callable[[float], None] = lambda _: None,
) -> tuple[AccountCounts, list[AccountOutcome]]:
    outcomes: list[AccountOutcome] = []
    counts = service_accounts.name_secrets(
        accounts,
        {pull_object(service_accounts=names): applied},
        dry_run=dry_run,
        record=outcomes.append,
        pause=pause,
    )
    return counts, outcomes


def test_the_secret_is_added_and_all_else_stays(plane: ControlPlane, place: Place) -> None:
    before = place.create(imagePullSecrets=OTHERS, secrets=[{"name": "token"}], automountServiceAccountToken=False)
    place.change({"metadata": {"annotations": {"eks.amazonaws.com/role-arn": "arn"}}})

    counts, (outcome,) = name_secrets(connect(plane, ServiceAccounts), place.applied())

    after = place.read()
    assert place.named() == ["first", "second", SECRET]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["annotations"] == {"eks.amazonaws.com/role-arn": "arn"}
    assert (after["secrets"], after["automountServiceAccountToken"]) == ([{"name": "token"}], False)
    assert outcome == AccountPatched(
        place.namespace, "default", after["metadata"]["uid"], after["metadata"]["resourceVersion"], 200
    )
    assert (counts.patched, counts.unchanged, counts.missing, counts.failures, counts.error) == (1, 0, 0, (), None)


def test_what_names_it_already_is_not_written(plane: ControlPlane, place: Place) -> None:
    before = place.create(imagePullSecrets=[{"name": SECRET}, *OTHERS])
    audit = AuditLog(plane.audit_log)

    counts, outcomes = name_secrets(connect(plane, ServiceAccounts), place.applied())

    assert place.read() == before
    assert outcomes == [AccountUnchanged(place.namespace, "default")]
    assert counts.unchanged == 1
    assert audit.counts(user=USER) == {("list", "serviceaccounts"): 1}


def test_a_second_run_writes_nothing(plane: ControlPlane, place: Place) -> None:
    place.create()
    name_secrets(connect(plane, ServiceAccounts), place.applied())
    before = place.read()

    counts, _ = name_secrets(connect(plane, ServiceAccounts), place.applied())

    assert (counts.patched, counts.unchanged, place.read()) == (0, 1, before)


def test_what_somebody_adds_in_the_meantime_is_kept(plane: ControlPlane, place: Place) -> None:
    place.create(imagePullSecrets=OTHERS)
    accounts = connect(plane, Interrupted).before_patch(
        lambda: place.change({"imagePullSecrets": [*OTHERS, {"name": "third"}]}),
        lambda: place.change({"imagePullSecrets": [*OTHERS, {"name": "third"}, {"name": "fourth"}]}),
    )

    counts, _ = name_secrets(accounts, place.applied())

    assert place.named() == ["first", "second", "third", "fourth", SECRET]
    assert counts.patched == 1


def test_somebody_who_adds_the_same_name_in_the_meantime_leaves_nothing_to_do(
    plane: ControlPlane, place: Place
) -> None:
    place.create()
    accounts = connect(plane, Interrupted).before_patch(lambda: place.change({"imagePullSecrets": [{"name": SECRET}]}))

    counts, _ = name_secrets(accounts, place.applied())

    assert (place.named(), counts.patched, counts.unchanged) == ([SECRET], 0, 1)


def test_one_that_was_deleted_and_made_anew_is_read_anew(plane: ControlPlane, place: Place) -> None:
    place.create(imagePullSecrets=OTHERS)

    def again() -> None:
        plane.request("DELETE", place.path("default"))
        place.create(imagePullSecrets=[{"name": "new"}])

    name_secrets(connect(plane, Interrupted).before_patch(again), place.applied())

    assert place.named() == ["new", SECRET]


def test_one_that_is_deleted_in_the_meantime_is_not_made_again(plane: ControlPlane, place: Place) -> None:
    place.create()
    accounts = connect(plane, Interrupted).before_patch(lambda: plane.request("DELETE", place.path("default")))

    _, outcomes = name_secrets(accounts, place.applied())

    assert outcomes == [AccountMissing(place.namespace, "default")]
    with pytest.raises(ApiException, match="404"):
        place.read()


def test_endless_changes_by_others_are_a_failure_that_says_so(plane: ControlPlane, place: Place) -> None:
    place.create()
    changes = [lambda n=n: place.change({"metadata": {"labels": {"n": str(n)}}}) for n in range(9)]

    counts, (outcome,) = name_secrets(connect(plane, Interrupted).before_patch(*changes), place.applied())

    assert isinstance(outcome, Failed)
    assert (outcome.namespace, outcome.reason, outcome.status) == (place.namespace, "service-account", 409)
    assert "others changed it at each try" in outcome.remedy
    assert counts.failures == (outcome,)


def test_the_account_of_a_new_namespace_is_waited_for(plane: ControlPlane, place: Place) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            place.create()

    counts, _ = name_secrets(connect(plane, ServiceAccounts), place.applied("created"), pause=pause)

    assert (place.named(), counts.patched, len(pauses)) == ([SECRET], 1, 2)
    assert sum(pauses) < 2


def test_one_that_does_not_come_is_reported_and_no_failure(plane: ControlPlane, place: Place) -> None:
    pauses: list[float] = []

    counts, outcomes = name_secrets(connect(plane, ServiceAccounts), place.applied("created"), pause=pauses.append)

    assert outcomes == [AccountMissing(place.namespace, "default")]
    assert (counts.missing, counts.failures, counts.error) == (1, (), None)
    assert 1 < sum(pauses) < 5


def test_in_a_namespace_that_is_not_new_none_is_waited_for(plane: ControlPlane, place: Place) -> None:
    def pause(_: float) -> None:
        raise AssertionError("it waited")

    counts, _ = name_secrets(connect(plane, ServiceAccounts), place.applied(), pause=pause)

    assert counts.missing == 1


def test_a_dry_run_writes_nothing(plane: ControlPlane, place: Place) -> None:
    before = place.create(imagePullSecrets=OTHERS)

    counts, _ = name_secrets(connect(plane, ServiceAccounts), place.applied(), dry_run=True)

    assert (counts.patched, place.read()) == (1, before)


def test_namespaces_without_the_secret_in_place_are_left_alone(plane: ControlPlane, place: Place) -> None:
    before = place.create()

    name_secrets(connect(plane, ServiceAccounts), applied_in("elsewhere"))

    assert place.read() == before


def test_many_namespaces_are_read_in_pages_of_one_list(
    plane: ControlPlane, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [Place(plane, f"{place.namespace}-{number}") for number in range(7)]
    for one in places:
        plane.create_namespace(one.namespace)
        one.create()
    monkeypatch.setattr(kube_api, "_PAGE", 3)
    audit = AuditLog(plane.audit_log)
    try:
        counts, _ = name_secrets(connect(plane, ServiceAccounts), *(one.applied() for one in places))
        asked = audit.counts(user=USER)
        assert all(one.named() == [SECRET] for one in places)
    finally:
        for one in places:
            one.remove()
    assert counts.patched == 7
    assert asked == {("list", "serviceaccounts"): 3, ("patch", "serviceaccounts"): 7}


def test_the_role_reaches_no_other_account_and_no_other_verb(plane: ControlPlane, place: Place) -> None:
    place.create("builder")
    place.create()
    api = plane.api_client(plane.token_of("refresher"))
    patch: dict[str, Any] = {"imagePullSecrets": []}
    forbidden: list[tuple[str, str, object]] = [
        ("GET", place.path("default"), None),
        ("GET", place.path(), None),
        ("GET", "/api/v1/serviceaccounts", None),
        ("GET", f"{place.path()}?fieldSelector=metadata.name=builder", None),
        ("PATCH", place.path("builder"), patch),
        ("PUT", place.path("default"), {"metadata": {"name": "default"}}),
        ("DELETE", place.path("default"), None),
        ("POST", place.path(), {"metadata": {"name": "another"}}),
        ("POST", f"{place.path('default')}/token", {"spec": {"audiences": ["x"]}}),
    ]
    try:
        for method, path, body in forbidden:
            with pytest.raises(ApiException) as refused:
                api.call_api(
                    path,
                    method,
                    header_params={
                        "Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"
                    },
                    body=body,
                    auth_settings=["BearerToken"],
                    _preload_content=False,
                )
            assert refused.value.status == 403, (method, path)
    finally:
        api.close()


def test_a_name_that_the_role_does_not_hold_is_an_error_that_names_the_file(plane: ControlPlane, place: Place) -> None:
    place.create()
    counts, _ = name_secrets(connect(plane, ServiceAccounts), place.applied(), names=("default", "builder"))

    assert place.named() == [SECRET]
    assert isinstance(counts.error, ServiceAccountsNotListed)
    assert "named builder (403); apply rbac/refresher.yaml" in str(counts.error)


def test_a_strategic_merge_patch_would_have_lost_the_list(plane: ControlPlane, place: Place) -> None:
    """Why the patch holds the whole list and the version that it is for."""
    place.create(imagePullSecrets=OTHERS)
    plane.request(
        "PATCH",
        place.path("default"),
        {"imagePullSecrets": [{"name": SECRET}]},
        content_type="application/strategic-merge-patch+json",
    )
    assert place.named() == [SECRET]


def test_the_function_does_it_after_the_secrets_and_counts_it(aws: Aws, plane: ControlPlane, place: Place) -> None:
    place.create(imagePullSecrets=OTHERS)
    audit = AuditLog(plane.audit_log)

    seen = invoke(aws, {"namespaces": [place.namespace]}, objects=[NAMING])

    assert seen.error is None
    (record,) = seen.named("service_account.patched")
    assert {key: record[key] for key in ("namespace", "service_account", "status")} == {
        "namespace": place.namespace,
        "service_account": "default",
        "status": 200,
    }
    assert record["uid"] == place.read()["metadata"]["uid"]
    assert seen.result is not None
    assert (seen.result["service_accounts_patched"], seen.result["failed"]) == (1, 0)
    assert place.named() == ["first", "second", SECRET]
    assert audit.counts(user=USER) == {
        ("list", "namespaces"): 1,
        ("patch", "secrets"): 1,
        ("list", "serviceaccounts"): 1,
        ("patch", "serviceaccounts"): 1,
    }
    verbs = [(event.verb, event.resource) for event in audit.events(user=USER)]
    assert verbs.index(("patch", "secrets")) < verbs.index(("list", "serviceaccounts"))


def test_without_the_role_every_secret_is_in_place_and_the_run_fails(
    aws: Aws, plane: ControlPlane, place: Place
) -> None:
    place.create("builder")

    seen = invoke(aws, {"namespaces": [place.namespace]}, objects=[entry(service_accounts=["builder"])])

    assert isinstance(seen.error, ServiceAccountsNotListed)
    assert plane.get_secret(place.namespace, SECRET)
    (completed,) = seen.named("refresh.completed")
    assert (completed["applied"], completed["failed"]) == (1, 0)


def test_by_default_no_account_is_looked_at(aws: Aws, plane: ControlPlane, place: Place) -> None:
    before = place.create()
    audit = AuditLog(plane.audit_log)

    seen = invoke(aws, {"namespaces": [place.namespace]})

    assert "service_accounts_patched" not in json.dumps(seen.result)
    assert place.read() == before
    assert ("list", "serviceaccounts") not in audit.counts(user=USER)


def test_two_accounts_of_a_namespace_that_are_refused_are_two_writes_each_told_by_name(
    aws: Aws, plane: ControlPlane, place: Place
) -> None:
    for name in ("default", "builder"):
        place.create(name)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["serviceaccounts"]}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false", "message": "no", "reason": "Forbidden"}],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": place.namespace}}
    binding = {
        "policyName": "keeps-accounts",
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": selector},
    }
    base = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "keeps-accounts"}}
    kind = "ValidatingAdmissionPolicy"
    items = [{**base, "kind": kind, "spec": policy}, {**base, "kind": f"{kind}Binding", "spec": binding}]
    both = entry(service_accounts=["default", "builder"])
    plane.apply_yaml(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    plane.apply_yaml(roles(both))
    try:
        seen = _until_refused(aws, place, both)
    finally:
        plane.kubectl("delete", f"{kind}Binding,{kind}", "keeps-accounts")
        plane.apply_yaml(roles(NAMING))

    place_of = {f"serviceaccount/{name}" for name in ("default", "builder")}
    failed = seen.named("object.failed")
    assert {record["object"] for record in failed} == place_of
    assert {record["namespace"] for record in failed} == {place.namespace}
    for record in failed:
        name = record["object"].partition("/")[2]
        assert record["remedy"].startswith(
            f"the Secret {SECRET} is in place, but the ServiceAccount {name} does not name it: "
            "ValidatingAdmissionPolicy keeps-accounts refused it (status 403)"
        )
    (completed,) = seen.named("refresh.completed")
    assert (completed["applied"], completed["failed"], completed["service_accounts_failed"]) == (1, 2, 2)
    assert str(seen.error) == (
        f"2 of 3 writes failed: serviceaccount/default in {place.namespace}: service-account, serviceaccount/builder "
        f"in {place.namespace}: service-account; the log has every one with its remedy"
    )
    (metrics,) = [record for record in seen.records if "ObjectsFailed" in record and "object" not in record]
    assert metrics["ObjectsFailed"] == [2.0]


def _until_refused(aws: Aws, place: Place, both: Mapping[str, Any]) -> Seen:
    """Refresh until the API server knows of the policy and the role: it learns of them through watches."""
    for _ in range(100):
        seen = invoke(aws, {"namespaces": [place.namespace]}, objects=[both])
        if len(seen.named("object.failed")) == 2:
            return seen
        for name in ("default", "builder"):
            place.change({"imagePullSecrets": None}, name)
        time.sleep(0.1)
    raise AssertionError("nothing was ever in force")
