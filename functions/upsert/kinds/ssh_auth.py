"""kubernetes.io/ssh-auth: a private key.

https://kubernetes.io/docs/concepts/configuration/secret/#ssh-authentication-secrets
"""

from upsert.core.objects import BadMaterial
from upsert.kinds import keyed
from upsert.kinds.kind import Data

_KEY = "ssh-privatekey"


def _check(data: Data) -> None:
    """Raise `BadMaterial` for an empty key, which is all that the API server looks for."""
    if not data[_KEY].reveal():
        raise BadMaterial(f"{_KEY}: is empty; expected a private key")


KIND = keyed.secret("ssh-auth", "kubernetes.io/ssh-auth", needs_all=(_KEY,), check=_check)
