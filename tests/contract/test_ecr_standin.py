"""The ECR stand-in is held to botocore's model of ECR and to the emulator's ECR: same shapes, same errors."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.request import Request, urlopen

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from tests.support import ecr_standin
from tests.support.ecr_standin import EcrStandin
from tests.support.ministack import REGION, ROOT, Keys, MiniStack


def ecr_client(url: str, region: str = REGION, keys: Keys = ROOT) -> Any:
    return keys.client("ecr", url, region)


@pytest.fixture
def standin() -> Iterator[EcrStandin]:
    with EcrStandin() as running:
        yield running


@pytest.fixture(scope="module")
def ministack() -> Iterator[MiniStack]:
    with MiniStack() as running:
        yield running


def answer_of(client: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.get_authorization_token()
    del answer["ResponseMetadata"]
    return answer


def shape_of(value: object) -> object:
    """The value with every leaf replaced by the name of its type."""
    match value:
        case dict():
            return {key: shape_of(item) for key, item in value.items()}
        case list():
            return [shape_of(item) for item in value]
        case _:
            return type(value).__name__


def test_an_answer_fits_the_service_model(standin: EcrStandin) -> None:
    operation = botocore.session.get_session().get_service_model("ecr").operation_model("GetAuthorizationToken")
    assert operation.output_shape is not None
    answer = answer_of(ecr_client(standin.url))
    report = ParamValidator().validate(answer, operation.output_shape)
    assert not report.has_errors(), report.generate_report()


def test_an_answer_has_the_shape_of_the_emulators(standin: EcrStandin, ministack: MiniStack) -> None:
    theirs = answer_of(ministack.client("ecr"))
    assert shape_of(answer_of(ecr_client(standin.url))) == shape_of(theirs)


def test_the_registry_host_is_spelled_as_the_emulator_spells_it(standin: EcrStandin, ministack: MiniStack) -> None:
    theirs = answer_of(ministack.client("ecr"))["authorizationData"][0]["proxyEndpoint"]
    ours = answer_of(ecr_client(standin.url, ministack.region))["authorizationData"][0]["proxyEndpoint"]
    assert ours == theirs


def test_every_call_gets_another_token_of_a_realistic_length(standin: EcrStandin) -> None:
    client = ecr_client(standin.url)
    tokens = [answer_of(client)["authorizationData"][0]["authorizationToken"] for _ in range(3)]
    assert len(set(tokens)) == 3
    for text in tokens:
        user, _, password = base64.b64decode(text).decode().partition(":")
        assert user == "AWS"
        assert 2048 <= len(password) <= 4096


def test_a_token_lives_twelve_hours(standin: EcrStandin) -> None:
    expires_at = answer_of(ecr_client(standin.url))["authorizationData"][0]["expiresAt"]
    assert abs(expires_at - datetime.now(UTC) - timedelta(hours=12)) < timedelta(minutes=1)


def test_calls_are_remembered_with_the_region_they_were_signed_for(standin: EcrStandin) -> None:
    for region in ("eu-central-1", "us-east-1"):
        ecr_client(standin.url, region).get_authorization_token()
    assert [call.region for call in standin.calls] == ["eu-central-1", "us-east-1"]
    assert len(set(standin.passwords)) == 2


def test_a_denial_is_what_boto3_raises_for_a_role_without_the_permission(standin: EcrStandin) -> None:
    with standin.answering(ecr_standin.denied), pytest.raises(ClientError) as raised:
        ecr_client(standin.url).get_authorization_token()
    assert raised.value.response["Error"]["Code"] == "AccessDeniedException"
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert standin.passwords == []


@pytest.mark.parametrize("answer", [ecr_standin.no_data, ecr_standin.empty_token, ecr_standin.foreign_token])
def test_a_broken_answer_is_still_one_that_boto3_parses(standin: EcrStandin, answer: ecr_standin.Answer) -> None:
    with standin.answering(answer):
        parsed = answer_of(ecr_client(standin.url))
    assert set(parsed) == {"authorizationData"}
    assert standin.passwords == []


@pytest.mark.parametrize(
    ("answer", "low", "high"), [(ecr_standin.expired, -120, 0), (ecr_standin.expiring_soon, 540, 600)]
)
def test_a_short_lived_token_says_so(standin: EcrStandin, answer: ecr_standin.Answer, low: float, high: float) -> None:
    with standin.answering(answer):
        expires_at = answer_of(ecr_client(standin.url))["authorizationData"][0]["expiresAt"]
    assert low <= (expires_at - datetime.now(UTC)).total_seconds() <= high


def test_with_an_upstream_the_emulators_iam_decides_who_may_call(ministack: MiniStack) -> None:
    allowed = ministack.user_with_policy(["ecr:GetAuthorizationToken"])
    denied = ministack.user_with_policy(["ecr:DescribeRepositories"])
    with EcrStandin(upstream=ministack.url) as standin:
        answer_of(ecr_client(standin.url, keys=allowed))
        with pytest.raises(ClientError, match="AccessDenied"):
            ecr_client(standin.url, keys=denied).get_authorization_token()
    assert [call.password is not None for call in standin.calls] == [True, False]


def test_an_unsigned_request_is_refused(standin: EcrStandin) -> None:
    request = Request(standin.url, b"{}", {"X-Amz-Target": ecr_standin.TARGET})
    with pytest.raises(OSError, match="400"):
        urlopen(request)
    assert standin.calls == []
