"""The event says what to refresh or to adopt, held against the file of objects, or is refused."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cloudwatch_logs import batch
from tests.support.objects import config, pull_object
from tests.unit.test_audit_events import CREATED, DELETED
from upsert.adopt_request import Action, AdoptRequest, adopt_request
from upsert.audit_events import Gap
from upsert.core.objects import Target
from upsert.errors import InputError
from upsert.request import ClustersFor, Request, refresh_request

EVENTS = Path(__file__).parents[2] / "events"

PULL, TEAM, OTHER = pull_object(), pull_object(name="team-token"), pull_object(name="settings", kind="ConfigMap")
GIVEN_BACK = pull_object(name="given-back", is_written=False)
ONE = config(PULL, TEAM, OTHER)
OWN = Target("test")

BLUE, RED, IDLE = Target("team-blue"), Target("team-red", "eu-west-1"), Target("idle")
EVERYWHERE, ONLY_BLUE = pull_object(clusters=("team-*",)), pull_object(name="only-blue", clusters=("*blue",))
FLEET = config(
    EVERYWHERE, ONLY_BLUE, own=BLUE, targets=(BLUE, RED, IDLE), is_fleet=True, state_machine="eks-upsert-fleet"
)


def request(event: object) -> Request | ClustersFor:
    return refresh_request(event, ONE)


def problems(event: object, known: Any = ONE) -> list[str]:
    with pytest.raises(InputError) as refused:
        refresh_request(event, known)
    return list(refused.value.problems)


def sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / name).read_text())
    return event


SCHEDULED = sample("scheduled.json")


def by_hand(*objects: Any, **fields: Any) -> Request:
    return Request(OWN, objects or ONE.objects, is_by_hand=True, **fields)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({}, by_hand()),
        (SCHEDULED, Request(OWN, ONE.objects)),
        ({**SCHEDULED, "source": "aws.events", "detail": {}}, Request(OWN, ONE.objects)),
        ({"detail-type": "Scheduled Event", "source": "aws.scheduler"}, Request(OWN, ONE.objects)),
        ({"namespaces": ["team-*", "default"]}, by_hand(namespaces=("team-*", "default"), is_whole=False)),
        ({"dry_run": True}, by_hand(dry_run=True)),
        ({"dry_run": False}, by_hand()),
        ({"namespaces": ["a"], "dry_run": True}, by_hand(namespaces=("a",), dry_run=True, is_whole=False)),
        ({"objects": ["aws-ecr-token"]}, by_hand(PULL, is_whole=False)),
        ({"objects": ["settings", "*-token"]}, by_hand(PULL, TEAM, OTHER)),
        ({"objects": ["*-token"]}, by_hand(PULL, TEAM, is_whole=False)),
        ({"objects": ["*"]}, by_hand()),
        ({"objects": ["s*"], "namespaces": ["a"]}, by_hand(OTHER, namespaces=("a",), is_whole=False)),
        ({"cluster": "test"}, by_hand()),
        ({"cluster": "test", "event": {}}, Request(OWN, ONE.objects)),
        ({"cluster": "test", "event": SCHEDULED}, Request(OWN, ONE.objects)),
        (sample("emergency.json"), by_hand()),
        (sample("named-dry-run.json"), by_hand(namespaces=("team-*",), dry_run=True, is_whole=False)),
        (sample("one-object.json"), by_hand(PULL, is_whole=False)),
    ],
)
def test_a_good_event_is_read(event: Mapping[str, Any], expected: Request) -> None:
    assert request(event) == expected


NO_LIST = "is wrong; expected a list, each of it a namespace's name or a glob over such names, such as team-*"
NO_NAME = "expected a namespace's name or a glob over such names, such as team-*"
OBJECT = "the name of an object of the file, or a glob over such names"
KNOWN = "expected 'aws-ecr-token, settings, team-token'"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (None, ["event: null is wrong; expected a JSON object, such as {}"]),
        ([], ["event: a list of 0 is wrong; expected a JSON object, such as {}"]),
        ("{}", ["event: a text of 2 characters is wrong; expected a JSON object, such as {}"]),
        (
            {"namespace": ["a"]},
            ["event: unknown field 'namespace'; expected objects or namespaces or cluster or dry_run"],
        ),
        (
            {"source": "aws.scheduler", "detail-type": "Something Else"},
            [
                "event: unknown field 'source'; expected objects or namespaces or cluster or dry_run",
                "event: unknown field 'detail-type'; expected objects or namespaces or cluster or dry_run",
            ],
        ),
        ({"namespaces": []}, [f"event.namespaces: a list of 0 {NO_LIST}"]),
        ({"namespaces": None}, [f"event.namespaces: null {NO_LIST}"]),
        ({"namespaces": "team-a"}, [f"event.namespaces: 'team-a' {NO_LIST}"]),
        ({"namespaces": {"a": 1}}, [f"event.namespaces: an object of 1 {NO_LIST}"]),
        (
            {"namespaces": ["ok", 5, "Team", ""]},
            [
                f"event.namespaces[1]: 5 is no text; {NO_NAME}, in quotes",
                f"event.namespaces[2]: 'Team' is wrong; {NO_NAME}",
                f"event.namespaces[3]: '' is wrong; {NO_NAME}",
            ],
        ),
        ({"namespaces": [["a"]]}, [f"event.namespaces[0]: a list of 1 is wrong; {NO_NAME}"]),
        ({"dry_run": "true"}, ["event.dry_run: 'true' is wrong; expected true or false"]),
        ({"dry_run": 1}, ["event.dry_run: 1 is wrong; expected true or false"]),
        ({"dry_run": None}, ["event.dry_run: null is wrong; expected true or false"]),
        ({"objects": ["nothing"]}, [f"event.objects: 'nothing' is no object of the file for this cluster; {KNOWN}"]),
        (
            {"objects": ["x-*", "settings", "y"]},
            [
                f"event.objects: 'x-*' is no object of the file for this cluster; {KNOWN}",
                f"event.objects: 'y' is no object of the file for this cluster; {KNOWN}",
            ],
        ),
        (
            {"objects": ["Token"]},
            [f"event.objects[0]: 'Token' is wrong; expected {OBJECT}"],
        ),
        (
            {"cluster": "another"},
            ["event.cluster: 'another' is no cluster of the file; nothing else can be written to"],
        ),
        (
            {"cluster": "a", "event": {}},
            ["event.cluster: 'a' is no cluster of the file; nothing else can be written to"],
        ),
        ({"event": {}, "dry_run": True}, ["event: unknown field 'dry_run'; expected cluster or event"]),
        (
            {"cluster": "test", "event": {"dry_run": "x", "y": 1}},
            [
                "event.event: unknown field 'y'; expected objects or namespaces or cluster or dry_run",
                "event.event.dry_run: 'x' is wrong; expected true or false",
            ],
        ),
        (
            {"cluster": {"name": "x", "role_arn": "arn:aws:iam::210987654321:role/x"}},
            ["event.cluster: an object of 2 is wrong; expected the name of an EKS cluster"],
        ),
        (
            {"role_arn": "arn:aws:iam::210987654321:role/x", "region": "eu-west-1"},
            [
                "event: unknown field 'role_arn'; expected objects or namespaces or cluster or dry_run",
                "event: unknown field 'region'; expected objects or namespaces or cluster or dry_run",
            ],
        ),
    ],
)
def test_a_bad_event_is_refused_with_what_was_expected(event: object, expected: list[str]) -> None:
    assert problems(event) == expected


def test_a_scheduled_event_with_more_in_it_is_refused_and_not_run_over_everything() -> None:
    event = {"detail-type": "Scheduled Event", "source": "aws.events", "dry_run": True}

    assert problems(event) == ["event: unknown field 'dry_run' in a scheduled event; send it without detail-type"]


@pytest.mark.parametrize(
    "detail", [{"dry_run": True}, '{"dry_run": true}', {"namespaces": ["team-a"]}, [], "x", 0, False]
)
@pytest.mark.parametrize("wrap", [lambda event: event, lambda event: {"clusters_for": event}])
def test_a_scheduled_event_that_asks_for_something_is_refused_and_not_run_over_everything(
    detail: object, wrap: Callable[[object], object]
) -> None:
    (problem,) = problems(wrap(SCHEDULED | {"detail": detail}))

    assert problem.endswith(
        ".detail: is not empty; expected {}: a schedule that asks for something sends it as its input"
    )


@pytest.mark.parametrize("detail", [{}, "{}", None, ""])
def test_a_scheduled_event_that_asks_for_nothing_is_for_everything(detail: object) -> None:
    assert refresh_request(SCHEDULED | {"detail": detail}, ONE) == Request(OWN, ONE.objects)


def test_all_that_is_wrong_is_told_at_once() -> None:
    event = {"namespaces": "a", "dry_run": "yes", "force": True, "objects": ["nothing"], "cluster": "another"}

    told = [problem.partition(":")[0] for problem in problems(event)]

    assert sorted(told) == ["event", "event.cluster", "event.dry_run", "event.namespaces", "event.objects"]


# Forms of one cluster of a fleet.


def of_fleet(target: Target, *objects: Any, **fields: Any) -> Request:
    return Request(target, objects, **fields)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"cluster": "team-blue"}, of_fleet(BLUE, EVERYWHERE, ONLY_BLUE, is_by_hand=True)),
        ({"cluster": "team-red"}, of_fleet(RED, EVERYWHERE, is_by_hand=True)),
        (sample("one-cluster.json"), of_fleet(BLUE, EVERYWHERE, ONLY_BLUE, is_by_hand=True)),
        (sample("one-of-fleet.json"), of_fleet(BLUE, EVERYWHERE, ONLY_BLUE)),
        ({"cluster": "team-red", "event": SCHEDULED}, of_fleet(RED, EVERYWHERE)),
        (
            {"cluster": "team-red", "event": {"namespaces": ["a"], "dry_run": True}},
            of_fleet(RED, EVERYWHERE, namespaces=("a",), dry_run=True, is_whole=False),
        ),
        ({"cluster": "team-red", "event": {"cluster": "team-red"}}, of_fleet(RED, EVERYWHERE)),
        (
            {"cluster": "team-blue", "objects": ["only-*"]},
            of_fleet(BLUE, ONLY_BLUE, is_by_hand=True, is_whole=False),
        ),
    ],
)
def test_an_event_for_one_of_a_fleet_is_read(event: Mapping[str, Any], expected: Request) -> None:
    assert refresh_request(event, FLEET) == expected


NO_CLUSTER = (
    "event: names no cluster, and this function refreshes one of a fleet at a time; start the state machine "
    "eks-upsert-fleet with this event, or name a cluster"
)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({}, [NO_CLUSTER]),
        (SCHEDULED, [NO_CLUSTER]),
        ({"dry_run": True}, [NO_CLUSTER]),
        (
            {"cluster": "another"},
            ["event.cluster: 'another' is no cluster of the file; nothing else can be written to"],
        ),
        ({"event": {}}, ["event.cluster: is missing; expected the name of a cluster of the file"]),
        (
            {"cluster": "idle"},
            ["event.cluster: 'idle' gets no object of the file; expected a cluster that gets one"],
        ),
        (
            {"cluster": "team-red", "objects": ["only-blue"]},
            ["event.objects: 'only-blue' is no object of the file for this cluster; expected 'aws-ecr-token'"],
        ),
        (
            {"cluster": "team-red", "event": {"cluster": "team-blue"}},
            ["event.event.cluster: is another cluster than team-red; expected the same, or none"],
        ),
    ],
)
def test_an_event_that_fits_no_cluster_of_a_fleet_is_refused(event: object, expected: list[str]) -> None:
    assert problems(event, FLEET) == expected


# The question which clusters an event concerns.


@pytest.mark.parametrize(
    ("event", "names"),
    [
        ({}, ("team-blue", "team-red")),
        (SCHEDULED, ("team-blue", "team-red")),
        ({"dry_run": True, "namespaces": ["a"]}, ("team-blue", "team-red")),
        ({"objects": ["only-blue"]}, ("team-blue",)),
        ({"objects": ["aws-*"]}, ("team-blue", "team-red")),
        ({"objects": ["aws-*", "only-blue"]}, ("team-blue",)),
        ({"cluster": "team-red"}, ("team-red",)),
        ({"cluster": "team-red", "objects": ["aws-ecr-token"]}, ("team-red",)),
    ],
)
def test_an_event_concerns_the_clusters_that_get_what_it_names(event: object, names: tuple[str, ...]) -> None:
    assert refresh_request({"clusters_for": event}, FLEET) == ClustersFor(names)


def test_an_event_of_a_fleets_audit_log_concerns_the_stacks_own_cluster() -> None:
    assert refresh_request({"clusters_for": batch([CREATED])}, FLEET) == ClustersFor(("team-blue",))
    assert refresh_request({"clusters_for": batch([])}, FLEET) == ClustersFor(())


def test_one_cluster_alone_can_be_asked_too() -> None:
    assert refresh_request(sample("clusters-for.json"), ONE) == ClustersFor(("test",))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            {"clusters_for": {}, "dry_run": True},
            ["event: unknown field 'dry_run'; expected clusters_for"],
        ),
        (
            {"clusters_for": None},
            ["event.clusters_for: null is wrong; expected an event, such as {}"],
        ),
        (
            {"clusters_for": {"cluster": "another"}},
            ["event.clusters_for.cluster: 'another' is no cluster of the file; nothing else can be written to"],
        ),
        (
            {"clusters_for": {"objects": ["nothing"]}},
            ["event.clusters_for.objects: names no object of the file for any cluster, or one with `write: never`"],
        ),
        (
            {"clusters_for": {"objects": []}},
            [f"event.clusters_for.objects: a list of 0 is wrong; expected a list, each of it {OBJECT}"],
        ),
        (
            {"clusters_for": {"dry_run": "x", "namespaces": ["A"]}},
            [
                f"event.clusters_for.namespaces[0]: 'A' is wrong; {NO_NAME}",
                "event.clusters_for.dry_run: 'x' is wrong; expected true or false",
            ],
        ),
        (
            {"clusters_for": {"force": True}},
            ["event.clusters_for: unknown field 'force'; expected objects or namespaces or cluster or dry_run"],
        ),
    ],
)
def test_an_event_that_every_cluster_would_refuse_is_refused_once_and_before_the_first(
    event: object, expected: list[str]
) -> None:
    assert problems(event, FLEET) == expected


# What the audit log names.


NEVER_TOO = pull_object(selector="env=prod", is_written=False)


@pytest.mark.parametrize("event", [{}, SCHEDULED, {"objects": [PULL.name], "namespaces": ["team-a"]}, batch([DELETED])])
def test_one_of_the_same_title_that_is_never_written_is_a_rival(event: Mapping[str, Any]) -> None:
    asked = refresh_request(event, config(PULL, TEAM, GIVEN_BACK, NEVER_TOO))

    assert isinstance(asked, Request)
    assert PULL in asked.objects
    assert asked.rivals == (NEVER_TOO,)


def test_where_all_are_never_written_that_is_told() -> None:
    assert problems({}, config(GIVEN_BACK)) == [
        "event.cluster: 'test' gets no object of the file that is written; expected a cluster that gets one"
    ]


def test_one_that_is_never_written_is_told_from_one_that_is_not_there() -> None:
    known = config(PULL, GIVEN_BACK)
    assert problems({"objects": ["given-*", "gone"]}, known) == [
        "event.objects: 'given-*' has `write: never` in the file, so no refresh writes it; expected 'aws-ecr-token'",
        "event.objects: 'gone' is no object of the file for this cluster; expected 'aws-ecr-token'",
    ]


def test_the_event_of_a_subscription_is_held_against_the_objects_of_the_file() -> None:
    created, deleted = Gap("team-blue"), Gap("team-blue", "secret/aws-ecr-token")

    assert request(batch([CREATED])) == Request(OWN, ONE.objects, gaps=(created,), is_whole=False)
    assert request(batch([DELETED])) == Request(OWN, (PULL,), gaps=(deleted,), is_whole=False)
    assert refresh_request(batch([DELETED]), config(TEAM)) == Request(OWN, (), gaps=(deleted,), is_whole=False)
    assert request(batch([])) == Request(OWN, (), gaps=(), is_whole=False)


def test_the_samples_of_audit_events_are_two_of_them() -> None:
    for name in ("audit-namespace-created.json", "audit-secret-deleted.json"):
        found = request(sample(name))

        assert isinstance(found, Request)
        assert found.gaps
        assert found.objects


def test_a_subscription_of_a_fleets_stack_is_about_its_own_cluster() -> None:
    assert refresh_request(batch([CREATED]), FLEET) == Request(
        BLUE, (EVERYWHERE, ONLY_BLUE), gaps=(Gap("team-blue"),), is_whole=False
    )


@pytest.mark.parametrize("event", [{"awslogs": {"data": "?"}}, {"awslogs": None}, {"awslogs": {}}])
def test_a_broken_subscription_event_is_an_error_and_no_refresh_of_everything(event: dict[str, Any]) -> None:
    (problem,) = problems(event)

    assert problem.startswith("event.awslogs: is not what CloudWatch Logs delivers; expected")


def test_a_subscription_event_with_other_fields_is_refused() -> None:
    assert problems({**batch([CREATED]), "dry_run": True}) == [
        "event: unknown field 'awslogs'; expected objects or namespaces or cluster or dry_run"
    ]


# The adopter's.


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"action": "check"}, AdoptRequest(Action.CHECK, OWN, ONE.objects)),
        ({"action": "adopt", "namespaces": ["team-*"]}, AdoptRequest(Action.ADOPT, OWN, ONE.objects, ("team-*",))),
        ({"action": "check", "objects": ["*-token"]}, AdoptRequest(Action.CHECK, OWN, (PULL, TEAM))),
        ({"action": "check", "cluster": "test"}, AdoptRequest(Action.CHECK, OWN, ONE.objects)),
        (
            {"action": "import", "namespace": "team-a", "objects": ["aws-ecr-token"]},
            AdoptRequest(Action.IMPORT, OWN, (PULL,), ("team-a",)),
        ),
        (
            {"action": "check", "objects": ["settings"], "report": "markdown"},
            AdoptRequest(Action.CHECK, OWN, (OTHER,), as_markdown=True),
        ),
        (
            {"action": "adopt", "objects": ["settings"], "all_or_nothing": True},
            AdoptRequest(Action.ADOPT, OWN, (OTHER,), all_or_nothing=True),
        ),
        (
            {"action": "release", "objects": ["given-*"], "namespaces": ["team-a"]},
            AdoptRequest(Action.RELEASE, OWN, (GIVEN_BACK,), ("team-a",)),
        ),
        (sample("adopt-check.json"), AdoptRequest(Action.CHECK, OWN, (PULL,), ("team-*",))),
        (sample("adopt-adopt.json"), AdoptRequest(Action.ADOPT, OWN, (PULL,), ("team-*",))),
    ],
)
def test_a_good_event_of_the_adopter_is_read(event: object, expected: AdoptRequest) -> None:
    known = config(*ONE.objects, GIVEN_BACK) if expected.action is Action.RELEASE else ONE
    assert adopt_request(event, known) == expected


def test_an_import_needs_no_object_where_the_file_has_one() -> None:
    assert adopt_request(sample("adopt-import.json"), config(PULL)) == AdoptRequest(
        Action.IMPORT, OWN, (PULL,), ("team-a",)
    )


def test_one_of_a_fleet_is_adopted_at_a_time() -> None:
    assert adopt_request({"action": "check", "cluster": "team-red"}, FLEET) == AdoptRequest(
        Action.CHECK, RED, (EVERYWHERE,)
    )


@pytest.mark.parametrize(
    ("event", "known", "expected"),
    [
        (None, ONE, "event: null is wrong; expected a JSON object, such as"),
        ({}, ONE, "event.action: null is wrong; expected one of check, adopt, import, release"),
        ({"action": "delete"}, ONE, "event.action: 'delete' is wrong; expected one of check, adopt, import, release"),
        (
            {"action": ["check"]},
            ONE,
            "event.action: a list of 1 is wrong; expected one of check, adopt, import, release",
        ),
        ({"action": "check", "dry_run": True}, ONE, "event: unknown field 'dry_run'; expected action or objects or"),
        ({"action": "check", "namespace": "a"}, ONE, "event: unknown field 'namespace'; expected action or objects or"),
        ({"action": "check", "objects": ["x"]}, ONE, "event.objects: 'x' is no object of the file for this cluster;"),
        ({"action": "check", "namespaces": []}, ONE, "event.namespaces: a list of 0 is wrong; expected a list"),
        ({"action": "import", "objects": ["settings"]}, ONE, "event.namespace: is missing; expected a namespace's"),
        (
            {"action": "import", "objects": ["settings"], "namespace": "team-*"},
            ONE,
            "event.namespace: 'team-*' is wrong; expected a namespace's name",
        ),
        ({"action": "import", "namespace": "a"}, ONE, "event.objects: are 3 of the file; expected the name of one"),
        ({"action": "check", "all_or_nothing": True}, ONE, "event: unknown field 'all_or_nothing'; expected action or"),
        ({"action": "check", "report": "html"}, ONE, "event.report: 'html' is wrong; expected markdown"),
        ({"action": "import", "report": "markdown"}, ONE, "event: unknown field 'report'"),
        ({"action": "adopt", "all_or_nothing": 1}, ONE, "event.all_or_nothing: 1 is wrong; expected true or false"),
        ({"action": "release"}, ONE, "event.objects: is missing; expected the names of the objects to give back"),
        (
            {"action": "release", "objects": ["settings", "team-token"]},
            ONE,
            "event.objects: 'team-token, settings' would be claimed again by the next refresh; expected objects with ",
        ),
        ({"action": "check"}, FLEET, "event.cluster: is missing; expected the name of a cluster of the file"),
        ({"action": "check", "cluster": "x"}, FLEET, "event.cluster: 'x' is no cluster of the file; nothing else can"),
    ],
)
def test_a_bad_event_of_the_adopter_is_refused_with_what_was_expected(event: object, known: Any, expected: str) -> None:
    with pytest.raises(InputError) as refused:
        adopt_request(event, known)

    assert refused.value.problems[0].startswith(expected)


# However much there is.

MANY = 1_250_000  # names of one character in 5 MB of JSON
MONSTROUS = {
    "bad namespaces": {"namespaces": ["A"] * MANY},
    "bad objects": {"objects": ["A"] * MANY},
    "numbers": {"namespaces": [1] * MANY},
    "unknown fields": {f"x{number}": 1 for number in range(MANY // 3)},
    "unknown fields of a schedule": {**SCHEDULED, **{f"x{number}": 1 for number in range(MANY // 3)}},
    "as many bad names as are taken": {"namespaces": ["A"] * 10_000, "objects": ["A"] * 10_000},
    "as many unknown objects as are taken": {"objects": [f"x{number}" for number in range(10_000)]},
    "as many unknown globs as are taken": {"objects": [f"x{number}*" for number in range(10_000)]},
    "long names": {"namespaces": "x" * 100_000, "y" * 100_000: 1, "objects": ["Z" * 100_000]},
}


@pytest.mark.parametrize("known", [ONE, FLEET], ids=["one", "fleet"])
@pytest.mark.parametrize("wrap", [lambda event: event, lambda event: {"clusters_for": event}], ids=["", "clusters_for"])
@pytest.mark.parametrize("event", MONSTROUS.values(), ids=MONSTROUS)
def test_a_monstrous_event_gives_a_short_answer_quickly(event: object, wrap: Any, known: Any) -> None:
    started = time.process_time()

    told = problems(wrap(event), known)

    assert time.process_time() - started < 10
    assert len(told) <= 21
    assert len("; ".join(told)) < 4000


def test_what_is_cut_is_counted() -> None:
    told = problems({"namespaces": ["A"] * 1000})

    assert told[:2] == [f"event.namespaces[{index}]: 'A' is wrong; {NO_NAME}" for index in (0, 1)]
    assert told[-1] == "and 980 more"
    assert problems({"namespaces": ["A"] * MANY}) == [
        f"event.namespaces: a list of {MANY} is wrong; expected 10000 at most"
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
EVENT_LIKE = st.fixed_dictionaries(
    {},
    optional={
        "namespaces": st.lists(st.text("abc-*?", max_size=5), max_size=3) | JSON,
        "objects": st.lists(st.sampled_from(["aws-ecr-token", "*", "x"]), max_size=3) | JSON,
        "cluster": st.sampled_from(["test", "team-blue", "idle"]) | JSON,
        "dry_run": st.booleans() | JSON,
        "source": st.sampled_from(["aws.scheduler", "aws.events"]) | JSON,
        "detail-type": st.just("Scheduled Event") | JSON,
        "action": st.sampled_from(list(Action)) | JSON,
        "awslogs": JSON,
        "extra": JSON,
    },
)
WRAPPED = st.one_of(
    EVENT_LIKE,
    st.fixed_dictionaries({"clusters_for": EVENT_LIKE | JSON}),
    st.fixed_dictionaries({"cluster": st.just("team-blue") | JSON, "event": EVENT_LIKE | JSON}),
    JSON,
)


def taken_or_refused(ask: Any, event: object, known: Any) -> Any:
    try:
        return ask(event, known)
    except InputError as refused:
        return refused


@given(WRAPPED, st.sampled_from([ONE, FLEET]), st.sampled_from([refresh_request, adopt_request]))
def test_any_event_is_taken_or_refused_by_name(event: object, known: Any, ask: Any) -> None:
    outcome = taken_or_refused(ask, event, known)

    if isinstance(outcome, InputError):
        assert all(problem.startswith(("event: ", "event.", "and ")) for problem in outcome.problems)
    elif isinstance(outcome, Request):
        assert outcome.target in known.targets
        assert set(outcome.objects) <= set(known.objects)
