"""kubernetes.io/basic-auth: a username and a password.

https://kubernetes.io/docs/concepts/configuration/secret/#basic-authentication-secret
"""

from upsert.core.fields import Fields
from upsert.kinds import keyed
from upsert.kinds.kind import Data

_KEYS = ("username", "password")


def _check_keys(data: Fields) -> None:
    """Note data without either key, which the API server would refuse."""
    if not any(key in data for key in _KEYS):
        data.wrong(None, f"has none of the keys {' and '.join(_KEYS)}; expected one of them at least")


def _check_values(_: Data) -> None:
    """Any bytes are a username or a password."""


KIND = keyed.secret("basic-auth", "kubernetes.io/basic-auth", _check_keys, _check_values)
