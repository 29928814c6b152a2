"""A list that is limited to names, on the fake cluster and on the real API server."""

from collections.abc import Iterator

import pytest

from tests.support.controlplane import ControlPlane
from tests.support.fake_cluster import FakeCluster
from tests.support.refresher import writer
from upsert import writing

NAMES = ("named-a", "named-b")


def _fake() -> FakeCluster:
    fake = FakeCluster()
    for name in NAMES:
        fake.add(name, letter=name[-1])
    return fake


@pytest.fixture(params=["fake", "real"])
def side(request: pytest.FixtureRequest) -> Iterator[writing.Writer]:
    if request.param == "fake":
        yield _fake()
        return
    control_plane: ControlPlane = request.getfixturevalue("control_plane")
    for name in NAMES:
        control_plane.create_namespace(name, {"letter": name[-1]})
    yield writer(control_plane)
    for name in NAMES:
        control_plane.remove_namespace(name)


@pytest.mark.parametrize(
    ("selector", "names", "found"),
    [
        ("", ["named-a"], ["named-a"]),
        ("", ["named-b", "named-a"], ["named-a", "named-b"]),
        ("", ["named-a", "named-nowhere"], ["named-a"]),
        ("", ["named-nowhere"], []),
        ("letter=b", ["named-a", "named-b"], ["named-b"]),
        ("letter=b", ["named-a"], []),
        ("letter=nowhere", [], []),
    ],
)
def test_only_what_is_named_and_selected_is_listed(
    side: writing.Writer, selector: str, names: list[str], found: list[str]
) -> None:
    assert sorted(side.namespaces(selector, names)) == found


def test_a_hundred_of_the_longest_names_fit_into_one_request(control_plane: ControlPlane) -> None:
    adapter = writer(control_plane)
    names = [f"{number:03}".rjust(63, "a") for number in range(100)]

    assert adapter.namespaces("", names) == []
    assert adapter.requests == 1
