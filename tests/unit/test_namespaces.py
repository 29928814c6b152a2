"""Which namespaces an object is for, by its globs."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import namespaces

EXISTING = ("default", "kube-system", "team-a", "team-a-old", "team-b")

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


@pytest.mark.parametrize(
    ("include", "exclude", "names"),
    [
        (["*"], [], EXISTING),
        (["team-*"], [], ("team-a", "team-a-old", "team-b")),
        (["team-?"], [], ("team-a", "team-b")),
        (["team-a", "default"], [], ("default", "team-a")),
        (["team-a"], [], ("team-a",)),
        (["*"], ["kube-*"], ("default", "team-a", "team-a-old", "team-b")),
        (["team-a"], ["team-*", "nothing"], ()),
        (["team-*", "team-a"], ["*-old"], ("team-a", "team-b")),
        (["*"], ["*"], ()),
        (["nothing-*"], [], ()),
        ([], [], ()),
    ],
)
def test_what_is_included_and_not_excluded_is_allowed(
    include: list[str], exclude: list[str], names: tuple[str, ...]
) -> None:
    assert namespaces.allowed(EXISTING, include=include, exclude=exclude) == names


@given(st.sets(LABELS, min_size=1))
def test_a_star_selects_every_namespace_once_in_order(existing: set[str]) -> None:
    assert namespaces.allowed(existing, include=["*"], exclude=[]) == tuple(sorted(existing))


@given(st.sets(LABELS, min_size=2), st.data())
def test_excluded_namespaces_are_never_allowed(existing: set[str], data: st.DataObject) -> None:
    excluded = data.draw(st.sets(st.sampled_from(sorted(existing)), max_size=len(existing) - 1))

    found = namespaces.allowed(existing, include=["*", *excluded], exclude=sorted(excluded))

    assert set(found) == existing - excluded


@given(LABELS, st.data())
def test_a_glob_made_from_a_name_matches_it(name: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(name)))
    end = data.draw(st.integers(start, len(name)))
    glob = f"{name[:start]}*{name[end:]}"

    assert namespaces.allowed([name], include=[glob], exclude=[]) == (name,)
    assert not namespaces.is_name(glob)


@given(LABELS)
def test_a_glob_without_wildcards_matches_that_name_alone(name: str) -> None:
    others = [f"{name}x", f"x{name}"]

    assert namespaces.allowed([name, *others], include=[name], exclude=[]) == (name,)
    assert namespaces.is_name(name)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ([], ()),
        (["team-a"], ("team-a",)),
        (["team-b", "team-a"], ("team-b", "team-a")),
        (["team-a", "team-*"], ()),
        (["team-?"], ()),
        ([f"team-{number}" for number in range(100)], tuple(f"team-{number}" for number in range(100))),
        ([f"team-{number}" for number in range(101)], ()),
    ],
)
def test_names_alone_and_few_of_them_are_asked_for_by_name(patterns: list[str], names: tuple[str, ...]) -> None:
    assert namespaces.exact(patterns) == names


def test_patterns_that_match_nothing_are_told_apart() -> None:
    assert namespaces.unmatched(["team-*", "tema-a", "default", "x?"], EXISTING) == ("tema-a", "x?")


@given(st.sets(LABELS), st.sets(st.text("ab-*?", min_size=1, max_size=6)))
def test_many_globs_match_what_each_of_them_matches(existing: set[str], patterns: set[str]) -> None:
    names = existing | {"a", "ab", "ab-a", "b"}
    by_each = {pattern: {name for name in names if fnmatchcase(name, pattern)} for pattern in patterns}

    assert set(filter(namespaces.matcher(patterns), names)) == set().union(*by_each.values())
    assert set(namespaces.unmatched(patterns, names)) == {pattern for pattern in patterns if not by_each[pattern]}
