"""Two objects of one name go to different namespaces or clusters, as far as a file can tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.compiled import compile_objects
from compiler.overlaps import overlaps
from tests.compiler.cases import NAMED_CLUSTERS, a_file, an_object
from upsert.core import namespaces
from upsert.core.objects import Object, Scope, Target
from upsert.errors import InputError

EVERYTHING = Scope()


def named(*include: str, exclude: tuple[str, ...] = (), selector: str = "") -> Scope:
    return Scope(include, exclude, selector)


def an(scope: Scope, name: str = "token", clusters: tuple[str, ...] = ("*",)) -> Object:
    return Object(name, "docker-registry", (), scope, clusters=clusters)


def common(first: Scope, second: Scope) -> list[str]:
    return [overlap.pattern for overlap in overlaps([an(first), an(second)], ())]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (named("a", "b"), named("b", "c"), "b"),
        (EVERYTHING, named("b"), "b"),
        (EVERYTHING, named("team-*"), "team-*"),
        (EVERYTHING, EVERYTHING, "*"),
        (named("team-*"), named("team-a"), "team-a"),
        (named("team-*"), named("team-b-*"), "team-b-*"),
        (named("*", exclude=("team-a",)), named("team-*"), "team-*"),
        (named("a", "b", exclude=("a",)), named("a", "b"), "b"),
        (named("a", selector="x=y"), named("a", selector="x=y"), "a"),
    ],
)
def test_what_both_hold_for_sure_is_an_overlap(first: Scope, second: Scope, both: str) -> None:
    assert common(first, second) == [both]
    assert common(second, first) == [both]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (named("a"), named("b")),
        (named("*", exclude=("team-*",)), named("team-*")),
        (named("*", exclude=("b",)), named("b")),
        (named("team-?"), named("team-ab")),
        # What only the cluster knows is decided at run time.
        (EVERYTHING, named("a", selector="x=y")),
        (named("a", selector="x=y"), named("a", selector="x=z")),
        (named("team-*"), named("*-prod")),
    ],
)
def test_what_differs_or_depends_on_the_cluster_is_none(first: Scope, second: Scope) -> None:
    assert not common(first, second)
    assert not common(second, first)


def test_other_names_and_other_clusters_do_not_overlap() -> None:
    clusters = (Target("production"), Target("test"))
    assert not list(overlaps([an(EVERYTHING), an(EVERYTHING, name="other")], ()))
    assert not list(overlaps([an(EVERYTHING, clusters=("prod*",)), an(EVERYTHING, clusters=("test",))], clusters))
    assert list(overlaps([an(EVERYTHING, clusters=("prod*",)), an(EVERYTHING, clusters=("*",))], clusters))


def test_each_object_is_told_once() -> None:
    found = overlaps([an(named("a")), an(named("b")), an(EVERYTHING), an(EVERYTHING)], ())
    assert [(overlap.first, overlap.second) for overlap in found] == [(0, 2), (0, 3)]


def test_the_fault_names_both_and_what_they_share() -> None:
    shared = an_object(namespaces="{include: ['*']}", clusters="[production-eu]")
    text = a_file(shared, an_object(namespaces="{include: [apps]}"), more=NAMED_CLUSTERS)
    with pytest.raises(InputError) as refused:
        compile_objects(text.encode(), "objects.yaml")
    (told,) = refused.value.problems
    assert told == (
        "objects.yaml:4: objects[1].namespaces: is for apps, and so is objects[0], which is secret/aws-ecr-token too; "
        "expected namespaces or clusters that differ"
    )


PATTERNS = st.lists(st.text("ab*?", min_size=1, max_size=3), max_size=3).map(tuple)
SCOPES = st.builds(Scope, PATTERNS.filter(bool), PATTERNS, st.just(""))


@given(SCOPES, SCOPES)
def test_an_overlap_that_is_told_is_one_in_some_cluster(first: Scope, second: Scope) -> None:
    for pattern in common(first, second):
        sample = pattern.replace("*", "zq0x").replace("?", "z")
        for scope in (first, second):
            assert namespaces.allowed([sample], include=scope.include, exclude=scope.exclude)


@given(SCOPES, SCOPES)
def test_a_name_that_both_hold_is_always_told(first: Scope, second: Scope) -> None:
    names = [name for name in (*first.include, *second.include) if namespaces.is_name(name)]
    held = [set(namespaces.allowed(names, include=one.include, exclude=one.exclude)) for one in (first, second)]
    assert not held[0] & held[1] or common(first, second)
