"""Logins to several registries: one token per region and identity, each at the right host."""

import base64
import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.support.ecr_standin import EcrStandin, new_password
from tests.support.standin import Reply, Request, Standin
from upsert.adapters import aws, ecr
from upsert.core.registries import PublicRegistry, Registry
from upsert.errors import RegistryError, SettingsError
from upsert.settings import load

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


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFUNCTION")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def logins(*registries: Registry | PublicRegistry) -> ecr.Logins:
    return ecr.logins(aws.session("eu-central-1"), registries)


def passwords(granted: ecr.Logins) -> dict[str, str]:
    return {login.host: login.password.reveal() for login in granted.entries}


def test_one_token_serves_every_account_of_a_region(private: EcrStandin) -> None:
    granted = logins(Registry("111111111111", "eu-west-1"), Registry("222222222222", "eu-west-1"))

    assert [call.region for call in private.calls] == ["eu-west-1"]
    assert set(passwords(granted).values()) == {private.passwords[0]}


def test_each_region_has_its_own_token_and_the_first_to_expire_counts(private: EcrStandin) -> None:
    granted = logins(Registry("111111111111", "eu-west-1"), Registry("111111111111", "us-east-1"))

    assert [call.region for call in private.calls] == ["eu-west-1", "us-east-1"]
    assert passwords(granted) == {
        "111111111111.dkr.ecr.eu-west-1.amazonaws.com": private.passwords[0],
        "111111111111.dkr.ecr.us-east-1.amazonaws.com": private.passwords[1],
    }
    assert granted.expires_at > datetime.now(UTC)


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("cn-north-1", "111111111111.dkr.ecr.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "111111111111.dkr.ecr.us-gov-west-1.amazonaws.com"),
        ("eusc-de-east-1", "111111111111.dkr.ecr.eusc-de-east-1.amazonaws.eu"),
    ],
)
def test_other_partitions_are_asked_in_their_region_and_named_by_their_suffix(
    private: EcrStandin, region: str, host: str
) -> None:
    granted = logins(Registry("111111111111", region))

    assert [call.region for call in private.calls] == [region]
    assert list(passwords(granted)) == [host]


def test_a_role_is_assumed_once_per_region_and_its_token_is_its_own(private: EcrStandin, sts: Sts) -> None:
    granted = logins(
        Registry("111111111111", "eu-west-1"),
        Registry("210987654321", "eu-west-1", ROLE),
        Registry("220987654321", "eu-west-1", ROLE),
        Registry("310987654321", "eu-west-1", OTHER_ROLE),
        Registry("310987654321", "us-east-1", OTHER_ROLE),
    )

    assert sts.roles == [ROLE, OTHER_ROLE, OTHER_ROLE]
    assert [call.region for call in private.calls] == ["eu-west-1", "eu-west-1", "eu-west-1", "us-east-1"]
    found = list(passwords(granted).values())
    assert found == [private.passwords[index] for index in (0, 1, 1, 2, 3)]


def test_ecr_public_has_a_token_of_its_own_in_its_one_region(private: EcrStandin, public: Public) -> None:
    granted = logins(Registry("111111111111", "us-east-1"), PublicRegistry())

    assert passwords(granted) == {
        "111111111111.dkr.ecr.us-east-1.amazonaws.com": private.passwords[0],
        "public.ecr.aws": public.passwords[0],
    }


def test_ecr_public_can_be_asked_as_a_role(public: Public, sts: Sts) -> None:
    granted = logins(PublicRegistry(ROLE))

    assert sts.roles == [ROLE]
    assert passwords(granted) == {"public.ecr.aws": public.passwords[0]}


def test_ecr_public_that_refuses_names_both_permissions(public: Public) -> None:
    public.status = 400

    with pytest.raises(RegistryError) as refused:
        logins(PublicRegistry())

    assert str(refused.value).startswith("ECR Public gave the function's role no token: AccessDeniedException. ")
    assert "ecr-public:GetAuthorizationToken and sts:GetServiceBearerToken" in str(refused.value)
    assert "EcrPublic" in str(refused.value)


def read(*entries: dict[str, Any]) -> Sequence[Registry | PublicRegistry]:
    return load({"CLUSTER_NAME": "test", "REGISTRIES": json.dumps(entries)}, {})[0].registries


def test_the_settings_name_ecr_public_by_its_host() -> None:
    private = {"account": "111111111111", "region": "us-east-1"}
    assert read(private, {"host": "public.ecr.aws"}) == (Registry("111111111111", "us-east-1"), PublicRegistry())
    assert read({"host": "public.ecr.aws", "role_arn": ROLE}) == (PublicRegistry(ROLE),)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (
            [{"host": "public.ecr.aws", "region": "us-east-1"}],
            r"\[0\] is ECR Public, which has no region; expected host",
        ),
        ([{"host": "public.ecr.aws", "account": "111111111111"}], r"\[0\] is ECR Public, which has no account"),
        ([{"host": "public.ecr.aws"}, {"host": "public.ecr.aws"}], "names the host public.ecr.aws more than once"),
        ([{"host": "quay.io"}], r"\[0\] has no account"),
        ([{"host": "public.ecr.aws", "role_arn": "pull"}], r"\[0\].role_arn is 'pull'"),
    ],
)
def test_what_ecr_public_has_not_is_refused(entries: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        read(*entries)
