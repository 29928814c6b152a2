"""Somebody puts the value where the name of its secret belongs: it is told by its place, and no part of it is said."""

import base64
import json
from typing import Any

import pytest

from tests.adopt.conftest import Migration, Team
from tests.support.adopter import entry, secret
from tests.support.canary import Canary
from tests.support.invocation import Seen
from tests.support.objects import ARN
from tests.support.objects import entry as object_entry
from tests.support.standin import Reply

ENTRIES = json.dumps({"auths": {"quay.io": entry("robot", "correct-horse-battery-staple")}}, separators=(",", ":"))
# What the grammar of names takes.
PASTED = {
    "the entries in base64": base64.b64encode(ENTRIES.encode()).decode(),
    "the same, URL-safe": base64.urlsafe_b64encode(ENTRIES.encode()).decode(),
    "a token": "glpat-abcdEFGH1234ijklMNOP",
    "a password": "correct-horse-battery-staple",
}
PLACE = "registries[1].auths: cannot read the secret that the file of objects names here: "


def runs(aws: Migration, team: str, **file: Any) -> list[Seen]:
    """Return what each of the runs lets out that read the secret."""
    return [
        aws.refresh({"namespaces": [team]}, **file),
        *(aws.adopt({"action": action, "namespaces": [team]}, **file) for action in ("check", "adopt")),
        aws.adopt({"action": "import", "namespace": team}, **file),
    ]


def kept(name: str, **more: str) -> dict[str, Any]:
    """Return the shipped file with entries for other registries, kept under that name."""
    return {"objects": [object_entry(registries=[{"ecr": {}}, {"auths": {"secret": name, **more}}])]}


def said(seen: Seen) -> str:
    """Everything that is for the operator."""
    return "\n".join(seen.texts)


@pytest.mark.parametrize("pasted", PASTED.values(), ids=PASTED)
@pytest.mark.parametrize("refusal", ["", "AccessDeniedException", "ValidationException", "InternalServiceError"])
def test_a_value_is_told_by_its_place(aws: Migration, team: Team, pasted: str, refusal: str) -> None:
    aws.secrets.refusal = refusal
    canary = Canary()
    canary.learn("what was pasted", pasted)
    for seen in runs(aws, team("team-a", secret()), **kept(pasted)):
        assert canary.leaks(said(seen)) == set()
        assert PLACE in said(seen)


@pytest.mark.parametrize("pasted", PASTED.values(), ids=PASTED)
def test_so_it_is_where_an_answer_is_none(
    aws: Migration, team: Team, monkeypatch: pytest.MonkeyPatch, pasted: str
) -> None:
    monkeypatch.setattr(aws.secrets, "_script", lambda _: Reply(200, b"<html>who are you?"))
    canary = Canary()
    canary.learn("what was pasted", pasted)
    for seen in runs(aws, team("team-a", secret()), **kept(pasted)):
        assert canary.leaks(said(seen)) == set()
        assert (
            "registries[1].auths: the secret that the file of objects names here: what answered gave no value"
            in said(seen)
        )


@pytest.mark.parametrize("text", ['{"auths":{}}', "no JSON", '{"a":{"b":1}}'])
def test_nor_is_it_said_in_the_place_of_a_member(aws: Migration, team: Team, text: str) -> None:
    pasted = PASTED["a password"]
    aws.secrets.value = text
    canary = Canary()
    canary.learn("what was pasted", pasted)
    for seen in runs(aws, team("team-a", secret()), **kept(ARN, member=pasted))[:3]:
        assert canary.leaks(said(seen)) == set()
        assert f"registries[1].auths: secret {ARN}: the member that the file of objects names is " in said(seen)


def test_a_name_that_is_one_and_an_arn_are_told(aws: Migration, team: Team) -> None:
    aws.secrets.kept["apps/registries"] = "no docker config"
    team("team-a", secret())
    seen = aws.adopt({"action": "import", "namespace": "team-a"}, **kept("apps/registries"))
    assert "secret apps/registries: " in str(seen.error)
    aws.secrets.refusal = "AccessDeniedException"
    assert f"registries[1].auths: cannot read secret {ARN}: " in str(aws.refresh(**kept(ARN)).error)
