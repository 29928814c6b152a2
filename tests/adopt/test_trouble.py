"""What an API server in trouble does to a run of the adopter: its own namespace suffers, and the line says how."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support import adopter
from tests.support.adopter import secret
from upsert.core import answers, live
from upsert.core.answers import Answer
from upsert.core.live import ExternalSecret
from upsert.errors import NamespacesFailed
from upsert.settings import Action


def found(**metadata: Any) -> Answer:
    """Return the answer to a GET of a Secret that is clean."""
    body = secret()
    body["metadata"] |= {"uid": "5d7e9c1e", "resourceVersion": "7"} | metadata
    return Answer(200, uid="5d7e9c1e", resource_version="7", secret=live.read(body))


class Troubled:
    """An API server with three namespaces, of which `team-b` answers as the test says."""

    role_file = "rbac/adopter.yaml"
    may_see_external_secrets = True
    requests = 0

    def __init__(self, answer: Callable[[], Answer] = found, *, write: Answer | None = None) -> None:
        self._answer = answer
        self._write = write or Answer(200, uid="5d7e9c1e", resource_version="8")
        self.time_is_up = False

    def namespaces(self, *_: Any, **__: Any) -> list[str]:
        return ["team-a", "team-b", "team-c"]

    def read_secret(self, namespace: str, *_: Any, **__: Any) -> Answer:
        return self._answer() if namespace == "team-b" else found()

    def external_secrets(self, *_: Any, **__: Any) -> tuple[ExternalSecret, ...]:
        return ()

    def adopt(self, *_: Any, **__: Any) -> Answer:
        return self._write

    def remove_last_applied_from(self, *_: Any, **__: Any) -> Answer:
        return self._write

    def may_start(self) -> bool:
        return not self.time_is_up


def bug() -> Answer:
    raise KeyError("a value that must not be printed")


TROUBLE = {
    "no answer": (
        lambda: Answer(0, trouble="timeout"),
        "unavailable (status 0); the API server did not answer in time",
    ),
    "an error": (
        lambda: Answer(503),
        "unavailable (status 503); the API server answered with an error each time",
    ),
    "something else": (
        lambda: Answer(404, trouble="unreadable"),
        "unreadable (status 404); the answer was not what a Kubernetes API server sends",
    ),
}


@pytest.mark.parametrize("case", TROUBLE)
def test_a_secret_that_cannot_be_read_is_not_adoptable_and_the_others_are(case: str) -> None:
    answer, said = TROUBLE[case]
    run = adopter.run(Troubled(answer), Action.CHECK)
    (line,) = [line for line in run.lines if line.startswith("team-b")]
    assert line.startswith(f"team-b: not adoptable: {said}")
    assert run.report.counts == {"adoptable": 2, "failed": 1}
    assert run.report.error() is None


def test_a_fault_of_the_function_stays_in_its_namespace_and_quotes_nothing() -> None:
    run = adopter.run(Troubled(bug), Action.CHECK)
    (line,) = [line for line in run.lines if line.startswith("team-b")]
    assert line.startswith("team-b: not adoptable: internal (status 0); KeyError at ")
    assert "must not be printed" not in line
    assert run.report.counts == {"adoptable": 2, "failed": 1}


def test_a_write_that_fails_is_a_failure_with_the_server_s_reason() -> None:
    run = adopter.run(Troubled(write=Answer(403, reason="Forbidden", missing_verb="patch")), Action.ADOPT, "team-b")
    reason = "forbidden (status 403); the function's group may not patch this Secret"
    remedy = "apply rbac/adopter.yaml with the Secret's name in resourceNames"
    assert run.lines == [f"team-b: not adoptable: {reason}; {remedy}"]
    assert isinstance(run.report.error(), NamespacesFailed)


def test_a_write_that_succeeds_proves_nothing_unless_it_is_read_back() -> None:
    run = adopter.run(Troubled(), Action.ADOPT, "team-b")
    assert run.lines == ["team-b: refused: changed since the check; check again"]


def test_owners_that_change_during_an_adoption_are_told() -> None:
    field = {"manager": "eks-upsert", "fieldsV1": {"f:data": {"f:.dockerconfigjson": {}}}}
    reads = iter([found(), found(managedFields=[field], finalizers=["example.com/keep"])])
    run = adopter.run(Troubled(lambda: next(reads)), Action.ADOPT, "team-b")
    assert run.lines == ["team-b: refused: ownerReferences or finalizers changed while it was adopted; check again"]


def test_a_namespace_for_which_no_time_is_left_is_not_started() -> None:
    target = Troubled()
    target.time_is_up = True
    run = adopter.run(target, Action.ADOPT)
    assert run.report.counts == {"failed": 3}
    assert str(run.report.error()).startswith("3 of 3 namespaces were not adopted: team-a: deadline; team-b: deadline;")


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
def test_a_precondition_that_fails_is_told_from_other_refusals_and_not_tried_again(
    status: int, body: bytes, precondition_failed: bool
) -> None:
    answer = answers.read_conditional(status, {}, body)
    assert answer.precondition_failed == precondition_failed
    assert answer.is_worth_retrying == (status == 503)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"metadata":{"uid":"a","resourceVersion":"1"}}'])
def test_an_answer_that_holds_no_secret_is_unreadable(body: bytes) -> None:
    assert answers.read_secret(200, {}, body) == Answer(200, trouble="unreadable")


@pytest.mark.parametrize("body", [b'{"items":[1]}', b'{"items":[{}]}', b'{"items":[{"metadata":{}}]}'])
def test_a_list_that_holds_no_external_secrets_is_unreadable(body: bytes) -> None:
    assert answers.read_external_secrets("aws-ecr-token", 200, {}, body) == Answer(200, trouble="unreadable")
