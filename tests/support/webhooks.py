"""Admission webhooks as tests configure them."""

import base64
from typing import Any


def configuration(name: str, *hooks: dict[str, Any], kind: str = "Validating") -> dict[str, Any]:
    """Return the object that has the API server ask these webhooks, which only validate unless another kind is said."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }


def hook(name: str, url: str, ca_pem: str, *, label: str, seconds: int, policy: str) -> dict[str, Any]:
    """Return a webhook for writes to Secrets in namespaces with the label; `policy` is its failurePolicy."""
    return {
        "name": name,
        "clientConfig": {"url": f"{url}/", "caBundle": base64.b64encode(ca_pem.encode()).decode()},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["secrets"]}
        ],
        "namespaceSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": policy,
        "timeoutSeconds": seconds,
    }
