"""kubernetes.io/tls: a certificate and its key.

https://kubernetes.io/docs/concepts/configuration/secret/#tls-secrets
"""

from upsert.kinds import keyed

KIND = keyed.secret("tls", "kubernetes.io/tls", needs_all=("tls.crt", "tls.key"))
