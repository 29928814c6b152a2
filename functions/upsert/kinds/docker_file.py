"""Docker configs that one value holds whole, and that are written as they are: both of their types.

https://kubernetes.io/docs/concepts/configuration/secret/#docker-config-secrets
"""

import json
from math import isinf

from upsert.core import docker_auth
from upsert.core.objects import BadMaterial
from upsert.kinds import keyed
from upsert.kinds.kind import Data

_JSON, _LEGACY = ".dockerconfigjson", ".dockercfg"


def _check(data: Data) -> None:
    text = data[_JSON].reveal()
    _refuse(_JSON, text, text)


def _check_legacy(data: Data) -> None:
    text = data[_LEGACY].reveal()
    # The hosts stand at its top, as they do under auths in the other one.
    _refuse(_LEGACY, text, b'{"auths":%b}' % text)


def _refuse(key: str, text: bytes, config: bytes) -> None:
    """Raise `BadMaterial` if the API server would not take the text, or a kubelet reads no login of the config."""
    try:
        document = json.loads(
            text.decode(errors="surrogateescape"), parse_float=_number, parse_int=_number, parse_constant=_number
        )
    except (ValueError, RecursionError):
        why = "starts with a byte order mark" if text.startswith(b"\xef\xbb\xbf") else "is no JSON"
        raise BadMaterial(f"{key}: {why}; expected a docker config") from None
    if not isinstance(document, dict | None):
        raise BadMaterial(f"{key}: is no JSON object; expected a docker config")
    if unreadable := docker_auth.unreadable(config):
        raise BadMaterial(f"{key}: a kubelet could not read it: {unreadable}")


def _number(text: str) -> float:
    """Return a number as Go reads it. Raises `ValueError` for what is none in JSON, or too large for a float."""
    number = float(text) if text.lstrip("-")[:1].isdigit() else float("inf")
    if isinf(number):
        raise ValueError("no number")
    return number


CONFIG = keyed.secret(
    "kubernetes.io/dockerconfigjson", "kubernetes.io/dockerconfigjson", needs_all=(_JSON,), check=_check
)
LEGACY = keyed.secret("kubernetes.io/dockercfg", "kubernetes.io/dockercfg", needs_all=(_LEGACY,), check=_check_legacy)
