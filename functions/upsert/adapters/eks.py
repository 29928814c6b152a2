"""Where an EKS cluster is, and the bearer tokens that it accepts from us."""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import boto3
from botocore.model import ServiceId
from botocore.signers import RequestSigner

from upsert.adapters import aws
from upsert.core.registries import dns_suffix
from upsert.core.sensitive import Sensitive
from upsert.errors import (
    ClusterAccessDenied,
    ClusterNotActive,
    ClusterNotFound,
    ClusterNotTrusted,
    ClusterUnreachable,
)

# EKS serves during an update; in the other states there is no API server to talk to, or not for long.
_SERVING = ("ACTIVE", "UPDATING")

# The authenticator accepts a token for 15 minutes after its signature, whatever X-Amz-Expires says, and wants that to
# be at most 60: https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/token/token.go
_EXPIRES_IN_SECONDS = 60
_RENEW_AFTER_SECONDS = 10 * 60


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The HTTPS endpoint of an API server and the CA (PEM) that signs its certificate."""

    endpoint: str
    ca_pem: str


def reach(session: boto3.Session, region: str | None, role_arn: str | None) -> boto3.Session:
    """Return the session to call a cluster with: in its region, as the role if there is one, else as the function.

    Raises `ClusterAccessDenied`.
    """
    if role_arn is None:
        return aws.session(region or session.region_name)
    try:
        return aws.assume(session, role_arn, region)
    except aws.FAILURES as error:
        raise ClusterAccessDenied(
            f"cannot assume {role_arn} for its cluster: {aws.code_of(error)}. Its trust policy must name the "
            "function's role, and the parameter FleetRoleArns must match it. No namespace was touched"
        ) from None


def describe(session: boto3.Session, cluster_name: str) -> ClusterAccess:
    """Return where the cluster is. Raises a `ClusterError` if EKS does not tell, or the cluster does not serve."""
    client = session.client("eks", config=aws.CONFIG)
    where = f"cluster {cluster_name} in {session.region_name}"
    try:
        cluster = client.describe_cluster(name=cluster_name).get("cluster", {})
    except aws.FAILURES as error:
        code = aws.code_of(error)
        if code == "ResourceNotFoundException":
            raise ClusterNotFound(f"EKS knows no {where}; check CLUSTER_NAME and the stack's region") from None
        if code in ("AccessDenied", "AccessDeniedException", "UnrecognizedClientException"):
            raise ClusterAccessDenied(
                f"the function's role may not call eks:DescribeCluster on {where} ({code}); redeploy the stack, and "
                "look for a service control policy or permissions boundary that denies it"
            ) from None
        raise ClusterUnreachable(
            f"EKS did not describe {where}: {code}; check the way to the EKS API (NAT gateway or VPC endpoint eks)"
        ) from None
    status = cluster.get("status", "")
    if status not in _SERVING:
        raise ClusterNotActive(f"{where} is {status or 'in no known state'}; expected {' or '.join(_SERVING)}")
    endpoint, ca = cluster.get("endpoint", ""), cluster.get("certificateAuthority", {}).get("data", "")
    if not (endpoint.startswith("https://") and ca):
        raise ClusterNotActive(f"{where} is {status} but has no endpoint or no certificate authority yet")
    try:
        return ClusterAccess(endpoint, base64.b64decode(ca).decode("ascii"))
    except ValueError:
        raise ClusterNotTrusted(
            f"the certificate authority that EKS names for {where} is not base64 of PEM; look for a proxy before the "
            "EKS API"
        ) from None


def sign_bearer_token(session: boto3.Session, cluster_name: str) -> Sensitive[str]:
    """Return a bearer token for the cluster: a presigned GetCallerIdentity request, which only the cluster can use.

    The cluster's name is signed in as the header x-k8s-aws-id, so that the token is good for no other cluster. The
    host is the region's own STS, of the region's partition. Protocol:
    https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
    """
    region, credentials = session.region_name, session.get_credentials()
    if credentials is None:
        raise ClusterAccessDenied("the function has no AWS credentials to sign a bearer token with")
    # From the SDK's signer and not from a client: a client could be pointed at another host by AWS_ENDPOINT_URL.
    signer = RequestSigner(ServiceId("STS"), region, "sts", "v4", credentials, session.events)
    url = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": f"https://sts.{region}.{dns_suffix(region)}/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": cluster_name},
            "context": {},
        },
        region_name=region,
        expires_in=_EXPIRES_IN_SECONDS,
        operation_name="",
    )
    return Sensitive("k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("="))


class BearerTokens:
    """The bearer token of a run, shared by all workers.

    A token is renewed ahead of its end, and once more when the API server refuses one: then the fault may be in the
    token. If it refuses that one too, the fault is not in the token, and `exhausted` says so to every worker.
    """

    def __init__(self, sign: Callable[[], Sensitive[str]], clock: Callable[[], float] = time.monotonic) -> None:
        self._sign = sign
        self._clock = clock
        self._lock = Lock()
        self._token: Sensitive[str] | None = None
        self._signed_at = 0.0
        self._renewed_after_refusal = False
        self.exhausted = False

    def current(self) -> Sensitive[str]:
        """Return a token that is good for minutes."""
        with self._lock:
            if self._token is None or self._clock() - self._signed_at > _RENEW_AFTER_SECONDS:
                return self._renew()
            return self._token

    def renew(self, refused: Sensitive[str]) -> bool:
        """Return whether there is another token to try than the `refused` one."""
        with self._lock:
            if self._token is not refused:
                return True
            if self._renewed_after_refusal:
                self.exhausted = True
                return False
            self._renewed_after_refusal = True
            self._renew()
            return True

    def _renew(self) -> Sensitive[str]:
        self._token = self._sign()
        self._signed_at = self._clock()
        return self._token
