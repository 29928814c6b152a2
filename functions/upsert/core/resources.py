"""What the API server calls what is written: the one place where a path is built.

https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
"""

from typing import NamedTuple


class Resource(NamedTuple):
    """A type of API objects: its Kind, its plural in paths and roles, its API group (empty for core) and version."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"

    @property
    def api_version(self) -> str:
        """Return what documents say as ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of one object, of a namespace's objects, or of all of them."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"
        return f"{within}/{name}" if name else within


def named_by(path: str) -> tuple[str, str]:
    """Return the namespace and the name in the path of one object."""
    *_, namespace, _, name = path.split("/")
    return namespace, name


NAMESPACES = Resource("Namespace", "namespaces")
SECRETS = Resource("Secret", "secrets")
CONFIG_MAPS = Resource("ConfigMap", "configmaps")
SERVICE_ACCOUNTS = Resource("ServiceAccount", "serviceaccounts")
RESOURCE_QUOTAS = Resource("ResourceQuota", "resourcequotas")
LIMIT_RANGES = Resource("LimitRange", "limitranges")
NETWORK_POLICIES = Resource("NetworkPolicy", "networkpolicies", "networking.k8s.io")
DISRUPTION_BUDGETS = Resource("PodDisruptionBudget", "poddisruptionbudgets", "policy")

# What a manifest may be of, and all that can be written.
MANIFESTS = (RESOURCE_QUOTAS, LIMIT_RANGES, NETWORK_POLICIES, DISRUPTION_BUDGETS)
WRITTEN = (SECRETS, CONFIG_MAPS, *MANIFESTS)


def external_secrets(version: str) -> Resource:
    """Return the resource of External Secrets Operator in one of its versions."""
    return Resource("ExternalSecret", "externalsecrets", "external-secrets.io", version)
