"""The adapter on the wire: what it sends, what it makes of answers that no API server would give, and when it stops."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.certificates import ServingCertificate, make_serving_certificate
from tests.support.raw_server import raw_server
from tests.support.refresher import SECRET, connect
from tests.support.standin import Reply, Request, Standin
from upsert.core import parsing
from upsert.core.answers import Answer, Written
from upsert.core.identity import REFRESHER
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import (
    ClusterError,
    ClusterNotTrusted,
    ClusterUnreachable,
    InputError,
    ListForbidden,
    ServiceAccountsNotListed,
    Unauthorized,
    UnexpectedAnswer,
)
from upsert.kube import api as api_module
from upsert.kube import calls
from upsert.kube.access import ClusterAccess
from upsert.kube.api import Api
from upsert.kube.bearer import BearerTokens
from upsert.kube.namespaces import list_names
from upsert.kube.service_accounts import ServiceAccounts
from upsert.kube.transport import Connection
from upsert.kube.writer import KubeWriter

MANIFEST = Sensitive(b'{"kind":"Secret"}')
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
TRIES = 6


def written(namespace: str | None = "team-a", name: str = SECRET, **metadata: object) -> Reply:
    """Return what the API server answers to an apply."""
    metadata = {"namespace": namespace, "name": name, "uid": "u-1", "resourceVersion": "7", **metadata}
    return Reply(200, {"kind": "PartialObjectMetadata", "metadata": metadata})


def written_as_asked(request: Request) -> Reply:
    """Return the answer to an apply, of the object that it is for."""
    *_, namespace, _, name = urlsplit(request.path).path.split("/")
    return written(namespace, name)


APPLIED = written()


@pytest.fixture(scope="module")
def certificate() -> ServingCertificate:
    return make_serving_certificate()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, unless the server asks for patience."""
    monkeypatch.setattr(api_module, "backoff", lambda _: 0.0)


class Script:
    """An API server that gives these answers in turn, the last one for ever."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = list(replies)
        self._lock = threading.Lock()

    def __call__(self, _: Request) -> Reply:
        with self._lock:
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


def apply(writer: KubeWriter, namespace: str = "team-a", **options: bool) -> Answer[Written]:
    """Apply the Secret unforced, for real, unless the options say otherwise."""
    return writer.apply(SECRETS.path(namespace, SECRET), MANIFEST, **{"force": False, **options})


class Patient(KubeWriter):
    """What waits for its own further tries."""

    def apply(
        self, path: str, configuration: Sensitive[bytes], *, force: bool, dry_run: bool = False
    ) -> Answer[Written]:
        return self.api.send(calls.apply(path, configuration, force=force, dry_run=dry_run))


class Server:
    """A scripted API server and the adapter that calls it."""

    def __init__(self, standin: Standin, certificate: ServingCertificate) -> None:
        self.standin = standin
        self._certificate = certificate

    def writer(self, **options: Any) -> KubeWriter:
        """Return what writes there, patiently."""
        return Patient(connect(self.standin.url, self._certificate.ca_pem, **options))

    def apply(self, **options: Any) -> Answer[Written]:
        return apply(self.writer(**options))


@pytest.fixture
def serve(certificate: ServingCertificate) -> Iterator[Callable[..., Server]]:
    running: list[Standin] = []

    def start(*replies: Reply, answer: Callable[[Request], Reply] | None = None) -> Server:
        standin = Standin(answer or Script(replies), certificate).__enter__()
        running.append(standin)
        return Server(standin, certificate)

    yield start
    for standin in running:
        standin.__exit__(None, None, None)


type Serve = Callable[..., Server]


def status(code: int, **fields: Any) -> Reply:
    return Reply(code, {"kind": "Status", **fields})


def page(*names: str, token: str = "") -> Reply:
    return Reply(200, {"metadata": {"continue": token}, "items": [{"metadata": {"name": name}} for name in names]})


@pytest.mark.parametrize(
    ("force", "dry_run", "query"),
    [
        (False, False, {"fieldManager": ["eks-upsert"], "force": ["false"]}),
        (True, False, {"fieldManager": ["eks-upsert"], "force": ["true"]}),
        (False, True, {"fieldManager": ["eks-upsert"], "force": ["false"], "dryRun": ["All"]}),
    ],
)
def test_an_apply_is_this_request(serve: Serve, force: bool, dry_run: bool, query: dict[str, list[str]]) -> None:
    server = serve(APPLIED)

    answer = apply(server.writer(), force=force, dry_run=dry_run)

    assert replace(answer, at=None) == Answer(200, value=Written("u-1", "7"))
    assert answer.at is not None
    assert abs(answer.at - datetime.now(UTC)) < timedelta(minutes=1)
    (request,) = server.standin.requests
    assert request.method == "PATCH"
    assert urlsplit(request.path).path == "/api/v1/namespaces/team-a/secrets/aws-ecr-token"
    assert parse_qs(urlsplit(request.path).query) == query
    assert request.body == MANIFEST.reveal()
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.headers["Accept"] == METADATA
    assert request.headers["Authorization"] == "Bearer a-bearer-token"
    assert request.headers["User-Agent"] == "eks-upsert"


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_removal_is_a_merge_patch_of_one_annotation(serve: Serve, dry_run: bool) -> None:
    server = serve(APPLIED)

    server.writer().remove_last_applied(SECRETS.path("team-a", SECRET), Written("u-1", "7"), dry_run=dry_run)

    (request,) = server.standin.requests
    assert (request.method, request.headers["Content-Type"]) == ("PATCH", "application/merge-patch+json")
    assert request.headers["Accept"] == METADATA
    assert json.loads(request.body) == {
        "metadata": {
            "uid": "u-1",
            "resourceVersion": "7",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": None},
        }
    }
    assert ("dryRun=All" in request.path) is dry_run


def test_a_list_asks_for_metadata_in_pages_of_500(serve: Serve) -> None:
    server = serve(page("a", "b", token="t/1+"), page("c", token="t2"), page("d"))

    assert server.writer().namespaces("team in (a,b)") == ["a", "b", "c", "d"]

    requests = server.standin.requests
    assert [request.method for request in requests] == ["GET"] * 3
    assert [request.headers["Accept"] for request in requests] == [METADATA_LIST] * 3
    assert [parse_qs(urlsplit(request.path).query) for request in requests] == [
        {"limit": ["500"], "labelSelector": ["team in (a,b)"]},
        {"limit": ["500"], "labelSelector": ["team in (a,b)"], "continue": ["t/1+"]},
        {"limit": ["500"], "labelSelector": ["team in (a,b)"], "continue": ["t2"]},
    ]


def test_a_list_that_expires_between_pages_starts_anew(serve: Serve) -> None:
    server = serve(page("old", token="t1"), status(410, reason="Expired"), page("new", token="t2"), page("other"))

    assert server.writer().namespaces("") == ["new", "other"]
    assert "continue" not in server.standin.requests[2].path


@pytest.mark.parametrize("names", [(), ("a", "b")])
def test_a_blank_selector_is_everything_whether_namespaces_are_named_or_not(serve: Serve, names: Sequence[str]) -> None:
    server = serve(page("a"))

    server.writer().namespaces(" ", names)
    server.writer().namespaces("", names)

    blank, empty = server.standin.requests
    assert blank.path == empty.path


def test_a_list_that_expires_again_and_again_is_an_error(serve: Serve) -> None:
    expiring = [page("a", token="t"), status(410, reason="Expired")]
    server = serve(*expiring * 3)

    with pytest.raises(UnexpectedAnswer, match="let a list of namespaces expire 3 times"):
        server.writer().namespaces("")

    assert len(server.standin.requests) == 6


@pytest.mark.parametrize(
    ("reply", "error", "message", "tries"),
    [
        (status(400, reason="BadRequest"), InputError, "namespaces.selector: the API server does not under", 1),
        (status(401), Unauthorized, "does not accept the function's role (401); create its access entry", 2),
        (Reply(401, b"<html>"), Unauthorized, "with the Kubernetes group eks-upsert", 2),
        (status(403), ListForbidden, "does not let it list namespaces (403); apply rbac/refresher.yaml", 1),
        (Reply(403, b"<html>"), ListForbidden, "does not let it list namespaces (403)", 1),
        (Reply(404, b"<html>"), UnexpectedAnswer, "answered the list of namespaces with status 404, not with what", 1),
        (Reply(302, headers={"Location": "https://login.example"}), UnexpectedAnswer, "with status 302, not with", 1),
        (Reply(200, b"<html>"), UnexpectedAnswer, "answered the list of namespaces with status 200, not with", TRIES),
        (Reply(503, b"<html>"), ClusterUnreachable, "with status 503 each time; it, or the load balancer", TRIES),
    ],
)
def test_a_list_that_fails_says_what_to_do(
    serve: Serve, reply: Reply, error: type[Exception], message: str, tries: int
) -> None:
    server = serve(reply)

    with pytest.raises(error) as stopped:
        server.writer().namespaces("")

    assert type(stopped.value) is error
    assert message in str(stopped.value)
    assert len(server.standin.requests) == tries
    if error is not InputError:
        assert server.standin.url in str(stopped.value)
        assert "Nothing was written" in str(stopped.value)


@pytest.mark.parametrize(
    "reply",
    [
        status(500),
        status(502),
        status(503),
        status(504),
        status(429),
        status(409, reason="Conflict"),
        Reply(200, b"<html>"),
        Reply(200, b"{", {"Content-Length": "100", "Connection": "close"}),
    ],
)
def test_what_may_pass_is_tried_again_until_it_passes(serve: Serve, reply: Reply) -> None:
    server = serve(reply, reply, APPLIED)
    writer = server.writer()

    assert apply(writer).value
    assert len(server.standin.requests) == writer.requests == 3
    assert len({request.body for request in server.standin.requests}) == 1


@pytest.mark.parametrize("reply", [status(500), status(409, reason="Conflict"), Reply(200, b"<html>")])
def test_what_does_not_pass_is_given_up(serve: Serve, reply: Reply) -> None:
    server = serve(reply)

    assert server.apply().status == reply.status
    assert len(server.standin.requests) == TRIES


@pytest.mark.parametrize(
    "reply",
    [
        status(400),
        status(403),
        status(404),
        status(409, details={"causes": [{"reason": "FieldManagerConflict"}]}),
        status(422),
        Reply(418, b"teapot"),
    ],
)
def test_what_cannot_pass_is_not_tried_again(serve: Serve, reply: Reply) -> None:
    server = serve(reply)

    assert server.apply().status == reply.status
    assert len(server.standin.requests) == 1


def test_the_servers_patience_is_waited_for(serve: Serve) -> None:
    server = serve(Reply(429, status(429).content(), {"Retry-After": "1"}), APPLIED)
    began = time.monotonic()

    assert server.apply().value
    assert 1.0 <= time.monotonic() - began < 5.0


def test_a_wait_longer_than_the_time_left_is_not_begun(serve: Serve) -> None:
    server = serve(Reply(429, status(429).content(), {"Retry-After": "60"}))
    began = time.monotonic()

    assert server.apply(remaining=lambda: 30.0).status == 429
    assert time.monotonic() - began < 5.0
    assert len(server.standin.requests) == 1


def test_without_time_nothing_is_sent(serve: Serve) -> None:
    server = serve(APPLIED)
    writer = server.writer(remaining=lambda: 9.9)

    assert not writer.api.may_start()
    assert apply(writer) == Answer(0, trouble="no-time")
    with pytest.raises(ClusterUnreachable, match=r"time was nearly over before .* raise Timeout"):
        writer.namespaces("")
    assert server.standin.requests == []


class Numbered:
    """Signs token-1, token-2 and so on."""

    def __init__(self) -> None:
        self.signed = 0

    def __call__(self) -> Sensitive[str]:
        self.signed += 1
        return Sensitive(f"token-{self.signed}")


def writer_with(server: Server, certificate: ServingCertificate, sign: Numbered) -> KubeWriter:
    access = ClusterAccess(server.standin.url, certificate.ca_pem)
    api = Api(access, BearerTokens(sign), REFRESHER, concurrency=8, remaining=lambda: 300.0)
    return Patient(api)


def test_a_refused_token_is_renewed_once_for_all_workers(serve: Serve, certificate: ServingCertificate) -> None:
    def answer(request: Request) -> Reply:
        return written_as_asked(request) if request.headers["Authorization"] == "Bearer token-2" else status(401)

    server, sign = serve(answer=answer), Numbered()
    writer = writer_with(server, certificate, sign)

    def work(number: int) -> Answer[Written]:
        return apply(writer, f"team-{number}")

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(40)))

    assert all(answer.value for answer in results)
    assert sign.signed == 2


def test_an_identity_that_is_refused_is_not_tried_for_every_namespace(
    serve: Serve, certificate: ServingCertificate
) -> None:
    server, sign = serve(status(401)), Numbered()
    writer = writer_with(server, certificate, sign)

    results = [apply(writer, f"team-{n}") for n in range(20)]

    assert {answer.status for answer in results} == {401}
    assert sign.signed == 2
    assert len(server.standin.requests) == writer.requests <= 3


@pytest.mark.parametrize(
    "wrong", [written("team-b"), written(name="another"), written(namespace=None), written(uid=""), Reply(200, b"{}")]
)
def test_an_answer_about_another_object_proves_nothing_and_ends_its_connection(serve: Serve, wrong: Reply) -> None:
    server = serve(wrong, APPLIED)
    writer = KubeWriter(server.writer(concurrency=1).api)

    assert apply(writer) == Answer(200, trouble="unreadable")
    assert apply(writer).value == Written("u-1", "7")
    clients = [request.client for request in server.standin.requests]
    assert clients[0] != clients[1]


def answers_after(interim: bytes, certificate: ServingCertificate) -> tuple[list[Answer[Written]], list[int]]:
    """Return the answers to three writes, each sent after an interim one, and the connection that each was sent on."""
    asked: list[int] = []

    def talk(connection: socket.socket) -> None:
        while head := read_head(connection):
            asked.append(id(connection))
            body = written(head.split("/")[4]).content()
            answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            connection.sendall(interim + answer)

    with raw_server(talk, certificate) as endpoint:
        writer = KubeWriter(connect(endpoint, certificate.ca_pem, concurrency=1))
        found = [apply(writer, namespace) for namespace in ("team-a", "team-b", "team-c")]
    return found, asked


@pytest.mark.parametrize("interim", [b"HTTP/1.1 %d Early\r\n\r\n" % status for status in (100, 102, 103, 199)])
def test_an_interim_answer_is_not_taken_for_the_real_one(certificate: ServingCertificate, interim: bytes) -> None:
    found, asked = answers_after(interim, certificate)

    assert [answer.value for answer in found] == [Written("u-1", "7")] * 3
    assert len(set(asked)) == 1


def test_a_switch_of_protocols_that_nobody_asked_for_ends_the_connection(certificate: ServingCertificate) -> None:
    found, asked = answers_after(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", certificate)

    assert found == [Answer(0, trouble="connection")] * 3
    assert len(asked) == 3


def read_head(connection: socket.socket) -> str:
    """Return the head of a request that has MANIFEST as its body, or nothing at the end."""
    received = b""
    while MANIFEST.reveal() not in received:
        piece = connection.recv(65536)
        if not piece:
            return ""
        received += piece
    return received.decode()


def test_a_redirect_is_not_followed(serve: Serve) -> None:
    elsewhere = serve(APPLIED)
    server = serve(Reply(307, headers={"Location": f"{elsewhere.standin.url}/api"}))

    assert server.apply() == Answer(307, trouble="unreadable")
    assert elsewhere.standin.requests == []


def test_a_body_without_end_is_not_read_to_its_end(serve: Serve) -> None:
    endless = {"Content-Length": str(1 << 40)}
    server = serve(Reply(400, b"x" * (parsing.LONGEST_BODY + 1_000_000), endless), APPLIED)
    writer = server.writer(concurrency=1)

    assert apply(writer) == Answer(400, trouble="too-long")
    assert apply(writer).value


def test_a_page_that_is_too_long_is_asked_for_in_smaller_ones(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "LONGEST_BODY", 1000)
    fat = {"items": [{"metadata": {"name": "team-a", "annotations": {"a": "x" * 2000}}}], "metadata": {}}
    thin = {"items": [{"metadata": {"name": "team-a"}}], "metadata": {}}
    server = serve(Reply(200, fat), Reply(200, thin))

    assert server.writer().namespaces("") == ["team-a"]
    assert ["limit=500" in request.path for request in server.standin.requests] == [True, False]


@pytest.mark.parametrize("kind", [Patient, KubeWriter])
def test_an_answer_is_waited_for_as_long_as_a_server_may_take(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, kind: type[KubeWriter]
) -> None:
    """It may hold a request in its queue for 15 seconds and work on a write for 34."""
    writer = kind(serve(APPLIED).writer(remaining=lambda: 300.0).api)
    original, waited = Connection.send, []

    def sending(*arguments: Any, **options: Any) -> Any:
        waited.append(options["seconds"])
        return original(*arguments, **options)

    monkeypatch.setattr(Connection, "send", sending)

    assert apply(writer).value
    (seconds,) = waited
    assert seconds >= 15 + 34


def test_who_decides_about_further_tries_gets_the_answer_to_each(serve: Serve) -> None:
    """So a worker is never held by what has to be tried again."""
    server = serve(Reply(503))
    api = server.writer().api
    account = ServiceAccount("team-a", "default", "u-1", "7", ())
    accounts = ServiceAccounts(api)

    tries: Sequence[Callable[[], Answer[Any]]] = (
        lambda: apply(KubeWriter(api)),
        lambda: accounts.patch(account, MANIFEST, dry_run=False),
        lambda: accounts.anew(account),
    )
    for number, send in enumerate(tries, start=1):
        assert send().status == 503
        assert len(server.standin.requests) == number


@pytest.mark.parametrize("other", [{"name": "builder"}, {"namespace": "team-b"}])
def test_a_list_of_other_service_accounts_is_no_answer(serve: Serve, other: dict[str, str]) -> None:
    metadata = {"namespace": "team-a", "name": "default", "uid": "u-1", "resourceVersion": "7", **other}
    accounts = ServiceAccounts(serve(Reply(200, {"metadata": {}, "items": [{"metadata": metadata}]})).writer().api)

    assert accounts.anew(ServiceAccount("team-a", "default", "u-1", "7", ())).trouble == "unreadable"
    with pytest.raises(ServiceAccountsNotListed):
        accounts.listed("default", ["team-a"])


def test_connections_are_used_again(serve: Serve) -> None:
    server = serve(answer=written_as_asked)
    writer = server.writer(concurrency=4)

    def work(number: int) -> Answer[Written]:
        return apply(writer, f"team-{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(60)))

    assert len(server.standin.requests) == 60
    assert len({request.client for request in server.standin.requests}) <= 4


def countdown(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def unreached(api: Api) -> ClusterError:
    with pytest.raises(ClusterError) as stopped:
        list_names(api, "")
    assert "Nothing was written" in str(stopped.value)
    return stopped.value


def test_a_refused_connection_is_named_as_such(certificate: ServingCertificate) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]

    error = unreached(connect(f"https://127.0.0.1:{port}", certificate.ca_pem))

    assert type(error) is ClusterUnreachable
    assert f"no connection to https://127.0.0.1:{port}: refused, reset, or the name does not resolve" in str(error)


def test_a_name_that_does_not_resolve_is_named_as_such(certificate: ServingCertificate) -> None:
    # Such a name exists nowhere: RFC 6761, section 6.4.
    error = unreached(connect("https://cluster.invalid", certificate.ca_pem))

    assert type(error) is ClusterUnreachable
    assert "no connection to https://cluster.invalid" in str(error)


def test_a_private_endpoint_that_never_answers_is_named_as_a_timeout(certificate: ServingCertificate) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        error = unreached(connect(f"https://127.0.0.1:{port}", certificate.ca_pem, remaining=countdown(10.5)))

    assert type(error) is ClusterUnreachable
    assert "did not answer in time; a private endpoint is reached only from its VPC: set SubnetIds" in str(error)


def test_an_answer_that_never_comes_is_a_timeout(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "_TIMEOUT_SECONDS", 0.2)
    over = threading.Event()

    def answer(_: Request) -> Reply:
        over.wait(30)
        return APPLIED

    server = serve(answer=answer)

    result = server.apply(remaining=lambda: 10.0)
    over.set()

    assert result == Answer(0, trouble="timeout")


@pytest.mark.parametrize("first_bytes", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n"])
def test_what_does_not_speak_tls_is_no_question_of_trust(certificate: ServingCertificate, first_bytes: bytes) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def hang_up() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1024)
                    connection.sendall(first_bytes)

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        error = unreached(connect(f"https://127.0.0.1:{listener.getsockname()[1]}", certificate.ca_pem))
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)

    assert type(error) is ClusterUnreachable


def test_a_certificate_of_another_authority_is_not_trusted_and_gets_nothing(serve: Serve) -> None:
    server = serve(APPLIED)
    api = connect(server.standin.url, make_serving_certificate().ca_pem)

    assert type(unreached(api)) is ClusterNotTrusted
    answer = apply(KubeWriter(api))
    assert answer == Answer(0, trouble="untrusted")
    assert server.standin.requests == []


def test_a_certificate_for_another_name_is_not_trusted(serve: Serve, certificate: ServingCertificate) -> None:
    server = serve(APPLIED)
    # The same address, written in a way that the certificate does not name.
    endpoint = f"https://[::ffff:127.0.0.1]:{urlsplit(server.standin.url).port}"

    assert type(unreached(connect(endpoint, certificate.ca_pem))) is ClusterNotTrusted
    assert server.standin.requests == []


@pytest.mark.parametrize(
    "ca_pem", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_an_authority_that_is_no_certificate_is_a_clear_error(ca_pem: str) -> None:
    with pytest.raises(ClusterNotTrusted, match="is no certificate; look for a proxy before the EKS API"):
        connect("https://127.0.0.1:1", ca_pem)


@pytest.mark.parametrize(
    ("environment", "through_proxy"),
    [
        ({"HTTPS_PROXY": "proxy"}, True),
        ({"https_proxy": "proxy"}, True),
        ({"HTTP_PROXY": "proxy", "http_proxy": "proxy"}, False),
        ({"HTTPS_PROXY": "proxy", "NO_PROXY": "127.0.0.1"}, False),
        ({"HTTPS_PROXY": "proxy", "no_proxy": "127.0.0.1"}, False),
        ({}, False),
    ],
)
def test_the_proxy_variables_are_obeyed(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], through_proxy: bool
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = serve(page("a"))
    with Standin(lambda _: Reply(403)) as proxy:
        for name, value in environment.items():
            monkeypatch.setenv(name, proxy.url if value == "proxy" else value)
        if through_proxy:
            unreached(server.writer().api)
        else:
            assert server.writer().namespaces("") == ["a"]

    asked = {(request.method, request.path) for request in proxy.requests}
    assert asked == ({("CONNECT", urlsplit(server.standin.url).netloc)} if through_proxy else set())
