"""The bearer tokens that an EKS cluster accepts from us."""

import base64
import time
from collections.abc import Callable
from threading import Lock

import boto3
from botocore.exceptions import BotoCoreError
from botocore.model import ServiceId
from botocore.signers import RequestSigner

from upsert.core.registries import dns_suffix
from upsert.core.sensitive import Sensitive
from upsert.errors import ClusterAccessDenied

# The authenticator accepts a token for 15 minutes after its signature, whatever X-Amz-Expires says, and wants that to
# be at most 60: https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/token/token.go
_EXPIRES_IN_SECONDS = 60
_RENEW_AFTER_SECONDS = 10 * 60
_SIGNED_ANEW_AFTER_SECONDS = 1.0


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
    request = {
        "method": "GET",
        "url": f"https://sts.{region}.{dns_suffix(region)}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": cluster_name},
        "context": {},
    }
    try:
        url = signer.generate_presigned_url(
            request, region_name=region, expires_in=_EXPIRES_IN_SECONDS, operation_name=""
        )
    except BotoCoreError as error:
        raise ClusterAccessDenied(
            f"the function's credentials are not there to sign a bearer token with ({type(error).__name__}); run it "
            "again"
        ) from None
    return Sensitive("k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("="))


class BearerTokens:
    """The bearer token of a run, shared by all workers.

    A token is renewed ahead of its end, and once more when the API server refuses one: then the fault may be in the
    token. If it refuses that one too, the fault is not in the token, and `exhausted` says so to every worker.
    """

    def __init__(
        self,
        sign: Callable[[], Sensitive[str]],
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`sign` makes a token, `clock` counts seconds, `pause` lets some of them go by."""
        self._sign = sign
        self._clock = clock
        self._pause = pause
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
            if self._renew() == refused:
                # Signed within the same second, a token is the same one byte for byte, and refused as before.
                self._pause(_SIGNED_ANEW_AFTER_SECONDS)
                self._renew()
            return True

    def _renew(self) -> Sensitive[str]:
        self._token = self._sign()
        self._signed_at = self._clock()
        return self._token
