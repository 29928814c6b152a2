"""A real Kubernetes control plane for tests: etcd and kube-apiserver on the loopback interface.

There is no controller manager: a deleted namespace stays Terminating, and the status of a quota has to be written by
the test. There are no nodes either.
"""

import csv
import json
import os
import secrets
import ssl
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import yaml
from kubernetes import client

from tests.support import assets as control_plane_assets
from tests.support.certificates import make_key_pem, make_serving_certificate
from tests.support.ports import reserved_port
from tests.support.processes import Workspace, answers

REPOSITORY = Path(__file__).parents[2]
SHIPPED_ROLES = (REPOSITORY / "rbac" / "adopter.yaml", REPOSITORY / "rbac" / "refresher.yaml")

GROUPS_OF_USERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "admin": ("system:masters",),
        "refresher": ("eks-upsert",),
        "adopter": ("eks-upsert-adopter",),
        "outsider": (),
    }
)

_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
_SYSTEM_NAMESPACES = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
_READY_SECONDS = 90.0
_RBAC = "rbac.authorization.k8s.io"
_AUTHORIZATION = "authorization.k8s.io/v1"
_SENTINEL_PATH = "/control-plane-ready"
_SENTINEL_ATTRIBUTES: Sequence[Mapping[str, object]] = (
    {"nonResourceAttributes": {"path": _SENTINEL_PATH, "verb": "get"}},
    {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "bindings"}},
)


def _sentinel(name: str) -> list[Mapping[str, object]]:
    """Return a role and a binding of each type that let the group of that name do what nobody else asks for."""
    in_cluster: Mapping[str, object] = {"nonResourceURLs": [_SENTINEL_PATH], "verbs": ["get"]}
    in_namespace: Mapping[str, object] = {"apiGroups": [""], "resources": ["bindings"], "verbs": ["get"]}
    found: list[Mapping[str, object]] = []
    for prefix, rule, metadata in (
        ("Cluster", in_cluster, {"name": name}),
        ("", in_namespace, {"name": name, "namespace": "default"}),
    ):
        of = {"apiVersion": f"{_RBAC}/v1", "metadata": metadata}
        found += [
            {**of, "kind": f"{prefix}Role", "rules": [rule]},
            {
                **of,
                "kind": f"{prefix}RoleBinding",
                "roleRef": {"apiGroup": _RBAC, "kind": f"{prefix}Role", "name": name},
                "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": name}],
            },
        ]
    return found


class KubectlFailed(Exception):
    """kubectl ended with an error; the message is what it wrote to standard error."""


class ControlPlane:
    """etcd and kube-apiserver, with the shipped RBAC applied, from entering the context to leaving it.

    Attributes are set once the context is entered: `endpoint` (https://127.0.0.1:PORT), `ca_pem`, `ca_file`,
    `audit_log` and `admin` (a client of the user admin, who is in system:masters).
    """

    endpoint: str
    ca_pem: str
    ca_file: Path
    audit_log: Path
    admin: client.ApiClient

    def __init__(
        self,
        *,
        assets: Path | None = None,
        authentication_webhook: str | None = None,
        extra_arguments: Sequence[str] = (),
        authority_key_identifier: bool = True,
    ) -> None:
        """Describe a control plane without starting it.

        `assets` is the folder of kube-apiserver, etcd and kubectl; by default it is looked up. `authentication_webhook`
        is the URL of a TokenReview webhook, asked about every token that is not one of `GROUPS_OF_USERS`.
        `extra_arguments` are added to those of kube-apiserver. Without `authority_key_identifier` the serving
        certificate lacks that extension.
        """
        self._assets = assets or control_plane_assets.locate()
        self._authentication_webhook = authentication_webhook
        self._extra_arguments = tuple(extra_arguments)
        self._authority_key_identifier = authority_key_identifier
        self._certificate = make_serving_certificate(authority_key_identifier=authority_key_identifier)
        self._tokens = {user: secrets.token_hex(16) for user in GROUPS_OF_USERS}

    def __enter__(self) -> Self:
        """Start everything and return when requests are answered and authorized; raise `ChildFailed` if it cannot."""
        with ExitStack() as cleanup:
            self._workspace = cleanup.enter_context(Workspace())
            self._folder = self._workspace.folder
            self._start_etcd()
            self._start_api_server()
            cleanup.callback(self.admin.close)
            self.apply_roles("\n---\n".join(file.read_text() for file in SHIPPED_ROLES))
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything and remove its folder."""
        self._cleanup.close()

    def token_for(self, user: str, groups: Sequence[str]) -> str:
        """Return the bearer token of a user of `GROUPS_OF_USERS`; raise `ValueError` if its groups are others."""
        if GROUPS_OF_USERS.get(user) != tuple(groups):
            raise ValueError(f"no token for user {user!r} in groups {list(groups)}; known: {dict(GROUPS_OF_USERS)}")
        return self._tokens[user]

    def token_of(self, user: str) -> str:
        """Return the bearer token of a user of `GROUPS_OF_USERS`."""
        return self._tokens[user]

    def kubeconfig(self, token: str) -> Path:
        """Write a kubeconfig file for a bearer token and return its path."""
        path = self._folder / f"kubeconfig-{secrets.token_hex(4)}.yaml"
        self._write_kubeconfig(path, self.endpoint, token=token)
        return path

    def api_client(self, token: str) -> client.ApiClient:
        """Return a Kubernetes client for a bearer token; the caller closes it."""
        configuration = client.Configuration(host=self.endpoint)
        configuration.ssl_ca_cert = str(self.ca_file)
        configuration.api_key["authorization"] = f"Bearer {token}"
        configuration.proxy = None
        api = client.ApiClient(configuration)
        api.rest_client.pool_manager.connection_pool_kw["ssl_context"] = self.tls_context()
        return api

    def tls_context(self) -> ssl.SSLContext:
        """Return a TLS context that trusts the API server, as strict as its certificate allows."""
        context = ssl.create_default_context(cadata=self.ca_pem)
        if not self._authority_key_identifier:
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        """Run kubectl as admin and return its standard output; raise `KubectlFailed` with its standard error."""
        done = subprocess.run(
            [str(self._assets / "kubectl"), f"--kubeconfig={self._admin_kubeconfig}", *args],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "HOME": str(self._folder)},
        )
        if done.returncode != 0:
            raise KubectlFailed(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def wait_established(self, crd: str, timeout: float = 60.0) -> None:
        """Wait until a CustomResourceDefinition is served; `kubectl wait` fails on one that has no conditions yet."""
        deadline = time.monotonic() + timeout
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}"
        while not any(
            one["type"] == "Established" and one["status"] == "True"
            for one in self.request("GET", path).get("status", {}).get("conditions") or ()
        ):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{crd} was not established within {timeout:.0f} s")
            time.sleep(0.1)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """Send one request as admin and return the decoded answer; raise `ApiException` unless it is a success."""
        response = self.admin.call_api(
            path,
            method,
            query_params=list((query or {}).items()),
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
        )
        decoded: dict[str, Any] = json.loads(response.data)
        return decoded

    def create_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Create a namespace and return it."""
        return self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels or {})}})

    def delete_namespace(self, name: str) -> None:
        """Ask for a namespace to be deleted; it stays Terminating, with all it holds."""
        self.request("DELETE", f"/api/v1/namespaces/{name}")

    def remove_namespace(self, name: str) -> None:
        """Make a namespace and its Secrets go away for good."""
        path = f"/api/v1/namespaces/{name}"
        self.request("DELETE", f"{path}/secrets")
        namespace = self.request("GET", path)
        if "deletionTimestamp" not in namespace["metadata"]:
            namespace = self.request("DELETE", path)
        namespace["spec"]["finalizers"] = []
        self.request("PUT", f"{path}/finalize", namespace)

    def get_secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return a Secret as the API server gives it, or None if there is none."""
        try:
            return self.request("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}")
        except client.ApiException as error:
            if error.status == 404:
                return None
            raise

    def create_secret(self, namespace: str, body: Mapping[str, Any], field_manager: str) -> dict[str, Any]:
        """Create a Secret as a field manager and return it."""
        return self.request(
            "POST", f"/api/v1/namespaces/{namespace}/secrets", dict(body), query={"fieldManager": field_manager}
        )

    def apply_yaml(self, text: str) -> None:
        """Apply manifests with kubectl, server-side."""
        self.kubectl("apply", "--server-side", "--filename=-", stdin=text)

    def apply_roles(self, text: str) -> None:
        """Apply roles, such as the compiler prints them, and return when the API server acts on them."""
        # The authorizer learns of roles through watches, of each type in the order of writing. Once it knows the
        # sentinel's, it knows all that were applied before.
        sentinel = f"sentinel-{secrets.token_hex(4)}"
        self.apply_yaml("\n---\n".join([text, yaml.safe_dump_all(_sentinel(sentinel))]))
        deadline = time.monotonic() + _READY_SECONDS
        while not all(self._may(sentinel, attributes) for attributes in _SENTINEL_ATTRIBUTES):
            if time.monotonic() > deadline:
                raise TimeoutError("the API server does not act on the roles that were applied")
            time.sleep(0.02)

    def _may(self, group: str, attributes: Mapping[str, object]) -> bool:
        review = {"spec": {"user": "sentinel", "groups": [group], **attributes}}
        answer = self.request("POST", f"/apis/{_AUTHORIZATION}/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"])

    def _start_etcd(self) -> None:
        self._etcd_socket = f"unix://{self._folder}/etcd.sock"
        etcd = self._workspace.start(
            "etcd",
            [
                self._assets / "etcd",
                f"--data-dir={self._folder}/etcd",
                f"--listen-client-urls={self._etcd_socket}",
                # Nobody reads the advertised address, but it has to look like a host and a port.
                "--advertise-client-urls=http://127.0.0.1:0",
                "--listen-peer-urls=http://127.0.0.1:0",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
        )
        etcd.wait_ready((self._folder / "etcd.sock").exists, _READY_SECONDS)

    def _start_api_server(self) -> None:
        folder = self._folder
        self.ca_pem = self._certificate.ca_pem
        self.ca_file = self._write("ca.pem", self.ca_pem)
        self.audit_log = self._write("audit.log", "")
        service_account_key = self._write("service-account.key", make_key_pem())
        with (folder / "tokens.csv").open("w", newline="") as tokens:
            for user, groups in GROUPS_OF_USERS.items():
                # The fourth column is left out for no groups: an empty one would be a group of that name.
                csv.writer(tokens).writerow([self._tokens[user], user, user, *filter(None, [",".join(groups)])])
        arguments = [
            f"--etcd-servers={self._etcd_socket}",
            "--bind-address=127.0.0.1",
            "--permit-address-sharing",
            f"--tls-cert-file={self._write('serving.pem', self._certificate.certificate_pem)}",
            f"--tls-private-key-file={self._write('serving.key', self._certificate.key_pem)}",
            f"--token-auth-file={tokens.name}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={service_account_key}",
            f"--service-account-signing-key-file={service_account_key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none",
            f"--audit-policy-file={self._write('audit-policy.yaml', json.dumps(_AUDIT_POLICY))}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-mode=blocking",
            "--audit-log-maxsize=0",
        ]
        if self._authentication_webhook is not None:
            webhook = folder / "webhook.yaml"
            self._write_kubeconfig(webhook, self._authentication_webhook)
            arguments += [
                f"--authentication-token-webhook-config-file={webhook}",
                "--authentication-token-webhook-version=v1",
            ]
        with reserved_port() as port:
            self.endpoint = f"https://127.0.0.1:{port}"
            server = self._workspace.start(
                "kube-apiserver",
                [self._assets / "kube-apiserver", f"--secure-port={port}", *arguments, *self._extra_arguments],
            )
            self._admin_kubeconfig = self.kubeconfig(self._tokens["admin"])
            self.admin = self.api_client(self._tokens["admin"])
            server.wait_ready(self._is_ready, _READY_SECONDS)
            server.wait_ready(self._has_system_namespaces, _READY_SECONDS)

    def _is_ready(self) -> bool:
        headers = {"Authorization": f"Bearer {self._tokens['admin']}"}
        return answers(f"{self.endpoint}/readyz", context=self.tls_context(), headers=headers)

    def _has_system_namespaces(self) -> bool:
        found = {item["metadata"]["name"] for item in self.request("GET", "/api/v1/namespaces")["items"]}
        return found >= _SYSTEM_NAMESPACES

    def _write(self, name: str, text: str) -> Path:
        path = self._folder / name
        path.write_text(text)
        return path

    def _write_kubeconfig(self, path: Path, server: str, *, token: str | None = None) -> None:
        cluster = {"server": server}
        if server.startswith("https:"):
            cluster["certificate-authority"] = str(self.ca_file)
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "tests", "user": {"token": token} if token else {}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "current-context": "tests",
        }
        path.write_text(yaml.safe_dump(content))
