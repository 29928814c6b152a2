"""Secrets Manager: each secret is read once, twenty in a call, and one that gives nothing costs no other."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws import aws_apis, role_credentials, without_retries
from tests.support.objects import ARN
from tests.support.readings import given, ref_to, text, why
from tests.support.secrets_standin import CREATED, SecretsStandin
from tests.support.standin import Reply, Standin
from upsert import sources
from upsert.aws import Aws
from upsert.core.objects import Material, Ref
from upsert.errors import SourceEmpty, SourceFailed

PASSWORD = "hunter2-hunter2-hunter2"
ROLE = "arn:aws:iam::210987654321:role/read"
UNNAMED = "the secret that the file of objects names here"
VERSION = "EXAMPLE1-90ab-cdef-fedc-ba987SECRET1"
BINARY = bytes(range(256))
ABROAD = ARN.replace("eu-central-1", "us-east-1")


def secret(name: str = ARN, **fields: str) -> Ref:
    return ref_to("secret", name, **fields)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    without_retries(monkeypatch)
    return aws_apis(monkeypatch)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretsStandin]:
    with SecretsStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", standin.url)
        yield standin


def bodies(kept: Standin) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in kept.requests]


def fill(kept: SecretsStandin, count: int) -> list[Ref]:
    """Keep as many secrets, and return what refers to them."""
    names = [f"apps/{index:03}" for index in range(count)]
    kept.kept |= {name: f"of {name}" for name in names}
    return [secret(name) for name in names]


@pytest.mark.parametrize("end", ["}", ""], ids=["whole", "cut"])
def test_a_text_is_read_once_for_all_of_its_members(aws: Aws, kept: SecretsStandin, end: str) -> None:
    members = {f"m{number}": f"{number}" for number in range(3_500)}
    kept.kept["apps/api"] = json.dumps(members).removesuffix("}") + end
    refs = {name: secret("apps/api", member=name) for name in members}
    started = time.process_time()

    readings = sources.read(refs.values(), aws)

    assert time.process_time() - started < 3
    assert len(kept.requests) == 1
    if end:
        assert {name: text(readings[ref]) for name, ref in refs.items()} == members
    else:
        (fault,) = {why(reading) for reading in readings.values()}
        assert fault.endswith("is looked for in a text that is no JSON: it is cut off")


@pytest.mark.parametrize(("count", "calls"), [(1, 1), (2, 1), (19, 1), (20, 1), (21, 2), (40, 2), (41, 3), (100, 5)])
def test_twenty_secrets_are_one_call(aws: Aws, kept: SecretsStandin, count: int, calls: int) -> None:
    refs = fill(kept, count)

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == [f"of {ref.get('secret')}" for ref in refs]
    assert kept.calls == ["BatchGetSecretValue"] * calls
    assert sorted(name for body in bodies(kept) for name in body["SecretIdList"]) == [ref.get("secret") for ref in refs]


def test_each_secret_is_read_once_for_all_of_its_members(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = f'{{"user": "me", "password": "{PASSWORD}", "port": 5432.0}}'
    kept.kept["apps/api"] = "another"
    refs = [secret(), secret(member="user"), secret(member="password"), secret(member="port"), secret("apps/api")]

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == [kept.value, "me", PASSWORD, "5432.0", "another"]
    assert [sorted(body["SecretIdList"]) for body in bodies(kept)] == [["apps/api", ARN]]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    "asked", [ARN, ARN[:-7], "registries"], ids=["an ARN", "an ARN without its last part", "a name"]
)
def test_an_answer_is_known_by_what_it_is_called_and_not_by_its_place(
    aws: Aws, kept: SecretsStandin, asked: str, backwards: bool
) -> None:
    kept.sort = lambda ids: sorted(ids, reverse=backwards)
    kept.value = "the one"
    kept.kept |= {"a": "another", "z": "yet another", ARN.replace("registries", "registries-AbCdEf"): "a third"}

    readings = sources.read([secret("z"), secret(asked), secret("a"), secret("nowhere")], aws)

    assert text(readings[secret(asked)]) == "the one"
    assert text(readings[secret("a")]) == "another"
    assert text(readings[secret("z")]) == "yet another"


def test_a_whole_arn_is_taken_for_itself_before_it_is_taken_for_a_part_of_another(
    aws: Aws, kept: SecretsStandin
) -> None:
    longer = f"{ARN}-GhIjKl"
    kept.kept |= {longer: "of the longer name"}
    kept.value = "the one"

    readings = sources.read([secret(), secret(longer)], aws)

    assert text(readings[secret()]) == "the one"
    assert text(readings[secret(longer)]) == "of the longer name"


def test_all_parts_of_an_answer_are_read(aws: Aws, kept: SecretsStandin) -> None:
    refs = fill(kept, 20)
    kept.page = 8

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == [f"of {ref.get('secret')}" for ref in refs]
    assert [body.get("NextToken") for body in bodies(kept)] == [None, "8", "16"]


def test_a_later_part_that_is_refused_costs_what_it_would_have_given_alone(aws: Aws, kept: SecretsStandin) -> None:
    refs = fill(kept, 20)
    kept.page = 8
    good, script = kept._answer, iter([1])
    kept._script = lambda request: good(request) if next(script, 0) else Reply(500, {"__type": "InternalServiceError"})

    readings = sources.read(refs, aws)

    assert [isinstance(readings[ref], Material) for ref in refs] == [True] * 8 + [False] * 12
    assert why(readings[refs[8]]).startswith(f"cannot read {UNNAMED}: InternalServiceError; look for a way to")


@pytest.mark.parametrize("token", ["again", ""])
def test_an_answer_without_an_end_comes_to_one(aws: Aws, kept: SecretsStandin, token: str) -> None:
    answers = iter(range(1000))
    kept._script = lambda _: Reply(200, {"NextToken": token or str(next(answers))})

    reading = sources.read([secret()], aws)[secret()]

    assert why(reading).startswith(f"secret {ARN}: what answered gave no value; look for a proxy")
    assert len(kept.requests) == (2 if token else 40)


def test_one_that_is_denied_of_twenty_costs_no_other_and_no_further_call(aws: Aws, kept: SecretsStandin) -> None:
    refs = fill(kept, 20)
    kept.refused["apps/007"] = "AccessDeniedException"

    readings = sources.read(refs, aws)

    assert [ref.get("secret") for ref in refs if isinstance(readings[ref], SourceFailed)] == ["apps/007"]
    assert why(readings[refs[7]]) == (
        f"cannot read {UNNAMED}: AccessDeniedException; the function's role needs secretsmanager:GetSecretValue on it "
        "(parameter ReadableArns), and neither the secret's own policy nor that of a VPC endpoint may deny it"
    )
    assert kept.calls == ["BatchGetSecretValue"]


def test_one_that_an_answer_leaves_out_fails_by_name(aws: Aws, kept: SecretsStandin) -> None:
    refs = [*fill(kept, 2), secret()]
    kept.value = PASSWORD
    good = kept._answer

    def without_one(request: Any) -> Reply:
        reply = good(request)
        assert isinstance(reply.body, dict)
        values = [one for one in reply.body["SecretValues"] if one["ARN"] != ARN]
        return Reply(200, reply.body | {"SecretValues": values}, reply.headers)

    kept._script = without_one

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs[:2]] == ["of apps/000", "of apps/001"]
    assert why(readings[secret()]) == (
        f"secret {ARN}: what answered gave no value; look for a proxy before the Secrets Manager API"
    )


REFUSALS = {
    "ResourceNotFoundException": "there is none of that name or ARN in that account and region",
    "InvalidRequestException": "it is marked for deletion: restore it with `aws secretsmanager restore-secret`",
    "DecryptionFailure": (
        "its KMS key must be enabled, and the function's role needs kms:Decrypt on it (parameter DecryptableKeyArns)"
    ),
    "AccessDeniedException": (
        "the function's role needs secretsmanager:GetSecretValue on it (parameter ReadableArns), and neither the "
        "secret's own policy nor that of a VPC endpoint may deny it"
    ),
    "InternalServiceError": "look for a way to the Secrets Manager API (NAT gateway or VPC endpoint secretsmanager)",
    "ExpiredTokenException": "the credentials that the function got are not accepted, or not any more: run it again",
    PASSWORD: "look for a way to the Secrets Manager API (NAT gateway or VPC endpoint secretsmanager)",
}


@pytest.mark.parametrize("fields", [{}, {"stage": "AWSPREVIOUS"}], ids=["in a batch", "by itself"])
@pytest.mark.parametrize(("code", "remedy"), REFUSALS.items())
def test_each_refusal_of_one_secret_has_a_remedy(
    aws: Aws, kept: SecretsStandin, code: str, remedy: str, fields: dict[str, str]
) -> None:
    kept.value = PASSWORD
    kept.refused[ARN] = code

    found = why(sources.read([secret(**fields)], aws)[secret(**fields)])

    said = "an error without a known code" if code == PASSWORD else code
    if fields and code == "ResourceNotFoundException":
        remedy += ", or it has no version of that stage or id"
    assert found == f"cannot read secret {ARN}: {said}; {remedy}"


def test_a_key_that_may_not_be_used_is_told_from_a_secret_that_may_not_be_read(aws: Aws, kept: SecretsStandin) -> None:
    error = {"SecretId": ARN, "ErrorCode": "AccessDeniedException", "Message": "Access to KMS is not allowed"}
    kept._script = lambda _: Reply(200, {"SecretValues": [], "Errors": [error]})

    assert why(sources.read([secret()], aws)[secret()]) == (
        f"cannot read secret {ARN}: AccessDeniedException; its KMS key must be enabled, and the function's role needs "
        "kms:Decrypt on it (parameter DecryptableKeyArns)"
    )


def test_a_batch_that_the_role_may_not_ask_for_is_said_once_for_all_and_not_tried_one_by_one(
    aws: Aws, kept: SecretsStandin
) -> None:
    refs = fill(kept, 20)
    kept.refusals["BatchGetSecretValue"] = "AccessDeniedException"

    readings = sources.read(refs, aws)

    (said,) = {why(readings[ref]) for ref in refs}
    assert said == (
        f"cannot read {UNNAMED}: AccessDeniedException; the function's role needs secretsmanager:BatchGetSecretValue "
        "on *, since it cannot be narrower, and GetSecretValue on each secret"
    )
    assert kept.calls == ["BatchGetSecretValue"]


def test_a_batch_that_is_refused_for_one_of_its_secrets_is_read_one_by_one(aws: Aws, kept: SecretsStandin) -> None:
    """As it is where the policy of a VPC endpoint denies one: then the whole call is refused."""
    refs = fill(kept, 20)
    good = kept._answer

    def endpoint(request: Any) -> Reply:
        if "apps/007" not in json.loads(request.body)["SecretIdList"]:
            return good(request)
        message = "User: x is not authorized to perform: secretsmanager:GetSecretValue with an explicit deny in a VPCE"
        return Reply(400, {"__type": "AccessDeniedException", "Message": message})

    kept._script = endpoint

    readings = sources.read(refs, aws)

    assert [ref.get("secret") for ref in refs if isinstance(readings[ref], SourceFailed)] == ["apps/007"]
    assert len(kept.requests) == 1 + 20


def test_a_service_that_hangs_up_is_not_asked_one_by_one(aws: Aws, kept: SecretsStandin) -> None:
    refs = fill(kept, 20)
    kept._script = lambda _: Reply(503, b"")

    readings = sources.read(refs, aws)

    assert all(isinstance(readings[ref], SourceFailed) for ref in refs)
    assert len(kept.requests) == 1


def test_a_secret_that_holds_nothing_yet_is_told_from_one_that_is_not_there(aws: Aws, kept: SecretsStandin) -> None:
    assert kept.value is None
    readings = sources.read([secret(), secret("apps/nowhere")], aws)

    assert type(readings[secret()]) is SourceEmpty
    assert why(readings[secret()]) == f"secret {ARN} holds no value yet; put one there"
    assert type(readings[secret("apps/nowhere")]) is SourceFailed


@pytest.mark.parametrize("held", [{}, {"SecretString": ""}, {"SecretString": None}])
def test_an_entry_without_a_value_is_empty(aws: Aws, kept: SecretsStandin, held: dict[str, Any]) -> None:
    kept._script = lambda _: Reply(200, {"SecretValues": [{"ARN": ARN, "Name": "registries", **held}]})

    assert type(sources.read([secret()], aws)[secret()]) is SourceEmpty


def test_another_stage_or_version_is_a_read_of_its_own_and_the_current_one_is_not(
    aws: Aws, kept: SecretsStandin
) -> None:
    kept.value = "now"
    kept.others = {(ARN, "AWSPREVIOUS"): '{"a": "before"}', (ARN, VERSION): "of the version"}
    refs = [
        secret(),
        secret(stage="AWSCURRENT"),
        secret(stage="AWSPREVIOUS"),
        secret(stage="AWSPREVIOUS", member="a"),
        secret(version=VERSION),
    ]

    readings = sources.read(refs, aws)

    assert [text(readings[ref]) for ref in refs] == ["now", "now", '{"a": "before"}', "before", "of the version"]
    assert bodies(kept) == [
        {"SecretIdList": [ARN]},
        {"SecretId": ARN, "VersionStage": "AWSPREVIOUS"},
        {"SecretId": ARN, "VersionId": VERSION},
    ]


def test_a_stage_that_no_version_has_is_no_empty_secret(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = "now"
    ref = secret(stage="AWSPENDING")

    reading = sources.read([ref], aws)[ref]

    assert type(reading) is SourceFailed
    assert why(reading) == (
        f"cannot read secret {ARN}: ResourceNotFoundException; there is none of that name or ARN in that account and "
        "region, or it has no version of that stage or id"
    )


def test_a_secret_is_looked_for_in_the_region_of_its_arn_and_one_by_name_in_the_functions(
    aws: Aws, kept: SecretsStandin
) -> None:
    kept.kept[ABROAD] = kept.kept["apps/api"] = PASSWORD

    sources.read([secret(ABROAD), secret("apps/api"), secret()], aws)

    signed = {
        request.headers["Authorization"].split("/")[2]: json.loads(request.body)["SecretIdList"]
        for request in kept.requests
    }
    assert signed == {"us-east-1": [ABROAD], "eu-central-1": ["apps/api", ARN]}


def test_a_role_reads_what_is_its_own_in_calls_of_its_own(
    aws: Aws, kept: SecretsStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.kept["apps/api"] = PASSWORD
    refs = [
        secret("apps/api"),
        secret("apps/api", role_arn=ROLE),
        secret("apps/api", role_arn=ROLE, stage="AWSCURRENT"),
    ]
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)

        readings = sources.read(refs, aws)

    assert {text(readings[ref]) for ref in refs} == {PASSWORD}
    assert len(sts.requests) == 1
    assert sorted("X-Amz-Security-Token" in request.headers for request in kept.requests) == [False, True]


def test_a_role_that_may_not_be_assumed_is_named_and_costs_only_what_it_reads(
    aws: Aws, kept: SecretsStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.value = PASSWORD
    with Standin(
        lambda _: Reply(403, b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
    ) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)

        readings = sources.read([secret(), secret(role_arn=ROLE)], aws)

    assert text(readings[secret()]) == PASSWORD
    assert why(readings[secret(role_arn=ROLE)]) == (
        f"cannot assume {ROLE} to read secret {ARN}: AccessDenied; its trust policy must name the function's role, and "
        "the parameter AssumableRoleArns must name it"
    )


def test_a_role_that_may_not_read_is_told_what_it_needs_itself(
    aws: Aws, kept: SecretsStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.refused[ARN] = "AccessDeniedException"
    ref = secret(role_arn=ROLE)
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)

        found = why(sources.read([ref], aws)[ref])

    assert f"the role {ROLE} needs secretsmanager:GetSecretValue on it, and neither" in found


def test_a_region_that_does_not_answer_costs_what_is_there_alone(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = PASSWORD
    good = kept._answer
    kept._script = lambda request: Reply(503) if "us-east-1" in request.headers["Authorization"] else good(request)

    readings = sources.read([secret(ABROAD), secret()], aws)

    assert text(readings[secret()]) == PASSWORD
    assert isinstance(readings[secret(ABROAD)], SourceFailed)


def test_an_api_that_is_not_reached_says_how_to_reach_it(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:9")

    reading = sources.read([secret()], aws)[secret()]

    assert "EndpointConnectionError" in why(reading)
    assert "VPC endpoint secretsmanager" in why(reading)


def test_a_value_is_as_old_as_its_version(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = '{"a": "b"}'
    kept.others[ARN, "AWSPREVIOUS"] = "before"
    refs = [secret(), secret(member="a"), secret(stage="AWSPREVIOUS")]

    readings = sources.read(refs, aws)

    assert [reading.changed_at for reading in readings.values() if isinstance(reading, Material)] == [CREATED] * 3


@pytest.mark.parametrize("time", [None, 253402300799, -62135596800])
def test_a_time_that_is_none_costs_no_value(aws: Aws, kept: SecretsStandin, time: float | None) -> None:
    kept._script = lambda _: Reply(
        200, {"SecretValues": [{"ARN": ARN, "Name": "a", "SecretString": "b", "CreatedDate": time}]}
    )

    reading = sources.read([secret()], aws)[secret()]

    assert isinstance(reading, Material)
    assert reading.changed_at is None


def test_a_member_that_is_of_no_use_costs_no_other_member(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = f'{{"user": "me", "password": ["{PASSWORD}"]}}'
    bad, missing, good = secret(member="password"), secret(member='a "b"'), secret(member="user")

    readings = sources.read([bad, missing, good], aws)

    assert why(readings[bad]) == (
        f"secret {ARN}: member 'password' is a list or an object; expected a string, number, true or false"
    )
    assert why(readings[missing]) == f"secret {ARN}: the member that the file of objects names is missing"
    assert text(readings[good]) == "me"


def test_binary_is_given_as_it_is_where_all_of_it_is_wanted(aws: Aws, kept: SecretsStandin) -> None:
    kept.kept[ARN] = BINARY
    whole, member, decoded = secret(), secret(member="a"), secret(decode="base64")

    readings = sources.read([whole, member, decoded], aws)

    assert given(readings[whole]) == BINARY
    for ref in (member, decoded):
        assert why(readings[ref]) == (
            f"secret {ARN} holds a binary value; expected text, to take a member of it or to decode it"
        )


def test_a_text_or_a_member_is_decoded(aws: Aws, kept: SecretsStandin) -> None:
    encoded = base64.b64encode(BINARY).decode()
    kept.value = json.dumps({"keystore": encoded, "line": f"{encoded}\n"})
    kept.kept["apps/keystore"] = encoded
    refs = [secret("apps/keystore", decode="base64"), secret(member="keystore", decode="base64")]
    bad = secret(member="line", decode="base64")

    readings = sources.read([*refs, bad], aws)

    assert [given(readings[ref]) for ref in refs] == [BINARY, BINARY]
    assert why(readings[bad]) == (f"secret {ARN}: member 'line' is no base64; expected it padded, without line breaks")


def test_a_value_with_half_of_a_surrogate_pair_is_refused(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = f"{PASSWORD}\ud800"

    assert why(sources.read([secret()], aws)[secret()]) == (
        rf"secret {ARN}: its value has half of a surrogate pair (\ud800 to \udfff); expected text"
    )


def learned(reading: Material | SourceFailed) -> list[str]:
    assert isinstance(reading, Material)
    return [one.reveal() for one in reading.secrets]


def test_the_secrets_in_a_value_are_made_known_and_what_is_public_is_not(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = f'{{"username": "production-eu", "password": "{PASSWORD}"}}'

    whole = sources.read([secret()], aws)[secret()]

    assert isinstance(whole, Material)
    assert learned(whole) == [PASSWORD]
    assert not whole.rotates
    assert whole.expires_at is None
    assert PASSWORD not in repr(whole)


def test_a_member_that_is_asked_for_is_secret_whatever_it_is_called(aws: Aws, kept: SecretsStandin) -> None:
    kept.value = '{"username": "production-eu"}'
    ref = secret(member="username")

    assert learned(sources.read([ref], aws)[ref]) == ["production-eu"]


@pytest.mark.parametrize(
    ("value", "fields", "secrets"),
    [
        (BINARY, {}, [base64.b64encode(BINARY).decode()]),
        (PASSWORD.encode(), {}, [PASSWORD]),
        (base64.b64encode(BINARY).decode(), {"decode": "base64"}, [base64.b64encode(BINARY).decode()]),
        (
            base64.b64encode(PASSWORD.encode()).decode(),
            {"decode": "base64"},
            [base64.b64encode(PASSWORD.encode()).decode(), PASSWORD],
        ),
    ],
    ids=["binary", "binary that is text", "decoded to binary", "decoded to text"],
)
def test_bytes_are_made_known_as_texts_hold_them(
    aws: Aws, kept: SecretsStandin, value: str | bytes, fields: dict[str, str], secrets: list[str]
) -> None:
    kept.kept[ARN] = value
    ref = secret(**fields)

    assert list(dict.fromkeys(learned(sources.read([ref], aws)[ref]))) == secrets
