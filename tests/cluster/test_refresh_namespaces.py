"""Which namespaces of a real API server are found, and what becomes of those that go away."""

import math
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.objects import pull_object
from tests.support.refresher import FIELD_MANAGER, SECRET, api, pull_secret, run, writer
from upsert.core.outcomes import Applied, Failed, Skipped
from upsert.errors import InputError, NoNamespaceMatches
from upsert.kube.writer import KubeWriter

TITLE = pull_object().title
MANY = 501
PAGE = 500


@pytest.fixture
def label(control_plane: ControlPlane) -> Iterator[str]:
    """A label that no other test uses: the namespaces that carry it are removed afterwards."""
    label = f"set={secrets.token_hex(4)}"
    yield label
    found = control_plane.request("GET", "/api/v1/namespaces", query={"labelSelector": label})["items"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: remove(control_plane, item["metadata"]["name"]), found))


def add(control_plane: ControlPlane, label: str, name: str) -> str:
    key, _, value = label.partition("=")
    full = f"{name}-{value}"
    control_plane.create_namespace(full, {key: value, "name": name})
    return full


def remove(control_plane: ControlPlane, name: str) -> None:
    """As `ControlPlane.remove_namespace` does, in two requests; the Secrets of a fresh name bother nobody."""
    path = f"/api/v1/namespaces/{name}"
    namespace = control_plane.request("DELETE", path)
    namespace["spec"]["finalizers"] = []
    control_plane.request("PUT", f"{path}/finalize", namespace)


@pytest.fixture
def many(control_plane: ControlPlane, label: str) -> list[str]:
    with ThreadPoolExecutor(16) as pool:
        return sorted(pool.map(lambda number: add(control_plane, label, f"n{number:03}"), range(MANY)))


def test_more_namespaces_than_a_page_holds_cost_one_list_per_page_and_one_write_each(
    control_plane: ControlPlane, label: str, many: list[str]
) -> None:
    target = writer(control_plane, concurrency=16)
    run(target, selector=label)
    audit = AuditLog(control_plane.audit_log)
    before = target.requests

    result = run(target, selector=label)

    assert sorted(result.outcomes) == many
    assert (result.report.applied, result.report.created, result.report.failures) == (MANY, 0, ())
    expected = {("list", "namespaces"): math.ceil(MANY / PAGE), ("patch", "secrets"): MANY}
    assert audit.counts(user="refresher") == expected
    assert target.requests - before == sum(expected.values())
    events = audit.events(user="refresher")
    assert {event.name for event in events if event.resource == "secrets"} == {SECRET}
    assert {event.user_agent for event in events} == {FIELD_MANAGER}
    assert {event.status for event in events} == {200}


def test_a_run_that_creates_costs_no_more_than_one_that_updates(control_plane: ControlPlane, label: str) -> None:
    names = [add(control_plane, label, name) for name in "abc"]
    audit = AuditLog(control_plane.audit_log)

    result = run(writer(control_plane), selector=label)

    assert sorted(result.outcomes) == sorted(names)
    assert result.report.created == 3
    assert audit.counts(user="refresher") == {("list", "namespaces"): 1, ("patch", "secrets"): 3}
    assert sorted(event.status for event in audit.events(user="refresher")) == [200, 201, 201, 201]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("{label}", {"a", "b", "c"}),
        ("{label},name=a", {"a"}),
        ("{label},name!=a", {"b", "c"}),
        ("{label},name in (a, b)", {"a", "b"}),
        ("{label},name notin (a,b)", {"c"}),
        ("{label},!nothing", {"a", "b", "c"}),
        ("{label},nothing", set()),
    ],
)
def test_a_selector_is_the_servers_own(
    control_plane: ControlPlane, label: str, selector: str, expected: set[str]
) -> None:
    names = {name: add(control_plane, label, name) for name in ("a", "b", "c")}

    found = writer(control_plane).namespaces(selector.format(label=label))

    assert set(found) == {names[name] for name in expected}


@pytest.mark.parametrize("selector", ["=,=", "a in", "a in (b", "-a=b", "a=b=c", "a/b/c=d"])
def test_a_selector_that_the_server_does_not_understand_is_named(control_plane: ControlPlane, selector: str) -> None:
    audit = AuditLog(control_plane.audit_log)
    with pytest.raises(InputError) as refused:
        run(writer(control_plane), selector=selector)

    assert refused.value.problems == (f"namespaces.selector: the API server does not understand {selector!r}",)
    assert ("patch", "secrets") not in audit.counts(user="refresher")


def test_a_typo_by_hand_stops_the_run_before_anything_is_written(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(NoNamespaceMatches, match=r"event\.namespaces: 'not-there' matches no namespace"):
        run(writer(control_plane), namespaces=[namespace, "not-there"])

    assert control_plane.get_secret(namespace, SECRET) is None


def test_a_selector_that_selects_nothing_stops_the_run(control_plane: ControlPlane) -> None:
    with pytest.raises(NoNamespaceMatches, match=f"none of the cluster's namespaces is in the scope of {TITLE}"):
        run(writer(control_plane), selector="nobody=carries-this")


def test_a_terminating_namespace_without_the_secret_is_skipped(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.delete_namespace(namespace)

    result = run(writer(control_plane), namespaces=[namespace])

    assert result.outcomes == {namespace: Skipped(TITLE, namespace, "terminating")}
    assert result.report.error(is_by_hand=True) is None
    assert control_plane.get_secret(namespace, SECRET) is None


def test_a_terminating_namespace_with_the_secret_is_refreshed_to_its_end(
    control_plane: ControlPlane, namespace: str
) -> None:
    before = control_plane.create_secret(namespace, pull_secret(), "kubectl-create")
    control_plane.delete_namespace(namespace)

    outcome = run(writer(control_plane), namespaces=[namespace]).outcomes[namespace]

    assert isinstance(outcome, Applied)
    assert (outcome.change, outcome.uid) == ("updated", before["metadata"]["uid"])


def test_a_namespace_that_is_gone_between_list_and_write_is_skipped(control_plane: ControlPlane, label: str) -> None:
    stays, goes = add(control_plane, label, "stays"), add(control_plane, label, "goes")

    class Slow(KubeWriter):
        """A cluster in which a namespace goes away just after it was listed."""

        def namespaces(self, selector: str, names: Sequence[str] = ()) -> list[str]:
            found = super().namespaces(selector, names)
            remove(control_plane, goes)
            return found

    result = run(Slow(api(control_plane)), selector=label)

    assert result.outcomes[goes] == Skipped(TITLE, goes, "gone")
    assert isinstance(result.outcomes[stays], Applied)
    assert (result.report.applied, result.report.skipped) == (1, 1)
    assert result.report.error(is_by_hand=True) is None


def set_quota(control_plane: ControlPlane, namespace: str, *, used: int) -> None:
    """Allow one Secret, of which `used` are taken: there is no controller manager that would count."""
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    quota = control_plane.request("POST", path, {"metadata": {"name": "one"}, "spec": {"hard": {"secrets": "1"}}})
    quota["status"] = {"hard": {"secrets": "1"}, "used": {"secrets": str(used)}}
    control_plane.request("PUT", f"{path}/one/status", quota)


def test_a_full_quota_fails_with_what_can_be_done(control_plane: ControlPlane, namespace: str) -> None:
    set_quota(control_plane, namespace, used=1)

    outcome = run(writer(control_plane), namespaces=[namespace]).outcomes[namespace]

    assert outcome == Failed(
        TITLE,
        namespace,
        "forbidden",
        403,
        "the ResourceQuota one of the namespace is full; raise it, or remove a Secret",
    )


def test_a_full_quota_does_not_stop_a_refresh_of_what_is_there(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, pull_secret(), "kubectl-create")
    set_quota(control_plane, namespace, used=1)

    outcome = run(writer(control_plane), namespaces=[namespace]).outcomes[namespace]

    assert isinstance(outcome, Applied)
    assert outcome.change == "updated"


def test_a_refresh_takes_one_place_of_a_quota(control_plane: ControlPlane, namespace: str) -> None:
    set_quota(control_plane, namespace, used=0)
    target = writer(control_plane)

    assert run(target, namespaces=[namespace]).report.created == 1
    assert run(target, namespaces=[namespace]).report.applied == 1


def test_every_awkward_namespace_has_its_own_outcome_in_one_run(control_plane: ControlPlane, label: str) -> None:
    names = {
        name: add(control_plane, label, name) for name in ("new", "ours", "theirs", "immutable", "opaque", "ending")
    }
    run(writer(control_plane), namespaces=[names["ours"]])
    control_plane.create_secret(names["theirs"], pull_secret(), "kubectl-create")
    control_plane.create_secret(names["immutable"], pull_secret(immutable=True), "kubectl-create")
    control_plane.create_secret(names["opaque"], {"metadata": {"name": SECRET}}, "kubectl-create")
    control_plane.delete_namespace(names["ending"])

    result = run(writer(control_plane), selector=label)

    ends = {
        name: outcome.change if isinstance(outcome, Applied) else outcome.reason
        for name, namespace in names.items()
        for outcome in [result.outcomes[namespace]]
    }
    assert ends == {
        "new": "created",
        "ours": "updated",
        "theirs": "updated",
        "immutable": "immutable",
        "opaque": "wrong-type",
        "ending": "terminating",
    }
    report = result.report
    assert (report.applied, report.created, report.took_over, report.skipped) == (3, 1, 1, 1)
    immutable, opaque = f"{TITLE} in {names['immutable']}", f"{TITLE} in {names['opaque']}"
    expected = f"2 of 6 writes failed: {immutable}: immutable, {opaque}: wrong-type"
    assert str(report.error(is_by_hand=True)).startswith(expected)
    # Nobody waits for the answer: its records and metrics speak, and trying the whole run again would help nobody.
    assert report.error(is_by_hand=False) is None
