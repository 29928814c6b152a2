"""Who asks the API server: what its answers are to be read against."""

from typing import NamedTuple

# Also the Kubernetes group of the refresher. A field manager cannot be renamed later: what it owns would stay its own.
FIELD_MANAGER = "eks-upsert"


class Identity(NamedTuple):
    """A function as the cluster knows it: its Kubernetes group, and how that group gets its permissions."""

    group: str
    role: str


REFRESHER = Identity("eks-upsert", "rbac/refresher.yaml (`make rbac` prints it for your objects)")
ADOPTER = Identity("eks-upsert-adopter", "rbac/adopter.yaml (`make rbac ADOPTER=1` prints it for your objects)")
