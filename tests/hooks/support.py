"""Words of the check and manifests to begin with."""

from collections.abc import Mapping

type Cases = Mapping[str, tuple[str, list[str]]]
"""By what it shows: a text, and what is found in it, as `LINE: TEXT` or `LINE: note: TEXT`."""

NO_POLICY = "no creationPolicy, so it owns its Secret; write Owner, Orphan, Merge or None"
OWNER = (
    "creationPolicy Owner aims at aws-ecr-token, which the refresher writes; deleting the ExternalSecret would delete "
    "it. Aim at another name, or remove this ExternalSecret"
)
TEMPLATE_POLICY = "skipped: a template decides its creationPolicy"
TEMPLATE_KIND = "skipped: a template decides its kind; check what it renders to"
PARTIAL = "skipped: without data or without a store it is taken for a patch"
TAKES_AWAY = "skipped: a patch that takes something away; check what Kustomize builds"
OWNER_ELSEWHERE = "skipped: whether creationPolicy Owner aims at aws-ecr-token is decided elsewhere"
DELETE_ELSEWHERE = "skipped: whether deletionPolicy Delete meets creationPolicy Merge is decided elsewhere"

# Whole objects; what a test adds begins in line 8.
HEAD = """\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: database
spec:
  secretStoreRef: {name: store}
  dataFrom: [{extract: {key: database}}]
"""
CLUSTER_HEAD = """\
apiVersion: external-secrets.io/v1
kind: ClusterExternalSecret
metadata: {name: pull}
spec:
  externalSecretSpec:
    secretStoreRef: {name: store}
    data: [{secretKey: a, remoteRef: {key: b}}]
"""


def external_secret(target: str = "", name: str = "database") -> str:
    return HEAD.replace("name: database", f"name: {name}") + target


def delete_with(policy: str) -> str:
    would = "would delete a Secret that others write; use Retain or Merge"
    return f"deletionPolicy Delete together with creationPolicy {policy} {would}"


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))
