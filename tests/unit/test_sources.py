"""Sources: their fields in the file, and what they give: each is read once, and one that fails costs no other."""

from collections.abc import Iterator
from typing import Any

import pytest

from compiler.files import NOWHERE
from tests.support import ecr_standin
from tests.support.aws import aws_apis, without_retries
from tests.support.ecr_standin import EcrStandin
from tests.support.objects import ARN, HOST
from tests.support.secrets_standin import SecretsStandin
from upsert import sources
from upsert.aws import Aws
from upsert.core.fields import Fields, Problem
from upsert.core.objects import Material, Part, Ref
from upsert.errors import SourceEmpty, SourceFailed

PASSWORD = "hunter2-hunter2-hunter2"
ROLE = "arn:aws:iam::210987654321:role/pull"
UNNAMED = "the secret that the file of objects names here"
MEMBER = "the member that the file of objects names"
WORDS = "expected one of ecr, ecr_public"


def part(entry: dict[str, Any], *, login: bool) -> tuple[Part, list[str]]:
    problems: list[Problem] = []
    found = sources.Reader(NOWHERE).part("place", Fields(entry, ("entry",), problems), login=login)
    return found, [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("entry", "login", "ref"),
    [
        ({"ecr": {}}, True, Ref("ecr")),
        (
            {"ecr": {"region": "eu-west-1", "account": "111111111111"}},
            True,
            Ref("ecr", (("account", "111111111111"), ("region", "eu-west-1"))),
        ),
        ({"ecr": {"role_arn": ROLE}}, True, Ref("ecr", (("role_arn", ROLE),))),
        ({"ecr": {"host": "registry.example:5000"}}, True, Ref("ecr", (("host", "registry.example:5000"),))),
        ({"ecr_public": {}}, True, Ref("ecr_public")),
        ({"ecr_public": {"role_arn": ROLE}}, True, Ref("ecr_public", (("role_arn", ROLE),))),
        ({"secret": "apps/api"}, False, Ref("secret", (("secret", "apps/api"),))),
        (
            {"secret": ARN, "member": "db.pass word"},
            False,
            Ref("secret", (("member", "db.pass word"), ("secret", ARN))),
        ),
    ],
)
def test_a_good_entry_is_a_part(entry: dict[str, Any], login: bool, ref: Ref) -> None:
    assert part(entry, login=login) == (Part("place", ref), [])


@pytest.mark.parametrize(
    ("entry", "login", "problem"),
    [
        ({}, True, f"entry: names no source; {WORDS}"),
        ({"quay": {}}, True, f"entry: names no source; {WORDS}"),
        ({"ecr": {}, "ecr_public": {}}, True, f"entry: names ecr and ecr_public; {WORDS}"),
        ({"secret": "apps/api"}, True, f"entry: names no source; {WORDS}"),
        ({"ecr": {}}, False, "entry: names no source; expected one of secret"),
        ({"ecr": None}, True, "entry.ecr: null is wrong; expected an object of account, region, role_arn, host, or {}"),
        ({"ecr": []}, True, "entry.ecr: a list of 0 is wrong; expected an object of account, region, role_arn, host"),
        ({"ecr": {}, "x": 1}, True, "entry: unknown field 'x'; expected ecr"),
        ({"ecr": {"role": "x"}}, True, "entry.ecr: unknown field 'role'; expected account or region or role_arn or"),
        ({"ecr": {"account": 123456789012}}, True, "entry.ecr.account: 123456789012 is no text; expected a 12-digit"),
        ({"ecr": {"account": "12345678901"}}, True, "entry.ecr.account: '12345678901' is wrong; expected a 12-digit"),
        ({"ecr": {"region": "Frankfurt"}}, True, "entry.ecr.region: 'Frankfurt' is wrong; expected a region such as"),
        ({"ecr": {"region": "aws-global"}}, True, "entry.ecr.region: 'aws-global' is wrong; expected a region such as"),
        ({"ecr": {"role_arn": "pull"}}, True, "entry.ecr.role_arn: 'pull' is wrong; expected a role ARN such as"),
        (
            {"ecr": {"host": "https://a.example/"}},
            True,
            "entry.ecr.host: a text of 18 characters is wrong; expected a bare",
        ),
        ({"ecr": {"host": None}}, True, "entry.ecr.host: null is wrong; expected a bare host without https:// and"),
        ({"ecr_public": {"region": "us-east-1"}}, True, "entry.ecr_public: unknown field 'region'; expected role_arn"),
        ({"ecr_public": {"account": "1" * 12}}, True, "entry.ecr_public: unknown field 'account'; expected role_arn"),
        ({"ecr_public": {"role_arn": "pull"}}, True, "entry.ecr_public.role_arn: 'pull' is wrong; expected a role ARN"),
        ({"secret": ""}, False, "entry.secret: a text of 0 characters is wrong; expected a secret's name in this"),
        (
            {"secret": "a", "member": ""},
            False,
            "entry.member: a text of 0 characters is wrong; expected the name of a member",
        ),
        ({"secret": "a", "stage": "x"}, False, "entry: unknown field 'stage'; expected secret or member"),
    ],
)
def test_a_bad_entry_is_one_problem_with_what_was_expected(entry: dict[str, Any], login: bool, problem: str) -> None:
    (found,) = part(entry, login=login)[1]

    assert found.startswith(problem)


@pytest.mark.parametrize(
    "pasted", [f'{{"auths":{{"quay.io":{{"password":"{PASSWORD}"}}}}}}', [PASSWORD], f"{PASSWORD} "]
)
def test_a_value_pasted_where_its_name_belongs_is_not_repeated(pasted: object) -> None:
    (problem,) = part({"secret": pasted}, login=False)[1]

    assert problem.startswith("entry.secret: a ")
    assert "hunter2" not in problem


OWN, PUBLIC = Ref("ecr"), Ref("ecr_public")


def secret(name: str = ARN, **fields: str) -> Ref:
    return Ref("secret", tuple(sorted({"secret": name, **fields}.items())))


def text(reading: Material | SourceFailed, key: str = "value") -> str:
    assert isinstance(reading, Material), reading
    return reading.data[key].reveal().decode()


def why(reading: Material | SourceFailed) -> str:
    assert isinstance(reading, SourceFailed)
    return str(reading)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    without_retries(monkeypatch)
    return aws_apis(monkeypatch)


@pytest.fixture
def ecr(monkeypatch: pytest.MonkeyPatch) -> Iterator[EcrStandin]:
    with EcrStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", standin.url)
        # Public tokens too, which it refuses as what it does not know.
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR_PUBLIC", standin.url)
        yield standin


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretsStandin]:
    with SecretsStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", standin.url)
        yield standin


def test_no_ref_asks_nobody(aws: Aws) -> None:
    assert sources.read((), aws) == {}


def test_different_sources_are_read_in_one_go(aws: Aws, ecr: EcrStandin, kept: SecretsStandin) -> None:
    kept.value = PASSWORD

    readings = sources.read([secret(), OWN], aws)

    assert set(readings) == {secret(), OWN}
    assert text(readings[OWN], "server") == HOST
    assert text(readings[OWN], "password") == ecr.passwords[0]
    assert text(readings[secret()]) == PASSWORD


def test_a_source_that_fails_costs_no_other(aws: Aws, ecr: EcrStandin, kept: SecretsStandin) -> None:
    kept.kept["apps/api"] = PASSWORD
    missing = secret("apps/nowhere")
    with ecr.answering(ecr_standin.denied):
        readings = sources.read([OWN, PUBLIC, missing, secret("apps/api")], aws)

    assert why(readings[OWN]).startswith("ECR in eu-central-1 gave the function's role no token: AccessDeniedException")
    assert why(readings[PUBLIC]).startswith("ECR Public gave the function's role no token: UnknownOperationException")
    assert why(readings[missing]).startswith(f"cannot read {UNNAMED}: ResourceNotFoundException; the secret")
    assert text(readings[secret("apps/api")]) == PASSWORD


def test_each_secret_is_read_once_for_all_of_its_members(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = f'{{"user": "me", "password": "{PASSWORD}", "port": 5432.0}}'
    kept.kept["apps/api"] = "another"
    refs = [secret(), secret(member="user"), secret(member="password"), secret(member="port"), secret("apps/api")]

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == [kept.value, "me", PASSWORD, "5432.0", "another"]
    assert kept.calls == ["GetSecretValue", "GetSecretValue"]


def test_a_member_that_is_not_there_costs_no_other_member(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = f'{{"user": "me", "password": ["{PASSWORD}"]}}'
    bad, missing, good = secret(member="password"), secret(member='a "b"'), secret(member="user")

    readings = sources.read([bad, missing, good], aws)

    assert why(readings[bad]) == (
        f"secret {ARN}: {MEMBER} is a list or an object; expected a string, number, true or false"
    )
    assert why(readings[missing]) == f"secret {ARN}: {MEMBER} is missing"
    assert text(readings[good]) == "me"


def test_the_secrets_in_a_value_are_made_known_and_what_is_public_is_not(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = f'{{"username": "production-eu", "password": "{PASSWORD}"}}'

    whole = sources.read([secret()], aws)[secret()]

    assert isinstance(whole, Material)
    assert [one.reveal() for one in whole.secrets] == [PASSWORD]
    assert not whole.rotates
    assert whole.expires_at is None
    assert PASSWORD not in repr(whole)


def test_a_member_that_is_asked_for_is_secret_whatever_it_is_called(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = '{"username": "production-eu"}'
    ref = secret(member="username")

    reading = sources.read([ref], aws)[ref]

    assert isinstance(reading, Material)
    assert [one.reveal() for one in reading.secrets] == ["production-eu"]


def test_a_secret_that_holds_nothing_yet_is_told_from_one_that_is_not_there(aws: Aws, kept: SecretsStandin) -> None:
    assert kept.value is None
    readings = sources.read([secret(), secret("apps/nowhere")], aws)

    assert type(readings[secret()]) is SourceEmpty
    assert why(readings[secret()]) == f"secret {ARN} holds no value yet; put one there"
    assert type(readings[secret("apps/nowhere")]) is SourceFailed


def test_a_binary_value_is_no_text_and_is_not_taken_for_one(aws: Aws, kept: SecretsStandin) -> None:
    kept.kept[ARN] = PASSWORD.encode()

    assert why(sources.read([secret()], aws)[secret()]) == f"secret {ARN} holds a binary value; expected text"


def test_a_missing_permission_names_what_is_needed_and_the_value_is_not_quoted(aws: Aws, kept: SecretsStandin) -> None:
    kept.value, kept.refusal = PASSWORD, "AccessDeniedException"

    assert why(sources.read([secret()], aws)[secret()]) == (
        f"cannot read secret {ARN}: AccessDeniedException; the secret must exist, the function's role needs "
        "secretsmanager:GetSecretValue on it (parameter ReadableArns; and DecryptableKeyArns if its key is not the "
        "default), and a way to the Secrets Manager API (NAT gateway or VPC endpoint secretsmanager)"
    )


def test_a_secret_is_looked_for_in_the_region_of_its_arn_and_one_by_name_in_the_functions(
    aws: Aws, kept: SecretsStandin
) -> None:
    abroad = ARN.replace("eu-central-1", "us-east-1")
    kept.kept[abroad] = kept.kept["apps/api"] = PASSWORD

    sources.read([secret(abroad), secret("apps/api")], aws)

    signed = [request.headers["Authorization"] for request in kept.requests]
    assert [one.split("/")[2] for one in signed] == ["us-east-1", "eu-central-1"]


def test_an_api_that_is_not_reached_says_how_to_reach_it(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:9")

    reading = sources.read([secret()], aws)[secret()]

    assert "EndpointConnectionError" in why(reading)
    assert "VPC endpoint secretsmanager" in why(reading)
