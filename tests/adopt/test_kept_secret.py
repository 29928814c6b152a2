"""The adapter of AWS Secrets Manager, against the emulator with IAM enforced and against the tests' own stand-in."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import pytest

from tests.support.ministack import REGION, MiniStack
from tests.support.secrets_standin import ARN, SecretsStandin
from upsert.adapters.secretsmanager import KeptSecret
from upsert.core.sensitive import Sensitive
from upsert.errors import ExtraRegistriesError

VALUE = '{"auths":{"quay.io":{"auth":"eDp5"}}}'


@pytest.fixture(scope="module")
def emulator() -> Iterator[MiniStack]:
    with MiniStack() as emulator:
        yield emulator


@contextmanager
def pointed_at(url: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url)
        yield


class Emulated:
    """A new secret without a value in the emulator, and a user whose policy names the actions on it."""

    def __init__(self, emulator: MiniStack) -> None:
        self._emulator = emulator
        self.arn: str = emulator.client("secretsmanager").create_secret(Name=f"registries-{secrets.token_hex(4)}")[
            "ARN"
        ]

    def kept(self, *actions: str, arn: str = "") -> KeptSecret:
        # A policy names at least one action.
        keys = self._emulator.user_with_policy([f"secretsmanager:{action}" for action in actions or ("ListSecrets",)])
        return KeptSecret(boto3.Session(keys.id, keys.secret, region_name=REGION), arn or self.arn)


class StoodIn:
    """The same with the stand-in."""

    arn = ARN

    def __init__(self, standin: SecretsStandin) -> None:
        self._standin = standin

    def kept(self, *actions: str, arn: str = "") -> KeptSecret:
        needed = {"GetSecretValue", "PutSecretValue"}
        self._standin.refusal = "" if set(actions) == needed else "AccessDeniedException"
        return KeptSecret(boto3.Session("a", "b", region_name=REGION), arn or self.arn)


type Place = Emulated | StoodIn


@pytest.fixture(params=["emulator", "stand-in"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "emulator":
        emulator = request.getfixturevalue("emulator")
        with pointed_at(emulator.url):
            yield Emulated(emulator)
    else:
        with SecretsStandin() as standin, pointed_at(standin.url):
            yield StoodIn(standin)


def test_a_secret_without_a_value_is_told_from_one_that_is_not_there(place: Place) -> None:
    kept = place.kept("GetSecretValue", "PutSecretValue")
    assert kept.read() in (None, Sensitive(""))
    with pytest.raises(ExtraRegistriesError, match=r"cannot read EXTRA_REGISTRIES_SECRET .*ResourceNotFoundException"):
        place.kept("GetSecretValue", "PutSecretValue", arn=place.arn[:-6] + "ZZZZZZ-other").read()


def test_what_is_written_is_read_back(place: Place) -> None:
    kept = place.kept("GetSecretValue", "PutSecretValue")
    kept.write(Sensitive(VALUE))
    assert kept.read() == Sensitive(VALUE)
    kept.write(Sensitive(VALUE + "\n"))
    assert kept.read() == Sensitive(VALUE + "\n")


def test_a_binary_value_is_somebodys_and_not_none(emulator: MiniStack) -> None:
    with pointed_at(emulator.url):
        emulated = Emulated(emulator)
        emulator.client("secretsmanager").put_secret_value(SecretId=emulated.arn, SecretBinary=VALUE.encode())
        with pytest.raises(ExtraRegistriesError, match="holds a binary value; put its docker config there as text"):
            emulated.kept("GetSecretValue", "PutSecretValue").read()


def test_a_missing_permission_is_named_and_the_value_is_not(place: Place) -> None:
    with pytest.raises(ExtraRegistriesError) as found:
        place.kept().write(Sensitive(VALUE))
    assert str(found.value) == (
        f"cannot write EXTRA_REGISTRIES_SECRET {place.arn}: AccessDeniedException. The secret must exist, the "
        "function's role needs secretsmanager:PutSecretValue on it (and kms:Decrypt if its key is not the default), "
        "and a way to the Secrets Manager API (NAT gateway or VPC endpoint secretsmanager). No namespace was touched"
    )
    with pytest.raises(ExtraRegistriesError, match="needs secretsmanager:GetSecretValue on it"):
        place.kept().read()


def test_no_answer_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    session = boto3.Session(region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b")
    with pytest.raises(ExtraRegistriesError, match="EndpointConnectionError"):
        KeptSecret(session, ARN).read()


def test_the_secret_is_looked_for_in_the_region_of_its_arn() -> None:
    with SecretsStandin() as standin, pointed_at(standin.url):
        session = boto3.Session(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        kept = KeptSecret(session, ARN)
        kept.write(Sensitive(VALUE))
        (signed,) = [request.headers["Authorization"] for request in standin.requests]
    assert "/eu-central-1/secretsmanager/" in signed
    assert json.loads(VALUE) == json.loads(standin.value or "")
