"""The docker config that a kubelet reads from a pull Secret."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass

from pullsecret.core.sensitive import Sensitive


@dataclass(frozen=True, slots=True)
class Login:
    """A registry host with the username and password that it takes."""

    host: str
    username: str
    password: Sensitive[str]


def render(logins: Iterable[Login]) -> Sensitive[bytes]:
    """Return the bytes of a ``.dockerconfigjson``: compact JSON, hosts sorted, so that equal logins give equal bytes.

    Hosts are bare, as ``docker login`` writes them; the kubelet matches them against the image reference.
    Format: https://kubernetes.io/docs/concepts/configuration/secret/#docker-config-secrets
    """
    auths = {}
    for login in sorted(logins, key=lambda login: login.host):
        password = login.password.reveal()
        auth = base64.b64encode(f"{login.username}:{password}".encode()).decode()
        auths[login.host] = {"username": login.username, "password": password, "auth": auth}
    return Sensitive(json.dumps({"auths": auths}, separators=(",", ":")).encode())
