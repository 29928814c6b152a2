"""ServiceAccounts as the API server lists them, the patch for one, and what an answer to it means."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from tests.support.objects import pull_object
from upsert import rounds
from upsert.core import account_outcomes, parsing, service_accounts
from upsert.core.account_outcomes import (
    AccountMissing,
    AccountOutcome,
    AccountPatched,
    AccountUnchanged,
)
from upsert.core.answers import Answer, Page, Refusal, Written
from upsert.core.outcomes import Applied, Failed
from upsert.core.reports import AccountCounts, RefreshReport
from upsert.core.sensitive import Sensitive
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import ObjectsFailed, ServiceAccountsNotListed, SourceFailed
from upsert.kube.pace import Pace
from upsert.records import summary
from upsert.service_accounts import name_secrets

ACCOUNT = ServiceAccount("team-a", "default", "u-1", "7", ("first", "second"))


def item(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "default", "namespace": "team-a", "uid": "u-1", "resourceVersion": "7"}
    return {"metadata": metadata, "imagePullSecrets": [{"name": "first"}, {"name": "second"}]} | changes


def read(status: int, body: bytes) -> Answer[Page[ServiceAccount]]:
    return parsing.answer(service_accounts.parse, status, {}, body)


def page(*items: Any, **metadata: str) -> Answer[Page[ServiceAccount]]:
    return read(200, json.dumps({"kind": "ServiceAccountList", "metadata": metadata, "items": items}).encode())


def one_of(*items: Any) -> ServiceAccount:
    found = page(*items).value
    assert found
    return found.items[0]


def test_a_page_holds_each_account_with_its_version_and_its_list() -> None:
    assert page(item(), **{"continue": "next"}).value == Page((ACCOUNT,), "next")


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
    assert one_of(item(imagePullSecrets=given)).pull_secrets == names


def test_an_account_may_have_dots_in_its_name() -> None:
    metadata = {"name": "my.app", "namespace": "team-a", "uid": "u", "resourceVersion": "1"}
    assert one_of(item(metadata=metadata)).name == "my.app"


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
    assert read(200, body).trouble == "unreadable"


@pytest.mark.parametrize(
    ("namespace", "metadata", "is_it"),
    [
        ("", {}, True),
        ("team-a", {}, True),
        ("team-b", {}, False),
        ("", {"name": "builder"}, False),
        ("team-a", {"name": "builder"}, False),
    ],
)
def test_a_list_of_others_is_no_answer(namespace: str, metadata: dict[str, str], is_it: bool) -> None:
    body = json.dumps({"items": [item(metadata=item()["metadata"] | metadata)]}).encode()
    answer = parsing.answer(partial(service_accounts.parse_of, namespace, "default"), 200, {}, body)

    assert (answer.value is not None, answer.trouble) == ((True, "") if is_it else (False, "unreadable"))


def test_a_refused_list_is_read_as_any_refusal() -> None:
    assert read(403, b"{}").status == 403


def test_the_patch_holds_the_whole_list_and_the_version_that_it_is_for() -> None:
    assert json.loads(service_accounts.naming(ACCOUNT, "pull").reveal()) == {
        "metadata": {"uid": "u-1", "resourceVersion": "7"},
        "imagePullSecrets": [{"name": "first"}, {"name": "second"}, {"name": "pull"}],
    }


def test_success_carries_the_servers_proof() -> None:
    assert account_outcomes.patched(ACCOUNT, 200, Written("u-1", "8")) == AccountPatched(
        "team-a", "default", "u-1", "8", 200
    )


@pytest.mark.parametrize(
    ("answer", "clue"),
    [
        (Answer(0, trouble="no-time"), "the function's time was nearly over"),
        (Answer(0, trouble="timeout"), "no answer (timeout)"),
        (Answer(403), "the group eks-upsert may not patch it (403); apply rbac/refresher.yaml"),
        (
            Answer(403, refusal=Refusal(denied_by="admission webhook a.b")),
            "admission webhook a.b refused it (status 403)",
        ),
        (
            Answer(500, refusal=Refusal(denied_by="admission webhook a.b", is_unasked=True)),
            "admission webhook a.b did not answer the API server (status 500); ask its owner",
        ),
        (Answer(409), "others changed it at each try"),
        (Answer(422), "status 422"),
        (Answer(503), "status 503"),
    ],
)
def test_a_failure_names_the_account_and_what_to_do(answer: Answer[Written], clue: str) -> None:
    failed = account_outcomes.failed(ACCOUNT, "aws-ecr-token", answer)
    assert (failed.title, failed.namespace) == ("serviceaccount/default", "team-a")
    assert (failed.reason, failed.status) == ("service-account", answer.status)
    assert failed.remedy.startswith(
        "the Secret aws-ecr-token is in place, but the ServiceAccount default does not name it: "
    )
    assert clue in failed.remedy


def test_a_fault_of_the_function_says_where_it_is() -> None:
    broken = account_outcomes.broken(ACCOUNT, "aws-ecr-token", "ZeroDivisionError at x:1")
    assert "ZeroDivisionError at x:1" in broken.remedy


def report(accounts: AccountCounts | None, **changes: Any) -> RefreshReport:
    return RefreshReport(is_whole=True, dry_run=False, applied=3, objects=1, accounts=accounts, **changes)


def forbidden(name: str = "default", secret_name: str = "aws-ecr-token") -> Failed:
    account = ServiceAccount("team-a", name, "u-2", "7", ())
    return account_outcomes.failed(account, secret_name, Answer[Written](403))


def test_accounts_that_failed_are_named_in_the_error_of_a_run_by_hand_and_of_no_other() -> None:
    ended = report(AccountCounts(patched=1, failures=(forbidden(), forbidden("builder"))))

    error = ended.error(is_by_hand=True)

    assert isinstance(error, ObjectsFailed)
    assert str(error).startswith(
        "2 of 6 writes failed: serviceaccount/default in team-a: service-account, serviceaccount/builder in team-a: "
        "service-account;"
    )
    assert ended.error(is_by_hand=False) is None


def test_what_is_counted_is_the_same_in_the_error_and_in_the_summary() -> None:
    """Two Secrets that one account does not name are two writes that failed, under one name."""
    failures = (forbidden(), forbidden(secret_name="other"), forbidden("builder"))
    ended = report(AccountCounts(failures=failures))

    assert str(ended.error(is_by_hand=True)).startswith(
        "3 of 6 writes failed: serviceaccount/default in team-a: service-account, serviceaccount/builder in team-a: "
        "service-account;"
    )
    assert (summary(ended)["failed"], summary(ended)["service_accounts_failed"]) == (3, 3)
    secrets = {one.remedy.partition(" is in place")[0] for one in failures}
    assert secrets == {"the Secret aws-ecr-token", "the Secret other"}


@pytest.mark.parametrize("is_by_hand", [True, False])
def test_accounts_that_could_not_be_listed_end_the_run_with_their_own_error(is_by_hand: bool) -> None:
    stopped = ServiceAccountsNotListed("403")

    assert report(AccountCounts(error=stopped)).error(is_by_hand=is_by_hand) is stopped
    assert report(AccountCounts(patched=1)).error(is_by_hand=is_by_hand) is None
    assert report(None).error(is_by_hand=is_by_hand) is None


def test_a_dry_run_ends_well_where_accounts_would_fail_and_not_where_they_could_not_be_listed() -> None:
    stopped = ServiceAccountsNotListed("403")
    rehearsed = report(AccountCounts(failures=(forbidden(),)))._replace(dry_run=True)

    assert rehearsed.error(is_by_hand=True) is None
    assert rehearsed._replace(accounts=AccountCounts(error=stopped)).error(is_by_hand=True) is stopped


def test_a_source_that_failed_is_the_error_that_a_run_ends_with() -> None:
    why = SourceFailed("gone")

    ended = report(
        AccountCounts(error=ServiceAccountsNotListed("403")), not_made=(("secret/a", why), ("secret/b", why))
    )

    assert str(ended.error(is_by_hand=False)) == "gone"


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, unless the server asks for patience."""
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.0)


class Accounts:
    """The ServiceAccounts of a cluster; `answers` may give what a patch gets in turn, `late` appear at a later look."""

    def __init__(self, *accounts: ServiceAccount) -> None:
        self.pace = Pace(2)
        self.accounts = {(account.namespace, account.name): account for account in accounts}
        self.late: list[ServiceAccount] = []
        self.answers: list[Answer[Written]] = []
        self.listed_in: list[tuple[str, ...]] = []
        self.patches: list[dict[str, Any]] = []
        self.time_is_up = False

    def may_start(self) -> bool:
        return not self.time_is_up

    def time_left(self) -> float:
        return 0.0 if self.time_is_up else 60.0

    def anew(self, account: ServiceAccount) -> Answer[Page[ServiceAccount]]:
        there = self.accounts.get((account.namespace, account.name))
        return Answer(200, value=Page((there,) if there else ()))

    def listed(self, name: str, namespaces: Sequence[str] = ()) -> list[ServiceAccount]:
        self.listed_in.append(tuple(namespaces))
        return [one for one in self.accounts.values() if one.name == name and one.namespace in (namespaces or ALL)]

    def patch(self, account: ServiceAccount, patch: Sensitive[bytes], *, dry_run: bool) -> Answer[Written]:
        self.patches.append(json.loads(patch.reveal()) | {"dry_run": dry_run, "namespace": account.namespace})
        return self.answers.pop(0) if self.answers else Answer(200, value=Written(account.uid, "8"))

    def pause(self, _seconds: float) -> None:
        self.accounts |= {(account.namespace, account.name): account for account in self.late}


ALL = tuple(f"team-{letter}" for letter in "abcdefgh")


def account(namespace: str, name: str = "default", *names: str) -> ServiceAccount:
    return ServiceAccount(namespace, name, f"uid-{namespace}", "7", names)


def applied(namespace: str, change: str = "updated") -> Applied:
    return Applied("secret/aws-ecr-token", namespace, "u-1", "1", change, (), 200, 1)


def named(
    store: Accounts, *there: Applied, accounts: tuple[str, ...] = ("default",), dry_run: bool = False
) -> tuple[AccountCounts, list[AccountOutcome]]:
    outcomes: list[AccountOutcome] = []
    counts = name_secrets(
        store,
        {pull_object(service_accounts=accounts): there},
        dry_run=dry_run,
        record=outcomes.append,
        pause=store.pause,
    )
    return counts, outcomes


def test_each_account_of_a_namespace_with_the_secret_names_it_once() -> None:
    store = Accounts(account("team-a"), account("team-b", "default", "aws-ecr-token"), account("team-c"))

    counts, outcomes = named(store, applied("team-a"), applied("team-b"))

    assert (counts.patched, counts.unchanged, counts.missing, counts.failures) == (1, 1, 0, ())
    assert set(outcomes) == {
        AccountPatched("team-a", "default", "uid-team-a", "8", 200),
        AccountUnchanged("team-b", "default"),
    }
    assert [patch["imagePullSecrets"] for patch in store.patches] == [[{"name": "aws-ecr-token"}]]
    assert store.listed_in == [("team-a", "team-b")]


def test_two_secrets_each_have_their_own_accounts() -> None:
    store = Accounts(account("team-a"), account("team-a", "builder"))
    one, two = pull_object(service_accounts=("default",)), pull_object(name="two", service_accounts=("builder",))

    counts = name_secrets(
        store, {one: [applied("team-a")], two: [applied("team-a")]}, dry_run=False, record=lambda _: None
    )

    assert counts.patched == 2
    assert [patch["imagePullSecrets"] for patch in store.patches] == [[{"name": "aws-ecr-token"}], [{"name": "two"}]]


def test_a_secret_that_names_no_account_asks_for_none() -> None:
    store = Accounts(account("team-a"))

    counts, _ = named(store, applied("team-a"), accounts=())

    assert counts == AccountCounts()
    assert store.listed_in == []


def test_where_there_is_none_it_is_missing_and_no_failure() -> None:
    counts, outcomes = named(Accounts(), applied("team-a"))

    assert (counts.missing, counts.failures) == (1, ())
    assert outcomes == [AccountMissing("team-a", "default")]


def test_the_account_of_a_new_namespace_is_waited_for() -> None:
    store = Accounts()
    store.late = [account("team-a")]

    counts, _ = named(store, applied("team-a", "created"))

    assert counts.patched == 1


def test_an_account_that_changes_meanwhile_is_read_anew_and_tried_again() -> None:
    store = Accounts(account("team-a"))
    store.answers = [Answer(409), Answer(409)]

    counts, _ = named(store, applied("team-a"))

    assert counts.patched == 1
    assert len(store.patches) == 3


@pytest.mark.parametrize(
    ("answer", "is_missing"),
    [
        (Answer[Written](404, refusal=Refusal(reason="NotFound")), True),
        (Answer[Written](200, value=Written("u-1", "8", is_being_deleted=True)), True),
        (Answer[Written](404, refusal=Refusal(denied_by="admission webhook a.b")), False),
        (Answer[Written](404, trouble="unreadable"), False),
    ],
)
def test_only_the_server_itself_says_that_an_account_is_gone(answer: Answer[Written], is_missing: bool) -> None:
    store = Accounts(account("team-a"))
    store.answers = [answer]

    counts, _ = named(store, applied("team-a"))

    assert (counts.missing, len(counts.failures)) == ((1, 0) if is_missing else (0, 1))


@pytest.mark.usefixtures("no_pause")
def test_every_account_gets_one_try_before_any_gets_a_second_one() -> None:
    """A webhook that is dead for some holds up no other, and their time is not used up by it."""
    store = Accounts(*(account(namespace) for namespace in ALL))
    store.pace = Pace(1)
    dead = ("team-b", "team-c", "team-f")
    patch = store.patch

    def behind(account: ServiceAccount, *arguments: Any, **options: Any) -> Answer[Written]:
        answer = patch(account, *arguments, **options)
        return Answer(500) if account.namespace in dead else answer

    store.patch = behind  # type: ignore[method-assign]

    counts, _ = named(store, *map(applied, ALL))

    assert sorted(one["namespace"] for one in store.patches[: len(ALL)]) == list(ALL)
    assert counts.patched == len(ALL) - len(dead)
    assert sorted(failed.namespace for failed in counts.failures) == list(dead)
    assert len(store.patches) == len(ALL) + 5 * len(dead)


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize("passing", [Answer[Written](503), Answer[Written](0, trouble="timeout"), Answer[Written](429)])
def test_what_passes_at_a_later_try_is_no_failure(passing: Answer[Written]) -> None:
    store = Accounts(account("team-a"), account("team-b"))
    store.answers = [passing, passing, passing]

    counts, _ = named(store, applied("team-a"), applied("team-b"))

    assert (counts.patched, counts.failures) == (2, ())


@pytest.mark.usefixtures("no_pause")
def test_one_that_cannot_be_read_anew_is_tried_again_and_never_overwritten() -> None:
    store = Accounts(account("team-a"))
    store.answers = [Answer(409)]
    anew = [Answer[Page[ServiceAccount]](503)] * 2
    read = store.anew
    store.anew = lambda account: anew.pop() if anew else read(account)  # type: ignore[method-assign]

    counts, _ = named(store, applied("team-a"))

    assert (counts.patched, anew, len(store.patches)) == (1, [], 2)


def test_without_time_an_account_is_left_as_it_is_and_says_so() -> None:
    store = Accounts(account("team-a"))
    store.time_is_up = True

    counts, outcomes = named(store, applied("team-a"))

    assert store.patches == []
    (failed,) = outcomes
    assert isinstance(failed, Failed)
    assert "the function's time was nearly over" in failed.remedy
    assert counts.failures == (failed,)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_is_passed_on(dry_run: bool) -> None:
    store = Accounts(account("team-a"))

    named(store, applied("team-a"), dry_run=dry_run)

    assert [patch["dry_run"] for patch in store.patches] == [dry_run]
