"""Whatever an AWS API answers, or what stands before it, is usable or an error of ours that names the service."""

import base64
import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.aws import aws_apis, without_retries
from tests.support.certificates import make_serving_certificate
from tests.support.objects import ARN
from tests.support.standin import Reply, Standin
from upsert import sources
from upsert.aws import Aws
from upsert.core.objects import Material, Ref, Target
from upsert.core.sensitive import Sensitive
from upsert.errors import ClusterAccessDenied, ClusterError, SourceFailed, UpsertError
from upsert.kube.access import describe
from upsert.kube.transport import Connections
from upsert.sources.kept import KeptSecret

SERVICES = ("ECR", "ECR_PUBLIC", "EKS", "SECRETS_MANAGER", "SSM", "STS")
SAID = "correct-horse-battery-staple"
VALUE = "a value that is kept"
CA = base64.b64encode(make_serving_certificate().ca_pem.encode()).decode()
WRONG = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(
        [SAID, "", [], {}, [None], [SAID], {SAID: SAID}, [[]], 10**40, -1, 1e300, "https://[", "https://é"]
    )
)
FUZZED = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

type Answered = Callable[[Reply], None]
_ROLES = count()


def near(good: object) -> st.SearchStrategy[Any]:
    """Give what is like a good answer, with some of it missing or wrong."""
    if isinstance(good, dict):
        fields = {name: near(value) for name, value in good.items()}
        one_wrong = st.sampled_from(list(good)).flatmap(
            lambda name: fields[name].map(lambda value: good | {name: value})
        )
        return one_wrong | st.fixed_dictionaries({}, optional=fields) | WRONG
    if isinstance(good, list):
        return WRONG | st.lists(near(good[0]), max_size=2)
    return WRONG | st.just(good)


def replies(good: object) -> st.SearchStrategy[Reply]:
    """Give answers near a good one, and what no service sends."""
    pages = st.sampled_from([b"", b"{", b"<html>", SAID.encode(), b"\xff\xfe", b"null", b"[]", b'"x"', b"[" * 5000])
    body = near(good).map(lambda value: json.dumps(value).encode()) | pages
    headers = st.sampled_from(
        [{}, {"Content-Type": "text/html"}, {"x-amzn-ErrorType": SAID}, {"Content-Encoding": "x"}]
    )
    return st.builds(Reply, st.sampled_from([200, 200, 200, 204, 302, 400, 403, 500]), body, headers)


def refusal(act: Callable[[], object]) -> UpsertError | None:
    """Return the error of ours that something ends in, which says nothing of an answer, or None."""
    try:
        act()
    except UpsertError as why:
        found = why
    else:
        return None
    assert SAID not in str(found)
    return found


@pytest.fixture(scope="module")
def api() -> Iterator[Standin]:
    """One server for every service."""
    with Standin(lambda _: Reply()) as standin:
        yield standin


@pytest.fixture
def answered(api: Standin) -> Answered:
    """Have the server answer everything so."""

    def answer(reply: Reply) -> None:
        api._script = lambda _: reply

    return answer


@pytest.fixture(scope="module")
def aws(api: Standin) -> Iterator[Aws]:
    with pytest.MonkeyPatch.context() as patch:
        without_retries(patch)
        for service in SERVICES:
            patch.setenv(f"AWS_ENDPOINT_URL_{service}", api.url)
        yield aws_apis(patch)


ECR = {"authorizationToken": base64.b64encode(b"AWS:" + SAID.encode()).decode(), "expiresAt": 4e9, "proxyEndpoint": "x"}


@FUZZED
@given(
    word=st.sampled_from(["ecr", "ecr_public"]),
    reply=replies({"authorizationData": [ECR]}) | replies({"authorizationData": ECR}),
)
def test_ecr_gives_a_login_or_is_named(aws: Aws, answered: Answered, word: str, reply: Reply) -> None:
    answered(reply)
    reading = sources.read([Ref(word)], aws)[Ref(word)]
    if isinstance(reading, Material):
        assert reading.data["password"].reveal() == SAID.encode()
    else:
        assert "ECR" in str(reading)
        assert SAID not in str(reading)


SECRET = {"ARN": ARN, "Name": "x", "SecretString": VALUE, "VersionId": "1" * 32, "VersionStages": ["AWSCURRENT"]}
BINARY = SECRET | {"SecretBinary": base64.b64encode(b"x").decode()}
REFUSED = {"SecretId": ARN, "ErrorCode": "AccessDeniedException", "Message": SAID}
PARAMETER_ARN = "arn:aws:ssm:eu-central-1:123456789012:parameter/x"
PARAMETER = {"Name": "/x", "ARN": PARAMETER_ARN, "Value": VALUE, "Type": "String", "LastModifiedDate": 1.7e9}

KEPT = {
    Ref("secret", (("secret", ARN),)): {"SecretValues": [SECRET], "Errors": [REFUSED]},
    Ref("secret", (("member", "a"), ("secret", ARN))): {"SecretValues": [SECRET | {"SecretString": '{"a": 1.50}'}]},
    Ref("secret", (("secret", ARN), ("stage", "AWSPREVIOUS"))): SECRET,
    Ref("secret", (("secret", ARN), ("version", "1" * 32))): BINARY,
    Ref("parameter", (("parameter", "/x"),)): {"Parameters": [PARAMETER], "InvalidParameters": ["/x"]},
    Ref("parameter", (("label", "a"), ("parameter", PARAMETER_ARN))): {
        "Parameters": [PARAMETER],
        "InvalidParameters": ["/y"],
    },
}


@FUZZED
@given(asked=st.sampled_from(list(KEPT)).flatmap(lambda ref: st.tuples(st.just(ref), replies(KEPT[ref]))))
def test_a_kept_value_is_as_it_was_answered_or_its_source_is_named(
    aws: Aws, answered: Answered, asked: tuple[Ref, Reply]
) -> None:
    ref, reply = asked
    answered(reply)
    reading = sources.read([ref], aws)[ref]
    if isinstance(reading, Material):
        assert isinstance(reply.body, bytes)
        answer = json.loads(reply.body)
        (given,) = answer.get("SecretValues") or answer.get("Parameters") or [answer]
        text = given.get("SecretString") or given.get("Value")
        value = reading.data["value"].reveal()
        assert value in (str(text).encode(), b"1.50", base64.b64decode(given.get("SecretBinary") or ""))
        assert value
    else:
        assert str(reading).startswith(WHOSE) or f" {ref.get(ref.source)}" in str(reading)
        assert SAID not in str(reading)


WHOSE = tuple(
    f"{verb}the {what} that the file of objects names here"
    for verb in ("", "cannot read ")
    for what in ("secret", "parameter")
)


@FUZZED
@given(reply=replies({"ARN": ARN, "VersionId": "1" * 32, "VersionStages": [SAID]}))
def test_secrets_manager_that_does_not_say_what_it_kept_is_named(aws: Aws, answered: Answered, reply: Reply) -> None:
    answered(reply)
    why = refusal(lambda: KeptSecret(ARN, aws).put(Sensitive(VALUE), over="2" * 32))
    assert why is None or (isinstance(why, SourceFailed) and ARN in str(why))


CLUSTER = {"status": "ACTIVE", "endpoint": "https://a.example", "certificateAuthority": {"data": CA}}


@FUZZED
@given(
    reply=replies({"cluster": CLUSTER})
    | st.sampled_from(
        ["https://[", "https://a:99999", "https://", "https://é", "https://a b", "https://a?b", SAID]
    ).map(lambda endpoint: Reply(200, {"cluster": CLUSTER | {"endpoint": endpoint}}))
)
def test_eks_describes_a_cluster_or_is_named(aws: Aws, answered: Answered, reply: Reply) -> None:
    answered(reply)

    def connect() -> None:
        found = describe(aws, Target("production"))
        Connections(found.endpoint, found.ca_pem)
        assert found.endpoint == "https://a.example"

    why = refusal(connect)
    assert why is None or (isinstance(why, ClusterError) and "EKS" in f"{why}".replace("cluster production", "EKS"))


FIELDS = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
XML = st.lists(st.sampled_from([f"<{name}>{SAID}</{name}>" for name in FIELDS] + ["<x/>", SAID, "<AccessKeyId/>"])).map(
    "".join
)


@FUZZED
@given(
    inner=XML,
    outer=st.sampled_from(
        ["<r><AssumeRoleResult><Credentials>{}</Credentials></AssumeRoleResult></r>", "<r>{}</r>", "{}", "<r>{}"]
    ),
    status=st.sampled_from([200, 200, 400, 500]),
)
def test_sts_gives_credentials_or_the_role_is_named(
    aws: Aws, answered: Answered, inner: str, outer: str, status: int
) -> None:
    role = f"arn:aws:iam::210987654321:role/pull-{next(_ROLES)}"
    answered(Reply(status, outer.format(inner).encode(), {"Content-Type": "text/xml"}))
    ref = Ref("ecr", (("role_arn", role),))
    why = refusal(lambda: describe(aws, Target("production", role_arn=role)))
    if isinstance(why, ClusterAccessDenied):
        assert role in str(why)
    else:
        # The role was assumed, and the same answer is none of EKS.
        assert isinstance(why, ClusterError)
        assert all(f"<{name}>" in inner for name in FIELDS[:3])
    reading = sources.read([ref], aws)[ref]
    assert isinstance(reading, SourceFailed)
    assert role in str(reading) or "ECR" in str(reading)
    assert SAID not in str(reading)
