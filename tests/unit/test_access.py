"""Where a cluster is, in whatever region and as whatever role it is asked for."""

from collections.abc import Callable

import pytest

from tests.support.aws import SESSION_TOKEN, aws_apis, described, refused, role_credentials, without_retries
from tests.support.standin import Reply, Request, Standin
from upsert.core.objects import Target
from upsert.errors import (
    ClusterAccessDenied,
    ClusterError,
    ClusterNotActive,
    ClusterNotFound,
    ClusterNotTrusted,
    ClusterUnreachable,
)
from upsert.kube import access
from upsert.kube.access import ClusterAccess

ENDPOINT = "https://0123456789ABCDEF.gr7.eu-central-1.eks.amazonaws.com"
PRODUCTION = Target("production")
CA = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"


def describe(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], Reply], target: Target = PRODUCTION
) -> ClusterAccess:
    without_retries(monkeypatch)
    with Standin(answer) as api:
        monkeypatch.setenv("AWS_ENDPOINT_URL_EKS", api.url)
        found = access.describe(aws_apis(monkeypatch), target)
    assert [(request.method, request.path) for request in api.requests] == [("GET", "/clusters/production")]
    return found


@pytest.mark.parametrize("status", ["ACTIVE", "UPDATING"])
def test_a_cluster_that_serves_is_found_by_endpoint_and_authority(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    assert describe(monkeypatch, described(ENDPOINT, CA, status=status)) == ClusterAccess(ENDPOINT, CA)


WHERE = "cluster production in eu-central-1"
NOT_ACCEPTED = "the credentials that the function got are not accepted, or not any more: run it again"
DENIED = "redeploy the stack, and look for a service control policy or permissions boundary that denies it"
PROXY = "look for a proxy before the EKS API"
WAY = "check the way to the EKS API (NAT gateway or VPC endpoint eks)"


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (
            refused(404, "ResourceNotFoundException"),
            ClusterNotFound,
            f"EKS knows no {WHERE}; check its name and region",
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
        *[
            (
                described(ENDPOINT, CA, status=status),
                ClusterNotActive,
                f"{WHERE} is in no known state; expected ACTIVE or UPDATING",
            )
            for status in ("correct horse", "A" * 100, "", 5, True, {"correct": "horse"}, ["horse"])
        ],
        *[
            (
                described(endpoint, CA),
                ClusterNotActive,
                f"{WHERE} is ACTIVE but has no endpoint or no certificate authority yet",
            )
            for endpoint in (
                "https://",
                "https://[",
                "https://a:99999",
                "https://é.example",
                "https://a b",
                "https://a?b",
            )
        ],
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
            lambda _: Reply(body={"cluster": {"status": "ACTIVE", "endpoint": 5}}),
            ClusterNotActive,
            f"{WHERE} is ACTIVE but has no endpoint or no certificate authority yet",
        ),
        (
            described(ENDPOINT, CA, certificateAuthority={"data": 5}),
            ClusterNotActive,
            f"{WHERE} is ACTIVE but has no endpoint or no certificate authority yet",
        ),
        (
            described(ENDPOINT, CA, certificateAuthority="5"),
            ClusterUnreachable,
            f"EKS did not describe {WHERE}: an unreadable answer (AttributeError); {WAY}",
        ),
        (
            described(ENDPOINT, CA, certificateAuthority={"data": "no base64"}),
            ClusterNotTrusted,
            f"the certificate authority that EKS names for {WHERE} is not base64 of PEM; {PROXY}",
        ),
        (
            refused(403, "ExpiredTokenException"),
            ClusterUnreachable,
            f"EKS did not describe {WHERE}: ExpiredTokenException; {NOT_ACCEPTED}",
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


def test_a_cluster_elsewhere_is_asked_for_in_its_region_and_as_its_role(monkeypatch: pytest.MonkeyPatch) -> None:
    role = "arn:aws:iam::210987654321:role/eks-upsert"
    asked: list[Request] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        return described(ENDPOINT, CA)(request)

    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        describe(monkeypatch, answer, Target("production", "us-east-1", role))

    assert [request.body.decode().count(role.partition("/")[2]) for request in sts.requests] == [1 + 1]
    (request,) = asked
    assert "/us-east-1/eks/aws4_request" in request.headers["Authorization"]
    assert request.headers["X-Amz-Security-Token"] == SESSION_TOKEN


def test_a_role_that_may_not_be_assumed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    role = "arn:aws:iam::210987654321:role/eks-upsert"
    denied = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"
    without_retries(monkeypatch)
    with Standin(lambda _: Reply(403, denied)) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        with pytest.raises(ClusterAccessDenied) as stopped:
            access.describe(aws_apis(monkeypatch), Target("production", role_arn=role))

    assert str(stopped.value) == (
        f"cannot assume {role} for its cluster: AccessDenied; its trust policy must name the function's role, and the "
        "parameter AssumableRoleArns must match it. Nothing was written"
    )


def test_a_role_that_may_not_describe_its_cluster_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    role = "arn:aws:iam::210987654321:role/eks-upsert"
    with Standin(role_credentials) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        with pytest.raises(ClusterAccessDenied, match=f"^role {role} may not call eks:DescribeCluster on"):
            describe(monkeypatch, refused(403, "AccessDeniedException"), Target("production", role_arn=role))


def test_an_eks_api_that_is_not_reached_says_how_to_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without_retries(monkeypatch)
    with Standin(lambda _: Reply()) as gone:
        monkeypatch.setenv("AWS_ENDPOINT_URL_EKS", gone.url)

    with pytest.raises(ClusterUnreachable, match=r"EndpointConnectionError; check the way to the EKS API"):
        access.describe(aws_apis(monkeypatch), Target("production"))
