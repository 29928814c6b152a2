"""The HTTP stand-in answers what it is told to, cuts connections as a broken network does, and says nothing itself."""

import http.client
import ssl
from collections.abc import Callable, Iterator

import pytest

from tests.support.certificates import ServingCertificate, make_serving_certificate
from tests.support.standin import RESET, Ending, Reply, Request, Standin

BODY = b"0123456789"


@pytest.fixture(scope="module")
def certificate() -> ServingCertificate:
    return make_serving_certificate()


def connection(standin: Standin, authority: ServingCertificate | None = None) -> http.client.HTTPConnection:
    host = standin.url.partition("//")[2]
    if authority is None:
        return http.client.HTTPConnection(host, timeout=10)
    context = ssl.create_default_context(cadata=authority.ca_pem)
    return http.client.HTTPSConnection(host, timeout=10, context=context)


def get(client: http.client.HTTPConnection) -> bytes:
    client.request("GET", "/x?y=1", headers={"A": "b"})
    return client.getresponse().read()


@pytest.fixture(params=["http", "https"])
def serve(
    request: pytest.FixtureRequest, certificate: ServingCertificate
) -> Iterator[Callable[[Reply], http.client.HTTPConnection]]:
    authority = certificate if request.param == "https" else None
    running: list[Standin] = []
    clients: list[http.client.HTTPConnection] = []

    def start(reply: Reply) -> http.client.HTTPConnection:
        running.append(Standin(lambda _: reply, authority).__enter__())
        clients.append(connection(running[-1], authority))
        return clients[-1]

    yield start
    for client in clients:
        client.close()
    for standin in running:
        standin.__exit__(None, None, None)


type Serve = Callable[[Reply], http.client.HTTPConnection]


def test_an_answer_arrives_and_the_connection_is_kept(serve: Serve) -> None:
    client = serve(Reply(201, {"a": 1}, {"B": "c"}))

    for _ in range(2):
        client.request("POST", "/", b"body")
        answer = client.getresponse()
        assert (answer.status, answer.headers["B"], answer.read()) == (201, "c", b'{"a": 1}')


def test_a_reset_comes_in_place_of_the_answer(serve: Serve) -> None:
    client = serve(RESET)

    with pytest.raises(ConnectionResetError):
        get(client)


def test_an_answer_that_breaks_off_is_half_an_answer(serve: Serve) -> None:
    client = serve(Reply(200, BODY[:5], {"Content-Length": "10"}, Ending.HALF_CLOSED))

    with pytest.raises((http.client.IncompleteRead, ssl.SSLError)):
        get(client)


def test_a_request_is_remembered_as_it_came_in() -> None:
    with Standin(lambda _: Reply(body=BODY)) as standin:
        client = connection(standin)
        assert get(client) == BODY
        (request,) = standin.requests
        standin.forget()
        assert standin.requests == []
        client.close()

    assert (request.method, request.path, request.headers["A"], request.body) == ("GET", "/x?y=1", "b", b"")


def test_another_certificate_is_shown_to_who_connects_anew(certificate: ServingCertificate) -> None:
    another = make_serving_certificate()
    with Standin(lambda _: Reply(body=BODY), certificate) as standin:
        first, second = connection(standin, certificate), connection(standin, certificate)
        assert get(first) == BODY
        standin.present(another)

        first.request("GET", "/")
        answer = first.getresponse()
        assert (answer.read(), answer.headers["Connection"]) == (BODY, "close")
        with pytest.raises(ssl.SSLCertVerificationError):
            get(second)
        third = connection(standin, another)
        assert get(third) == BODY
        for client in (first, second, third):
            client.close()


def test_who_hangs_up_or_speaks_another_language_stops_nobody(
    certificate: ServingCertificate, capfd: pytest.CaptureFixture[str]
) -> None:
    with Standin(lambda _: Reply(body=BODY), certificate) as standin:
        stranger = connection(standin)
        stranger.putrequest("GET", "/")
        stranger.endheaders()
        with pytest.raises((OSError, http.client.HTTPException)):
            stranger.getresponse()
        stranger.close()
        client = connection(standin, certificate)
        assert get(client) == BODY
        client.close()

    assert capfd.readouterr() == ("", "")


def test_nobody_answers_before_and_after() -> None:
    standin = Standin(lambda _: Reply())
    with pytest.raises(RuntimeError, match="not running"):
        _ = standin.url

    with standin:
        gone = connection(standin)

    with pytest.raises(ConnectionRefusedError):
        get(gone)


def test_what_is_answered_may_depend_on_the_request() -> None:
    def echo(request: Request) -> Reply:
        return Reply(body=request.path.encode())

    with Standin(echo) as standin:
        client = connection(standin)
        assert get(client) == b"/x?y=1"
        client.close()
