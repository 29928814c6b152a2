"""What is written where, decided before the first write."""

import time

import pytest

from tests.support.objects import pull_object
from upsert.core import planning
from upsert.core.objects import Object
from upsert.core.planning import Plan
from upsert.errors import NoNamespaceMatches

EXISTING = ("default", "kube-system", "team-a", "team-a-old", "team-b")


def planned(
    *objects: Object, requested: tuple[str, ...] = (), existing: dict[str, tuple[str, ...]] | None = None
) -> Plan:
    return planning.plan(objects, existing or {"": EXISTING}, requested=requested)


def by_name(plan: Plan) -> list[tuple[str, str]]:
    return [(one.name, namespace) for one, namespace in plan.writes]


@pytest.mark.parametrize(
    ("include", "exclude", "requested", "found"),
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
    include: list[str], exclude: list[str], requested: list[str], found: tuple[str, ...] | None
) -> None:
    one = pull_object(include=include, exclude=exclude)
    if found is None:
        with pytest.raises(NoNamespaceMatches):
            planned(one, requested=tuple(requested))
    else:
        assert planned(one, requested=tuple(requested)) == Plan(tuple((one, namespace) for namespace in found))


def test_each_object_goes_where_its_own_scope_says() -> None:
    first, second = pull_object(name="a", include=["team-*"]), pull_object(name="b", selector="env=prod")

    plan = planned(first, second, existing={"": EXISTING, "env=prod": ("default", "team-b")})

    assert by_name(plan) == [("a", "team-a"), ("a", "team-a-old"), ("a", "team-b"), ("b", "default"), ("b", "team-b")]
    assert (plan.overlaps, plan.unplaced) == ((), ())


def test_one_name_may_be_two_objects_where_their_namespaces_differ() -> None:
    plan = planned(
        pull_object(include=["team-a"]),
        pull_object(include=["team-b"], selector="env=prod"),
        existing={
            "": EXISTING,
            "env=prod": EXISTING,
        },
    )

    assert by_name(plan) == [("aws-ecr-token", "team-a"), ("aws-ecr-token", "team-b")]
    assert plan.overlaps == ()


def test_where_two_objects_of_one_name_meet_neither_is_written() -> None:
    everywhere, team, other = (
        pull_object(),
        pull_object(include=["team-?"], exclude=["team-b"]),
        pull_object(name="other", include=["team-a"]),
    )

    plan = planned(everywhere, team, other)

    assert plan.overlaps == (("secret/aws-ecr-token", "team-a"),)
    assert by_name(plan) == [
        *(("aws-ecr-token", namespace) for namespace in EXISTING if namespace != "team-a"),
        ("other", "team-a"),
    ]


def test_where_one_meets_another_of_its_name_that_is_not_to_be_written_it_is_not_either() -> None:
    one, never = pull_object(include=["team-*"]), pull_object(selector="env=prod", is_written=False)
    existing = {"": EXISTING, "env=prod": ("default", "team-b")}

    plan = planning.plan((one,), existing, rivals=(never,))

    assert plan == Plan(((one, "team-a"), (one, "team-a-old")), (("secret/aws-ecr-token", "team-b"),))


def test_a_namespace_that_only_the_other_one_has_is_not_there_for_who_names_it() -> None:
    one, never = pull_object(include=["team-*"]), pull_object(include=["default"], is_written=False)

    with pytest.raises(NoNamespaceMatches, match="'default'"):
        planning.plan((one,), {"": EXISTING}, rivals=(never,), requested=("default",))


def test_a_gap_is_not_filled_where_the_other_one_goes_too() -> None:
    one, never = pull_object(include=["team-*"]), pull_object(selector="env=prod", is_written=False)
    existing = {"": EXISTING, "env=prod": ("team-b",)}
    missing = {one: {"team-a", "team-b"}, never: {"team-a", "team-b"}}

    plan = planning.plan_gaps((one,), existing, missing, rivals=(never,))

    assert plan == Plan(((one, "team-a"),), (("secret/aws-ecr-token", "team-b"),))


def test_overlaps_are_those_of_what_was_asked_for() -> None:
    plan = planned(pull_object(), pull_object(), requested=("team-?",))

    assert plan == Plan((), (("secret/aws-ecr-token", "team-a"), ("secret/aws-ecr-token", "team-b")))


def test_a_secret_and_a_config_map_of_one_name_are_two_things() -> None:
    plan = planned(pull_object(include=["team-a"]), pull_object(include=["team-a"], kind="ConfigMap"))

    assert len(plan.writes) == 2
    assert plan.overlaps == ()


def test_an_object_that_selects_nothing_is_told_and_stops_no_other() -> None:
    placed, nowhere = pull_object(), pull_object(name="nowhere", include=["nothing-*"])

    plan = planned(placed, nowhere)

    assert plan.unplaced == (nowhere,)
    assert {one.name for one, _ in plan.writes} == {"aws-ecr-token"}


def test_an_object_outside_of_what_was_asked_for_is_not_unplaced() -> None:
    plan = planned(pull_object(include=["team-a"]), pull_object(name="b", include=["team-b"]), requested=("team-a",))

    assert by_name(plan) == [("aws-ecr-token", "team-a")]
    assert plan.unplaced == ()


def test_a_scope_that_holds_nothing_says_whose_it_is_and_where_it_is_set() -> None:
    with pytest.raises(NoNamespaceMatches) as refused:
        planned(pull_object(include=["prod-*", "live"]), pull_object(name="b", exclude=["*"]))

    assert str(refused.value) == (
        "none of the cluster's namespaces is in the scope of secret/aws-ecr-token, secret/b; check include, exclude "
        "and selector in the file of objects"
    )


def test_an_empty_cluster_has_no_match() -> None:
    with pytest.raises(NoNamespaceMatches, match="none of the cluster's namespaces"):
        planned(pull_object(), existing={"": ()})


def test_every_name_by_hand_that_matches_nothing_is_named() -> None:
    with pytest.raises(NoNamespaceMatches) as refused:
        planned(pull_object(), requested=("tema-a", "team-b", "nothing-*"))

    assert "event.namespaces: 'tema-a' matches no namespace of the cluster" in str(refused.value)
    assert "event.namespaces: 'nothing-*' matches no namespace of the cluster" in str(refused.value)
    assert "'team-b'" not in str(refused.value)


def test_a_name_by_hand_that_the_objects_leave_out_is_said_to_be_so() -> None:
    with pytest.raises(NoNamespaceMatches) as refused:
        planned(pull_object(exclude=["team-a*"]), requested=("team-a*",))

    assert str(refused.value) == (
        "event.namespaces: 'team-a*' matches only namespaces that the objects leave out ('team-a, team-a-old'); "
        "change include or exclude in the file of objects to refresh them"
    )


def test_a_long_list_of_names_left_out_is_cut() -> None:
    existing = tuple(f"team-{number:02}" for number in range(1000))

    with pytest.raises(NoNamespaceMatches, match=r"\('team-00, .*'… \(\d+ characters\)\)") as refused:
        planned(pull_object(include=["default"]), requested=("team-*",), existing={"": existing})

    assert len(str(refused.value)) < 400


def test_a_gap_is_filled_where_the_object_is_meant_to_be_and_its_namespace_is_there() -> None:
    one, other = pull_object(exclude=["kube-*"]), pull_object(name="other", selector="env=prod")
    wanted = {
        one: {"team-a", "kube-system", "gone"},
        other: {"team-a", "team-b"},
    }

    plan = planning.plan_gaps([one, other], {"": EXISTING, "env=prod": ("team-b",)}, wanted)

    assert plan == Plan(((one, "team-a"), (other, "team-b")))


def test_nothing_left_of_the_gaps_is_no_error() -> None:
    one = pull_object()

    assert planning.plan_gaps([one], {"": EXISTING}, {one: {"gone"}}) == Plan(())


def test_a_gap_where_two_objects_meet_is_filled_by_neither() -> None:
    first, second = pull_object(), pull_object(include=["team-?"])

    plan = planning.plan_gaps([first, second], {"": EXISTING}, {first: {"team-a", "default"}, second: {"team-a"}})

    assert plan == Plan(((first, "default"),), ((first.title, "team-a"),))


def test_ten_thousand_names_in_the_file_and_in_the_event_take_no_time_of_their_own() -> None:
    names = tuple(f"team-{number:05}" for number in range(10_000))
    started = time.process_time()

    plan = planned(pull_object(include=names), requested=names, existing={"": names})

    assert [namespace for _, namespace in plan.writes] == list(names)
    assert time.process_time() - started < 5
