"""A source that disappears, is denied, is partial or gives garbage costs its own objects alone, and those nothing.

The whole function on a real API server: twenty Secrets from a secret each, and one from a parameter. All values rotate,
and one source fails: its object keeps its uid, its bytes and its version, the others move, and record, metrics and the
error that the run ends with say which.
"""

import base64
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.canary import Canary
from tests.support.controlplane import REPOSITORY, ControlPlane
from tests.support.invocation import Aws, Seen, invoke
from tests.support.objects import roles
from tests.support.parameters_standin import Parameter, ParametersStandin
from tests.support.secrets_standin import SecretsStandin
from tests.support.standin import RESET, Reply, Request
from upsert.errors import SourceFailed

SCHEDULED = json.loads((REPOSITORY / "events" / "scheduled.json").read_text())
COUNT = 20
# The two that fail: the value of the second is decoded.
BAD, DECODED = "app-07", "app-08"
APPS = [f"app-{index:02}" for index in range(COUNT)]
TOKEN, PARAMETER = "api-token", "/apps/api/token"
UNNAMED = "the secret that the file of objects names here"
NO_JSON = f"secret apps/{BAD}: the member that the file of objects names is looked for in a text that is no JSON"
HTML = Reply(200, b"<html>Sign in to the network</html>", {"Content-Type": "text/html"})


@dataclass
class Sources:
    """What is kept outside the cluster, with the canary that knows every value."""

    kept: SecretsStandin
    store: ParametersStandin
    canary: Canary

    def rotate(self) -> None:
        """Give each secret and the parameter another value."""
        for name in APPS:
            self.kept.kept[f"apps/{name}"] = json.dumps({"password": self._value(), "user": name})
        self.store.kept[PARAMETER] = Parameter([self._value()])

    def put(self, text: str | bytes | None, name: str = BAD) -> None:
        """Put another text in the place of a secret's JSON."""
        self.kept.kept[f"apps/{name}"] = text

    def _value(self) -> str:
        value = base64.b64encode(secrets.token_bytes(30)).decode()
        self.canary.learn("value", value)
        return value


@pytest.fixture
def sources() -> Iterator[Sources]:
    with SecretsStandin() as kept, ParametersStandin() as store:
        yield Sources(kept, store, Canary())


def entries(place: str) -> list[dict[str, Any]]:
    def one(name: str, key: str, source: Mapping[str, str]) -> dict[str, Any]:
        return {"name": name, "data": {key: source}, "namespaces": {"selector": f"apps={place}"}}

    of_secrets = [
        one(name, "password", {"secret": f"apps/{name}", "member": "password"} | _decoding(name)) for name in APPS
    ]
    return [*of_secrets, one(TOKEN, "token", {"parameter": PARAMETER})]


def _decoding(name: str) -> dict[str, str]:
    return {"decode": "base64"} if name == DECODED else {}


type Trouble = Callable[[Sources], object]


def without_one(sources: Sources) -> None:
    good = sources.kept._answer

    def answer(request: Request) -> Reply:
        reply = good(request)
        assert isinstance(reply.body, dict)
        left = [one for one in reply.body["SecretValues"] if one["Name"] != f"apps/{BAD}"]
        return Reply(200, reply.body | {"SecretValues": left}, reply.headers)

    sources.kept._script = answer


def changed(change: Mapping[str, Any]) -> Trouble:
    """Return what answers one of the entries with fields that are changed."""

    def trouble(sources: Sources) -> None:
        good = sources.kept._answer

        def answer(request: Request) -> Reply:
            reply = good(request)
            assert isinstance(reply.body, dict)
            for one in reply.body["SecretValues"]:
                if one["Name"] == f"apps/{BAD}":
                    one.update(change)
            return reply

        sources.kept._script = answer

    return trouble


def refused(code: str) -> Trouble:
    return lambda sources: sources.kept.refused.update({f"apps/{BAD}": code})


def answered(reply: Reply) -> Trouble:
    return lambda sources: setattr(sources.kept, "_script", lambda _: reply)


OF_A_SECRET: dict[str, tuple[Trouble, str]] = {
    "it disappears": (
        lambda sources: sources.kept.kept.pop(f"apps/{BAD}"),
        f"cannot read {UNNAMED}: ResourceNotFoundException; there is none of that name or ARN",
    ),
    "it is marked for deletion": (
        refused("InvalidRequestException"),
        f"cannot read secret apps/{BAD}: InvalidRequestException; it is marked for deletion: restore it",
    ),
    "it is denied": (
        refused("AccessDeniedException"),
        f"cannot read {UNNAMED}: AccessDeniedException; the function's role needs secretsmanager:GetSecretValue on it",
    ),
    "its key is disabled": (
        refused("DecryptionFailure"),
        f"cannot read secret apps/{BAD}: DecryptionFailure; its KMS key must be enabled",
    ),
    "it is emptied": (lambda sources: sources.put(None), f"secret apps/{BAD} holds no value yet; put one there"),
    "an answer leaves it out": (without_one, f"{UNNAMED}: what answered gave no value; look for a proxy"),
    "its value is a number": (changed({"SecretString": 5}), f"{UNNAMED}: what answered gave no value"),
    "its value is a list": (changed({"SecretString": ["x"]}), f"{UNNAMED}: what answered gave no value"),
    "it is binary where text is needed": (
        lambda sources: sources.put(secrets.token_bytes(64)),
        f"secret apps/{BAD} holds a binary value; expected text, to take a member of it or to decode it",
    ),
    "its member is missing": (
        lambda sources: sources.put('{"Password": "x"}'),
        f"secret apps/{BAD}: the member that the file of objects names is missing",
    ),
    "its member is null": (
        lambda sources: sources.put('{"password": null}'),
        f"secret apps/{BAD}: member 'password' is null; expected a string, number, true or false",
    ),
    "its member is nested": (
        lambda sources: sources.put('{"password": {"password": "x"}}'),
        f"secret apps/{BAD}: member 'password' is a list or an object; expected a string, number, true or false",
    ),
    "its member is repeated": (
        lambda sources: sources.put('{"password": "x", "password": "y"}'),
        f"secret apps/{BAD}: the member that the file of objects names is in a JSON text with a repeated member",
    ),
    "its JSON is cut": (
        lambda sources: sources.put('{"password": "x'),
        f"{NO_JSON}: it is cut off",
    ),
    "its JSON has a raw newline": (
        lambda sources: sources.put('{"password": "x\ny"}'),
        f"{NO_JSON}: a string in it has a raw line break",
    ),
    "it is a page": (
        lambda sources: sources.put("<html></html>"),
        NO_JSON,
    ),
    "it has half of a surrogate pair": (
        lambda sources: sources.put('{"password": "\\ud800"}'),
        f"secret apps/{BAD}: member 'password' has half of a surrogate pair",
    ),
    "its value is enormous": (
        lambda sources: sources.put(json.dumps({"password": "x" * (1024 * 1024 + 1)})),
        f"secret/{BAD}: its values have 1048577 bytes; expected at most 1048576",
    ),
}


OF_ALL: dict[str, tuple[Trouble, str, list[str]]] = {
    "the batch is denied": (
        lambda sources: sources.kept.refusals.update(BatchGetSecretValue="AccessDeniedException"),
        "the function's role needs secretsmanager:BatchGetSecretValue on *",
        APPS,
    ),
    "Secrets Manager is a page": (answered(HTML), "what answered gave no value; look for a proxy", APPS),
    "Secrets Manager is cut off": (answered(Reply(200, b'{"SecretValues": [{"ARN"')), "look for a", APPS),
    "Secrets Manager answers with wrong types": (
        answered(Reply(200, {"SecretValues": {"a": 1}, "Errors": 5, "NextToken": []})),
        "look for a",
        APPS,
    ),
    "Secrets Manager hangs up": (answered(RESET), "ConnectionClosedError; look for a way to the Secrets Manager", APPS),
    "the parameter disappears": (lambda sources: sources.store.kept.clear(), "there is no such parameter", [TOKEN]),
    "the parameter is denied": (
        lambda sources: setattr(sources.store, "refusal", "AccessDeniedException"),
        "the function's role needs ssm:GetParameters on it (parameter ReadableArns)",
        [TOKEN],
    ),
    "Parameter Store is a page": (
        lambda sources: setattr(sources.store, "_script", lambda _: HTML),
        "what answered gave no value; look for a proxy before the Systems Manager API",
        [TOKEN],
    ),
    "what is decoded is no base64": (
        lambda sources: sources.put('{"password": "correct horse battery staple"}', DECODED),
        f"secret apps/{DECODED}: member 'password' is no base64; expected it padded, without line breaks",
        [DECODED],
    ),
}


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    """AWS of this module, whose control plane has other roles than that of the others."""
    with Aws() as aws:
        yield aws


@pytest.fixture(scope="module")
def plane(aws: Aws) -> Iterator[ControlPlane]:
    with ControlPlane(authentication_webhook=aws.token_review) as plane:
        plane.apply_roles(roles(*entries("any")))
        yield plane


@pytest.fixture
def place(plane: ControlPlane) -> Iterator[str]:
    """A namespace that has the objects of a test, by its label."""
    name = f"apps-{secrets.token_hex(4)}"
    plane.create_namespace(name, {"apps": name})
    yield name
    plane.remove_namespace(name)


def refresh(aws: Aws, sources: Sources, place: str) -> Seen:
    return invoke(
        aws,
        SCHEDULED,
        objects=entries(place),
        AWS_ENDPOINT_URL_SECRETS_MANAGER=sources.kept.url,
        AWS_ENDPOINT_URL_SSM=sources.store.url,
    )


@dataclass(frozen=True)
class Live:
    """What an object is in the cluster."""

    uid: str
    version: str
    data: Mapping[str, str]


def live(plane: ControlPlane, place: str) -> dict[str, Live]:
    found = plane.request("GET", f"/api/v1/namespaces/{place}/secrets")["items"]
    return {
        one["metadata"]["name"]: Live(one["metadata"]["uid"], one["metadata"]["resourceVersion"], one["data"])
        for one in found
    }


def measured(seen: Seen, metric: str) -> list[float]:
    found = [one[metric] for one in seen.records if metric in one and "_aws" in one and "object" not in one]
    return [value for values in found for value in values]


def after_trouble(
    aws: Aws, plane: ControlPlane, sources: Sources, place: str, trouble: Trouble, bad: Sequence[str]
) -> Seen:
    """Return what a run says in which sources fail, once it is known that it cost their objects nothing, and no other.

    All of them are there from a run before, and every value has changed since.
    """
    sources.rotate()
    assert refresh(aws, sources, place).error is None
    before = live(plane, place)
    assert sorted(before) == sorted([*APPS, TOKEN])
    sources.rotate()
    trouble(sources)

    seen = refresh(aws, sources, place)

    after = live(plane, place)
    assert {name: after[name] for name in bad} == {name: before[name] for name in bad}
    assert {name: one.uid for name, one in after.items()} == {name: one.uid for name, one in before.items()}
    for name in after.keys() - set(bad):
        assert after[name].version != before[name].version
        assert after[name].data != before[name].data
    assert isinstance(seen.error, SourceFailed)
    assert sorted(record["object"] for record in seen.named("source.failed")) == [f"secret/{name}" for name in bad]
    (summary,) = seen.named("refresh.completed")
    assert summary["applied"] == COUNT + 1 - len(bad)
    assert summary["failed"] == 0
    assert sorted(summary["objects_not_made"]) == [f"secret/{name}" for name in bad]
    assert [measured(seen, name) for name in ("SourcesFailed", "NotRefreshed")] == [[len(bad)], [len(bad)]]
    assert not {leak for text in seen.texts for leak in sources.canary.leaks(text)}
    return seen


@pytest.mark.parametrize(("trouble", "why"), OF_A_SECRET.values(), ids=OF_A_SECRET)
def test_one_secret_of_twenty_costs_its_own_object_alone_and_that_nothing(
    aws: Aws, plane: ControlPlane, sources: Sources, place: str, trouble: Trouble, why: str
) -> None:
    seen = after_trouble(aws, plane, sources, place, trouble, [BAD])

    (record,) = seen.named("source.failed")
    assert record["remedy"].removeprefix("password: ").startswith(why)
    assert record["remedy"] == str(seen.error)
    # One batch in each of the two runs, however many of its secrets fail.
    assert sources.kept.calls == ["BatchGetSecretValue"] * 2
    assert sources.store.asked == [[PARAMETER]] * 2


@pytest.mark.parametrize(("trouble", "why", "bad"), OF_ALL.values(), ids=OF_ALL)
def test_a_service_costs_the_objects_that_are_made_of_it_alone_and_those_nothing(
    aws: Aws, plane: ControlPlane, sources: Sources, place: str, trouble: Trouble, why: str, bad: list[str]
) -> None:
    seen = after_trouble(aws, plane, sources, place, trouble, bad)

    assert all(why in record["remedy"] for record in seen.named("source.failed"))


def test_all_is_well_again_once_the_source_is(aws: Aws, plane: ControlPlane, sources: Sources, place: str) -> None:
    after_trouble(aws, plane, sources, place, refused("AccessDeniedException"), [BAD])
    before = live(plane, place)[BAD]
    sources.kept.refused.clear()

    assert refresh(aws, sources, place).error is None

    after = live(plane, place)[BAD]
    assert after.uid == before.uid
    assert (
        json.loads(str(sources.kept.kept[f"apps/{BAD}"]))["password"]
        == base64.b64decode(after.data["password"]).decode()
    )
