"""The bearer token of a run is signed for one cluster, renewed ahead of time, and once more when it is refused."""

import base64
import itertools
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.exceptions import CredentialRetrievalError

from tests.support.aws import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, aws_session
from tests.support.objects import REGION
from upsert.core.sensitive import Sensitive
from upsert.errors import ClusterAccessDenied
from upsert.kube import bearer
from upsert.kube.bearer import BearerTokens

WORKERS = 16


class Tokens:
    """Numbered tokens under a clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._numbers = itertools.count(1)
        self.bearer = BearerTokens(lambda: Sensitive(f"token-{next(self._numbers)}"), lambda: self.now)

    @property
    def current(self) -> str:
        return self.bearer.current().reveal()


def test_nothing_is_signed_before_it_is_needed() -> None:
    def sign() -> Sensitive[str]:
        raise AssertionError("signed too early")

    BearerTokens(sign)


def test_a_token_is_used_again_while_it_is_good() -> None:
    tokens = Tokens()

    assert tokens.current == "token-1"
    tokens.now += 600
    assert tokens.current == "token-1"


def test_a_token_is_renewed_minutes_before_its_end_each_time() -> None:
    tokens = Tokens()
    assert tokens.current == "token-1"
    tokens.now += 601
    assert tokens.current == "token-2"
    tokens.now += 601
    assert tokens.current == "token-3"


def test_a_refused_token_is_renewed_once() -> None:
    tokens = Tokens()
    first = tokens.bearer.current()

    assert tokens.bearer.renew(first)
    assert tokens.current == "token-2"
    assert not tokens.bearer.exhausted


def test_a_token_that_is_signed_within_the_same_second_is_none_to_try_and_a_later_one_is() -> None:
    signed, paused = iter(["same", "same", "later"]), list[float]()
    tokens = BearerTokens(lambda: Sensitive(next(signed)), pause=paused.append)

    assert tokens.renew(tokens.current())

    assert tokens.current().reveal() == "later"
    assert paused == [1.0]


def test_a_token_signed_within_a_second_is_the_same_one_and_the_one_that_is_tried_next_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = datetime(2030, 1, 2, 3, 4, 5, 999_000)  # noqa: DTZ001 - botocore signs naive UTC
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: now)
    session = aws_session(REGION)
    assert bearer.sign_bearer_token(session, "production") == bearer.sign_bearer_token(session, "production")

    def pause(seconds: float) -> None:
        nonlocal now
        now += timedelta(seconds=seconds)

    tokens = BearerTokens(lambda: bearer.sign_bearer_token(session, "production"), pause=pause)
    refused = tokens.current()

    assert tokens.renew(refused)
    assert tokens.current() != refused


def test_who_waits_for_no_other_second_gets_another_token_at_once() -> None:
    paused = list[float]()
    numbers = itertools.count()
    tokens = BearerTokens(lambda: Sensitive(f"token-{next(numbers)}"), pause=paused.append)

    assert tokens.renew(tokens.current())
    assert paused == []


def test_a_second_refusal_is_final() -> None:
    tokens = Tokens()
    tokens.bearer.renew(tokens.bearer.current())

    assert not tokens.bearer.renew(tokens.bearer.current())
    assert tokens.bearer.exhausted
    assert tokens.current == "token-2"


def test_one_who_was_refused_an_older_token_gets_the_new_one() -> None:
    tokens = Tokens()
    old = tokens.bearer.current()
    tokens.bearer.renew(old)

    assert tokens.bearer.renew(old)
    assert not tokens.bearer.exhausted
    assert tokens.current == "token-2"


def test_a_renewal_ahead_of_time_does_not_use_up_the_one_after_a_refusal() -> None:
    tokens = Tokens()
    tokens.bearer.current()
    tokens.now += 601

    assert tokens.bearer.renew(tokens.bearer.current())
    assert tokens.current == "token-3"


def test_workers_refused_together_share_one_renewal() -> None:
    tokens = Tokens()
    refused = tokens.bearer.current()
    together = threading.Barrier(WORKERS)

    def worker(_: int) -> tuple[bool, str]:
        together.wait(10)
        return tokens.bearer.renew(refused), tokens.current

    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(worker, range(WORKERS)))

    assert results == [(True, "token-2")] * WORKERS
    assert not tokens.bearer.exhausted


def test_workers_that_start_together_share_one_token() -> None:
    tokens = Tokens()
    together = threading.Barrier(WORKERS)

    def worker(_: int) -> str:
        together.wait(10)
        return tokens.current

    with ThreadPoolExecutor(WORKERS) as pool:
        assert set(pool.map(worker, range(WORKERS))) == {"token-1"}


# How a token is signed.


def url_in(token: str) -> str:
    assert token.startswith("k8s-aws-v1.")
    encoded = token.removeprefix("k8s-aws-v1.")
    assert re.fullmatch(r"[A-Za-z0-9_-]+", encoded), "the authenticator takes unpadded URL-safe base64 only"
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-central-1", "sts.eu-central-1.amazonaws.com"),
        ("us-east-1", "sts.us-east-1.amazonaws.com"),
        ("us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "sts.cn-north-1.amazonaws.com.cn"),
        ("eusc-de-east-1", "sts.eusc-de-east-1.amazonaws.eu"),
        ("us-iso-east-1", "sts.us-iso-east-1.c2s.ic.gov"),
        ("us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov"),
    ],
)
@pytest.mark.parametrize("pointed_elsewhere", [False, True])
def test_a_token_is_a_request_to_the_regions_own_sts(
    monkeypatch: pytest.MonkeyPatch, region: str, host: str, pointed_elsewhere: bool
) -> None:
    if pointed_elsewhere:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")

    url = urlsplit(url_in(bearer.sign_bearer_token(aws_session(region), "production").reveal()))

    assert (url.scheme, url.netloc, url.path) == ("https", host, "/")
    query = {name: values for name, (*values,) in parse_qs(url.query, strict_parsing=True).items()}
    assert query["Action"] == ["GetCallerIdentity"]
    assert query["Version"] == ["2011-06-15"]
    assert query["X-Amz-Expires"] == ["60"]
    assert query["X-Amz-SignedHeaders"] == ["host;x-k8s-aws-id"]
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    (credential,) = query["X-Amz-Credential"]
    assert re.fullmatch(rf"{ACCESS_KEY}/[0-9]{{8}}/{region}/sts/aws4_request", credential)
    assert len(query["X-Amz-Signature"][0]) == 64


def signature_of(session: boto3.Session, cluster: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("botocore.auth.get_current_datetime", fixed_time, raising=True)
    return parse_qs(urlsplit(url_in(bearer.sign_bearer_token(session, cluster).reveal())).query)["X-Amz-Signature"][0]


def fixed_time() -> datetime:
    return datetime(2030, 1, 2, 3, 4, 5)  # noqa: DTZ001 - botocore signs naive UTC


def test_the_clusters_name_is_part_of_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    session = aws_session(REGION)

    assert signature_of(session, "one", monkeypatch) == signature_of(session, "one", monkeypatch)
    assert signature_of(session, "one", monkeypatch) != signature_of(session, "two", monkeypatch)


def test_the_session_token_of_a_role_goes_with_the_request() -> None:
    token = bearer.sign_bearer_token(aws_session(REGION, SESSION_TOKEN), "production").reveal()

    assert parse_qs(urlsplit(url_in(token)).query)["X-Amz-Security-Token"] == [SESSION_TOKEN]


def test_a_token_shows_neither_itself_nor_a_key() -> None:
    token = bearer.sign_bearer_token(aws_session(REGION), "production")

    assert repr(token) == "Sensitive(***)"
    assert SECRET_KEY not in url_in(token.reveal())


def test_credentials_that_cannot_be_renewed_are_named_and_not_the_cause_of_a_bug(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def renew(_: object) -> None:
        raise CredentialRetrievalError(provider="correct-horse", error_msg="correct-horse")

    monkeypatch.setattr("botocore.credentials.Credentials.get_frozen_credentials", renew)
    with pytest.raises(ClusterAccessDenied) as stopped:
        bearer.sign_bearer_token(aws_session(REGION), "production")

    assert str(stopped.value) == (
        "the function's credentials are not there to sign a bearer token with (CredentialRetrievalError); run it again"
    )


def test_without_credentials_there_is_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3.Session, "get_credentials", lambda _: None)

    with pytest.raises(ClusterAccessDenied, match="no AWS credentials to sign a bearer token with"):
        bearer.sign_bearer_token(boto3.Session(region_name=REGION), "production")
