"""Whatever else is set in the function's environment, it works, or an error names the variable and quotes none of it.

The whole function runs, before an API server that takes everything; what it lets out is compared with a plain run.
"""

import json
import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import botocore.configprovider
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.certificates import make_serving_certificate
from tests.support.invocation import Aws, Seen, invoke
from tests.support.standin import Reply, Request, Standin
from tests.unit.test_telemetry_environment import VARIABLES
from upsert.errors import InputError, InternalError, UpsertError

EXAMPLES = 100
SAID = "correct-horse-battery-staple"
_SECRET = re.compile(r"/api/v1/namespaces/([^/]+)/secrets/([^?]+)")


def _serve(request: Request) -> Reply:
    """Answer as an API server with one namespace does, without any state."""
    if request.method == "GET":
        items = [{"metadata": {"name": "team-a"}}]
        return Reply(body={"kind": "PartialObjectMetadataList", "metadata": {}, "items": items})
    found = _SECRET.match(request.path)
    assert found is not None
    metadata = {"namespace": found[1], "name": found[2], "uid": "u-1", "resourceVersion": "7"}
    return Reply(201, {"kind": "PartialObjectMetadata", "metadata": metadata})


@pytest.fixture(scope="module")
def world(aws: Aws) -> Iterator[Aws]:
    certificate = make_serving_certificate()
    with Standin(_serve, certificate) as server, pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_CA_BUNDLE", "AWS_CONFIG_FILE", "AWS_PROFILE", "HTTPS_PROXY", "https_proxy", "no_proxy"):
            patch.delenv(name, raising=False)
        before = aws.endpoint, aws.ca_pem
        aws.point_at(server.url, certificate.ca_pem)
        yield aws
        aws.point_at(*before)


def run(world: Aws, environment: Mapping[str, str], seconds: float = 300.0) -> Seen:
    """Run the whole function once with these variables."""
    return invoke(world, seconds=seconds, **environment)  # type: ignore[arg-type] # names of variables


def told(seen: Seen) -> list[Any]:
    """Return all that was written, line by line, without what differs from run to run."""
    lines = [json.loads(line) for line in seen.output.splitlines()]
    for line in lines:
        line.pop("timestamp", None)
        line.get("_aws", {}).pop("Timestamp", None)
        for name in [name for name in line if "uration" in name or "econds" in name or name.endswith("expires_at")]:
            del line[name]
    return lines


@pytest.fixture(scope="module")
def plain(world: Aws) -> list[Any]:
    """What a run says where nothing is set."""
    seen = run(world, {})
    assert seen.error is None, seen.output
    assert [line["message"] for line in told(seen) if "message" in line] == ["object.applied", "refresh.completed"]
    return told(seen)


NO_MATTER = {
    **{name: values for name, values in VARIABLES.items() if name.startswith(("POWERTOOLS_", "AWS_LAMBDA_", "DD_"))},
    "HTTPS_PROXY": ("", "proxy.invalid:3128", f"http://me:{SAID}@proxy.invalid:3128"),
    "HTTP_PROXY": ("", "http://127.0.0.1:9"),
    "ALL_PROXY": (f"socks5://me:{SAID}@127.0.0.1:9", "garbage"),
    "NO_PROXY": ("127.0.0.1", "*", "127.0.0.1,10.0.0.0/99,[,€,.x", "127.0.0.0/8"),
    "AWS_MAX_ATTEMPTS": ("garbage", "0", ""),
    "AWS_RETRY_MODE": ("garbage", ""),
    "AWS_CONFIG_FILE": ("/nowhere", ""),
    "AWS_SHARED_CREDENTIALS_FILE": ("/nowhere",),
    "AWS_ENDPOINT_URL": ("",),
    "AWS_WEB_IDENTITY_TOKEN_FILE": ("/nowhere",),
    "SSLKEYLOGFILE": ("",),
    "BOTOCORE_EXPERIMENTAL__PLUGINS": (f"{SAID}=nowhere.at_all",),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in NO_MATTER.items() for value in values])
def test_this_makes_no_difference(world: Aws, plain: list[Any], name: str, value: str) -> None:
    seen = run(world, {name: value})

    assert told(seen) == plain
    assert not any(SAID in text for text in seen.texts)


WRONG = {
    "HTTPS_PROXY": (
        *(f"socks5://me:{SAID}@proxy:1080", f"http://me:{SAID}#@proxy:3128", f"http://me:{SAID}€@proxy:3128"),
        *(f" http://me:{SAID}@proxy:3128", f"http://me:{SAID}@proxy:3128\n", "http://proxy:99999", "http://["),
        f"http://me:{SAID}%E2%82%AC@proxy:3128",
    ),
    "https_proxy": (f"socks5://me:{SAID}@proxy:1080", SAID + "\n"),
    "AWS_ENDPOINT_URL": ("localhost:4566", SAID, "http://[", f"http://me:{SAID}@aws.example"),
    "AWS_ENDPOINT_URL_ECR": ("localhost:4566", " ", f"{SAID}://x"),
    "AWS_ENDPOINT_URL_EKS": ("localhost:4566", "http://local host"),
    "AWS_ENDPOINT_URL_STS": ("localhost:4566",),
    "AWS_ENDPOINT_URL_SECRETS_MANAGER": ("localhost:4566",),
    "AWS_CA_BUNDLE": (f"/nowhere/{SAID}", "", "/", "/etc/hostname"),
    "REQUESTS_CA_BUNDLE": (f"/nowhere/{SAID}",),
    "AWS_REGION": ("", "eu-central-1a", "Frankfurt", "eu-central-1\n"),
    "AWS_PROFILE": (SAID, "", " "),
    "AWS_DEFAULT_PROFILE": (SAID,),
    "AWS_STS_REGIONAL_ENDPOINTS": (SAID,),
    "AWS_DEFAULTS_MODE": (SAID, ""),
    "AWS_REQUEST_CHECKSUM_CALCULATION": (SAID,),
    "AWS_METADATA_SERVICE_TIMEOUT": (SAID,),
    "AWS_ACCESS_KEY_ID": ("",),
    "AWS_SECRET_ACCESS_KEY": ("",),
    "AWS_CSM_ENABLED": ("true", "TRUE"),
    "SSLKEYLOGFILE": (f"/tmp/{SAID}", "/nowhere/at/all"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_this_is_an_error_that_names_the_variable_before_anything_is_asked_for(
    world: Aws, name: str, value: str
) -> None:
    calls = len(world.ecr.calls)
    seen = run(world, {name: value})

    assert isinstance(seen.error, InputError), seen.error
    (problem,) = seen.error.problems
    assert name in problem.partition(":")[0].split(", ")
    assert "expected " in problem
    assert [line["message"] for line in told(seen)] == ["refresh.stopped"]
    assert not any(SAID in text for text in seen.texts)
    assert len(world.ecr.calls) == calls


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HTTPS_PROXY": f"me:{SAID}@127.0.0.1:9", "NO_PROXY": ""}, "check the endpoint, the proxy variables and"),
        (
            {"HTTPS_PROXY": "127.0.0.1:9", "AWS_ENDPOINT_URL_ECR": "https://ecr.example"},
            "the proxy that HTTPS_PROXY names",
        ),
        (
            {"AWS_ENDPOINT_URL_ECR": "http://127.0.0.1:9"},
            "ECR in eu-central-1 gave the function's role no token: Endpoint",
        ),
        (
            {"AWS_ENDPOINT_URL_EKS": "http://127.0.0.1:9"},
            "EKS did not describe cluster test in eu-central-1: EndpointConn",
        ),
    ],
)
def test_what_is_right_and_leads_nowhere_is_an_error_that_names_the_service(
    world: Aws, environment: dict[str, str], message: str
) -> None:
    seen = run(world, environment, seconds=12.0)

    assert isinstance(seen.error, UpsertError)
    assert message in str(seen.error)
    assert not any(SAID in text for text in seen.texts)


def test_a_config_file_without_the_profile_or_that_is_none_is_named(world: Aws, tmp_path: Path) -> None:
    file = tmp_path / "config"
    for text in (f"[profile {SAID}\n", f"[profile a]\ncredential_process = {SAID}\n", SAID, "\0", "€"):
        file.write_text(text)
        seen = run(world, {"AWS_CONFIG_FILE": str(file), "AWS_PROFILE": f"no-{SAID}"})
        assert isinstance(seen.error, InputError)
        assert seen.error.problems[0].startswith("AWS_CONFIG_FILE, ")
        assert not any(SAID in text for text in seen.texts)


def _known() -> list[str]:
    """Return the names of all variables that the SDK, Powertools, urllib3 and Python's own modules look at."""
    sdk = [env for _, env, _, _ in botocore.configprovider.BOTOCORE_DEFAUT_SESSION_VARIABLES.values() if env]
    names = {name for env in sdk for name in ([env] if isinstance(env, str) else env)}
    return sorted(
        {
            *names,
            *VARIABLES,
            *NO_MATTER,
            *WRONG,
            *("https_proxy", "http_proxy", "no_proxy", "HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD"),
            *("AWS_SESSION_TOKEN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
            *("AWS_ROLE_ARN", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_NAME", "AWS_SAM_LOCAL", "FLEET_STATE_MACHINE"),
            *("BOTOCORE_TCP_KEEPALIVE", "AWS_BEARER_TOKEN_BEDROCK"),
        }
    )


TEXT = (
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
    | st.text(string.ascii_lowercase + ":/@#[]%., -_0123456789", max_size=20)
    | st.sampled_from(
        ["true", "false", "0", "-1", "1e999", "http://127.0.0.1:9", "/", "/nowhere", f"http://{SAID}@x/y"]
    )
)


@pytest.fixture(scope="module")
def ends() -> Iterator[Counter[str]]:
    """Counts what came of the environments."""
    ends: Counter[str] = Counter()
    yield ends
    print(f"\nproof: environment: tried={ends.total()} ended as {dict(ends)}")


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(environment=st.dictionaries(st.sampled_from(_known()), TEXT, min_size=1, max_size=3))
def test_any_variable_with_any_text_is_harmless_or_an_error_of_ours(
    world: Aws, ends: Counter[str], environment: dict[str, str]
) -> None:
    seen = run(world, environment, seconds=20.0)
    ends[type(seen.error).__name__] += 1

    assert seen.error is None or isinstance(seen.error, UpsertError)
    assert not isinstance(seen.error, InternalError), seen.error
    assert not any(SAID in text for text in seen.texts)
    # Each line is one JSON object whatever comes of it.
    assert all("message" in line or "_aws" in line for line in told(seen))
    if isinstance(seen.error, InputError):
        named = {name for problem in seen.error.problems for name in problem.partition(":")[0].split(", ")}
        assert named & {*environment, "AWS_ACCESS_KEY_ID"}
