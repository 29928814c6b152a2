"""Variables that libraries read are found wrong by name, before a library meets them, and nothing of them is said."""

from pathlib import Path

import pytest

from tests.support.certificates import make_serving_certificate
from upsert import variables
from upsert.core.fields import Fields, Problem

SOCKS, PROXY, OTHER = "socks5://me:correct-horse@proxy:1080", "http://proxy:3128", "http://other:3128"


def problems(**environment: str) -> list[str]:
    found: list[Problem] = []
    variables.check(Fields(environment, (), found))
    return [str(problem) for problem in found]


def names(**environment: str) -> list[str]:
    return [problem.partition(":")[0] for problem in problems(**environment)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("HTTPS_PROXY", SOCKS, "expected http://HOST:PORT or https://HOST:PORT, without blanks"),
        ("https_proxy", "http://me:correct#horse@proxy:1080", "% in them as %2F %3F %23 %5B %5D %5C %25"),
        ("AWS_ENDPOINT_URL", "correct-horse:4566", "expected http:// or https:// and a host, with a port or a path"),
        ("AWS_ENDPOINT_URL_ECR", "http://me:correct-horse@ecr.example", "expected http:// or https:// and a host"),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", "correct horse", "expected http:// or https:// and a host"),
        (
            "AWS_CA_BUNDLE",
            "/nowhere/correct-horse.pem",
            "expected the path of a file of certificates (PEM) that is there",
        ),
        ("REQUESTS_CA_BUNDLE", "/nowhere/correct-horse.pem", "expected the path of a file of certificates (PEM)"),
        (
            "SSLKEYLOGFILE",
            "/tmp/correct-horse",
            "expected it not to be: the keys to what carries passwords would go to",
        ),
        ("AWS_CSM_ENABLED", "True", "expected it not to be: the SDK would send its session token to whoever listens"),
    ],
)
def test_a_wrong_one_is_one_problem_that_names_it_and_what_was_expected(name: str, value: str, expected: str) -> None:
    (problem,) = problems(**{name: value})

    assert problem.startswith(f"{name}: ")
    assert expected in problem
    assert "horse" not in problem


def test_none_of_them_has_to_be_there() -> None:
    assert problems() == []
    assert (
        problems(HTTPS_PROXY="", https_proxy="", AWS_ENDPOINT_URL="", AWS_ENDPOINT_URL_ECR="", SSLKEYLOGFILE="") == []
    )
    assert problems(AWS_CSM_ENABLED="false", AWS_CSM_PORT="x", AWS_CSM_HOST="y") == []


@pytest.mark.parametrize(
    ("environment", "wrong"),
    [
        ({"https_proxy": PROXY, "HTTPS_PROXY": SOCKS}, []),
        ({"https_proxy": SOCKS, "HTTPS_PROXY": PROXY}, ["https_proxy"]),
        ({"https_proxy": "", "HTTPS_PROXY": SOCKS}, []),
        ({"Https_Proxy": SOCKS}, ["Https_Proxy"]),
        ({"HTTPS_PROXY": PROXY, "Https_Proxy": ""}, []),
        ({"HTTP_PROXY": SOCKS}, []),
        ({"HTTP_PROXY": SOCKS, "AWS_ENDPOINT_URL": "https://aws.example"}, []),
        ({"HTTP_PROXY": SOCKS, "AWS_ENDPOINT_URL": "http://aws.example"}, ["HTTP_PROXY"]),
        ({"ALL_PROXY": SOCKS, "NO_PROXY": "10.0.0.0/99,[,*,.x,€ "}, []),
    ],
)
def test_only_the_proxy_that_counts_has_to_be_right(environment: dict[str, str], wrong: list[str]) -> None:
    assert names(**environment) == wrong


def test_a_bundle_is_a_file_of_certificates(tmp_path: Path) -> None:
    good, other = tmp_path / "good.pem", tmp_path / "other.pem"
    good.write_text(make_serving_certificate().ca_pem)
    other.write_text("correct horse")

    assert names(AWS_CA_BUNDLE=str(good)) == []
    assert names(AWS_CA_BUNDLE=str(good), REQUESTS_CA_BUNDLE="/nowhere") == []
    assert names(AWS_CA_BUNDLE=str(other)) == ["AWS_CA_BUNDLE"]
    assert names(AWS_CA_BUNDLE=str(tmp_path)) == ["AWS_CA_BUNDLE"]
    assert names(AWS_CA_BUNDLE="") == ["AWS_CA_BUNDLE"]


def test_those_that_may_keep_the_sdk_from_working_are_named_and_those_of_lambda_are_not() -> None:
    own = {"AWS_REGION": "a", "AWS_LAMBDA_FUNCTION_NAME": "b", "AWS_ACCESS_KEY_ID": "c", "AWS_SESSION_TOKEN": "d"}

    assert variables.of_the_sdk(own | {"AWS_PROFILE": "x", "AWS_CONFIG_FILE": "y", "PATH": "z"}) == (
        "AWS_CONFIG_FILE, AWS_PROFILE"
    )
    assert variables.of_the_sdk(own) == "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"
    assert len(variables.of_the_sdk({f"AWS_{number}": "" for number in range(1000)})) < 100
