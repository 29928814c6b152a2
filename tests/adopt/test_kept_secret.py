"""Where entries are kept, AWS Secrets Manager, against the emulator with IAM enforced and the tests' own stand-in."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.ministack import ACCOUNT, REGION, MiniStack
from tests.support.secrets_standin import ARN, SecretsStandin
from upsert.aws import Aws
from upsert.core.sensitive import Sensitive
from upsert.errors import SourceFailed
from upsert.sources.kept import KeptParameter, KeptSecret

VALUE = '{"auths":{"quay.io":{"auth":"eDp5"}}}'
NEEDED = ("GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage")


@pytest.fixture(scope="module")
def emulator() -> Iterator[MiniStack]:
    with MiniStack() as emulator:
        yield emulator


@contextmanager
def as_user(url: str = "", key: str = "a", secret: str = "b", region: str = REGION) -> Iterator[Aws]:
    """Give the AWS APIs as the functions have them, with that key, at that address of Secrets Manager."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", key)
        patch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        patch.delenv("AWS_SESSION_TOKEN", raising=False)
        patch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url)
        yield Aws(account=ACCOUNT, region=region)


class Emulated:
    """A new secret without a value in the emulator, and a user whose policy names the actions on it."""

    def __init__(self, emulator: MiniStack) -> None:
        self._emulator = emulator
        self._client = emulator.client("secretsmanager")
        self.arn: str = self._client.create_secret(Name=f"registries-{secrets.token_hex(4)}")["ARN"]

    @contextmanager
    def kept(self, *actions: str, arn: str = "") -> Iterator[KeptSecret]:
        # A policy names at least one action.
        keys = self._emulator.user_with_policy([f"secretsmanager:{action}" for action in actions or ("ListSecrets",)])
        with as_user(self._emulator.url, keys.id, keys.secret) as aws:
            yield KeptSecret(arn or self.arn, aws)

    def stages(self) -> dict[str, str]:
        """Return the value that each staging label is on."""
        versions = self._client.describe_secret(SecretId=self.arn)["VersionIdsToStages"]
        return {
            stage: self._client.get_secret_value(SecretId=self.arn, VersionId=version).get("SecretString", "")
            for version, stages in versions.items()
            for stage in stages
        }


class StoodIn:
    """The same with the stand-in."""

    arn = ARN

    def __init__(self, standin: SecretsStandin) -> None:
        self._standin = standin

    @contextmanager
    def kept(self, *actions: str, arn: str = "") -> Iterator[KeptSecret]:
        self._standin.refusals = {action: "AccessDeniedException" for action in NEEDED if action not in actions}
        with as_user(self._standin.url) as aws:
            yield KeptSecret(arn or self.arn, aws)


type Place = Emulated | StoodIn


@pytest.fixture(params=["emulator", "stand-in"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "emulator":
        yield Emulated(request.getfixturevalue("emulator"))
    else:
        with SecretsStandin() as standin:
            yield StoodIn(standin)


def put(kept: KeptSecret, text: str) -> bool:
    """Put a text over what is there."""
    found = kept.fetch()
    return kept.put(Sensitive(text), over=found.id if found else "")


def text_in(kept: KeptSecret) -> str:
    found = kept.fetch()
    return found.value.reveal() if found else ""


def test_a_secret_without_a_value_is_told_from_one_that_is_not_there(place: Place) -> None:
    with place.kept(*NEEDED) as kept:
        assert text_in(kept) == ""
    with (
        place.kept(*NEEDED, arn=place.arn[:-6] + "ZZZZZZ-other") as kept,
        pytest.raises(SourceFailed, match=r"cannot read secret .*ResourceNotFoundException"),
    ):
        kept.fetch()


def test_what_is_written_is_read_back(place: Place) -> None:
    with place.kept(*NEEDED) as kept:
        assert put(kept, VALUE)
        assert text_in(kept) == VALUE
        assert put(kept, VALUE + "\n")
        assert text_in(kept) == VALUE + "\n"


def test_the_value_before_stays_as_the_previous_one(emulator: MiniStack) -> None:
    place = Emulated(emulator)
    with place.kept(*NEEDED) as kept:
        put(kept, "one")
        put(kept, "two")
    assert {"AWSCURRENT": "two", "AWSPREVIOUS": "one"}.items() <= place.stages().items()


@pytest.mark.parametrize("first", ["", "a value that both read"])
def test_of_two_that_write_over_the_same_version_the_second_is_told_that_it_lost(place: Place, first: str) -> None:
    with place.kept(*NEEDED) as kept:
        if first:
            put(kept, first)
        found = kept.fetch()
        over = found.id if found else ""
        assert kept.put(Sensitive("of the first"), over=over)
        assert not kept.put(Sensitive("of the second"), over=over)
        assert text_in(kept) == "of the first"
        assert put(kept, "of the second, over that of the first")


def test_a_write_whose_answer_was_lost_is_known_by_what_is_current() -> None:
    with SecretsStandin() as standin, as_user(standin.url) as aws:
        kept = KeptSecret(ARN, aws)
        put(kept, "one")
        moves = 0

        def lose_the_first_answer(operation: str) -> bool:
            nonlocal moves
            moves += operation == "UpdateSecretVersionStage"
            return operation == "UpdateSecretVersionStage" and moves == 1

        standin.loses_answer_to = lose_the_first_answer
        assert put(kept, "two")
        assert moves == 2, "the SDK tried again, and met its own work"
        assert standin.value == "two"


def test_a_binary_value_is_somebodys_and_not_none(emulator: MiniStack) -> None:
    place = Emulated(emulator)
    emulator.client("secretsmanager").put_secret_value(SecretId=place.arn, SecretBinary=VALUE.encode())
    with place.kept(*NEEDED) as kept, pytest.raises(SourceFailed, match="holds a binary value; expected text"):
        kept.fetch()


@pytest.mark.parametrize(
    ("allowed", "verb", "missing"),
    [
        ((), "read", "GetSecretValue"),
        (("GetSecretValue",), "write", "PutSecretValue"),
        (("GetSecretValue", "PutSecretValue"), "write", "UpdateSecretVersionStage"),
    ],
)
def test_a_missing_permission_is_named_and_the_value_is_not(
    place: Place, allowed: tuple[str, ...], verb: str, missing: str
) -> None:
    with place.kept(*NEEDED) as kept:
        put(kept, "one")
    with place.kept(*allowed) as kept, pytest.raises(SourceFailed) as found:
        put(kept, VALUE)
    assert str(found.value) == (
        f"cannot {verb} secret {place.arn}: AccessDeniedException; the secret must exist, the function's role needs "
        f"secretsmanager:{missing} on it (parameter ReadableArns; and DecryptableKeyArns if its key is not the "
        "default), and a way to the Secrets Manager API (NAT gateway or VPC endpoint secretsmanager)"
    )
    with place.kept(*NEEDED) as kept:
        assert text_in(kept) == "one"


def test_no_answer_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with as_user("http://127.0.0.1:9") as aws, pytest.raises(SourceFailed, match="EndpointConnectionError"):
        KeptSecret(ARN, aws).fetch()


def test_the_secret_is_looked_for_in_the_region_of_its_arn() -> None:
    with SecretsStandin() as standin, as_user(standin.url, region="us-east-1") as aws:
        put(KeptSecret(ARN, aws), VALUE)
        signed = {request.headers["Authorization"].split("/")[2] for request in standin.requests}
    assert signed == {"eu-central-1"}
    assert json.loads(VALUE) == json.loads(standin.value or "")


def create(kept: KeptParameter) -> None:
    """Create a parameter as an import does, which looks first."""
    assert kept.fetch() is None
    kept.put(Sensitive("one"), over="")


class TestParameter:
    """Where an import creates parameters, in the emulator with IAM enforced."""

    @contextmanager
    def kept(self, emulator: MiniStack, *actions: str) -> Iterator[tuple[KeptParameter, str]]:
        name = f"/apps/{secrets.token_hex(4)}"
        keys = emulator.user_with_policy([f"ssm:{action}" for action in actions or ("DescribeParameters",)])
        with as_user(key=keys.id, secret=keys.secret) as aws, pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL_SSM", emulator.url)
            yield KeptParameter(name, aws), name

    def test_one_is_created_once_and_never_written_over(self, emulator: MiniStack) -> None:
        with self.kept(emulator, "GetParameters", "PutParameter") as (kept, name):
            assert kept.fetch() is None
            assert kept.put(Sensitive("one"), over="")
            assert not kept.put(Sensitive("two"), over="")
            found = kept.fetch()
            assert found is not None
            assert found.value.reveal() == "one"
            assert not kept.put(Sensitive("two"), over=found.id)
        parameter = emulator.client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]
        assert (parameter["Type"], parameter["Value"]) == ("SecureString", "one")

    @pytest.mark.parametrize(
        ("allowed", "word", "missing"), [((), "read", "GetParameters"), (("GetParameters",), "create", "PutParameter")]
    )
    def test_a_missing_permission_is_named(
        self, emulator: MiniStack, allowed: tuple[str, ...], word: str, missing: str
    ) -> None:
        with self.kept(emulator, *allowed) as (kept, _), pytest.raises(SourceFailed) as found:
            create(kept)
        assert str(found.value).startswith(
            f"cannot {word} the parameter that the file of objects names here: AccessDeniedException; the function's "
            f"role needs ssm:{missing} on it"
        )
