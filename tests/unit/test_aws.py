"""The AWS SDK that cannot be set up is an error that names the variables; what an API answers, one with its code."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.support.aws import aws_apis, refused, role_credentials, without_retries
from tests.support.standin import Reply, Request, Standin
from upsert.aws import Aws
from upsert.errors import AwsError, InputError

ROLE = "arn:aws:iam::210987654321:role/pull"
SECRET = "correct-horse-battery-staple"


@pytest.fixture(autouse=True)
def _only_these_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)


def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")


def problem(stopped: pytest.ExceptionInfo[InputError]) -> tuple[str, str]:
    """The names that the one problem begins with, and the rest of it."""
    (text,) = stopped.value.problems
    named, _, rest = text.partition(": ")
    assert rest.endswith(
        "expected what the SDK understands, or nothing beside what Lambda sets for the function's role"
    )
    return named, rest


@pytest.mark.parametrize(
    ("variable", "value", "cause"),
    [
        ("AWS_PROFILE", "production", "ProfileNotFound"),
        ("AWS_PROFILE", "", "ProfileNotFound"),
        ("AWS_DEFAULT_PROFILE", "production", "ProfileNotFound"),
        ("AWS_METADATA_SERVICE_TIMEOUT", "soon", "ValueError"),
        ("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "many", "ValueError"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv5", "InvalidIMDSEndpointModeError"),
    ],
)
def test_a_variable_that_gives_no_session_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, cause: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError) as stopped:
        aws_apis(monkeypatch)

    named, rest = problem(stopped)
    assert variable in named.split(", ")
    assert f"({cause})" in rest


@pytest.mark.parametrize(
    ("variable", "cause"),
    [
        ("AWS_DEFAULTS_MODE", "InvalidDefaultsMode"),
        ("AWS_STS_REGIONAL_ENDPOINTS", "InvalidSTSRegionalEndpointsConfigError"),
        ("AWS_REQUEST_CHECKSUM_CALCULATION", "InvalidChecksumConfigError"),
        ("AWS_ACCOUNT_ID_ENDPOINT_MODE", "InvalidConfigError"),
    ],
)
@pytest.mark.parametrize("role_arn", ["", ROLE])
def test_a_variable_that_gives_no_client_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, cause: str, role_arn: str
) -> None:
    monkeypatch.setenv(variable, "garbage")
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        apis = aws_apis(monkeypatch)
        with pytest.raises(InputError) as stopped:
            apis.call("ecr", "get_authorization_token", role_arn=role_arn)

    named, rest = problem(stopped)
    assert variable in named.split(", ")
    assert f"({cause})" in rest


@pytest.mark.parametrize(
    ("profile", "cause"),
    [
        ("[profile production]\ncredential_process = /nowhere/at-all\n", "FileNotFoundError"),
        ("[profile production]\ncredential_process = /bin/false\n", "CredentialRetrievalError"),
        (f"[profile production]\ncredential_process = echo {SECRET}\n", "JSONDecodeError"),
        ("[profile production]\naws_access_key_id = key\n", "PartialCredentialsError"),
        ("[profile production]\nrole_arn = x\nsource_profile = nobody\n", "InvalidConfigError"),
        (f"[profile {SECRET}\n", "ConfigParseError"),
    ],
)
def test_a_config_file_that_gives_no_credentials_is_named_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str, cause: str
) -> None:
    file = tmp_path / "config"
    file.write_text(profile)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "production")
    without_keys(monkeypatch)

    with pytest.raises(InputError) as stopped:
        Aws(account="1" * 12, region="eu-central-1")

    named, rest = problem(stopped)
    expected = {"AWS_ACCESS_KEY_ID"} if cause == "PartialCredentialsError" else {"AWS_CONFIG_FILE", "AWS_PROFILE"}
    assert set(named.split(", ")) >= expected
    assert f"({cause})" in rest
    assert SECRET not in named + rest


@pytest.mark.parametrize("missing", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_credentials_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    without_keys(monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv(missing)

    with pytest.raises(InputError) as stopped:
        Aws(account="1" * 12, region="eu-central-1")

    assert problem(stopped)[0] == "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"


def ask(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], Reply], role_arn: str = "") -> AwsError:
    """Return the error of a call to an API, or to STS if it is as a role, that gives this answer."""
    without_retries(monkeypatch)
    with Standin(answer) as api:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS" if role_arn else "AWS_ENDPOINT_URL_ECR", api.url)
        with pytest.raises(AwsError) as stopped:
            aws_apis(monkeypatch).call("ecr", "get_authorization_token", role_arn=role_arn)
    return stopped.value


@pytest.mark.parametrize("code", ["ExpiredTokenException", "InvalidSignatureException", "MissingAuthenticationToken"])
def test_credentials_that_are_not_accepted_are_told_from_what_a_role_may_not(
    monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    error = ask(monkeypatch, refused(400, code))

    assert (error.code, error.remedy) == (
        code,
        "the credentials that the function got are not accepted, or not any more: run it again",
    )
    assert ask(monkeypatch, refused(400, "AccessDeniedException")).remedy == ""


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:correct-horse@127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", "https://ecr.example")
    without_retries(monkeypatch)
    with pytest.raises(AwsError) as stopped:
        aws_apis(monkeypatch).call("ecr", "get_authorization_token")

    assert stopped.value.code == "ProxyConnectionError"
    assert stopped.value.remedy == "the proxy that HTTPS_PROXY names does not answer, or does not let it through"


def credentials(inner: str) -> Callable[[Request], Reply]:
    body = f"<AssumeRoleResponse><AssumeRoleResult>{inner}</AssumeRoleResult></AssumeRoleResponse>"
    return lambda _: Reply(200, body.encode(), {"Content-Type": "text/xml"})


def test_a_role_that_is_not_assumed_yet_holds_up_no_other_client(monkeypatch: pytest.MonkeyPatch) -> None:
    is_asked, may_answer = Event(), Event()

    def answer_late(request: Request) -> Reply:
        is_asked.set()
        assert may_answer.wait(30)
        return role_credentials(request)

    with Standin(answer_late) as sts, Standin(lambda _: Reply(200, {"authorizationData": []})) as ecr:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", ecr.url)
        apis = aws_apis(monkeypatch)
        with ThreadPoolExecutor(2) as pool:
            as_role = pool.submit(apis.call, "ecr", "get_authorization_token", role_arn=ROLE)
            try:
                assert is_asked.wait(30)
                # In time, and not once STS has answered.
                assert pool.submit(apis.call, "ecr", "get_authorization_token").result(timeout=20)
                assert not as_role.done()
            finally:
                may_answer.set()
            assert as_role.result()


TOKEN = "<SessionToken>token</SessionToken>"
KEY, KEY_ID = f"<SecretAccessKey>{SECRET}</SecretAccessKey>", "<AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (credentials(""), "an answer without credentials"),
        (credentials("<Credentials/>"), "an answer without credentials"),
        (credentials(f"<Credentials>{KEY}</Credentials>"), "an answer without credentials"),
        (credentials(f"<Credentials>{KEY}{KEY_ID}</Credentials>"), "an answer without credentials"),
        (
            credentials(f"<Credentials>{KEY}<AccessKeyId/><SessionToken/></Credentials>"),
            "an answer without credentials",
        ),
        (credentials(f"<Credentials>{KEY}{KEY}{KEY_ID}{TOKEN}</Credentials>"), "an answer without credentials"),
        (credentials(SECRET), "an answer without credentials"),
        (lambda _: Reply(200, f"<html>{SECRET}".encode()), "an unreadable answer ("),
        (lambda _: Reply(200, SECRET.encode()), "an unreadable answer ("),
        (lambda _: Reply(200, {"Credentials": SECRET}), "an unreadable answer ("),
        (lambda _: Reply(500, f"<html>{SECRET}".encode()), ""),
    ],
)
def test_an_answer_without_credentials_is_one_of_the_role(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], Reply], code: str
) -> None:
    error = ask(monkeypatch, answer, ROLE)

    assert error.while_assuming
    assert error.code.startswith(code)
    assert SECRET not in str(error)
