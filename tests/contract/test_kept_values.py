"""Secrets Manager and Parameter Store are read alike at the tests' stand-ins and at the emulator, call for call.

The emulator enforces IAM: it is read as a user who may do what the function may, and nothing else. What it does not do
is tried on the stand-ins alone, in `tests/unit`: answers in several parts, and a call for parameters that is refused
because one of them is denied, since it authorises that call on ``*``.
"""

import json
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import botocore.session
import pytest
from botocore.validate import ParamValidator

from tests.support.aws import aws_apis, without_retries
from tests.support.ministack import ACCOUNT, REGION, ROOT, Keys, MiniStack
from tests.support.parameters_standin import Parameter, ParametersStandin
from tests.support.passing import Passing
from tests.support.readings import given, ref_to, text, why
from tests.support.secrets_standin import SecretsStandin
from tests.support.standin import Standin
from upsert import sources
from upsert.aws import Aws
from upsert.core.objects import Material, Ref
from upsert.errors import SourceEmpty, SourceFailed

BINARY = bytes(range(256))
READS = ("secretsmanager:BatchGetSecretValue", "secretsmanager:GetSecretValue", "ssm:GetParameters")


class Place(Protocol):
    """Where values are kept, with what a test does there as its admin."""

    prefix: str

    @property
    def secrets(self) -> Standin: ...
    @property
    def parameters(self) -> Standin: ...
    def keep(self, name: str, value: str | bytes | None) -> str: ...
    def rotate(self, name: str, value: str) -> None: ...
    def delete(self, name: str) -> None: ...
    def keep_parameter(self, name: str, *values: str, label: str = "", type_: str = "SecureString") -> None: ...
    def aws(
        self, patch: pytest.MonkeyPatch, *, denied: tuple[str, ...] = (), reads: tuple[str, ...] = READS
    ) -> Aws: ...


class StoodIn:
    prefix = "contract"

    def __init__(self, kept: SecretsStandin, parameters: ParametersStandin) -> None:
        self.secrets, self.parameters = kept, parameters
        self._kept, self._parameters = kept, parameters

    def keep(self, name: str, value: str | bytes | None) -> str:
        self._kept.kept[name] = value
        return f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{name}-AbCdEf"

    def rotate(self, name: str, value: str) -> None:
        before = self._kept.kept[name]
        assert before is not None
        self._kept.others[name, "AWSPREVIOUS"] = before
        self._kept.kept[name] = value

    def delete(self, name: str) -> None:
        self._kept.refused[name] = "InvalidRequestException"

    def keep_parameter(self, name: str, *values: str, label: str = "", type_: str = "SecureString") -> None:
        self._parameters.kept[name] = Parameter(list(values), type_, {label: 1} if label else None)

    def aws(self, patch: pytest.MonkeyPatch, *, denied: tuple[str, ...] = (), reads: tuple[str, ...] = READS) -> Aws:
        self._kept.refused |= dict.fromkeys(denied, "AccessDeniedException")
        for action in set(READS) - set(reads):
            service, _, operation = action.partition(":")
            if service == "ssm":
                self._parameters.refusal = "AccessDeniedException"
            else:
                self._kept.refusals[operation] = "AccessDeniedException"
        return _pointed(patch, self)


class Emulated:
    def __init__(self, emulator: MiniStack, kept: Passing, parameters: Passing) -> None:
        self.prefix = f"contract-{secrets.token_hex(4)}"
        self.secrets, self.parameters = kept, parameters
        self._emulator = emulator
        self._manager, self._store = emulator.client("secretsmanager"), emulator.client("ssm")

    def keep(self, name: str, value: str | bytes | None) -> str:
        held: dict[str, Any] = {} if value is None else {_field(value): value}
        arn: str = self._manager.create_secret(Name=name, **held)["ARN"]
        return arn

    def rotate(self, name: str, value: str) -> None:
        self._manager.put_secret_value(SecretId=name, SecretString=value)

    def delete(self, name: str) -> None:
        self._manager.delete_secret(SecretId=name)

    def keep_parameter(self, name: str, *values: str, label: str = "", type_: str = "SecureString") -> None:
        for value in values:
            self._store.put_parameter(Name=name, Value=value, Type=type_, Tier="Advanced", Overwrite=value != values[0])
        if label:
            self._store.label_parameter_version(Name=name, ParameterVersion=1, Labels=[label])

    def aws(self, patch: pytest.MonkeyPatch, *, denied: tuple[str, ...] = (), reads: tuple[str, ...] = READS) -> Aws:
        keys = self._emulator.user_with_policy(reads)
        for name in denied:
            arn = self._manager.describe_secret(SecretId=name)["ARN"]
            statement = {"Effect": "Deny", "Principal": "*", "Action": "secretsmanager:GetSecretValue", "Resource": arn}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
            self._manager.put_resource_policy(SecretId=name, ResourcePolicy=policy)
        return _pointed(patch, self, keys)


def _field(value: str | bytes) -> str:
    return "SecretString" if isinstance(value, str) else "SecretBinary"


def _pointed(patch: pytest.MonkeyPatch, place: Place, keys: Keys = ROOT) -> Aws:
    without_retries(patch)
    patch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", place.secrets.url)
    patch.setenv("AWS_ENDPOINT_URL_SSM", place.parameters.url)
    aws_apis(patch)
    patch.setenv("AWS_ACCESS_KEY_ID", keys.id)
    patch.setenv("AWS_SECRET_ACCESS_KEY", keys.secret)
    return Aws(account=ACCOUNT, region=REGION)


@pytest.fixture(scope="module")
def emulator() -> Iterator[MiniStack]:
    with MiniStack() as emulator:
        yield emulator


@pytest.fixture(params=["emulator", "stand-ins"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "emulator":
        emulator: MiniStack = request.getfixturevalue("emulator")
        with Passing(emulator.url) as kept, Passing(emulator.url) as parameters:
            yield Emulated(emulator, kept, parameters)
    else:
        with SecretsStandin() as own, ParametersStandin() as store:
            yield StoodIn(own, store)


def asked(standin: Standin) -> list[tuple[str, list[str]]]:
    """Return the operation of each call so far, and what it asked for."""
    calls = []
    for request in standin.requests:
        body = json.loads(request.body)
        names = body.get("SecretIdList") or body.get("Names") or [body["SecretId"]]
        calls.append((request.headers["X-Amz-Target"].partition(".")[2], names))
    return calls


def secret(name: str, **fields: str) -> Ref:
    return ref_to("secret", name, **fields)


def parameter(name: str, **fields: str) -> Ref:
    return ref_to("parameter", name, **fields)


@pytest.mark.parametrize(("count", "calls"), [(20, 1), (21, 2), (45, 3)])
def test_secrets_are_read_by_twenties(place: Place, monkeypatch: pytest.MonkeyPatch, count: int, calls: int) -> None:
    names = [f"{place.prefix}/{index:02}" for index in range(count)]
    for name in names:
        place.keep(name, f"of {name}")

    readings = sources.read([secret(name) for name in names], place.aws(monkeypatch))

    assert [text(reading) for reading in readings.values()] == [f"of {name}" for name in names]
    assert [operation for operation, _ in asked(place.secrets)] == ["BatchGetSecretValue"] * calls
    assert [len(ids) for _, ids in asked(place.secrets)] == [20] * (count // 20) + [count % 20] * (count % 20 > 0)


def test_a_partial_answer_is_told_secret_by_secret(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    text_, member, binary, empty, denied, deleted, absent = (
        f"{place.prefix}/{name}" for name in ("text", "member", "binary", "empty", "denied", "deleted", "absent")
    )
    arn = place.keep(text_, "ü\n")
    place.keep(member, '{"port": 5432.0}')
    place.keep(binary, BINARY)
    place.keep(empty, None)
    place.keep(denied, "x")
    place.keep(deleted, "x")
    place.delete(deleted)
    refs = [
        secret(absent), secret(denied), secret(text_), secret(arn), secret(arn[:-7]), secret(member, member="port"),
        secret(binary), secret(empty), secret(deleted),
    ]  # fmt: skip

    readings = sources.read(refs, place.aws(monkeypatch, denied=(denied,)))

    assert [given(readings[ref]) for ref in refs[2:7]] == ["ü\n".encode()] * 3 + [b"5432.0", BINARY]
    assert type(readings[secret(empty)]) is SourceEmpty
    assert ": ResourceNotFoundException; there is none" in why(readings[secret(absent)])
    assert ": AccessDeniedException; the function's role needs secretsmanager:GetS" in why(readings[secret(denied)])
    assert ": InvalidRequestException; it is marked for deletion" in why(readings[secret(deleted)])
    assert len(place.secrets.requests) == 1


def test_the_batch_action_that_is_not_allowed_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{place.prefix}/{index}" for index in range(3)]
    for name in names:
        place.keep(name, "x")

    readings = sources.read([secret(name) for name in names], place.aws(monkeypatch, reads=READS[1:]))

    assert all("role needs secretsmanager:BatchGetSecretValue on *" in why(one) for one in readings.values())
    assert len(place.secrets.requests) == 1


def test_a_stage_or_a_version_is_a_read_of_its_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{place.prefix}/rotated"
    place.keep(name, '{"a": "before"}')
    place.rotate(name, '{"a": "now"}')
    refs = [secret(name, member="a"), secret(name, member="a", stage="AWSPREVIOUS"), secret(name, stage="AWSPREVIOUS")]
    missing = secret(name, stage="AWSPENDING")

    readings = sources.read([*refs, missing], place.aws(monkeypatch))

    assert [text(readings[ref]) for ref in refs] == ["now", "before", '{"a": "before"}']
    assert type(readings[missing]) is SourceFailed
    assert [operation for operation, _ in asked(place.secrets)] == ["BatchGetSecretValue"] + ["GetSecretValue"] * 2


def test_a_version_is_read_by_its_id(emulator: MiniStack, monkeypatch: pytest.MonkeyPatch) -> None:
    with Passing(emulator.url) as kept, Passing(emulator.url) as parameters:
        place = Emulated(emulator, kept, parameters)
        name = f"{place.prefix}/versions"
        place.keep(name, "one")
        version = emulator.client("secretsmanager").describe_secret(SecretId=name)["VersionIdsToStages"]
        place.rotate(name, "two")
        ref, none = secret(name, version=next(iter(version))), secret(name, version="0" * 36)

        readings = sources.read([ref, none], place.aws(monkeypatch))

    assert text(readings[ref]) == "one"
    assert "or it has no version of that stage or id" in why(readings[none])


@pytest.mark.parametrize(("count", "calls"), [(10, 1), (23, 3)])
def test_parameters_are_read_by_tens(place: Place, monkeypatch: pytest.MonkeyPatch, count: int, calls: int) -> None:
    names = [f"/{place.prefix}/{index:02}" for index in reversed(range(count))]
    for name in names:
        place.keep_parameter(name, f"of {name}")

    readings = sources.read([parameter(name) for name in names], place.aws(monkeypatch))

    assert [text(reading) for reading in readings.values()] == [f"of {name}" for name in names]
    assert [operation for operation, _ in asked(place.parameters)] == ["GetParameters"] * calls


def test_parameters_of_every_type_size_and_version(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, listed, large, versions = (f"/{place.prefix}/{name}" for name in ("plain", "listed", "large", "versions"))
    place.keep_parameter(plain, "info", type_="String")
    place.keep_parameter(listed, "a,b , c", type_="StringList")
    place.keep_parameter(large, "ü" * 4096)
    place.keep_parameter(versions, "one", "two", label="live")
    arn = f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{versions}"
    refs = [
        parameter(plain), parameter(listed), parameter(large), parameter(versions), parameter(arn),
        parameter(versions, version="1"), parameter(arn, label="live"), parameter(versions, version="2"),
    ]  # fmt: skip
    absent = [parameter(f"/{place.prefix}/absent"), parameter(versions, version="3"), parameter(versions, label="no")]

    readings = sources.read([*absent, *refs[:4], *refs[5:]], place.aws(monkeypatch))

    assert [text(readings[ref]) for ref in refs if ref != refs[4]] == [
        "info", "a,b , c", "ü" * 4096, "two", "one", "one", "two",
    ]  # fmt: skip
    assert ["there is no such" in why(readings[ref]) for ref in absent] == [True] * 3
    assert len(place.parameters.requests) == 1 + 5


def test_a_parameter_is_found_by_its_arn(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"/{place.prefix}/by-arn"
    place.keep_parameter(name, "x")
    ref = parameter(f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{name}")

    assert text(sources.read([ref], place.aws(monkeypatch))[ref]) == "x"


def test_parameters_that_may_not_be_read_are_said_so_one_by_one(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"/{place.prefix}/{index}" for index in range(3)]
    for name in names:
        place.keep_parameter(name, "x")

    readings = sources.read([parameter(name) for name in names], place.aws(monkeypatch, reads=READS[:2]))

    assert all("the function's role needs ssm:GetParameters on it" in why(one) for one in readings.values())
    assert len(place.parameters.requests) == 1 + 3


def test_values_are_as_old_as_they_are(emulator: MiniStack, monkeypatch: pytest.MonkeyPatch) -> None:
    with Passing(emulator.url) as kept, Passing(emulator.url) as parameters:
        place = Emulated(emulator, kept, parameters)
        place.keep(f"{place.prefix}/a", "x")
        place.keep_parameter(f"/{place.prefix}/a", "x")
        refs = [secret(f"{place.prefix}/a"), parameter(f"/{place.prefix}/a")]

        readings = sources.read(refs, place.aws(monkeypatch))

    for reading in readings.values():
        assert isinstance(reading, Material)
        assert reading.changed_at is not None
        assert abs(reading.changed_at - datetime.now(UTC)) < timedelta(minutes=5)


def test_answers_of_the_stand_ins_fit_the_service_models() -> None:
    session = botocore.session.get_session()
    with SecretsStandin() as kept, ParametersStandin() as store:
        kept.kept |= {"a": "x", "b": BINARY, "c": None}
        store.kept["/a"] = Parameter(["x"])
        manager, ssm = ROOT.client("secretsmanager", kept.url), ROOT.client("ssm", store.url)
        answers = {
            ("secretsmanager", "BatchGetSecretValue"): manager.batch_get_secret_value(
                SecretIdList=["a", "b", "c", "d"]
            ),
            ("secretsmanager", "GetSecretValue"): manager.get_secret_value(SecretId="b"),
            ("ssm", "GetParameters"): ssm.get_parameters(Names=["/a", "/b"], WithDecryption=True),
        }
    for (service, operation), answer in answers.items():
        shape = session.get_service_model(service).operation_model(operation).output_shape
        assert shape is not None
        del answer["ResponseMetadata"]
        report = ParamValidator().validate(answer, shape)
        assert not report.has_errors(), report.generate_report()
