"""Others at work while an object is adopted, on a real API server: nothing is lost, and nothing said that is not so."""

import base64
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from tests.support import adopter, keyed, refresher
from tests.support.adopter import Cluster, cluster
from tests.support.controlplane import ControlPlane
from tests.support.keyed import body, keyed_object, owners_of, values_of
from tests.support.objects import roles
from upsert.adopt_request import Action
from upsert.core.adoptions import Adopted, Refused, Released, Result
from upsert.core.identity import FIELD_MANAGER
from upsert.core.objects import OnConflict
from upsert.core.outcomes import Applied, Failed

NAME = "api-config"
LIVE = {"DB_PASSWORD": b"correct-horse-battery-9", "OTHER": b"\x00\xff"}
NEXT = LIVE | {"DB_PASSWORD": b"the-next-password"}
ORDINARY, MANY = 25, 500

rounds_of = pytest.mark.parametrize(
    "rounds", [ORDINARY, pytest.param(MANY, marks=[pytest.mark.soak, pytest.mark.timeout(900)])]
)


@pytest.fixture(autouse=True)
def _granted(control_plane: ControlPlane) -> Iterator[None]:
    one = keyed.entry(NAME, LIVE)
    control_plane.apply_roles("\n---\n".join([roles(one), roles(one, is_adopter=True)]))
    yield
    control_plane.apply_roles("\n---\n".join([roles(), roles(is_adopter=True)]))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def anew(plane: ControlPlane, namespace: str) -> None:
    """Have the object made by somebody, as if for the first time."""
    if plane.get_secret(namespace, NAME):
        plane.request("DELETE", f"/api/v1/namespaces/{namespace}/secrets/{NAME}")
    plane.create_secret(namespace, body(NAME, LIVE), "kubectl-create")


def found(plane: ControlPlane, namespace: str) -> dict[str, Any]:
    secret = plane.get_secret(namespace, NAME)
    assert secret is not None
    return secret


def adopt(target: Cluster, namespace: str, **changes: Any) -> Result:
    objects = [keyed_object(NAME, LIVE, **changes)]
    (result,) = adopter.run(target, Action.ADOPT, namespace, objects=objects, read=keyed.read_from(LIVE)).results
    return result


def together[A, B](pool: ThreadPoolExecutor, one: Callable[[], A], other: Callable[[], B]) -> tuple[A, B]:
    """Run both at once, each after the other one has begun."""
    start = Barrier(2)

    def begin[R](work: Callable[[], R]) -> R:
        start.wait(30)
        return work()

    first, second = pool.submit(begin, one), pool.submit(begin, other)
    return first.result(60), second.result(60)


def write(plane: ControlPlane, namespace: str, value: bytes, after: int) -> int:
    """Write a value as somebody else, after so many reads, and return the version that it got."""
    path = f"/api/v1/namespaces/{namespace}/secrets/{NAME}"
    for _ in range(after):
        plane.request("GET", path)
    patch = {"data": {"DB_PASSWORD": base64.b64encode(value).decode()}}
    merge = "application/merge-patch+json"
    written = plane.request("PATCH", path, patch, query={"fieldManager": "old-writer"}, content_type=merge)
    return int(written["metadata"]["resourceVersion"])


@rounds_of
def test_a_write_during_an_adoption_is_never_lost(
    control_plane: ControlPlane, namespace: str, pool: ThreadPoolExecutor, rounds: int
) -> None:
    target, seen = cluster(control_plane), Counter[str]()
    chance = random.Random(7)
    for number in range(rounds):
        anew(control_plane, namespace)
        value, after = f"written-meanwhile-{number}".encode(), chance.randrange(40)
        result, version = together(
            pool,
            lambda: adopt(target, namespace),
            lambda value=value, after=after: write(control_plane, namespace, value, after),  # type: ignore[misc]
        )
        now = found(control_plane, namespace)
        assert values_of(now) == LIVE | {"DB_PASSWORD": value}, result
        assert owners_of(now) >= {"old-writer"}, "whoever writes is known by name"
        if isinstance(result, Adopted):
            assert int(result.resource_version) < version, "it was ours before somebody wrote"
        else:
            assert isinstance(result, Refused), result
            assert result.reason.startswith(("changed since the check", "not adoptable: differs: DB_PASSWORD"))
        seen[type(result).__name__] += 1
    print(f"\nproof: rounds={rounds} adopted={seen['Adopted']} refused={seen['Refused']} lost=0")
    assert set(seen) == {"Adopted", "Refused"}, "both orders were met"


@rounds_of
def test_of_two_adopters_at_once_both_say_what_is_so(
    control_plane: ControlPlane, namespace: str, pool: ThreadPoolExecutor, rounds: int
) -> None:
    first, second = cluster(control_plane), cluster(control_plane)
    for _ in range(rounds // 2):
        anew(control_plane, namespace)
        results = together(pool, lambda: adopt(first, namespace), lambda: adopt(second, namespace))
        now = found(control_plane, namespace)
        assert values_of(now) == LIVE
        assert any(isinstance(result, Adopted) for result in results), results
        assert all(isinstance(result, (Adopted, Refused)) for result in results), results
        assert owners_of(now) == {FIELD_MANAGER}
        ours = [one["operation"] for one in now["metadata"]["managedFields"] if one["manager"] == FIELD_MANAGER]
        assert ours == ["Apply"]


@pytest.mark.parametrize("on_conflict", OnConflict)
@rounds_of
def test_a_refresh_during_an_adoption_rotates_or_is_refused(
    control_plane: ControlPlane, namespace: str, pool: ThreadPoolExecutor, rounds: int, on_conflict: OnConflict
) -> None:
    target, writer = cluster(control_plane), refresher.writer(control_plane)
    one = keyed_object(NAME, NEXT, on_conflict=on_conflict)
    for _ in range(rounds // 2):
        anew(control_plane, namespace)
        uid = found(control_plane, namespace)["metadata"]["uid"]
        result, run = together(
            pool,
            lambda: adopt(target, namespace, on_conflict=on_conflict),
            lambda: refresher.run(writer, keyed.source(NEXT), one, namespaces=[namespace]),
        )
        outcome, now = run.outcomes[namespace], found(control_plane, namespace)
        assert now["metadata"]["uid"] == uid
        assert isinstance(result, (Adopted, Refused)), result
        if isinstance(outcome, Applied):
            assert values_of(now) == NEXT
            assert not isinstance(result, Adopted) or int(result.resource_version) < int(outcome.resource_version)
        else:
            assert isinstance(outcome, Failed)
            assert (outcome.reason, on_conflict) == ("contested", OnConflict.REFUSE)
            assert values_of(now) == LIVE


def test_a_write_during_a_release_is_never_lost(
    control_plane: ControlPlane, namespace: str, pool: ThreadPoolExecutor
) -> None:
    target, one = cluster(control_plane), keyed_object(NAME, LIVE)
    chance = random.Random(11)
    for number in range(ORDINARY):
        anew(control_plane, namespace)
        adopt(target, namespace)
        value, after = f"written-meanwhile-{number}".encode(), chance.randrange(6)
        run, _ = together(
            pool,
            lambda: adopter.run(target, Action.RELEASE, namespace, objects=[one]),
            lambda value=value, after=after: write(control_plane, namespace, value, after),  # type: ignore[misc]
        )
        now = found(control_plane, namespace)
        assert values_of(now) == LIVE | {"DB_PASSWORD": value}
        (result,) = run.results
        if isinstance(result, Released):
            assert FIELD_MANAGER not in owners_of(now)
        else:
            assert isinstance(result, Refused)
            assert result.reason == "changed meanwhile; release again"
            assert FIELD_MANAGER in owners_of(now)
