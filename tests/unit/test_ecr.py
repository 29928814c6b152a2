"""Logins from ECR, asked over HTTP as on AWS."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support import ecr_standin
from tests.support.aws import SESSION_TOKEN, aws_apis, role_credentials, without_retries
from tests.support.ecr_standin import EcrStandin
from tests.support.objects import REGION
from tests.support.standin import Reply, Request, Standin
from upsert.aws import Aws
from upsert.core.objects import Material, Ref
from upsert.errors import SourceFailed
from upsert.sources import TABLE
from upsert.sources.source import Reading

ROLE = "arn:aws:iam::210987654321:role/pull"
OTHER_ROLE = "arn:aws:iam::210987654321:role/other"
OWN = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    return aws_apis(monkeypatch)


@pytest.fixture(scope="module")
def running() -> Iterator[EcrStandin]:
    with EcrStandin() as standin:
        yield standin


@pytest.fixture
def standin(running: EcrStandin, monkeypatch: pytest.MonkeyPatch) -> EcrStandin:
    running.forget()
    monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", running.url)
    return running


def registry(account: str = "111111111111", **fields: str) -> Ref:
    return Ref("ecr", tuple(sorted({"account": account, **fields}.items())))


def read(aws: Aws, *refs: Ref) -> Reading:
    return TABLE["ecr"].read(refs, aws)


def given(aws: Aws, *refs: Ref) -> list[Material]:
    """Return what each of the refs gives, all of which must."""
    readings = read(aws, *refs)
    materials = [reading for ref in refs if isinstance(reading := readings[ref], Material)]
    assert len(materials) == len(refs), readings
    return materials


def refused(aws: Aws, ref: Ref | None = None) -> str:
    """Return why a registry gives nothing, which it must not."""
    (why,) = read(aws, ref or registry()).values()
    assert isinstance(why, SourceFailed), why
    return str(why)


def text(material: Material, key: str) -> str:
    return material.data[key].reveal().decode()


def passwords(materials: list[Material]) -> list[str]:
    return [text(material, "password") for material in materials]


def test_a_login_is_the_password_of_the_token(aws: Aws, standin: EcrStandin) -> None:
    (login,) = given(aws, registry())

    assert text(login, "server") == "111111111111.dkr.ecr.eu-central-1.amazonaws.com"
    assert text(login, "username") == "AWS"
    assert [text(login, "password")] == standin.passwords
    assert [secret.reveal() for secret in login.secrets] == standin.passwords
    assert login.rotates
    assert login.expires_at
    assert abs(login.expires_at - datetime.now(UTC) - timedelta(hours=12)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("ref", "host", "region"),
    [
        (Ref("ecr"), OWN, "eu-central-1"),
        (Ref("ecr", (("region", "us-east-1"),)), "123456789012.dkr.ecr.us-east-1.amazonaws.com", "us-east-1"),
        (registry(), "111111111111.dkr.ecr.eu-central-1.amazonaws.com", "eu-central-1"),
        (
            registry(region="cn-north-1"),
            "111111111111.dkr.ecr.cn-north-1.amazonaws.com.cn",
            "cn-north-1",
        ),
        (Ref("ecr", (("host", "registry.example:8443"),)), "registry.example:8443", "eu-central-1"),
        (registry(host="123456789012.dkr-ecr.eu-central-1.on.aws"), "123456789012.dkr-ecr.eu-central-1.on.aws", REGION),
    ],
)
def test_what_is_left_out_is_the_functions_own(aws: Aws, standin: EcrStandin, ref: Ref, host: str, region: str) -> None:
    (login,) = given(aws, ref)

    assert text(login, "server") == host
    assert [call.region for call in standin.calls] == [region]


@pytest.mark.parametrize(
    ("fields", "host"),
    [
        ({}, "210987654321.dkr.ecr.eu-central-1.amazonaws.com"),
        ({"account": "111111111111"}, "111111111111.dkr.ecr.eu-central-1.amazonaws.com"),
        ({"region": "eu-west-1"}, "210987654321.dkr.ecr.eu-west-1.amazonaws.com"),
    ],
)
def test_without_an_account_it_is_the_roles(
    aws: Aws, standin: EcrStandin, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], host: str
) -> None:
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        (login,) = given(aws, Ref("ecr", tuple(sorted({"role_arn": ROLE, **fields}.items()))))

    assert text(login, "server") == host
    assert len(standin.calls) == 1


def test_one_token_serves_every_registry_of_its_region(aws: Aws, standin: EcrStandin) -> None:
    accounts = [f"{number:012}" for number in range(5)]

    logins = given(aws, *(registry(account) for account in accounts), Ref("ecr"), registry(region=REGION))

    assert len(standin.calls) == 1
    assert set(passwords(logins)) == set(standin.passwords)
    assert [text(login, "server").partition(".")[0] for login in logins][:5] == accounts


def test_each_region_gets_a_token_of_its_own(aws: Aws, standin: EcrStandin) -> None:
    regions = ["eu-central-1", "us-east-1", "eu-central-1", "ap-south-1"]

    logins = given(aws, *(registry(f"{i:012}", region=region) for i, region in enumerate(regions)))

    assert [call.region for call in standin.calls] == ["eu-central-1", "us-east-1", "ap-south-1"]
    found = passwords(logins)
    assert found[0] == found[2]
    assert len(set(found)) == 3


def test_each_role_gets_a_token_of_its_own(aws: Aws, standin: EcrStandin, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = [{}, {"role_arn": ROLE}, {"role_arn": OTHER_ROLE}, {"role_arn": ROLE}]
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)

        logins = given(aws, *(registry(f"{i:012}", **role) for i, role in enumerate(roles)))

    assumed = [request.body.decode() for request in sts.requests]
    assert len(assumed) == 2
    assert all("Action=AssumeRole" in body and "RoleSessionName=eks-upsert" in body for body in assumed)
    found = passwords(logins)
    assert found[1] == found[3]
    assert len(set(found)) == len(standin.calls) == 3


def test_a_roles_token_is_asked_for_with_the_roles_credentials(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        Standin(role_credentials) as sts,
        Standin(lambda _: Reply(200, ecr_standin.token(REGION).body)) as registry_api,
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", registry_api.url)
        given(aws, registry(role_arn=ROLE), registry("222222222222"))

    assert [request.headers.get("X-Amz-Security-Token") for request in registry_api.requests] == [SESSION_TOKEN, None]


def test_each_login_knows_when_its_own_token_expires(aws: Aws, standin: EcrStandin) -> None:
    lifetimes = {"eu-central-1": 9000.0, "us-east-1": 3000.0, "eu-west-1": 6000.0}
    with standin.answering(lambda region: ecr_standin.token(region, lifetime_s=lifetimes[region])):
        logins = given(aws, *(registry(region=region) for region in lifetimes))

    for login, seconds in zip(logins, lifetimes.values(), strict=True):
        assert login.expires_at
        assert abs(login.expires_at - datetime.now(UTC) - timedelta(seconds=seconds)) < timedelta(minutes=1)


def test_a_login_shows_no_password(aws: Aws, standin: EcrStandin) -> None:
    (login,) = given(aws, registry())

    assert standin.passwords[0] not in repr(login)


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
    aws: Aws, standin: EcrStandin, answer: ecr_standin.Answer, message: str
) -> None:
    with standin.answering(answer):
        assert message in refused(aws)


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
        Reply(200, {"authorizationData": [None]}),
        Reply(200, {"authorizationData": SECRET}),
        Reply(200, f'["{SECRET}"]'.encode()),
        with_data(authorizationToken=SECRET),
        with_data(authorizationToken="QVdTOg=="),  # AWS: and no password
        with_data(authorizationToken="QVdT"),  # AWS without a colon
        with_data(authorizationToken=f"!{SECRET}"),
        with_data(authorizationToken="ä" * 40),
        with_data(authorizationToken="QVdTOg" + "A" * 63),  # base64 that breaks off
        with_data(authorizationToken="QVdTOv//"),  # AWS: and bytes that are no text
        with_data(authorizationToken=None),
        with_data(authorizationToken=5),
        with_data(authorizationToken=[SECRET]),
        with_data(expiresAt=time.time() * 1000),
        with_data(expiresAt=SECRET),
        with_data(expiresAt={SECRET: SECRET}),
        with_data(expiresAt=None),
        with_data(expiresAt=1.0),
        Reply(400, {"__type": f"{SECRET}{SECRET}", "message": SECRET}),
        Reply(403, f"<html>{SECRET}</html>".encode()),
        Reply(500, f"<html>{SECRET}</html>".encode()),
    ],
)
def test_no_answer_whatever_gets_past_or_is_quoted(aws: Aws, monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    without_retries(monkeypatch)
    with Standin(lambda _: reply) as registry_api:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", registry_api.url)
        why = refused(aws)

    assert why.startswith("ECR in eu-central-1 ")
    assert SECRET not in why


def test_a_registry_api_that_is_not_reached_says_how_to_reach_it(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    without_retries(monkeypatch)
    with Standin(lambda _: Reply()) as gone:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", gone.url)

    why = refused(aws)

    assert "EndpointConnectionError" in why
    assert "NAT gateway or VPC endpoint ecr.api" in why


def denied_by_sts(_: Request) -> Reply:
    return Reply(403, b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>")


def test_a_role_that_may_not_be_assumed_is_named_and_costs_no_other_registry(
    aws: Aws, standin: EcrStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, foreign = registry(), registry("222222222222", role_arn=ROLE)
    with Standin(denied_by_sts) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        readings = read(aws, own, foreign)

    why = readings[foreign]
    assert isinstance(why, SourceFailed)
    assert str(why).startswith(f"cannot assume {ROLE} for its registry: AccessDenied; its trust policy must")
    assert isinstance(readings[own], Material)
    assert [call.status for call in standin.calls] == [200]


def test_a_region_without_a_token_costs_no_other_region(aws: Aws, standin: EcrStandin) -> None:
    def denied_in_one(region: str) -> ecr_standin.Reply:
        return ecr_standin.denied(region) if region == "us-east-1" else ecr_standin.token(region)

    refs = [registry(account, region=region) for region in ("us-east-1", REGION) for account in ("1" * 12, "2" * 12)]
    with standin.answering(denied_in_one):
        readings = read(aws, *refs)

    assert [type(readings[ref]) for ref in refs] == [SourceFailed, SourceFailed, Material, Material]
    assert [call.region for call in standin.calls] == ["us-east-1", REGION]


def test_a_role_without_the_permission_is_named(aws: Aws, standin: EcrStandin, monkeypatch: pytest.MonkeyPatch) -> None:
    with Standin(role_credentials) as sts, standin.answering(ecr_standin.denied):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        why = refused(aws, registry(role_arn=ROLE))

    assert why.startswith(f"ECR in {REGION} gave role {ROLE} no token: AccessDeniedException")
