"""ServiceAccounts as the API server lists them, the patch for one, and what an answer to it means."""

import json
from typing import Any

import pytest

from tests.support.refresher import EXPIRES_AT
from upsert.core import account_outcomes, answers, service_accounts
from upsert.core.account_outcomes import AccountPatched
from upsert.core.answers import Answer
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import NamespacesFailed, ServiceAccountsNotListed, SettingsError
from upsert.refresh import Report
from upsert.service_accounts import Counts
from upsert.settings import load

ENVIRONMENT = {"CLUSTER_NAME": "test", "REGISTRIES": '[{"account": "123456789012", "region": "eu-central-1"}]'}
ACCOUNT = ServiceAccount("team-a", "default", "u-1", "7", ("first", "second"))


def item(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "default", "namespace": "team-a", "uid": "u-1", "resourceVersion": "7"}
    return {"metadata": metadata, "imagePullSecrets": [{"name": "first"}, {"name": "second"}]} | changes


def page(*items: Any, **metadata: str) -> Answer:
    body = json.dumps({"kind": "ServiceAccountList", "metadata": metadata, "items": items}).encode()
    return answers.read_service_accounts(200, {}, body)


def test_a_page_holds_each_account_with_its_version_and_its_list() -> None:
    read = page(item(), **{"continue": "next"})
    assert (read.service_accounts, read.continue_token, read.succeeded) == ((ACCOUNT,), "next", True)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, ()),
        ([], ()),
        ([{"name": "a"}, {"name": "a"}], ("a", "a")),
        ([{}], ("",)),
    ],
)
def test_a_list_may_be_absent_or_odd(given: object, names: tuple[str, ...]) -> None:
    assert page(item(imagePullSecrets=given)).service_accounts[0].pull_secrets == names


def test_an_account_may_have_dots_in_its_name() -> None:
    metadata = {"name": "my.app", "namespace": "team-a", "uid": "u", "resourceVersion": "1"}
    assert page(item(metadata=metadata)).service_accounts[0].name == "my.app"


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {},
        {"metadata": {}},
        item(imagePullSecrets="first"),
        item(imagePullSecrets=[{"name": 5}]),
        item(imagePullSecrets=["first"]),
        item(metadata={"name": "default", "namespace": "../x", "uid": "u", "resourceVersion": "1"}),
        item(metadata={"name": "a/b", "namespace": "x", "uid": "u", "resourceVersion": "1"}),
    ],
)
def test_what_kubernetes_does_not_send_is_unreadable(broken: object) -> None:
    assert page(item(), broken).trouble == "unreadable"


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"items": null, "metadata": {}}'])
def test_a_body_that_is_no_list_is_unreadable(body: bytes) -> None:
    assert answers.read_service_accounts(200, {}, body).trouble == "unreadable"


def test_a_refused_list_is_read_as_any_refusal() -> None:
    assert answers.read_service_accounts(403, {}, b"{}").status == 403


def test_the_patch_holds_the_whole_list_and_the_version_that_it_is_for() -> None:
    assert json.loads(service_accounts.naming(ACCOUNT, "pull")) == {
        "metadata": {"uid": "u-1", "resourceVersion": "7"},
        "imagePullSecrets": [{"name": "first"}, {"name": "second"}, {"name": "pull"}],
    }


def test_success_carries_the_servers_proof() -> None:
    assert account_outcomes.patched(ACCOUNT, Answer(200, uid="u-1", resource_version="8")) == AccountPatched(
        "team-a", "default", "u-1", "8", 200
    )


@pytest.mark.parametrize(
    ("answer", "clue"),
    [
        (Answer(0, trouble="no-time"), "the function's time was nearly over"),
        (Answer(0, trouble="timeout"), "no answer (timeout)"),
        (Answer(403), "apply rbac/service-accounts.yaml"),
        (Answer(403, denied_by_webhook=True), "an admission webhook refused it"),
        (Answer(409), "others changed it at each try"),
        (Answer(422), "status 422"),
        (Answer(503), "status 503"),
    ],
)
def test_a_failure_names_the_account_and_what_to_do(answer: Answer, clue: str) -> None:
    failed = account_outcomes.failed(ACCOUNT, answer)
    assert (failed.namespace, failed.reason, failed.status) == ("team-a", "service-account", answer.status)
    assert failed.remedy.startswith("the Secret is in place, but the ServiceAccount default does not name it: ")
    assert clue in failed.remedy


def test_a_fault_of_the_function_says_where_it_is() -> None:
    assert "ZeroDivisionError at x:1" in account_outcomes.broken(ACCOUNT, "ZeroDivisionError at x:1").remedy


def report(accounts: Counts | None, **changes: Any) -> Report:
    fields: dict[str, Any] = {
        "applied": 3,
        "created": 0,
        "took_over": 0,
        "skipped": 0,
        "failures": accounts.failures if accounts else (),
        "token_expires_at": EXPIRES_AT,
        "api_requests": 1,
        "duration_ms": 1,
        "every_namespace": True,
        "dry_run": False,
        "accounts": accounts,
    }
    return Report(**{**fields, **changes})


def test_a_namespace_whose_account_failed_is_counted_once_in_the_error() -> None:
    failed = account_outcomes.failed(ACCOUNT, Answer(403))

    error = report(Counts(failures=(failed, failed))).error()

    assert isinstance(error, NamespacesFailed)
    assert str(error).startswith("1 of 3 namespaces failed: team-a: service-account, team-a: service-account;")


def test_accounts_that_could_not_be_listed_end_the_run_with_their_own_error() -> None:
    stopped = ServiceAccountsNotListed("403")
    assert report(Counts(error=stopped)).error() is stopped
    assert report(Counts(patched=1)).error() is None
    assert report(None).error() is None


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ()), ("  ", ()), ("default", ("default",)), ("default, my.app ,default", ("default", "my.app"))],
)
def test_the_setting_is_a_list_of_names(text: str, names: tuple[str, ...]) -> None:
    assert load({**ENVIRONMENT, "SERVICE_ACCOUNTS": text}, {})[0].service_accounts == names


@pytest.mark.parametrize("text", [",", "default,", "*", "Default", "a b", "-a", "a/b", "a" * 254])
def test_a_name_that_can_be_none_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"SERVICE_ACCOUNTS: .* is no name of a ServiceAccount"):
        load({**ENVIRONMENT, "SERVICE_ACCOUNTS": text}, {})
