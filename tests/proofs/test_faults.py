"""No namespace is lost when a fifth of all requests breaks on its way, and none is written more often than asked for.

The proxy stands before the real API server, so what was written is the API server's word: its audit log.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.proofs.conftest import Crowd
from tests.support import refresher
from tests.support.audit import AuditEvent, AuditLog
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import new_password
from tests.support.faults import PASSING, WRITTEN_BUT_LOST, Choice, Fault, FaultProxy, Passage, seeded
from tests.support.refresher import SECRET, Run
from upsert import rounds
from upsert.core.identity import REFRESHER
from upsert.core.outcomes import Applied, Failed
from upsert.core.sensitive import Sensitive
from upsert.kube import api as kube_api
from upsert.kube.access import ClusterAccess
from upsert.kube.api import SAFETY_MARGIN_SECONDS, Api
from upsert.kube.bearer import BearerTokens
from upsert.kube.writer import KubeWriter

SEED = 20261130
SHARE = 0.2
# Faults of the one request, whose tries are counted; with the others the server may be out for everyone.
COUNTED = (Fault.INTERNAL, Fault.TRUNCATED, Fault.WRONG_TYPE, Fault.ECHO, Fault.HUGE_STATUS)


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    """A proxy that breaks nothing yet."""
    with FaultProxy(plane, lambda _: None, stall_seconds=5.0) as proxy:
        yield proxy


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on a silent server before a stall of the proxy ends, yet long after any answer of a busy machine."""
    monkeypatch.setattr(kube_api, "_TIMEOUT_SECONDS", 4.0)


class Countdown:
    """The function's time, running out."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds that are left."""
        return self._end - time.monotonic()


def writer(
    proxy: FaultProxy, plane: ControlPlane, concurrency: int = 16, remaining: Callable[[], float] = lambda: 300.0
) -> KubeWriter:
    """Return what writes, pointed at the proxy."""
    token = plane.token_of("refresher")
    return KubeWriter(refresher.connect(proxy.endpoint, proxy.ca_pem, token, concurrency, remaining))


def passwords(plane: ControlPlane, namespaces: list[str]) -> Mapping[str, str]:
    """Return what the Secret of each namespace holds."""
    return {space: refresher.password_in(plane.get_secret(space, SECRET)) for space in namespaces}


def patches(audit: AuditLog) -> list[AuditEvent]:
    """Return the PATCHes that reached the API server."""
    audit.counts(user="refresher")
    return [event for event in audit.events(user="refresher") if event.verb == "patch"]


def only(fault: Fault, *namespaces: str) -> Choice:
    """Return a choice that breaks every request to these namespaces in one way."""
    return lambda passage: fault if passage.namespace in namespaces else None


def assert_all_applied_and_accounted_for(
    run: Run, proxy: FaultProxy, plane: ControlPlane, audit: AuditLog, namespaces: list[str], password: str
) -> None:
    assert {outcome.namespace for outcome in run.outcomes.values() if isinstance(outcome, Applied)} == set(namespaces)
    assert run.report.applied + run.report.skipped + len(run.report.failures) == len(namespaces)
    assert set(passwords(plane, namespaces).values()) == {password}
    assert run.report.api_requests == proxy.passed + proxy.injected.total()
    # One write each, and one more for every write whose answer was lost: no write that nobody asked for.
    lost_lists = sum(fault in WRITTEN_BUT_LOST for fault in list_faults(proxy))
    lost = sum(count for fault, count in proxy.injected.items() if fault in WRITTEN_BUT_LOST) - lost_lists
    writes = Counter(event.namespace for event in patches(audit))
    assert writes.total() == len(namespaces) + lost
    assert set(writes) == set(namespaces)
    print(
        f"\nproof: faults: namespaces={len(namespaces)} requests={run.report.api_requests} "
        f"injected={proxy.injected.total()} applied={run.report.applied} failed={len(run.report.failures)} lost=0 "
        f"writes={writes.total()} of which repeated={lost} "
        f"by kind={ {fault.value: count for fault, count in sorted(proxy.injected.items())} }"
    )


def list_faults(proxy: FaultProxy) -> list[Fault]:
    return [fault for passage, fault in proxy.history if fault and passage.method == "GET"]


@pytest.mark.usefixtures("impatient")
def test_every_namespace_is_refreshed_though_a_fifth_of_all_requests_breaks(
    proxy: FaultProxy, plane: ControlPlane, audit: AuditLog, crowd: Crowd
) -> None:
    namespaces = list(crowd(200))
    password = new_password()
    proxy.choose = seeded(SEED, SHARE, PASSING)
    run = refresher.run(writer(proxy, plane), refresher.login(password=password), namespaces=namespaces)
    assert set(proxy.injected) == set(PASSING), "the seed does not bring every fault"
    assert_all_applied_and_accounted_for(run, proxy, plane, audit, namespaces, password)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_every_namespace_is_refreshed_through_stalls_of_thirty_seconds(
    plane: ControlPlane, audit: AuditLog, crowd: Crowd
) -> None:
    namespaces = list(crowd(200))
    password = new_password()
    with FaultProxy(plane, seeded(SEED, SHARE, PASSING), stall_seconds=30.0) as proxy:
        target = writer(proxy, plane, remaining=lambda: 900.0)
        run = refresher.run(target, refresher.login(password=password), namespaces=namespaces)
        assert_all_applied_and_accounted_for(run, proxy, plane, audit, namespaces, password)


@pytest.mark.usefixtures("impatient")
def test_without_retries_the_same_faults_lose_namespaces(
    proxy: FaultProxy, plane: ControlPlane, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespaces = list(crowd(50))
    monkeypatch.setattr(rounds, "_TRIES", 1)
    final = [fault for fault in PASSING if fault is not Fault.THROTTLED]
    proxy.choose = lambda passage: seeded(SEED, SHARE, final)(passage) if passage.method == "PATCH" else None
    run = refresher.run(writer(proxy, plane), namespaces=namespaces)
    assert len(run.report.failures) > 0


@pytest.mark.parametrize(
    ("fault", "reason", "status"),
    [
        (Fault.INTERNAL, "unavailable", 500),
        (Fault.BAD_GATEWAY, "unavailable", 502),
        (Fault.UNAVAILABLE, "unavailable", 503),
        (Fault.GATEWAY_TIMEOUT, "unavailable", 504),
        (Fault.RESET_BEFORE, "unavailable", 0),
        (Fault.RESET_AFTER, "unavailable", 0),
        (Fault.HALF_CLOSED, "unavailable", 0),
        (Fault.STALL, "unavailable", 0),
        (Fault.TRUNCATED, "unreadable", 200),
        (Fault.WRONG_TYPE, "unreadable", 200),
        (Fault.HTML, "unavailable", 503),
        (Fault.ECHO, "unavailable", 500),
        (Fault.HUGE_STATUS, "unavailable", 500),
    ],
)
@pytest.mark.usefixtures("impatient", "hasty")
def test_a_fault_that_stays_is_named_and_leaves_the_other_namespaces_alone(
    fault: Fault, reason: str, status: int, proxy: FaultProxy, plane: ControlPlane, broken_and_whole: tuple[str, str]
) -> None:
    broken, whole = broken_and_whole
    refresher.run(writer(proxy, plane), namespaces=[broken, whole])
    proxy.choose = only(fault, broken)
    run = refresher.run(writer(proxy, plane), namespaces=[broken, whole])
    failed = run.outcomes[broken]
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == (reason, status)
    assert isinstance(run.outcomes[whole], Applied)
    said = str(run.report.error(is_by_hand=True))
    assert said.startswith(f"1 of 2 writes failed: secret/{SECRET} in {broken}: {reason}")
    tries = proxy.injected[fault]
    assert tries == rounds._TRIES if fault in COUNTED else tries >= 1


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon, and not for long."""
    monkeypatch.setattr(rounds, "backoff", lambda _: 0.05)
    monkeypatch.setattr(rounds, "_PATIENCE_SECONDS", 1.0)


@pytest.fixture
def broken_and_whole(crowd: Crowd) -> tuple[str, str]:
    """Two namespaces, one of which is to meet a fault."""
    broken, whole = crowd(2)
    return broken, whole


def test_a_server_that_asks_for_patience_gets_it_until_the_time_is_nearly_over(
    proxy: FaultProxy, plane: ControlPlane, broken_and_whole: tuple[str, str]
) -> None:
    throttled, whole = broken_and_whole
    proxy.choose = only(Fault.THROTTLED, throttled)
    clock = Countdown(SAFETY_MARGIN_SECONDS + 8)
    run = refresher.run(writer(proxy, plane, 4, clock.remaining), namespaces=[throttled, whole])
    failed = run.outcomes[throttled]
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("throttled", 429)
    assert isinstance(run.outcomes[whole], Applied)
    # Retry-After is a second: so no more than one try for each that was left, and the margin is never touched.
    assert 2 <= proxy.injected[Fault.THROTTLED] <= 8
    assert clock.remaining() >= SAFETY_MARGIN_SECONDS


@pytest.mark.parametrize(
    ("fault", "too_many"), [(Fault.THROTTLED, True), (Fault.UNAVAILABLE, True), (Fault.INTERNAL, False)]
)
def test_fewer_requests_are_under_way_when_the_server_says_that_they_are_too_many(
    fault: Fault, too_many: bool, proxy: FaultProxy, plane: ControlPlane, crowd: Crowd
) -> None:
    namespaces = list(crowd(60))
    target = writer(proxy, plane)
    limits: list[int] = []

    def refuse_a_few(passage: Passage) -> Fault | None:
        limits.append(target.pace.limit)
        return fault if passage.method == "PATCH" and passage.nth == 1 and proxy.injected[fault] < 10 else None

    proxy.choose = refuse_a_few
    run = refresher.run(target, namespaces=namespaces)
    assert run.report.applied == 60
    assert min(limits) <= 8 if too_many else min(limits) == 16


def test_an_outage_in_the_middle_ends_in_time_with_every_namespace_named(
    proxy: FaultProxy, plane: ControlPlane, audit: AuditLog, crowd: Crowd
) -> None:
    namespaces = list(crowd(200))
    proxy.choose = lambda _: Fault.RESET_BEFORE if proxy.passed > 80 else None
    clock = Countdown(SAFETY_MARGIN_SECONDS + 8)
    run = refresher.run(writer(proxy, plane, remaining=clock.remaining), namespaces=namespaces)
    assert set(run.outcomes) == set(namespaces)
    reasons = Counter(failed.reason for failed in run.report.failures)
    print(f"\nproof: outage: applied={run.report.applied} failed={dict(reasons)} seconds left={clock.remaining():.1f}")
    assert run.report.applied == 80
    assert set(reasons) <= {"unavailable", "deadline"}
    assert reasons.total() == 120
    assert clock.remaining() >= SAFETY_MARGIN_SECONDS / 2
    assert len(patches(audit)) == 80


def test_an_outage_that_ends_in_time_costs_no_namespace(proxy: FaultProxy, plane: ControlPlane, crowd: Crowd) -> None:
    namespaces = list(crowd(60))
    outage = Countdown(0)

    def be_out_for_a_while(_: Passage) -> Fault | None:
        nonlocal outage
        if proxy.passed == 30 and not proxy.injected:
            outage = Countdown(12)
        return Fault.RESET_BEFORE if outage.remaining() > 0 else None

    proxy.choose = be_out_for_a_while
    run = refresher.run(writer(proxy, plane), namespaces=namespaces)
    most_tries = max(Counter(passage.namespace for passage, fault in proxy.history if fault).values())
    print(
        f"\nproof: outage of 12 s: applied={run.report.applied} failed={len(run.report.failures)} tries<={most_tries}"
    )
    assert run.report.applied == 60
    assert most_tries >= rounds._TRIES, "the outage was too short to prove anything"


def test_nothing_is_sent_for_a_namespace_for_which_no_time_is_left(
    proxy: FaultProxy, plane: ControlPlane, audit: AuditLog, crowd: Crowd
) -> None:
    namespaces = list(crowd(100))

    def remaining() -> float:
        return 300.0 if proxy.passed <= 40 else SAFETY_MARGIN_SECONDS - 0.1

    run = refresher.run(writer(proxy, plane, 8, remaining), namespaces=namespaces)
    late = [failed.namespace for failed in run.report.failures]
    assert {failed.reason for failed in run.report.failures} == {"deadline"}
    assert len(late) + run.report.applied == 100
    # Those that were under way when the time was over came to their end.
    assert 40 <= run.report.applied <= 48
    assert len(patches(audit)) == run.report.applied
    assert [plane.get_secret(space, SECRET) for space in late] == [None] * len(late)


def test_one_refused_bearer_token_is_renewed_once_for_all_workers(proxy: FaultProxy, crowd: Crowd) -> None:
    namespaces = list(crowd(100))
    first = "k8s-aws-v1.first"
    signed: list[str] = []

    def sign() -> Sensitive[str]:
        signed.append(first if not signed else f"k8s-aws-v1.number-{len(signed)}")
        return Sensitive(signed[-1])

    def refuse_the_first_token_from_some_moment_on(passage: Passage) -> Fault | None:
        late = proxy.passed + proxy.injected.total() > 40
        return Fault.UNAUTHORIZED if late and passage.headers["Authorization"] == f"Bearer {first}" else None

    proxy.choose = refuse_the_first_token_from_some_moment_on
    access = ClusterAccess(proxy.endpoint, proxy.ca_pem)
    target = KubeWriter(Api(access, BearerTokens(sign), REFRESHER, remaining=lambda: 300.0))
    run = refresher.run(target, namespaces=namespaces)
    assert run.report.applied == 100
    assert signed == [first, "k8s-aws-v1.number-1"]
    assert 1 <= proxy.injected[Fault.UNAUTHORIZED] <= 16


def test_a_role_that_is_refused_for_good_stops_the_run_and_names_the_rest(
    proxy: FaultProxy, plane: ControlPlane, crowd: Crowd
) -> None:
    namespaces = list(crowd(100))
    proxy.choose = lambda _: Fault.UNAUTHORIZED if proxy.passed > 40 else None
    run = refresher.run(writer(proxy, plane), namespaces=namespaces)
    assert run.report.applied == 40
    assert {failed.reason for failed in run.report.failures} == {"unauthorized"}
    assert len(run.report.failures) == 60
    assert type(run.report.error(is_by_hand=False)).__name__ == "Unauthorized"
    # Each worker that was under way may have had its request refused, and the same one with the new token, and those
    # that had begun before the last word was known once more; then nobody asks any more.
    assert proxy.injected[Fault.UNAUTHORIZED] <= 3 * 16


def test_a_certificate_that_changes_during_the_run_stops_it_and_gets_no_secret(
    proxy: FaultProxy, plane: ControlPlane, crowd: Crowd
) -> None:
    namespaces = list(crowd(60))

    def swap_the_certificate(_: Passage) -> Fault | None:
        if proxy.passed == 20:
            proxy.present(make_serving_certificate())
        return None

    proxy.choose = swap_the_certificate
    run = refresher.run(writer(proxy, plane, concurrency=4), namespaces=namespaces)
    assert set(run.outcomes) == set(namespaces)
    assert {failed.reason for failed in run.report.failures} == {"untrusted"}
    # Who had a connection may have had one more answer over it; nothing went over a new one.
    assert run.report.applied == proxy.passed - 1 <= 25
    assert type(run.report.error(is_by_hand=False)).__name__ == "ClusterNotTrusted"
