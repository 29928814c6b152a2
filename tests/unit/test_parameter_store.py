"""Parameter Store: each parameter is read once, ten in a call, and one that gives nothing costs no other."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws import aws_apis, role_credentials, without_retries
from tests.support.parameters_standin import CHANGED, Parameter, ParametersStandin
from tests.support.readings import given, ref_to, text, why
from tests.support.standin import Reply, Request, Standin
from upsert import sources
from upsert.aws import Aws
from upsert.core.objects import Material, Ref
from upsert.errors import SourceFailed

NAME = "/apps/api/token"
ARN = f"arn:aws:ssm:eu-central-1:123456789012:parameter{NAME}"
ABROAD = ARN.replace("eu-central-1", "us-east-1")
ROLE = "arn:aws:iam::210987654321:role/read"
UNNAMED = "the parameter that the file of objects names here"
VALUE = "correct-horse-battery-staple"
NONE = "in that account and region; names are whole paths, and upper and lower case differ"


def parameter(name: str = NAME, **fields: str) -> Ref:
    return ref_to("parameter", name, **fields)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    without_retries(monkeypatch)
    return aws_apis(monkeypatch)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[ParametersStandin]:
    with ParametersStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", standin.url)
        yield standin


def fill(kept: ParametersStandin, count: int) -> list[Ref]:
    """Keep as many parameters, and return what refers to them, the last first."""
    names = [f"/apps/{index:03}" for index in reversed(range(count))]
    kept.kept |= {name: Parameter([f"of {name}"]) for name in names}
    return [parameter(name) for name in names]


@pytest.mark.parametrize(("count", "calls"), [(1, 1), (10, 1), (11, 2), (20, 2), (25, 3)])
def test_ten_parameters_are_one_call_whose_answer_keeps_no_order(
    aws: Aws, kept: ParametersStandin, count: int, calls: int
) -> None:
    refs = fill(kept, count)

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == [f"of {ref.get('parameter')}" for ref in refs]
    assert [name for names in kept.asked for name in names] == [ref.get("parameter") for ref in refs]
    assert len(kept.asked) == calls


def test_a_parameter_is_read_once_for_all_that_is_wanted_of_it(aws: Aws, kept: ParametersStandin) -> None:
    kept.kept[NAME] = Parameter([json.dumps({"a": VALUE, "b": base64.b64encode(b"\xff").decode(), "c": 1.50})])
    refs = [parameter(), parameter(member="a"), parameter(member="b", decode="base64"), parameter(member="c")]

    readings = sources.read(refs, aws)

    assert [given(readings[ref]) for ref in refs[1:]] == [VALUE.encode(), b"\xff", b"1.5"]
    assert kept.asked == [[NAME]]


def test_another_version_is_a_read_of_its_own(aws: Aws, kept: ParametersStandin) -> None:
    kept.kept[NAME] = Parameter(["one", "two", "three"], labels={"live": 2})
    refs = [parameter(), parameter(version="1"), parameter(label="live"), parameter(version="3")]

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == ["three", "one", "two", "three"]
    assert kept.asked == [[NAME], [f"{NAME}:1"], [f"{NAME}:live"], [f"{NAME}:3"]]


@pytest.mark.parametrize("name", [NAME, ARN, "token"])
def test_a_parameter_is_asked_for_by_its_name_or_arn(aws: Aws, kept: ParametersStandin, name: str) -> None:
    kept.kept |= {NAME: Parameter([VALUE]), "token": Parameter([VALUE])}
    refs = [parameter(name), parameter(name, version="1")]

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == [VALUE, VALUE]


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("String", "info"),
        ("StringList", "a,b , c"),
        ("SecureString", "x" * 4096),
        ("SecureString", "ü" * 4096),
        ("String", " \n"),
    ],
    ids=["text", "list", "4 KB", "8 KB", "blanks"],
)
def test_a_value_of_any_type_and_size_is_its_text(aws: Aws, kept: ParametersStandin, type_: str, value: str) -> None:
    kept.kept[NAME] = Parameter([value], type=type_)

    assert text(sources.read([parameter()], aws)[parameter()]) == value


def test_one_that_is_not_there_is_named_and_costs_no_other(aws: Aws, kept: ParametersStandin) -> None:
    kept.kept[NAME] = Parameter([VALUE])
    refs = [parameter("/nowhere"), parameter(ARN.replace("api", "web")), parameter(version="7"), parameter(label="no")]

    readings = sources.read([parameter(), *refs], aws)

    assert text(readings[parameter()]) == VALUE
    assert [why(readings[ref]) for ref in refs] == [
        f"cannot read {UNNAMED}: there is no such parameter {NONE}",
        f"cannot read parameter {ARN.replace('api', 'web')}: there is no such parameter {NONE}",
        f"cannot read {UNNAMED}: there is no such version or label {NONE}",
        f"cannot read {UNNAMED}: there is no such version or label {NONE}",
    ]


REFUSALS = {
    "AccessDeniedException": (
        "AccessDeniedException; the function's role needs ssm:GetParameters on it (parameter ReadableArns), and the "
        "policy of a VPC endpoint may not deny it"
    ),
    "KmsDenied": (
        "AccessDeniedException; its KMS key must be enabled, and the function's role needs kms:Decrypt on it "
        "(parameter DecryptableKeyArns)"
    ),
    "InvalidKeyId": (
        "InvalidKeyId; its KMS key must be enabled, and the function's role needs kms:Decrypt on it (parameter "
        "DecryptableKeyArns)"
    ),
    "ValidationException": (
        "ValidationException; look for a way to the Systems Manager API (NAT gateway or VPC endpoint ssm)"
    ),
}


@pytest.mark.parametrize(("code", "said"), REFUSALS.items())
def test_one_of_ten_that_is_refused_costs_no_other_though_it_costs_the_call(
    aws: Aws, kept: ParametersStandin, code: str, said: str
) -> None:
    refs = fill(kept, 10)
    kept.refused["/apps/007"] = code

    readings = sources.read(refs, aws)

    bad = {ref: found for ref, found in readings.items() if isinstance(found, SourceFailed)}
    assert {ref.get("parameter"): str(found) for ref, found in bad.items()} == {
        "/apps/007": f"cannot read {UNNAMED}: {said}"
    }
    assert len(kept.asked) == 1 + 10


@pytest.mark.parametrize("code", ["InternalServerError", "ExpiredTokenException", "ThrottlingException"])
def test_what_is_no_fault_of_a_name_is_not_asked_for_one_by_one(aws: Aws, kept: ParametersStandin, code: str) -> None:
    refs = fill(kept, 10)
    kept.refusal = code

    readings = sources.read(refs, aws)

    assert all(code in why(readings[ref]) for ref in refs)
    assert len(kept.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"Parameters": []},
        {"Parameters": [{"Name": NAME}]},
        {"Parameters": [{"Name": NAME, "Value": ""}]},
        {"Parameters": [{"Name": NAME, "Value": 5}]},
        {"Parameters": [{"Name": NAME.upper(), "Value": VALUE}]},
        {"Parameters": [{"Value": VALUE}]},
        {"Parameters": [None], "InvalidParameters": [None]},
        {"Parameters": [], "InvalidParameters": [NAME.upper()]},
    ],
)
def test_an_answer_without_the_value_fails_by_name(aws: Aws, kept: ParametersStandin, answer: dict[str, Any]) -> None:
    kept._script = lambda _: Reply(200, answer)

    assert why(sources.read([parameter()], aws)[parameter()]) == (
        f"{UNNAMED}: what answered gave no value; look for a proxy before the Systems Manager API"
    )


def test_a_page_of_a_proxy_is_no_value(aws: Aws, kept: ParametersStandin) -> None:
    kept._script = lambda _: Reply(200, f"<html>{VALUE}</html>".encode(), {"Content-Type": "text/html"})

    found = why(sources.read([parameter()], aws)[parameter()])

    assert found.endswith("look for a proxy before the Systems Manager API")
    assert VALUE not in found


def test_a_parameter_is_looked_for_in_the_region_of_its_arn_and_as_its_role(
    aws: Aws, kept: ParametersStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    regions: dict[tuple[str, bool], list[str]] = {}

    def answer(request: Request) -> Reply:
        names = json.loads(request.body)["Names"]
        place = request.headers["Authorization"].split("/")[2], "X-Amz-Security-Token" in request.headers
        regions[place] = names
        return Reply(200, {"Parameters": [{"Name": name, "ARN": name, "Value": VALUE} for name in names]})

    kept._script = answer
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)

        sources.read([parameter(), parameter(ABROAD), parameter(ARN), parameter(role_arn=ROLE)], aws)

    assert regions == {
        ("eu-central-1", False): [NAME, ARN],
        ("us-east-1", False): [ABROAD],
        ("eu-central-1", True): [NAME],
    }


def test_a_role_that_may_not_be_assumed_is_named(
    aws: Aws, kept: ParametersStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.kept[NAME] = Parameter([VALUE])
    refused = Reply(403, b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
    with Standin(lambda _: refused) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)

        readings = sources.read([parameter(), parameter(role_arn=ROLE)], aws)

    assert text(readings[parameter()]) == VALUE
    assert why(readings[parameter(role_arn=ROLE)]).startswith(f"cannot assume {ROLE} to read {UNNAMED}: AccessDenied;")


def test_a_value_is_as_old_as_its_last_change_and_is_made_known(aws: Aws, kept: ParametersStandin) -> None:
    kept.kept[NAME] = Parameter([VALUE], type="String")

    reading = sources.read([parameter()], aws)[parameter()]

    assert isinstance(reading, Material)
    assert reading.changed_at == CHANGED
    assert [one.reveal() for one in reading.secrets] == [VALUE]
    assert VALUE not in repr(reading)


def test_an_api_that_is_not_reached_says_how_to_reach_it(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", "http://127.0.0.1:9")

    assert why(sources.read([parameter()], aws)[parameter()]) == (
        f"cannot read {UNNAMED}: EndpointConnectionError; look for a way to the Systems Manager API (NAT gateway or "
        "VPC endpoint ssm)"
    )
