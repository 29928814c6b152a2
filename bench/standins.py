"""What the real handler needs around a control plane: EKS, and the webhook that knows the function by its token."""

import base64
import json
import secrets
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.standin import Reply, Request, Standin

CLUSTER = "bench"
USER = "function"
REFRESHERS, ADOPTERS = "eks-upsert", "eks-upsert-adopter"
REGION = "eu-central-1"
ACCOUNT = "123456789012"

_TOKEN_PREFIX = "k8s-aws-v1."


class EksStandin(Standin):
    """Answers DescribeCluster and TokenReview on a free loopback port while the `with` block lasts.

    It accepts the bearer tokens that are signed with its own access key, so that the function signs them for real.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.access_key = f"AKIA{secrets.token_hex(8).upper()}"
        self.endpoint = ""
        self.group = REFRESHERS
        self.ca_pem = ""

    def described(self) -> dict[str, Any]:
        authority = {"data": base64.b64encode(self.ca_pem.encode()).decode()}
        cluster = {"name": CLUSTER, "status": "ACTIVE", "endpoint": self.endpoint, "certificateAuthority": authority}
        return {"cluster": cluster}

    def reviewed(self, review: dict[str, Any]) -> dict[str, Any]:
        status: dict[str, Any] = {"authenticated": self._signed_by(review["spec"]["token"]) == self.access_key}
        if status["authenticated"]:
            status["user"] = {"username": USER, "uid": USER, "groups": [self.group]}
        return {"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}

    def _answer(self, request: Request) -> Reply:
        body = self.reviewed(json.loads(request.body)) if request.method == "POST" else self.described()
        return Reply(body=body, headers={"Content-Type": "application/json"})

    def _signed_by(self, token: str) -> str:
        if not token.startswith(_TOKEN_PREFIX):
            return ""
        encoded = token.removeprefix(_TOKEN_PREFIX)
        url = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        return parse_qs(urlsplit(url).query).get("X-Amz-Credential", [""])[0].partition("/")[0]
