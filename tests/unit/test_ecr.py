"""Logins from ECR, asked over HTTP as on AWS."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from tests.support import ecr_standin
from tests.support.aws import SESSION_TOKEN, aws_session, role_credentials, without_retries
from tests.support.ecr_standin import EcrStandin
from tests.support.standin import Reply, Request, Standin
from upsert.adapters import ecr
from upsert.core.registries import Registry
from upsert.errors import RegistryError

REGION = "eu-central-1"
ROLE = "arn:aws:iam::210987654321:role/pull"
OTHER_ROLE = "arn:aws:iam::210987654321:role/other"


@pytest.fixture
def session() -> boto3.Session:
    return aws_session(REGION)


@pytest.fixture(scope="module")
def running() -> Iterator[EcrStandin]:
    with EcrStandin() as standin:
        yield standin


@pytest.fixture
def standin(running: EcrStandin, monkeypatch: pytest.MonkeyPatch) -> EcrStandin:
    running._calls.clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", running.url)
    return running


def registry(account: str = "111111111111", region: str = REGION, role: str | None = None) -> Registry:
    return Registry(account, region, role)


def test_a_login_is_the_password_of_the_token(session: boto3.Session, standin: EcrStandin) -> None:
    granted = ecr.logins(session, [registry()])

    (login,) = granted.entries
    assert (login.host, login.username) == ("111111111111.dkr.ecr.eu-central-1.amazonaws.com", "AWS")
    assert [login.password.reveal()] == standin.passwords
    assert abs(granted.expires_at - datetime.now(UTC) - timedelta(hours=12)) < timedelta(minutes=1)


def test_one_token_serves_every_registry_of_its_region(session: boto3.Session, standin: EcrStandin) -> None:
    accounts = [f"{number:012}" for number in range(5)]

    granted = ecr.logins(session, [registry(account) for account in accounts])

    assert len(standin.calls) == 1
    assert {login.password.reveal() for login in granted.entries} == set(standin.passwords)
    assert [login.host.partition(".")[0] for login in granted.entries] == accounts


def test_each_region_gets_a_token_of_its_own(session: boto3.Session, standin: EcrStandin) -> None:
    regions = ["eu-central-1", "us-east-1", "eu-central-1", "ap-south-1"]

    granted = ecr.logins(session, [registry(f"{i:012}", region) for i, region in enumerate(regions)])

    assert [call.region for call in standin.calls] == ["eu-central-1", "us-east-1", "ap-south-1"]
    passwords = [login.password.reveal() for login in granted.entries]
    assert passwords[0] == passwords[2]
    assert len(set(passwords)) == 3


def test_each_role_gets_a_token_of_its_own(
    session: boto3.Session, standin: EcrStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = [None, ROLE, OTHER_ROLE, ROLE]
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)

        granted = ecr.logins(session, [registry(f"{i:012}", role=role) for i, role in enumerate(roles)])

    assumed = [request.body.decode() for request in sts.requests]
    assert len(assumed) == 2
    assert all("Action=AssumeRole" in body and "RoleSessionName=eks-upsert" in body for body in assumed)
    passwords = [login.password.reveal() for login in granted.entries]
    assert passwords[1] == passwords[3]
    assert len(set(passwords)) == len(standin.calls) == 3


def test_a_roles_token_is_asked_for_with_the_roles_credentials(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Standin(role_credentials) as sts,
        Standin(lambda _: Reply(200, ecr_standin.token(REGION).body)) as registry_api,
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", registry_api.url)
        ecr.logins(session, [registry(role=ROLE), registry("222222222222")])

    assert [request.headers.get("X-Amz-Security-Token") for request in registry_api.requests] == [SESSION_TOKEN, None]


def test_the_first_token_to_expire_counts(session: boto3.Session, standin: EcrStandin) -> None:
    lifetimes = {"eu-central-1": 9000.0, "us-east-1": 3000.0, "eu-west-1": 6000.0}
    with standin.answering(lambda region: ecr_standin.token(region, lifetime_s=lifetimes[region])):
        granted = ecr.logins(session, [registry(region=region) for region in lifetimes])

    assert abs(granted.expires_at - datetime.now(UTC) - timedelta(seconds=3000)) < timedelta(minutes=1)


def test_a_login_shows_no_password(session: boto3.Session, standin: EcrStandin) -> None:
    granted = ecr.logins(session, [registry()])

    assert standin.passwords[0] not in repr(granted)


NOTHING_DONE = "o namespace was touched"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ecr_standin.denied, "ECR in eu-central-1 gave the function's role no token: AccessDeniedException"),
        (ecr_standin.no_data, "ECR in eu-central-1 answered without expiresAt; expected a time"),
        (ecr_standin.empty_token, "ECR in eu-central-1 answered a token of 0 characters that is not base64 of AWS"),
        (ecr_standin.foreign_token, "characters that is not base64 of AWS:password"),
        (ecr_standin.expired, "ECR in eu-central-1 answered a token that expired at "),
    ],
)
def test_an_answer_that_is_no_login_is_one_clear_error(
    session: boto3.Session, standin: EcrStandin, answer: ecr_standin.Answer, message: str
) -> None:
    with standin.answering(answer), pytest.raises(RegistryError) as refused:
        ecr.logins(session, [registry()])

    assert message in str(refused.value)
    assert NOTHING_DONE in str(refused.value)


def with_data(**fields: Any) -> Reply:
    data = ecr_standin.token(REGION).body["authorizationData"][0] | fields
    return Reply(200, {"authorizationData": [data]})


SECRET = "dGhlLXNlY3JldC1wYXNzd29yZA=="


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b""),
        Reply(200, f"<html>{SECRET}</html>".encode()),
        Reply(200, b"{}"),
        Reply(200, {"authorizationData": [{}]}),
        Reply(200, {"authorizationData": None}),
        with_data(authorizationToken=SECRET),
        with_data(authorizationToken="QVdTOg=="),  # AWS: and no password
        with_data(authorizationToken="QVdT"),  # AWS without a colon
        with_data(authorizationToken=f"!{SECRET}"),
        with_data(authorizationToken="ä" * 40),
        with_data(authorizationToken="QVdTOg" + "A" * 63),  # base64 that breaks off
        with_data(authorizationToken="QVdTOv//"),  # AWS: and bytes that are no text
        with_data(authorizationToken=None),
        with_data(expiresAt=None),
        with_data(expiresAt=1.0),
        Reply(400, {"__type": f"{SECRET}{SECRET}", "message": SECRET}),
        Reply(403, f"<html>{SECRET}</html>".encode()),
        Reply(500, f"<html>{SECRET}</html>".encode()),
    ],
)
def test_no_answer_whatever_gets_past_or_is_quoted(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    without_retries(monkeypatch)
    with Standin(lambda _: reply) as registry_api:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", registry_api.url)
        with pytest.raises(RegistryError) as refused:
            ecr.logins(session, [registry()])

    assert SECRET not in str(refused.value)
    assert NOTHING_DONE in str(refused.value)


def test_a_registry_api_that_is_not_reached_says_how_to_reach_it(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_retries(monkeypatch)
    with Standin(lambda _: Reply()) as gone:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", gone.url)

    with pytest.raises(RegistryError, match=r"EndpointConnectionError.*NAT gateway or VPC endpoint ecr\.api"):
        ecr.logins(session, [registry()])


def denied_by_sts(_: Request) -> Reply:
    return Reply(403, b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>")


def test_a_role_that_may_not_be_assumed_is_named(
    session: boto3.Session, standin: EcrStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Standin(denied_by_sts) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        with pytest.raises(RegistryError) as refused:
            ecr.logins(session, [registry(), registry("222222222222", role=ROLE)])

    assert str(refused.value).startswith(f"cannot assume {ROLE} for its registry: AccessDenied. Its trust policy must")
    assert [call.status for call in standin.calls] == [200]


def test_a_role_without_the_permission_is_named(
    session: boto3.Session, standin: EcrStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Standin(role_credentials) as sts, standin.answering(ecr_standin.denied):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        with pytest.raises(RegistryError, match=f"ECR in {REGION} gave role {ROLE} no token: AccessDeniedException"):
            ecr.logins(session, [registry(role=ROLE)])
