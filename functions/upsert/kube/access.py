"""Where an EKS cluster is."""

import base64
from dataclasses import dataclass

from upsert.aws import Aws
from upsert.core.objects import Target
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
_DENIED = ("AccessDenied", "AccessDeniedException", "UnrecognizedClientException")


@dataclass(frozen=True, slots=True)
class ClusterAccess:
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
    status = cluster.get("status", "")
    if status not in _SERVING:
        raise ClusterNotActive(f"{where} is {status or 'in no known state'}; expected {' or '.join(_SERVING)}")
    endpoint, ca = cluster.get("endpoint"), cluster.get("certificateAuthority", {}).get("data")
    if not (isinstance(endpoint, str) and endpoint.startswith("https://") and isinstance(ca, str) and ca):
        raise ClusterNotActive(f"{where} is {status} but has no endpoint or no certificate authority yet")
    try:
        return ClusterAccess(endpoint.rstrip("/"), base64.b64decode(ca).decode("ascii"))
    except ValueError:
        raise ClusterNotTrusted(
            f"the certificate authority that EKS names for {where} is not base64 of PEM; look for a proxy before the "
            "EKS API"
        ) from None


def _why_not_described(
    where: str, target: Target, error: AwsError
) -> ClusterNotFound | ClusterAccessDenied | ClusterUnreachable:
    if error.while_assuming:
        return ClusterAccessDenied(
            f"cannot assume {target.role_arn} for its cluster: {error.code}. Its trust policy must name the function's "
            "role, and the parameter AssumableRoleArns must match it. Nothing was written"
        )
    if error.code == "ResourceNotFoundException":
        return ClusterNotFound(f"EKS knows no {where}; check its name and region")
    if error.code in _DENIED:
        identity = f"role {target.role_arn}" if target.role_arn else "the function's role"
        return ClusterAccessDenied(
            f"{identity} may not call eks:DescribeCluster on {where} ({error.code}); redeploy the stack, and look for "
            "a service control policy or permissions boundary that denies it"
        )
    return ClusterUnreachable(
        f"EKS did not describe {where}: {error.code}; check the way to the EKS API (NAT gateway or VPC endpoint eks)"
    )
