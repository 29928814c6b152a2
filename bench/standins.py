"""What the real handler needs around a control plane: EKS, and the webhook that knows the function by its token."""

import base64
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

CLUSTER = "bench"
USER = "function"
GROUP = "eks-upsert"
REGION = "eu-central-1"
ACCOUNT = "123456789012"

_TOKEN_PREFIX = "k8s-aws-v1."


class EksStandin:
    """Answers DescribeCluster and TokenReview on a free loopback port while the `with` block lasts.

    It accepts the bearer tokens that are signed with its own access key, so that the function signs them for real.
    """

    def __init__(self) -> None:
        self.access_key = f"AKIA{secrets.token_hex(8).upper()}"
        self.endpoint = ""
        self.ca_pem = ""
        standin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(standin.described())

            def do_POST(self) -> None:
                self._answer(standin.reviewed(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))

            def _answer(self, body: dict[str, Any]) -> None:
                content = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def described(self) -> dict[str, Any]:
        authority = {"data": base64.b64encode(self.ca_pem.encode()).decode()}
        cluster = {"name": CLUSTER, "status": "ACTIVE", "endpoint": self.endpoint, "certificateAuthority": authority}
        return {"cluster": cluster}

    def reviewed(self, review: dict[str, Any]) -> dict[str, Any]:
        status: dict[str, Any] = {"authenticated": self._signed_by(review["spec"]["token"]) == self.access_key}
        if status["authenticated"]:
            status["user"] = {"username": USER, "uid": USER, "groups": [GROUP]}
        return {"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}

    def _signed_by(self, token: str) -> str:
        if not token.startswith(_TOKEN_PREFIX):
            return ""
        encoded = token.removeprefix(_TOKEN_PREFIX)
        url = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        return parse_qs(urlsplit(url).query).get("X-Amz-Credential", [""])[0].partition("/")[0]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
