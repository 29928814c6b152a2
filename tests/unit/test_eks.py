"""Where a cluster is, and what it is told about us."""

import base64
import re
from collections.abc import Callable
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from tests.support.aws import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, aws_session, described, refused, without_retries
from tests.support.standin import Reply, Request, Standin
from upsert.adapters import eks
from upsert.adapters.eks import ClusterAccess
from upsert.errors import (
    ClusterAccessDenied,
    ClusterError,
    ClusterNotActive,
    ClusterNotFound,
    ClusterNotTrusted,
    ClusterUnreachable,
)

REGION = "eu-central-1"
ENDPOINT = "https://0123456789ABCDEF.gr7.eu-central-1.eks.amazonaws.com"
CA = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"


def describe(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], Reply]) -> ClusterAccess:
    without_retries(monkeypatch)
    with Standin(answer) as api:
        monkeypatch.setenv("AWS_ENDPOINT_URL_EKS", api.url)
        access = eks.describe(aws_session(REGION), "production")
    assert [(request.method, request.path) for request in api.requests] == [("GET", "/clusters/production")]
    return access


@pytest.mark.parametrize("status", ["ACTIVE", "UPDATING"])
def test_a_cluster_that_serves_is_found_by_endpoint_and_authority(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    assert describe(monkeypatch, described(ENDPOINT, CA, status=status)) == ClusterAccess(ENDPOINT, CA)


WHERE = "cluster production in eu-central-1"
DENIED = "redeploy the stack, and look for a service control policy or permissions boundary that denies it"
PROXY = "look for a proxy before the EKS API"
WAY = "check the way to the EKS API (NAT gateway or VPC endpoint eks)"


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (
            refused(404, "ResourceNotFoundException"),
            ClusterNotFound,
            f"EKS knows no {WHERE}; check CLUSTER_NAME and the stack's region",
        ),
        *[
            (
                refused(403, code, "User: arn:aws:sts::123456789012:assumed-role/x is not authorized"),
                ClusterAccessDenied,
                f"the function's role may not call eks:DescribeCluster on {WHERE} ({code}); {DENIED}",
            )
            for code in ("AccessDeniedException", "AccessDenied", "UnrecognizedClientException")
        ],
        *[
            (
                described(ENDPOINT, CA, status=status),
                ClusterNotActive,
                f"{WHERE} is {status}; expected ACTIVE or UPDATING",
            )
            for status in ("CREATING", "DELETING", "FAILED", "PENDING")
        ],
        (
            described(ENDPOINT, CA, status=None),
            ClusterNotActive,
            f"{WHERE} is in no known state; expected ACTIVE or UPDATING",
        ),
        (
            described("", CA),
            ClusterNotActive,
            f"{WHERE} is ACTIVE but has no endpoint or no certificate authority yet",
        ),
        (
            described(ENDPOINT.replace("https", "http"), CA),
            ClusterNotActive,
            f"{WHERE} is ACTIVE but has no endpoint or no certificate authority yet",
        ),
        (
            described(ENDPOINT, CA, certificateAuthority=None),
            ClusterNotActive,
            f"{WHERE} is ACTIVE but has no endpoint or no certificate authority yet",
        ),
        (
            described(ENDPOINT, CA, certificateAuthority={"data": "no base64"}),
            ClusterNotTrusted,
            f"the certificate authority that EKS names for {WHERE} is not base64 of PEM; {PROXY}",
        ),
        (
            refused(500, "ServerException"),
            ClusterUnreachable,
            f"EKS did not describe {WHERE}: ServerException; {WAY}",
        ),
        (
            refused(400, "a code with <text>"),
            ClusterUnreachable,
            f"EKS did not describe {WHERE}: an error without a known code; {WAY}",
        ),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], Reply], error: type[ClusterError], message: str
) -> None:
    with pytest.raises(error) as stopped:
        describe(monkeypatch, answer)

    assert type(stopped.value) is error
    assert str(stopped.value) == message


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b'{"cluster": null}', b'{"cluster": {}}'])
def test_an_answer_that_is_no_description_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    with pytest.raises(ClusterNotActive, match="in no known state"):
        describe(monkeypatch, lambda _: Reply(200, body))


def test_an_eks_api_that_is_not_reached_says_how_to_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without_retries(monkeypatch)
    with Standin(lambda _: Reply()) as gone:
        monkeypatch.setenv("AWS_ENDPOINT_URL_EKS", gone.url)

    with pytest.raises(ClusterUnreachable, match=r"EndpointConnectionError; check the way to the EKS API"):
        eks.describe(aws_session(REGION), "production")


def url_in(token: str) -> str:
    assert token.startswith("k8s-aws-v1.")
    encoded = token.removeprefix("k8s-aws-v1.")
    assert re.fullmatch(r"[A-Za-z0-9_-]+", encoded), "the authenticator takes unpadded URL-safe base64 only"
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-central-1", "sts.eu-central-1.amazonaws.com"),
        ("us-east-1", "sts.us-east-1.amazonaws.com"),
        ("us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "sts.cn-north-1.amazonaws.com.cn"),
        ("eusc-de-east-1", "sts.eusc-de-east-1.amazonaws.eu"),
        ("us-iso-east-1", "sts.us-iso-east-1.c2s.ic.gov"),
        ("us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov"),
    ],
)
@pytest.mark.parametrize("pointed_elsewhere", [False, True])
def test_a_token_is_a_request_to_the_regions_own_sts(
    monkeypatch: pytest.MonkeyPatch, region: str, host: str, pointed_elsewhere: bool
) -> None:
    if pointed_elsewhere:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")

    url = urlsplit(url_in(eks.sign_bearer_token(aws_session(region), "production").reveal()))

    assert (url.scheme, url.netloc, url.path) == ("https", host, "/")
    query = {name: values for name, (*values,) in parse_qs(url.query, strict_parsing=True).items()}
    assert query["Action"] == ["GetCallerIdentity"]
    assert query["Version"] == ["2011-06-15"]
    assert query["X-Amz-Expires"] == ["60"]
    assert query["X-Amz-SignedHeaders"] == ["host;x-k8s-aws-id"]
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    (credential,) = query["X-Amz-Credential"]
    assert re.fullmatch(rf"{ACCESS_KEY}/[0-9]{{8}}/{region}/sts/aws4_request", credential)
    assert len(query["X-Amz-Signature"][0]) == 64


def signature_of(session: boto3.Session, cluster: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("botocore.auth.get_current_datetime", fixed_time, raising=True)
    return parse_qs(urlsplit(url_in(eks.sign_bearer_token(session, cluster).reveal())).query)["X-Amz-Signature"][0]


def fixed_time() -> datetime:
    return datetime(2030, 1, 2, 3, 4, 5)  # noqa: DTZ001 - botocore signs naive UTC


def test_the_clusters_name_is_part_of_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    session = aws_session(REGION)

    assert signature_of(session, "one", monkeypatch) == signature_of(session, "one", monkeypatch)
    assert signature_of(session, "one", monkeypatch) != signature_of(session, "two", monkeypatch)


def test_the_session_token_of_a_role_goes_with_the_request() -> None:
    token = eks.sign_bearer_token(aws_session(REGION, SESSION_TOKEN), "production").reveal()

    assert parse_qs(urlsplit(url_in(token)).query)["X-Amz-Security-Token"] == [SESSION_TOKEN]


def test_a_token_shows_neither_itself_nor_a_key() -> None:
    token = eks.sign_bearer_token(aws_session(REGION), "production")

    assert repr(token) == "Sensitive(***)"
    assert SECRET_KEY not in url_in(token.reveal())


def test_without_credentials_there_is_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3.Session, "get_credentials", lambda _: None)

    with pytest.raises(ClusterAccessDenied, match="no AWS credentials to sign a bearer token with"):
        eks.sign_bearer_token(boto3.Session(region_name=REGION), "production")
