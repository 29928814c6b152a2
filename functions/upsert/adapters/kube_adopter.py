"""The Kubernetes API server for the adopter, which alone may read the one Secret."""

from functools import partial
from urllib.parse import urlencode

from upsert.adapters.kube import METADATA, Cluster
from upsert.core import answers
from upsert.core.answers import Answer
from upsert.core.live import ExternalSecret
from upsert.core.manifest import FIELD_MANAGER
from upsert.core.sensitive import Sensitive

_JSON = {"Accept": "application/json"}


class Adopter(Cluster):
    """One cluster's API server, for one run of the adopter. Threads may share it."""

    role = "eks-upsert-adopter"
    role_file = "rbac/adopter.yaml"

    _versions: tuple[str, ...] = ("v1", "v1beta1")
    may_see_external_secrets = True

    def read_secret(self, namespace: str, name: str) -> Answer:
        """Return the answer to a GET of the Secret, which holds it if there is one."""
        return self._call("GET", _path(namespace, name), _JSON, None, answers.read_secret)

    def adopt(self, namespace: str, name: str, manifest: Sensitive[bytes]) -> Answer:
        """Return the answer to one unforced apply of a manifest that names the version it is for."""
        content_type = "application/apply-patch+yaml"
        return self._write(namespace, name, content_type, manifest.reveal(), force="false")

    def remove_last_applied_from(self, namespace: str, name: str, patch: bytes) -> Answer:
        """Return the answer to a merge patch that removes the annotation from the version that it names."""
        return self._write(namespace, name, "application/merge-patch+json", patch)

    def external_secrets(self, namespace: str, name: str) -> tuple[ExternalSecret, ...]:
        """Return the ExternalSecrets that write the Secret, none if there are none or we may not see them.

        Reading them is a courtesy: the shipped ClusterRole does not ask for it. What the first question shows to be
        absent or forbidden is not asked for again.
        """
        for version in self._versions:
            path = f"/apis/external-secrets.io/{version}/namespaces/{namespace}/externalsecrets"
            answer = self._call("GET", path, _JSON, None, partial(answers.read_external_secrets, name))
            if answer.succeeded:
                self._versions = (version,)
                return answer.external_secrets
            if answer.status != 404:
                self.may_see_external_secrets = False
                break
        self._versions = ()
        return ()

    def _write(self, namespace: str, name: str, content_type: str, body: bytes, **query: str) -> Answer:
        path = f"{_path(namespace, name)}?{urlencode({'fieldManager': FIELD_MANAGER, **query})}"
        headers = {"Accept": METADATA, "Content-Type": content_type}
        return self._call("PATCH", path, headers, body, answers.read_conditional)


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets/{name}"
