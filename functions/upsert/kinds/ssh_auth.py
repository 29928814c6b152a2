"""kubernetes.io/ssh-auth: a private key.

https://kubernetes.io/docs/concepts/configuration/secret/#ssh-authentication-secrets
"""

from upsert.kinds import keyed

KIND = keyed.secret("ssh-auth", "kubernetes.io/ssh-auth", needs_all=("ssh-privatekey",))
