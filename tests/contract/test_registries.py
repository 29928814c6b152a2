"""Logins to several registries: one token per region and identity, each at the right host."""

import base64
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest

from tests.support.aws import aws_apis
from tests.support.ecr_standin import EcrStandin, new_password
from tests.support.standin import Reply, Request, Standin
from upsert import sources
from upsert.aws import Aws
from upsert.core.objects import Material, Ref
from upsert.errors import SourceFailed

ROLE = "arn:aws:iam::210987654321:role/pull"
OTHER_ROLE = "arn:aws:iam::310987654321:role/pull"
PUBLIC_TARGET = "SpencerFrontendService.GetAuthorizationToken"


class Public:
    """ECR Public as one stand-in: its answer holds one object where that of ECR holds a list."""

    def __init__(self) -> None:
        self.passwords: list[str] = []
        self.status = 200
        self.server = Standin(self._answer)

    def _answer(self, request: Request) -> Reply:
        assert request.headers["X-Amz-Target"] == PUBLIC_TARGET
        assert "/us-east-1/ecr-public/aws4_request" in request.headers["Authorization"]
        if self.status != 200:
            return Reply(self.status, {"__type": "AccessDeniedException"})
        self.passwords.append(new_password())
        token = base64.b64encode(f"AWS:{self.passwords[-1]}".encode()).decode()
        return Reply(body={"authorizationData": {"authorizationToken": token, "expiresAt": time.time() + 43200}})


class Sts:
    """STS as one stand-in: each assumed role gets keys of its own."""

    def __init__(self) -> None:
        self.roles: list[str] = []
        self.server = Standin(self._answer)

    def _answer(self, request: Request) -> Reply:
        form = parse_qs(request.body.decode())
        (role,) = form["RoleArn"]
        self.roles.append(role)
        keys = f"<AccessKeyId>ASIA{role[13:25]}</AccessKeyId><SecretAccessKey>k</SecretAccessKey>"
        session = "<SessionToken>s</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
        result = f"<AssumeRoleResult><Credentials>{keys}{session}</Credentials></AssumeRoleResult>"
        return Reply(body=f"<AssumeRoleResponse>{result}</AssumeRoleResponse>".encode())


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> Iterator[EcrStandin]:
    with EcrStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", standin.url)
        yield standin


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[Public]:
    public = Public()
    with public.server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR_PUBLIC", public.server.url)
        yield public


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sts]:
    sts = Sts()
    with sts.server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.server.url)
        yield sts


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    return aws_apis(monkeypatch)


def registry(account: str, region: str, role_arn: str = "") -> Ref:
    role = {"role_arn": role_arn} if role_arn else {}
    return Ref("ecr", tuple(sorted({"account": account, "region": region, **role}.items())))


def public_registry(role_arn: str = "") -> Ref:
    return Ref("ecr_public", (("role_arn", role_arn),) if role_arn else ())


def logins(aws: Aws, *refs: Ref) -> list[Material]:
    """Return what each of the refs gives, all of which must."""
    readings = sources.read(refs, aws)
    materials = [reading for ref in refs if isinstance(reading := readings[ref], Material)]
    assert len(materials) == len(refs), readings
    return materials


def passwords(materials: list[Material]) -> dict[str, str]:
    texts = [{key: value.reveal().decode() for key, value in material.data.items()} for material in materials]
    return {text["server"]: text["password"] for text in texts}


def test_one_token_serves_every_account_of_a_region(aws: Aws, private: EcrStandin) -> None:
    granted = logins(aws, registry("111111111111", "eu-west-1"), registry("222222222222", "eu-west-1"))

    assert [call.region for call in private.calls] == ["eu-west-1"]
    assert set(passwords(granted).values()) == {private.passwords[0]}


def test_each_region_has_its_own_token(aws: Aws, private: EcrStandin) -> None:
    granted = logins(aws, registry("111111111111", "eu-west-1"), registry("111111111111", "us-east-1"))

    assert [call.region for call in private.calls] == ["eu-west-1", "us-east-1"]
    assert passwords(granted) == {
        "111111111111.dkr.ecr.eu-west-1.amazonaws.com": private.passwords[0],
        "111111111111.dkr.ecr.us-east-1.amazonaws.com": private.passwords[1],
    }
    assert all(login.expires_at and login.expires_at > datetime.now(UTC) for login in granted)


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("cn-north-1", "111111111111.dkr.ecr.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "111111111111.dkr.ecr.us-gov-west-1.amazonaws.com"),
        ("eusc-de-east-1", "111111111111.dkr.ecr.eusc-de-east-1.amazonaws.eu"),
    ],
)
def test_other_partitions_are_asked_in_their_region_and_named_by_their_suffix(
    aws: Aws, private: EcrStandin, region: str, host: str
) -> None:
    granted = logins(aws, registry("111111111111", region))

    assert [call.region for call in private.calls] == [region]
    assert list(passwords(granted)) == [host]


def test_a_role_is_assumed_once_per_region_and_its_token_is_its_own(aws: Aws, private: EcrStandin, sts: Sts) -> None:
    granted = logins(
        aws,
        registry("111111111111", "eu-west-1"),
        registry("210987654321", "eu-west-1", ROLE),
        registry("220987654321", "eu-west-1", ROLE),
        registry("310987654321", "eu-west-1", OTHER_ROLE),
        registry("310987654321", "us-east-1", OTHER_ROLE),
    )

    assert sts.roles == [ROLE, OTHER_ROLE, OTHER_ROLE]
    assert [call.region for call in private.calls] == ["eu-west-1", "eu-west-1", "eu-west-1", "us-east-1"]
    found = list(passwords(granted).values())
    assert found == [private.passwords[index] for index in (0, 1, 1, 2, 3)]


def test_ecr_public_has_a_token_of_its_own_in_its_one_region(aws: Aws, private: EcrStandin, public: Public) -> None:
    granted = logins(aws, registry("111111111111", "us-east-1"), public_registry())

    assert passwords(granted) == {
        "111111111111.dkr.ecr.us-east-1.amazonaws.com": private.passwords[0],
        "public.ecr.aws": public.passwords[0],
    }


def test_ecr_public_can_be_asked_as_a_role(aws: Aws, public: Public, sts: Sts) -> None:
    granted = logins(aws, public_registry(ROLE))

    assert sts.roles == [ROLE]
    assert passwords(granted) == {"public.ecr.aws": public.passwords[0]}


def test_ecr_public_that_refuses_names_both_permissions_and_costs_no_private_registry(
    aws: Aws, private: EcrStandin, public: Public
) -> None:
    public.status = 400

    readings = sources.read([public_registry(), registry("111111111111", "us-east-1")], aws)

    refused = readings[public_registry()]
    assert isinstance(refused, SourceFailed)
    assert str(refused).startswith("ECR Public gave the function's role no token: AccessDeniedException; ")
    assert "ecr-public:GetAuthorizationToken and sts:GetServiceBearerToken" in str(refused)
    assert isinstance(readings[registry("111111111111", "us-east-1")], Material)
    assert len(private.passwords) == 1
