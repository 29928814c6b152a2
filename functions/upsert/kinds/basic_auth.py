"""kubernetes.io/basic-auth: a username and a password.

https://kubernetes.io/docs/concepts/configuration/secret/#basic-authentication-secret
"""

from upsert.kinds import keyed

KIND = keyed.secret("basic-auth", "kubernetes.io/basic-auth", needs_any=("username", "password"))
