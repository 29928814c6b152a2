"""Where an EKS cluster is."""

import base64
import re
from typing import NamedTuple

from upsert.aws import Aws
from upsert.core.objects import Target
from upsert.core.urls import is_endpoint
from upsert.errors import (
    AwsError,
    ClusterAccessDenied,
    ClusterNotActive,
    ClusterNotFound,
    ClusterNotTrusted,
    ClusterUnreachable,
)

# EKS serves during an update; in the other states there is no API server to talk to, or not for long.
_SERVING = ("ACTIVE", "UPDATING")
_STATUS = "[A-Z_]{1,40}"
_DENIED = ("AccessDenied", "AccessDeniedException", "UnrecognizedClientException")


class ClusterAccess(NamedTuple):
    """The HTTPS endpoint of an API server and the CA (PEM) that signs its certificate."""

    endpoint: str
    ca_pem: str


def describe(aws: Aws, target: Target) -> ClusterAccess:
    """Return where the cluster is. Raises a `ClusterError` if EKS does not tell, or the cluster does not serve."""
    where = f"cluster {target.name} in {target.region or aws.region}"
    try:
        answer = aws.call("eks", "describe_cluster", region=target.region, role_arn=target.role_arn, name=target.name)
    except AwsError as error:
        raise _why_not_described(where, target, error) from None
    cluster = answer.get("cluster", {})
    status = cluster.get("status")
    if status not in _SERVING:
        known = status if isinstance(status, str) and re.fullmatch(_STATUS, status) else "in no known state"
        raise ClusterNotActive(f"{where} is {known}; expected {' or '.join(_SERVING)}")
    endpoint, ca = cluster.get("endpoint"), cluster.get("certificateAuthority", {}).get("data")
    if not (isinstance(endpoint, str) and _is_https(endpoint) and isinstance(ca, str) and ca):
        raise ClusterNotActive(f"{where} is {status} but has no endpoint or no certificate authority yet")
    try:
        return ClusterAccess(endpoint.rstrip("/"), base64.b64decode(ca).decode("ascii"))
    except ValueError:
        raise ClusterNotTrusted(
            f"the certificate authority that EKS names for {where} is not base64 of PEM; look for a proxy before the "
            "EKS API"
        ) from None


def cannot_assume(target: Target, error: AwsError) -> ClusterAccessDenied:
    """Return why the role of a cluster cannot be assumed, and what that needs."""
    remedy = error.remedy or (
        "its trust policy must name the function's role, and the parameter AssumableRoleArns must match it"
    )
    return ClusterAccessDenied(
        f"cannot assume {target.role_arn} for its cluster: {error.code}; {remedy}. Nothing was written"
    )


def _is_https(endpoint: str) -> bool:
    return endpoint.startswith("https://") and is_endpoint(endpoint)


def _why_not_described(
    where: str, target: Target, error: AwsError
) -> ClusterNotFound | ClusterAccessDenied | ClusterUnreachable:
    if error.while_assuming:
        return cannot_assume(target, error)
    if error.code == "ResourceNotFoundException":
        return ClusterNotFound(f"EKS knows no {where}; check its name and region")
    if error.code in _DENIED:
        identity = f"role {target.role_arn}" if target.role_arn else "the function's role"
        return ClusterAccessDenied(
            f"{identity} may not call eks:DescribeCluster on {where} ({error.code}); redeploy the stack, and look for "
            "a service control policy or permissions boundary that denies it"
        )
    remedy = error.remedy or "check the way to the EKS API (NAT gateway or VPC endpoint eks)"
    return ClusterUnreachable(f"EKS did not describe {where}: {error.code}; {remedy}")
