"""An ECR of the tests' own: every GetAuthorizationToken gets a new token, as on AWS.

The local emulator hands out one constant token, so nothing ever rotates there. This stand-in speaks the same protocol
(AWS JSON 1.1) and answers each call with a fresh password of a realistic length. Given an `upstream`, it first passes
the signed request on unchanged: who may call is then decided by the emulator's IAM, and a denial comes back as it is.
"""

import base64
import http.client
import json
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support import standin
from tests.support.standin import Standin

TARGET = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
ACCOUNT = "123456789012"
TOKEN_LIFETIME_S = 12 * 60 * 60

# The region is the third part of a SigV4 credential scope: key/date/region/service/aws4_request.
_CREDENTIAL = re.compile(r"Credential=[^/]+/\d{8}/([^/]+)/ecr/aws4_request")


@dataclass(frozen=True)
class Reply:
    """What goes back over the wire: an HTTP status and a JSON body."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One GetAuthorizationToken that was answered with a token or refused."""

    region: str
    status: int
    password: str | None


Answer = Callable[[str], Reply]
"""From the region that the request was signed for to the reply."""


def new_password() -> str:
    """Return a password of the length and alphabet ECR uses: base64 text of about 2,500 characters."""
    payload = {
        "payload": base64.b64encode(secrets.token_bytes(1200)).decode(),
        "datakey": base64.b64encode(secrets.token_bytes(150)).decode(),
        "version": "2",
        "type": "DATA_KEY",
        "expiration": int(time.time()) + TOKEN_LIFETIME_S,
    }
    return base64.b64encode(json.dumps(payload).encode()).decode()


def token(region: str, *, text: str | None = None, lifetime_s: float = TOKEN_LIFETIME_S) -> Reply:
    """Return a reply with one token: `text` in base64, or `AWS:` and a new password."""
    decoded = f"AWS:{new_password()}" if text is None else text
    data = {
        "authorizationToken": base64.b64encode(decoded.encode()).decode(),
        "expiresAt": round(time.time() + lifetime_s, 3),
        "proxyEndpoint": f"https://{ACCOUNT}.dkr.ecr.{region}.amazonaws.com",
    }
    return Reply(200, {"authorizationData": [data]})


def denied(_region: str) -> Reply:
    """Return what ECR says to a role that lacks ecr:GetAuthorizationToken."""
    message = (
        f"User: arn:aws:sts::{ACCOUNT}:assumed-role/refresher/session is not authorized to perform: "
        "ecr:GetAuthorizationToken on resource: * because no identity-based policy allows the "
        "ecr:GetAuthorizationToken action"
    )
    return Reply(400, {"__type": "AccessDeniedException", "Message": message})


def no_data(_region: str) -> Reply:
    """Return a success without any token in it."""
    return Reply(200, {"authorizationData": []})


def empty_token(region: str) -> Reply:
    """Return a token of no characters."""
    return token(region, text="")


def foreign_token(region: str) -> Reply:
    """Return a token whose user is not `AWS`."""
    return token(region, text=f"someone:{new_password()}")


def expired(region: str) -> Reply:
    """Return a token that expired a minute ago."""
    return token(region, lifetime_s=-60)


def expiring_soon(region: str) -> Reply:
    """Return a token with ten minutes to live, less than any sensible schedule."""
    return token(region, lifetime_s=600)


class EcrStandin(Standin):
    """Serves GetAuthorizationToken on a free loopback port while the `with` block lasts."""

    def __init__(self, *, upstream: str | None = None) -> None:
        """Prepare the stand-in; `upstream` is the URL of an emulator that decides who may call."""
        super().__init__(self._answer)
        self.upstream = upstream
        self._tokens: Answer = token
        self._calls: list[Call] = []

    @property
    def calls(self) -> list[Call]:
        """Every call so far, oldest first."""
        with self._lock:
            return list(self._calls)

    @property
    def passwords(self) -> list[str]:
        """Every password handed out so far, oldest first."""
        return [call.password for call in self.calls if call.password is not None]

    @contextmanager
    def answering(self, answer: Answer) -> Iterator[None]:
        """Answer with `answer` instead of fresh tokens while the block lasts."""
        previous, self._tokens = self._tokens, answer
        try:
            yield
        finally:
            self._tokens = previous

    def forget(self) -> None:
        """Forget the calls so far."""
        super().forget()
        with self._lock:
            self._calls.clear()

    def _answer(self, request: standin.Request) -> standin.Reply:
        reply = self._granted(dict(request.headers), request.body)
        return standin.Reply(reply.status, reply.body, {"Content-Type": "application/x-amz-json-1.1"})

    def _granted(self, headers: dict[str, str], body: bytes) -> Reply:
        if headers.get("X-Amz-Target") != TARGET:
            return Reply(400, {"__type": "UnknownOperationException"})
        signed_for = _CREDENTIAL.search(headers.get("Authorization", ""))
        if signed_for is None:
            return Reply(
                400, {"__type": "MissingAuthenticationTokenException", "Message": "Missing Authentication Token"}
            )
        region = signed_for.group(1)
        reply = self._refusal(headers, body) or self._tokens(region)
        with self._lock:
            self._calls.append(Call(region, reply.status, _password(reply)))
        return reply

    def _refusal(self, headers: dict[str, str], body: bytes) -> Reply | None:
        """Return the upstream's refusal, or None when it lets the caller through or there is no upstream.

        The headers go on untouched, `Host` too: the signature covers them.
        """
        if self.upstream is None:
            return None
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=30)
        try:
            connection.request("POST", "/", body, headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        return None if response.status == 200 else Reply(response.status, answer)


def _password(reply: Reply) -> str | None:
    data = reply.body.get("authorizationData") or [{}]
    user, colon, password = base64.b64decode(data[0].get("authorizationToken", "")).decode().partition(":")
    return password if user == "AWS" and colon else None
