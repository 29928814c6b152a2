"""Promise 3: no secret is said, whatever happens. A hostile API server echoes each request in every text it can.

Each case runs the whole function with the loggers of all libraries at DEBUG, and everything that it lets out is
searched for any 12 characters of any secret that it had, plain or in base64 or in base64 of that.
"""

import base64
import json
import logging
import pickle
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support import ecr_standin, refresher
from tests.support.canary import Canary, encodings, told_by, told_by_object
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import new_password
from tests.support.faults import Fault, FaultProxy, Passage
from tests.support.invocation import SECRET_KEY, SESSION_TOKEN, Aws, Seen, canary, invoke
from tests.support.objects import entry, pull_object
from tests.support.refresher import LAST_APPLIED, SECRET
from tests.support.secrets_standin import SecretsStandin
from tests.support.standin import Reply, Request, Standin
from upsert import kinds, rounds, sources, telemetry
from upsert.core import docker_config
from upsert.core.docker_config import Login
from upsert.core.objects import Desired
from upsert.core.redaction import MASK, Redactor
from upsert.core.sensitive import Sensitive
from upsert.handlers import refresh as handlers
from upsert.kube import api as kube_api
from upsert.kube import calls
from upsert.kube.bearer import BearerTokens
from upsert.kube.writer import KubeWriter
from upsert.sources.source import Reading

NAMESPACE = "team-a"
UID = "6f1c2b9a-1111-4222-8333-444455556666"


def echo(request: Request) -> str:
    """Return the whole request as text."""
    return f"{request.method} {request.path} {dict(request.headers)} {request.body.decode()}"


def status(request: Request, code: int, message: str = "", **fields: Any) -> Reply:
    """Return a Status that holds the request in every text that it has."""
    said = message + echo(request)
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "message": said,
        "reason": said,
        "details": {"name": said, "kind": said, "causes": [{"reason": said, "message": said, "field": said}]},
        **fields,
    }
    # More patience than a run has, so that it gives up at once.
    patience = {"Retry-After": "1000"} if code == 429 else {}
    return Reply(code, body, {"Warning": f'299 - "{said[:500]}"'} | patience)


def causes(request: Request, reason: str, field: str = "", message: str = "") -> dict[str, Any]:
    """Return the details of a Status with one cause that decides."""
    return {"causes": [{"reason": reason, "field": field, "message": message + echo(request)}]}


def secret(request: Request, code: int = 200, **metadata: Any) -> Reply:
    """Return an object as no server should: with the value that was written."""
    given = json.loads(request.body)
    known = {"name": SECRET, "namespace": NAMESPACE, "uid": UID, "resourceVersion": "7", "labels": {"x": echo(request)}}
    return Reply(code, {**given, "metadata": {**known, **metadata}})


def holds_last_applied(request: Request) -> Reply:
    """Return an object whose annotation holds a value, and refuse to have that removed."""
    if "merge-patch" in request.headers["Content-Type"]:
        return status(request, 403)
    return secret(request, annotations={LAST_APPLIED: echo(request)})


def named_like_a_secret(request: Request) -> Reply:
    """Return a conflict with a field manager whose name is a part of the password."""
    config = json.loads(base64.b64decode(json.loads(request.body)["data"][".dockerconfigjson"]))
    (login,) = config["auths"].values()
    details = causes(request, "FieldManagerConflict", message=f'conflict with "{login["password"][:80]}" using v1')
    return status(request, 409, details=details)


@dataclass(frozen=True)
class Case:
    """One way in which a PATCH may end: what the server answers, and what the function makes of it."""

    answer: Callable[[Request], Reply]
    reason: str
    on_conflict: str = "take-over"


OUTCOMES = {
    "applied": Case(secret, ""),
    "created": Case(lambda request: secret(request, 201), ""),
    "taken over": Case(
        lambda request: (
            secret(request)
            if "force=true" in request.path
            else status(
                request, 409, details=causes(request, "FieldManagerConflict", "", 'conflict with "helm" using v1')
            )
        ),
        "",
    ),
    "terminating": Case(
        lambda request: status(request, 403, details=causes(request, "NamespaceTerminating")), "terminating"
    ),
    "gone": Case(lambda request: status(request, 404, details={"kind": "namespaces", "name": echo(request)}), "gone"),
    "forbidden": Case(lambda request: status(request, 403), "forbidden"),
    "quota": Case(lambda request: status(request, 403, "exceeded quota: "), "forbidden"),
    "webhook": Case(lambda request: status(request, 403, 'admission webhook "a.b" denied the request: '), "denied"),
    "webhook out of reach": Case(lambda request: status(request, 500, 'failed calling webhook "a.b": '), "denied"),
    "policy": Case(
        lambda request: status(request, 422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: "),
        "denied",
    ),
    "missing verb": Case(lambda request: status(request, 403, "cannot patch resource "), "forbidden"),
    "contested": Case(
        lambda request: status(
            request, 409, details=causes(request, "FieldManagerConflict", "", 'conflict with "helm" using v1 ')
        ),
        "contested",
        "refuse",
    ),
    "conflict": Case(lambda request: status(request, 409), "conflict"),
    "immutable": Case(
        lambda request: status(request, 422, details=causes(request, "FieldValueForbidden", "data")), "immutable"
    ),
    "wrong type": Case(lambda request: status(request, 422, details=causes(request, "x", "type")), "wrong-type"),
    "rejected": Case(lambda request: status(request, 400), "rejected"),
    "throttled": Case(lambda request: status(request, 429), "throttled"),
    "server error": Case(lambda request: status(request, 500), "unavailable"),
    "bad gateway": Case(lambda request: Reply(502, f"<html>{echo(request)}</html>".encode()), "unavailable"),
    "unavailable": Case(lambda request: Reply(503, echo(request).encode()), "unavailable"),
    "gateway timeout": Case(lambda request: status(request, 504), "unavailable"),
    "unreadable text": Case(lambda request: Reply(200, echo(request).encode()), "unreadable"),
    "unreadable object": Case(lambda request: secret(request, uid=echo(request)), "unreadable"),
    "another object": Case(lambda request: secret(request, name=echo(request)), "unreadable"),
    "odd status": Case(lambda request: Reply(418, echo(request).encode()), "unreadable"),
    "redirect": Case(lambda request: Reply(307, b"", {"Location": f"/x?{request.body.hex()}"}), "unreadable"),
    "unauthorized": Case(lambda request: status(request, 401), "unauthorized"),
    "stale copy": Case(holds_last_applied, "stale-copy"),
}


class HostileApi:
    """An API server that lists one namespace and answers each PATCH as the test says."""

    def __init__(self, answer: Callable[[Request], Reply] = secret) -> None:
        self.answer = answer
        self.answer_list: Callable[[Request], Reply] = _one_namespace
        self.certificate = make_serving_certificate()
        self.standin = Standin(
            lambda request: self.answer_list(request) if request.method == "GET" else self.answer(request),
            self.certificate,
        )

    @property
    def bearers(self) -> set[str]:
        """Every bearer token that came in."""
        return {request.headers["Authorization"].removeprefix("Bearer ") for request in self.standin.requests}


def _one_namespace(_request: Request) -> Reply:
    return Reply(
        body={"kind": "PartialObjectMetadataList", "metadata": {}, "items": [{"metadata": {"name": NAMESPACE}}]}
    )


@pytest.fixture
def api(aws: Aws) -> Iterator[HostileApi]:
    """A hostile API server that the function is pointed at."""
    api = HostileApi()
    with api.standin:
        aws.point_at(api.standin.url, api.certificate.ca_pem)
        yield api
        aws.describe = aws._describe


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rounds, kube_api):
        monkeypatch.setattr(module, "backoff", lambda _: 0.01)
        monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.2)


@pytest.fixture(scope="module")
def tally() -> Iterator[list[int]]:
    """Counts of what was searched: texts, characters, strings searched for in each."""
    counts = [0, 0, 0]
    yield counts
    print(f"\nproof: canary: texts={counts[0]} characters={counts[1]} searched for, at most={counts[2]} leaks=0")


type Search = Callable[[Seen, set[str]], set[str]]


@pytest.fixture
def search(tally: list[int]) -> Search:
    """Return the names of the secrets that an invocation let out."""

    def find(seen: Seen, bearers: set[str]) -> set[str]:
        known = canary(seen.passwords, bearers)
        texts = seen.texts
        leaks = {name for text in texts for name in known.leaks(text)}
        tally[:] = [
            tally[0] + len(texts),
            tally[1] + sum(map(len, texts)),
            max(tally[2], known.parts_known),
        ]
        return leaks

    return find


@pytest.mark.parametrize("case", OUTCOMES.values(), ids=OUTCOMES.keys())
def test_no_outcome_of_a_namespace_says_a_secret(case: Case, aws: Aws, api: HostileApi, search: Search) -> None:
    api.answer = case.answer
    seen = invoke(
        aws,
        objects=[entry(on_conflict=case.on_conflict)],
        root_level=logging.DEBUG,
        LOG_LEVEL="DEBUG",
    )
    assert search(seen, api.bearers) == set()
    # A token that is refused is signed anew, once.
    assert (len(seen.passwords), len(api.bearers)) == (1, 2 if case.reason == "unauthorized" else 1)
    assert seen.reasons.get(NAMESPACE, "") == case.reason
    skipped_or_applied = case.reason in ("", "gone", "terminating")
    expected = None if skipped_or_applied else "Unauthorized" if case.reason == "unauthorized" else "ObjectsFailed"
    assert (type(seen.error).__name__ if seen.error else None) == expected


def test_a_field_manager_that_is_named_like_a_secret_is_withheld(aws: Aws, api: HostileApi, search: Search) -> None:
    api.answer = named_like_a_secret
    seen = invoke(aws, objects=[entry(on_conflict="refuse")], root_level=logging.DEBUG)
    assert search(seen, api.bearers) == set()
    # The name alone is masked, and the record still says what failed where.
    (record,) = seen.named("object.failed")
    assert (record["object"], record["namespace"], record["reason"]) == (f"secret/{SECRET}", NAMESPACE, "contested")
    assert record["masked"] == ["remedy"]
    assert record["remedy"].startswith(MASK)
    assert "this Secret too and on_conflict is refuse" in record["remedy"]


def test_without_the_last_guard_that_name_would_be_said(
    aws: Aws, api: HostileApi, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Redactor, "finds_in", lambda *_: False)
    api.answer = named_like_a_secret
    assert "password" in search(invoke(aws, objects=[entry(on_conflict="refuse")]), api.bearers)


def test_a_namespace_that_is_not_started_for_want_of_time_says_no_secret(
    aws: Aws, api: HostileApi, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KubeWriter, "time_left", lambda self: 300.0 if self.requests == 0 else 0.0)
    seen = invoke(aws, root_level=logging.DEBUG)
    assert search(seen, api.bearers) == set()
    assert seen.reasons == {NAMESPACE: "deadline"}


def test_a_certificate_that_changes_during_the_run_says_no_secret(
    aws: Aws, plane: ControlPlane, search: Search
) -> None:
    plane.create_namespace(NAMESPACE)
    with FaultProxy(plane, lambda _: None) as proxy:

        def swap(passage: Passage) -> Fault | None:
            if passage.method == "GET":
                proxy.present(make_serving_certificate())
            return None

        proxy.choose = swap
        aws.point_at(proxy.endpoint, proxy.ca_pem)
        seen = invoke(aws, root_level=logging.DEBUG)
    plane.remove_namespace(NAMESPACE)
    sent = {passage.headers["Authorization"].removeprefix("Bearer ") for passage, _ in proxy.history}
    assert len(sent) == 1
    assert search(seen, sent) == set()
    assert set(seen.reasons.values()) == {"untrusted"}
    assert type(seen.error).__name__ == "ClusterNotTrusted"


def broken_apply(self: KubeWriter, _path: str, document: Sensitive[bytes], **_: Any) -> None:
    """Stand for a bug that quotes all it has."""
    raise RuntimeError(document.reveal(), self.api._bearer.current().reveal())


def test_a_bug_at_one_namespace_is_named_by_its_place_and_says_no_secret(
    aws: Aws, api: HostileApi, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KubeWriter, "apply", broken_apply)
    seen = invoke(aws, root_level=logging.DEBUG)
    assert search(seen, api.bearers) == set()
    (failed,) = seen.named("object.failed")
    assert failed["reason"] == "internal"
    assert failed["remedy"].startswith("RuntimeError at upsert.writing:")


def broken_read(*_: Any) -> Reading:
    """Stand for a bug while another error is handled, both of which quote secrets."""
    held: dict[str, Reading] = {}
    try:
        return held[SESSION_TOKEN]
    except KeyError:
        raise RuntimeError(SECRET_KEY)  # noqa: B904 - the context is the point


def test_a_bug_that_stops_the_run_is_named_by_its_place_and_says_no_secret(
    aws: Aws, api: HostileApi, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "read", broken_read)
    seen = invoke(aws, root_level=logging.DEBUG)
    assert search(seen, api.bearers) == set()
    assert type(seen.error).__name__ == "InternalError"
    assert str(seen.error).startswith("RuntimeError at upsert.wiring:")
    assert seen.named("refresh.stopped")[0]["error"] == "InternalError"


def test_without_the_border_that_bug_would_say_them(
    aws: Aws, api: HostileApi, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "read", broken_read)
    monkeypatch.setattr(handlers, "_run", handlers._run.__wrapped__)  # type: ignore[attr-defined]
    assert search(invoke(aws), api.bearers) == {"secret key", "session token"}


def test_without_silencing_them_the_libraries_would_say_secrets_at_debug(
    aws: Aws, api: HostileApi, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    loggers = [logging.getLogger(name) for name in telemetry.FOREIGN_LOGGERS]
    monkeypatch.setattr(telemetry, "FOREIGN_LOGGERS", ())
    for logger in loggers:
        monkeypatch.setattr(logger, "propagate", True)
        monkeypatch.setattr(logger, "level", logging.NOTSET)
        logger.manager._clear_cache()  # type: ignore[attr-defined] # levels are remembered per logger
    seen = invoke(aws, root_level=logging.DEBUG)
    assert "session token" in search(seen, api.bearers)


def eks_says(code: int, kind: str) -> Callable[[Request], Reply]:
    """Return an EKS that refuses and echoes the signed request."""
    return lambda request: Reply(code, {"message": echo(request)}, {"x-amzn-ErrorType": kind})


def eks_in_state(state: str) -> Callable[[Request], Reply]:
    """Return an EKS whose cluster is in a state."""
    return lambda request: Reply(body={"cluster": {"name": echo(request), "status": state}})


def ecr_echo(_region: str) -> ecr_standin.Reply:
    """Return an ECR that refuses and quotes the session token that the request was signed with."""
    return ecr_standin.Reply(400, {"__type": "AccessDeniedException", "message": f"{SESSION_TOKEN} {SECRET_KEY}"})


def ecr_odd_expiry(region: str) -> ecr_standin.Reply:
    """Return a login that expires at no time at all."""
    reply = ecr_standin.token(region)
    reply.body["authorizationData"][0]["expiresAt"] = reply.body["authorizationData"][0]["authorizationToken"]
    return reply


type Prepare = Callable[[Aws, HostileApi], object]


def lists(answer: Callable[[Request], Reply]) -> Prepare:
    """Prepare an API server that answers the list of namespaces so."""
    return lambda _, api: setattr(api, "answer_list", answer)


def describes(answer: Callable[[Request], Reply]) -> Prepare:
    """Prepare an EKS that answers so."""
    return lambda aws, _: setattr(aws, "describe", answer)


def refused_port(aws: Aws, _api: HostileApi) -> None:
    """Point the function at a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    aws.endpoint = f"https://127.0.0.1:{port}"


STOPPED: dict[str, tuple[str, Prepare]] = {
    "EKS knows it not": ("ClusterNotFound", describes(eks_says(404, "ResourceNotFoundException"))),
    "EKS denies": ("ClusterAccessDenied", describes(eks_says(403, "AccessDeniedException"))),
    "EKS is confused": ("ClusterUnreachable", describes(eks_says(400, "ServerException"))),
    "cluster is being made": ("ClusterNotActive", describes(eks_in_state("CREATING"))),
    "wrong CA": (
        "ClusterNotTrusted",
        lambda aws, _: setattr(aws, "ca_pem", make_serving_certificate().ca_pem),
    ),
    "nobody listens": ("ClusterUnreachable", refused_port),
    "list 401": ("Unauthorized", lists(lambda request: status(request, 401))),
    "list 403": ("ListForbidden", lists(lambda request: status(request, 403))),
    "list 429": ("ClusterUnreachable", lists(lambda request: status(request, 429))),
    "list 500": ("ClusterUnreachable", lists(lambda request: status(request, 500))),
    "list is a page of a load balancer": (
        "UnexpectedAnswer",
        lists(lambda request: Reply(404, echo(request).encode())),
    ),
    "list is a redirect": ("UnexpectedAnswer", lists(lambda _: Reply(302, b"", {"Location": "https://127.0.0.1:9/"}))),
    "list is an echo": ("UnexpectedAnswer", lists(lambda request: Reply(200, echo(request).encode()))),
    "list is empty": ("NoNamespaceMatches", lists(lambda _: Reply(body={"items": [], "metadata": {}}))),
}


@pytest.mark.parametrize(("error", "prepare"), STOPPED.values(), ids=STOPPED.keys())
def test_no_error_that_stops_a_run_says_a_secret(
    error: str, prepare: Prepare, aws: Aws, api: HostileApi, search: Search
) -> None:
    prepare(aws, api)
    seen = invoke(aws, root_level=logging.DEBUG, LOG_LEVEL="DEBUG")
    assert search(seen, api.bearers) == set()
    assert type(seen.error).__name__ == error
    assert seen.named("refresh.stopped")[0]["error"] == error


@pytest.mark.parametrize(
    "answer",
    [
        ecr_standin.denied,
        ecr_standin.no_data,
        ecr_standin.empty_token,
        ecr_standin.foreign_token,
        ecr_standin.expired,
        ecr_echo,
        ecr_odd_expiry,
    ],
)
def test_no_answer_of_ecr_that_stops_a_run_says_a_secret(
    answer: ecr_standin.Answer, aws: Aws, api: HostileApi, search: Search
) -> None:
    with aws.ecr.answering(answer):
        seen = invoke(aws, root_level=logging.DEBUG)
    assert search(seen, api.bearers) == set()
    assert type(seen.error).__name__ == "SourceFailed"
    assert not api.standin.requests


KEPT = "glpat-" + new_password()[:60]
AUTH = base64.b64encode(f"robot:{KEPT}".encode()).decode()
KEPT_VALUES = {
    "no JSON": AUTH,
    "a list": json.dumps([KEPT]),
    "no auths": json.dumps({KEPT: {}}),
    "auths that are a list": json.dumps({"auths": [AUTH]}),
    "an entry that is a text": json.dumps({"auths": {"quay.io": AUTH}}),
    "a host that is none": json.dumps({"auths": {f"robot:{KEPT}@quay.io": {"auth": AUTH}}}),
    "a bare token": json.dumps({"auths": {"quay.io": {"auth": KEPT}}}),
    "a field that is unknown": json.dumps({"auths": {"quay.io": {"auth": AUTH, KEPT: KEPT}}}),
    "nothing wrong": json.dumps({"auths": {"quay.io": {"auth": AUTH}}}),
}


@pytest.mark.parametrize("value", KEPT_VALUES.values(), ids=KEPT_VALUES.keys())
@pytest.mark.parametrize("answer", [secret, OUTCOMES["immutable"].answer], ids=["written", "refused"])
def test_nothing_of_a_kept_value_is_said_whatever_it_holds(
    value: str, answer: Callable[[Request], Reply], aws: Aws, api: HostileApi, search: Search
) -> None:
    api.answer = answer
    with SecretsStandin() as store:
        store.value = value
        seen = invoke(
            aws,
            objects=[entry(kept=True)],
            root_level=logging.DEBUG,
            LOG_LEVEL="DEBUG",
            AWS_ENDPOINT_URL_SECRETS_MANAGER=store.url,
        )
    known = Canary()
    known.learn("kept value", KEPT)
    assert search(seen, api.bearers) == set()
    assert {name for text in seen.texts for name in known.leaks(text)} == set()
    assert store.calls == ["BatchGetSecretValue"]


def test_settings_that_stop_a_run_say_no_secret(aws: Aws, api: HostileApi, search: Search) -> None:
    seen = invoke(aws, {"unknown": 1}, root_level=logging.DEBUG, LOG_LEVEL="many")
    assert search(seen, api.bearers) == set()
    assert type(seen.error).__name__ == "InputError"


PASSWORD = new_password()
BEARER = f"k8s-aws-v1.{base64.urlsafe_b64encode(b'https://sts/?X-Amz-Signature=0123456789abcdef' * 3).decode()}"
LOGIN = Login("host.example", "AWS", Sensitive(PASSWORD))
MATERIAL = refresher.login(password=PASSWORD)
CONFIG = docker_config.write(docker_config.merge([LOGIN]))


def _used_bearer_tokens() -> BearerTokens:
    tokens = BearerTokens(lambda: Sensitive(BEARER))
    tokens.current()
    return tokens


def _taught_redactor() -> Redactor:
    redactor = Redactor()
    redactor.learn(Sensitive(PASSWORD))
    return redactor


def _writer() -> KubeWriter:
    return KubeWriter(refresher.connect("https://127.0.0.1:9", make_serving_certificate().ca_pem, BEARER))


def _desired() -> Desired:
    one = pull_object()
    return kinds.build(one, {"registries[0]": MATERIAL})


OBJECTS: dict[str, Callable[[], object]] = {
    "password": lambda: Sensitive(PASSWORD),
    "login": lambda: LOGIN,
    "material": lambda: MATERIAL,
    "docker config": lambda: CONFIG,
    "desired object": _desired,
    "document": lambda: refresher.document(MATERIAL),
    "request": lambda: calls.apply("/api/v1/namespaces/a/secrets/b", refresher.document(MATERIAL), force=True),
    "bearer token": lambda: Sensitive(BEARER),
    "bearer tokens": _used_bearer_tokens,
    "redactor": _taught_redactor,
    "API server": lambda: _writer().api,
    "writer": _writer,
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS.keys())
def test_no_object_that_holds_a_secret_says_it(make: Callable[[], object]) -> None:
    known = Canary()
    known.learn("password", PASSWORD)
    known.learn("bearer token", BEARER)
    thing = make()
    for holder in (thing, [thing], {"key": thing}):
        for text in told_by_object(holder):
            assert known.leaks(text) == set()


def planted() -> dict[str, list[str]]:
    """Return texts that hold a part of a password, each in another disguise."""
    part = PASSWORD[700:712]
    hidden = ValueError("outer")
    hidden.__context__ = KeyError(PASSWORD)
    hidden.__suppress_context__ = True
    nested = RuntimeError("outer", ValueError(PASSWORD[100:140]))
    return {
        "a part of it": [f"x{part}y"],
        "base64": [base64.b64encode(f"AWS:{PASSWORD}".encode()).decode()[900:912]],
        "base64 of a docker config": [base64.b64encode(CONFIG.reveal()).decode()],
        "the auth in a docker config, in base64": [base64.b64encode(encodings(f"AWS:{PASSWORD}")[0].encode()).decode()],
        "suppressed context": told_by(hidden),
        "an argument that is an error": told_by(nested),
        "pickle": [pickle.dumps({"key": PASSWORD}).decode("latin-1")],
    }


@pytest.mark.parametrize("disguise", planted())
def test_the_search_finds_a_planted_part_in_every_disguise(disguise: str) -> None:
    known = Canary()
    known.learn("password", PASSWORD)
    assert any(known.leaks(text) for text in planted()[disguise])
    assert not known.leaks(json.dumps({"uid": UID, "bearer": BEARER, "key": SECRET_KEY}))
