"""Which namespaces a run is for."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import namespaces
from upsert.errors import NoNamespaceMatches

EXISTING = ("default", "kube-system", "team-a", "team-a-old", "team-b")

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


@pytest.mark.parametrize(
    ("include", "exclude", "requested", "planned"),
    [
        (["*"], [], [], EXISTING),
        (["team-*"], [], [], ("team-a", "team-a-old", "team-b")),
        (["team-?"], [], [], ("team-a", "team-b")),
        (["team-a", "default"], [], [], ("default", "team-a")),
        (["team-a"], [], [], ("team-a",)),
        (["*"], ["kube-*"], [], ("default", "team-a", "team-a-old", "team-b")),
        (["team-a"], ["team-*", "nothing"], ["*"], None),
        (["team-*", "team-a"], ["*-old"], [], ("team-a", "team-b")),
        (["*"], ["*"], [], None),
        (["nothing-*"], [], [], None),
        (["*"], [], ["team-a"], ("team-a",)),
        (["*"], [], ["team-*"], ("team-a", "team-a-old", "team-b")),
        (["*"], [], ["team-a", "team-?"], ("team-a", "team-b")),
        (["*"], ["team-b"], ["team-*"], ("team-a", "team-a-old")),
        (["team-*"], [], ["default"], None),
        (["*"], ["team-a"], ["team-a"], None),
        (["*"], [], ["team-a", "tema-b"], None),
        (["*"], [], ["Team-a"], None),
    ],
)
def test_the_plan_is_include_without_exclude_within_what_was_asked_for(
    include: list[str], exclude: list[str], requested: list[str], planned: tuple[str, ...] | None
) -> None:
    if planned is None:
        with pytest.raises(NoNamespaceMatches):
            namespaces.plan(EXISTING, include=include, exclude=exclude, requested=requested)
    else:
        assert namespaces.plan(EXISTING, include=include, exclude=exclude, requested=requested) == planned


def test_no_match_says_both_patterns_and_how_many_there_were() -> None:
    with pytest.raises(NoNamespaceMatches) as refused:
        namespaces.plan(EXISTING, include=["prod-*", "live"], exclude=["kube-*"])

    assert str(refused.value) == (
        "none of the cluster's 5 listed namespaces matches INCLUDE_NAMESPACES 'prod-*,live' without matching "
        "EXCLUDE_NAMESPACES 'kube-*'; check both, and NAMESPACE_SELECTOR"
    )


def test_an_empty_cluster_has_no_match() -> None:
    with pytest.raises(NoNamespaceMatches, match="none of the cluster's 0 listed namespaces"):
        namespaces.plan((), include=["*"], exclude=[])


def test_every_name_by_hand_that_matches_nothing_is_named() -> None:
    with pytest.raises(NoNamespaceMatches) as refused:
        namespaces.plan(EXISTING, include=["*"], exclude=[], requested=["tema-a", "team-b", "nothing-*"])

    assert "event.namespaces: 'tema-a' matches no namespace of the cluster" in str(refused.value)
    assert "event.namespaces: 'nothing-*' matches no namespace of the cluster" in str(refused.value)
    assert "'team-b'" not in str(refused.value)


def test_a_name_by_hand_that_the_settings_leave_out_is_said_to_be_so() -> None:
    with pytest.raises(NoNamespaceMatches) as refused:
        namespaces.plan(EXISTING, include=["*"], exclude=["team-a*"], requested=["team-a*"])

    assert str(refused.value) == (
        "event.namespaces: 'team-a*' matches only namespaces that the settings leave out (team-a, team-a-old); "
        "change INCLUDE_NAMESPACES or EXCLUDE_NAMESPACES to refresh them"
    )


def test_a_long_list_of_names_left_out_is_cut() -> None:
    existing = [f"team-{number:02}" for number in range(13)]

    with pytest.raises(NoNamespaceMatches, match=r"\(team-00, .*, team-09 and 3 more\)"):
        namespaces.plan(existing, include=["default"], exclude=[], requested=["team-*"])


@given(st.sets(LABELS, min_size=1))
def test_a_star_selects_every_namespace_once_in_order(existing: set[str]) -> None:
    assert namespaces.plan(existing, include=["*"], exclude=[]) == tuple(sorted(existing))


@given(st.sets(LABELS, min_size=2), st.data())
def test_excluded_namespaces_are_never_planned(existing: set[str], data: st.DataObject) -> None:
    excluded = data.draw(st.sets(st.sampled_from(sorted(existing)), max_size=len(existing) - 1))

    planned = namespaces.plan(existing, include=["*", *excluded], exclude=sorted(excluded))

    assert set(planned) == existing - excluded


@given(LABELS, st.data())
def test_a_glob_made_from_a_name_matches_it(name: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(name)))
    end = data.draw(st.integers(start, len(name)))
    glob = f"{name[:start]}*{name[end:]}"

    assert namespaces.plan([name], include=[glob], exclude=[]) == (name,)
    assert namespaces.is_pattern(glob)


@given(LABELS)
def test_a_glob_without_wildcards_matches_that_name_alone(name: str) -> None:
    others = [f"{name}x", f"x{name}"]

    assert namespaces.plan([name, *others], include=[name], exclude=[]) == (name,)


@pytest.mark.parametrize(
    "text", ["a", "*", "?", "team-*", "*-prod", "a?c", "0", "a-b-c", "*a*b*", "a" * 63, "te??-*", "**"]
)
def test_names_and_globs_over_names_are_patterns(text: str) -> None:
    assert namespaces.is_pattern(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "-a", "a-", "a_b", "A", "a.b", "a/b", "[a-z]*", "!a", "a b", "a\n", "ä", "a,b", "a" * 64, "*\n", "\x00"],
)
def test_what_can_match_no_name_is_no_pattern(text: str) -> None:
    assert not namespaces.is_pattern(text)


@given(st.text(string.printable, max_size=70))
def test_a_pattern_holds_nothing_that_a_matcher_takes_for_syntax(text: str) -> None:
    if namespaces.is_pattern(text):
        assert set(text) <= set(string.ascii_lowercase + string.digits + "*?-")
