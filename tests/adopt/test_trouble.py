"""What an API server in trouble does to a run of the adopter: its own namespace suffers, and the line says how."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.support import adopter
from tests.support.adopter import Cluster, secret
from tests.support.objects import pull_object
from upsert import kinds
from upsert.adopt_request import Action, AdoptRequest
from upsert.core import live, parsing
from upsert.core.answers import Answer, Refusal, Written
from upsert.core.claims import Held
from upsert.core.identity import ADOPTER
from upsert.core.live import ExternalSecret, LiveObject
from upsert.core.objects import Target
from upsert.core.sensitive import Sensitive
from upsert.core.value_plan import Version
from upsert.errors import ImportRefused, ObjectsFailed
from upsert.importing import ImportParts
from upsert.imports import import_object
from upsert.kube import calls
from upsert.kube.api import Api
from upsert.kube.calls import Call
from upsert.kube.pace import Pace
from upsert.kube.reader import KubeReader

TEAM_B = "team-b/aws-ecr-token"
PATH = "/api/v1/namespaces/team-b/secrets/aws-ecr-token"
# What names the refresher's permissions, or speaks as if something had been written.
OF_THE_REFRESHER = ("rbac/refresher.yaml", "eks-upsert may", "the old or the new value")


def found(**metadata: Any) -> Answer[LiveObject]:
    """Return the answer to a GET of a Secret that is clean."""
    body = secret()
    body["metadata"] |= {"uid": "5d7e9c1e", "resourceVersion": "7"} | metadata
    return Answer(200, value=live.parse(200, body))


class Troubled:
    """An API server with three namespaces, of which `team-b`, or `everywhere`, answers as the test says."""

    identity = ADOPTER
    may_see_external_secrets = True
    requests = 0
    everywhere = False

    def __init__(
        self, answer: Callable[[], Answer[LiveObject]] = found, *, write: Answer[Written] | None = None
    ) -> None:
        self._answer = answer
        self._write = write or Answer(200, value=Written("5d7e9c1e", "8"))
        self.pace = Pace(4)
        # Enough for a first try, and for none after it.
        self.seconds = 1.1

    def namespaces(self, *_: Any, **__: Any) -> list[str]:
        return ["team-a", "team-b", "team-c"]

    def live(self, path: str) -> Answer[LiveObject]:
        return self._answer() if self.everywhere or path == PATH else found()

    def external_secrets(self, *_: Any, **__: Any) -> tuple[ExternalSecret, ...]:
        return ()

    def claim(self, *_: Any, **__: Any) -> Answer[Written]:
        return self._write

    def remove_last_applied(self, *_: Any, **__: Any) -> Answer[Written]:
        return self._write

    def disclaim(self, *_: Any, **__: Any) -> Answer[Written]:
        return self._write

    def held(self, _: str) -> Answer[Held]:
        raise AssertionError("nobody else is to be driven out")

    def time_left(self) -> float:
        return self.seconds


def run(target: Troubled, action: Action, *namespaces: str) -> adopter.Run:
    return adopter.run(Cluster(target, target), action, *namespaces)


def bug() -> Answer[LiveObject]:
    raise KeyError("a value that must not be printed")


TROUBLE: dict[str, tuple[Callable[[], Answer[LiveObject]], str]] = {
    "no answer": (
        lambda: Answer(0, trouble="timeout"),
        "unavailable (status 0); the API server did not answer in time; nothing was written",
    ),
    "no connection": (
        lambda: Answer(0, trouble="connection"),
        "unavailable (status 0); the connection to the API server failed each time; nothing was written",
    ),
    "an error": (
        lambda: Answer(503),
        "unavailable (status 503); the API server answered with an error each time; nothing was written",
    ),
    "something else": (
        lambda: Answer(404, trouble="unreadable"),
        "unreadable (status 404); the answer was not what a Kubernetes API server sends",
    ),
    "no leave": (
        lambda: Answer(403, refusal=Refusal("Forbidden", missing_verb="get")),
        "forbidden (status 403); the group eks-upsert-adopter may not get this Secret; apply rbac/adopter.yaml",
    ),
    "a refusal without words": (
        lambda: Answer(403),
        "forbidden (status 403); the API server refused the Secret; check its admission policies and rbac/adopter.yaml",
    ),
    "no time": (lambda: Answer(0, trouble="no-time"), "deadline (status 0); the function's time was nearly over"),
}


@pytest.mark.parametrize("case", TROUBLE)
def test_a_secret_that_cannot_be_read_is_not_adoptable_and_the_others_are(case: str) -> None:
    answer, said = TROUBLE[case]
    seen = run(Troubled(answer), Action.CHECK)
    (line,) = [line for line in seen.lines if line.startswith(TEAM_B)]
    assert line.startswith(f"{TEAM_B}: not adoptable: {said}")
    assert seen.report.counts == {"adoptable": 2, "failed": 1}
    assert seen.report.error() is None


@pytest.mark.parametrize("action", [Action.CHECK, Action.ADOPT])
@pytest.mark.parametrize("case", TROUBLE)
def test_a_remedy_after_a_read_is_the_adopters_and_speaks_of_no_write(case: str, action: Action) -> None:
    answer, _ = TROUBLE[case]
    seen = run(Troubled(answer), action, "team-b")
    assert not [words for words in OF_THE_REFRESHER if words in " ".join(seen.lines)]


@pytest.mark.parametrize("case", TROUBLE)
def test_a_check_in_which_every_object_failed_ends_as_an_error(case: str) -> None:
    answer, said = TROUBLE[case]
    error = run(Troubled(answer), Action.CHECK, "team-b").report.error()
    assert isinstance(error, ObjectsFailed)
    reason = said.partition(" ")[0]
    assert str(error) == (
        f"1 of 1 objects were not checked: team-b/secret/aws-ecr-token: {reason}. The log has every line"
    )


def test_a_check_that_found_nothing_adoptable_is_no_error() -> None:
    seen = run(Troubled(lambda: Answer(404)), Action.CHECK, "team-b")
    assert seen.report.counts == {"missing": 1}
    assert seen.report.error() is None


def test_a_fault_of_the_function_stays_in_its_namespace_and_quotes_nothing() -> None:
    seen = run(Troubled(bug), Action.CHECK)
    (line,) = [line for line in seen.lines if line.startswith(TEAM_B)]
    assert line.startswith(f"{TEAM_B}: not adoptable: internal (status 0); KeyError at ")
    assert "must not be printed" not in line
    assert seen.report.counts == {"adoptable": 2, "failed": 1}


def test_a_write_that_fails_is_a_failure_with_the_server_s_reason() -> None:
    refused: Answer[Written] = Answer(403, refusal=Refusal("Forbidden", missing_verb="patch"))
    seen = run(Troubled(write=refused), Action.ADOPT, "team-b")
    remedy = (
        "the group eks-upsert-adopter may not patch this Secret; apply rbac/adopter.yaml (`make rbac ADOPTER=1` prints "
        "it for your objects) with aws-ecr-token in resourceNames"
    )
    assert seen.lines == [f"{TEAM_B}: not adoptable: forbidden (status 403); {remedy}"]
    assert isinstance(seen.report.error(), ObjectsFailed)


@pytest.mark.parametrize("answer", [Answer[Written](0, trouble="timeout"), Answer[Written](503)])
def test_a_write_whose_end_is_not_known_has_changed_no_value(answer: Answer[Written]) -> None:
    (line,) = run(Troubled(write=answer), Action.ADOPT, "team-b").lines
    assert "; its values are as they were; check again" in line
    assert not [words for words in OF_THE_REFRESHER if words in line]


class Nothing:
    """A secret outside the cluster that holds nothing yet."""

    def fetch(self) -> Version | None:
        return None

    def put(self, value: Sensitive[str], *, over: str) -> bool:
        raise AssertionError(f"{value} was written over {over}")


@pytest.mark.parametrize("case", TROUBLE)
def test_an_import_of_what_cannot_be_read_is_refused_with_the_adopters_remedy(case: str) -> None:
    answer, said = TROUBLE[case]
    cluster = Troubled(answer)
    parts = ImportParts(
        adopter.sources(""),
        resource=lambda one: kinds.of(one).resource,
        own_fields=lambda one: kinds.of(one).own_fields,
        kept=lambda _: Nothing(),
        connect=lambda: (cluster, cluster),
        record=lambda _: None,
        conceal=lambda _: None,
    )
    request = AdoptRequest(Action.IMPORT, Target("test"), (pull_object(kept=True),), ("team-b",))

    with pytest.raises(ImportRefused) as refused:
        import_object(request, parts)

    assert f"team-b: the Secret was not read: {said.partition('; ')[2]}" in str(refused.value)
    assert not [words for words in OF_THE_REFRESHER if words in str(refused.value)]


def test_a_write_that_succeeds_proves_nothing_unless_it_is_read_back() -> None:
    seen = run(Troubled(), Action.ADOPT, "team-b")
    assert seen.lines == [f"{TEAM_B}: refused: changed since the check; check again"]


OURS = {"manager": "eks-upsert", "operation": "Apply", "fieldsV1": {"f:data": {"f:.dockerconfigjson": {}}}}


def test_a_secret_that_is_ours_afterwards_is_adopted() -> None:
    reads = iter([found(), found(managedFields=[OURS], resourceVersion="8")])
    seen = run(Troubled(lambda: next(reads)), Action.ADOPT, "team-b")
    assert seen.lines[-1] == f"{TEAM_B}: adopted (uid the same, ownerReferences untouched)"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"finalizers": ["example.com/keep"]}, "ownerReferences or finalizers changed while it was adopted"),
        (
            {"deletionTimestamp": "2030-01-02T03:04:05Z", "deletionGracePeriodSeconds": 0},
            "being-deleted: somebody deleted it while it was adopted",
        ),
        ({"managedFields": [OURS | {"operation": "Update"}]}, "changed since the check"),
    ],
)
def test_what_changes_during_an_adoption_is_told(change: dict[str, Any], reason: str) -> None:
    reads = iter([found(), found(**{"managedFields": [OURS], **change})])
    seen = run(Troubled(lambda: next(reads)), Action.ADOPT, "team-b")
    assert seen.lines == [f"{TEAM_B}: refused: {reason}; check again"]


def test_what_two_objects_of_the_file_are_for_is_not_adopted_and_named() -> None:
    both = (pull_object(include=("team-b",)), pull_object(include=("team-*",), exclude=("team-c",)))
    seen = adopter.run(Cluster(Troubled(), Troubled()), Action.CHECK, objects=both)
    assert seen.report.counts == {"adoptable": 1, "failed": 1}
    assert seen.lines[-1].startswith(
        f"{TEAM_B}: not adoptable: overlap (status 0); two objects of the file are secret/"
    )


def test_a_namespace_for_which_no_time_is_left_is_not_started() -> None:
    target = Troubled()
    target.seconds = 0.0
    seen = run(target, Action.ADOPT)
    assert seen.report.counts == {"failed": 3}
    assert str(seen.report.error()).startswith(
        "3 of 3 objects were not adopted: team-a/secret/aws-ecr-token: deadline; team-b/secret/aws-ecr-token: deadline;"
    )


@pytest.mark.parametrize(
    ("status", "body", "precondition_failed"),
    [
        (409, b'{"kind":"Status","reason":"Conflict","details":{"kind":"secrets"}}', True),
        (
            422,
            b'{"kind":"Status","details":{"causes":[{"reason":"FieldValueInvalid","field":"metadata.uid"}]}}',
            True,
        ),
        (
            409,
            b'{"kind":"Status","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict"}]}}',
            False,
        ),
        (422, b'{"kind":"Status","details":{"causes":[{"reason":"FieldValueForbidden","field":"data"}]}}', False),
        (503, b"", False),
    ],
)
def test_a_precondition_that_fails_is_told_from_other_refusals(
    status: int, body: bytes, precondition_failed: bool
) -> None:
    answer = parsing.answer(parsing.parse_written, status, {}, body)
    assert answer.is_precondition_failed == precondition_failed


@pytest.mark.parametrize("body", [{}, [], {"metadata": {"uid": "a", "resourceVersion": "1"}}])
def test_an_answer_that_holds_no_secret_is_unreadable(body: object) -> None:
    call = calls.get(PATH, {}, live.parse)
    for content in (json.dumps(body).encode(), b""):
        assert call.answer(200, {}, content) == Answer(200, trouble="unreadable")


@pytest.mark.parametrize(
    ("place", "is_it"),
    [
        ({"namespace": "team-b"}, True),
        ({"namespace": "team-a"}, False),
        ({}, False),
        ({"namespace": "team-b", "name": "another"}, False),
    ],
)
def test_an_answer_about_another_secret_is_unreadable(place: dict[str, str], is_it: bool) -> None:
    body = secret()
    body["metadata"] |= {"uid": "5d7e9c1e", "resourceVersion": "7"} | place

    class Scripted(Api):
        def __init__(self) -> None:
            """Do without a connection."""

        def try_once[T](self, call: Call[T]) -> Answer[T]:
            return call.answer(200, {}, json.dumps(body).encode())

    answer = KubeReader(Scripted()).live(PATH)
    assert (answer.value is not None) == is_it
    assert (answer.trouble == "unreadable") != is_it


@pytest.mark.parametrize("body", [b'{"items":[1]}', b'{"items":[{}]}', b'{"items":[{"metadata":{}}]}'])
def test_a_list_that_holds_no_external_secrets_is_unreadable(body: bytes) -> None:
    call = calls.get("/", {}, partial(live.parse_external_secrets, "aws-ecr-token"))
    assert call.answer(200, {}, body) == Answer(200, trouble="unreadable")


class Slow(Troubled):
    """An API server that works on nothing at the first try of each, and says of all how it was asked."""

    def __init__(self, *answers: Answer[LiveObject]) -> None:
        super().__init__()
        self.seconds = 60.0
        self.asked: list[str] = []
        self.claims = 0
        self._answers = iter(answers)

    def live(self, path: str) -> Answer[LiveObject]:
        self.asked.append(path)
        return next(self._answers, found(managedFields=[OURS], resourceVersion="8"))

    def claim(self, *_: Any, **__: Any) -> Answer[Written]:
        self.claims += 1
        return Answer(0, trouble="timeout") if self.claims == 1 else Answer(409, refusal=Refusal("Conflict"))


def test_each_gets_one_try_before_any_gets_a_second_one() -> None:
    target = Slow(*[Answer[LiveObject](503)] * 3)
    seen = run(target, Action.CHECK)
    assert len(set(target.asked[:3])) == len(target.asked[:3])
    assert sorted(target.asked[:3]) == sorted(target.asked[3:]) == [PATH.replace("-b", f"-{x}") for x in "abc"]
    assert seen.report.counts == {"adoptable": 3}


def test_a_claim_of_which_nothing_is_known_is_looked_at_before_it_is_tried_again() -> None:
    """Its answer was lost, and so was the one to the read after it: the second try meets what the first one did."""
    target = Slow(found(), Answer(503))
    seen = run(target, Action.ADOPT, "team-b")
    assert seen.lines[-1] == f"{TEAM_B}: adopted (uid the same, ownerReferences untouched)"
    assert target.claims == 1


def test_a_claim_that_did_not_happen_is_tried_again_with_the_same_check() -> None:
    class Late(Slow):
        def claim(self, *_: Any, **__: Any) -> Answer[Written]:
            self.claims += 1
            return Answer(503) if self.claims == 1 else Answer(200, value=Written("5d7e9c1e", "8"))

    target = Late(found(), found(), found())
    seen = run(target, Action.ADOPT, "team-b")
    assert seen.lines[-1] == f"{TEAM_B}: adopted (uid the same, ownerReferences untouched)"
    assert target.claims == 2


def test_what_changed_between_two_tries_is_not_claimed() -> None:
    """The second try is for what was checked at the first one, not for what stands there by then."""
    target = Slow(found(), Answer(503), *[found(resourceVersion="9")] * 2)
    seen = run(target, Action.ADOPT, "team-b")
    assert seen.lines == [f"{TEAM_B}: refused: changed since the check; check again"]
    assert target.claims == 1
