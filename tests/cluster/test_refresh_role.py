"""What the shipped ClusterRole lets the refresher do on a real API server: list namespaces, apply one Secret."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from kubernetes import client

from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.refresher import FIELD_MANAGER, SECRET, document, pull_secret

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
JSON = "application/json"


class Caller:
    """Sends requests as the refresher and returns their status."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    def __call__(self, method: str, path: str, body: object = None, content_type: str = JSON, **query: str) -> int:
        try:
            response = self._api.call_api(
                path,
                method,
                query_params=list(query.items()),
                header_params={"Accept": JSON, "Content-Type": content_type},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=10,
            )
        except client.ApiException as refused:
            return int(refused.status)
        return int(response.status)


@pytest.fixture
def call(control_plane: ControlPlane, refresher_token: str) -> Iterator[Caller]:
    with closing(control_plane.api_client(refresher_token)) as api:
        yield Caller(api)


@pytest.fixture
def secrets(control_plane: ControlPlane, namespace: str) -> str:
    """The path of a namespace's Secrets, of which there are two: the refresher's and another."""
    control_plane.create_secret(namespace, pull_secret(), "somebody")
    control_plane.create_secret(namespace, {**pull_secret(), "metadata": {"name": "another"}}, "somebody")
    return f"/api/v1/namespaces/{namespace}/secrets"


def manifest() -> object:
    return json.loads(document().reveal())


def test_it_may_list_namespaces_and_apply_its_secret(call: Caller, secrets: str) -> None:
    assert call("GET", "/api/v1/namespaces", limit="500") == 200
    query = {"fieldManager": FIELD_MANAGER, "force": "true"}
    assert call("PATCH", f"{secrets}/{SECRET}", manifest(), APPLY, **query) == 200


def test_it_may_apply_its_secret_where_there_is_none(call: Caller, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets/{SECRET}"

    assert call("PATCH", path, manifest(), APPLY, fieldManager=FIELD_MANAGER) == 201


def test_it_may_remove_an_annotation_of_its_secret(call: Caller, secrets: str) -> None:
    assert call("PATCH", f"{secrets}/{SECRET}", {"metadata": {"annotations": {"x": None}}}, MERGE) == 200


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "{secrets}/aws-ecr-token", {}),
        ("GET", "{secrets}/another", {}),
        ("GET", "{secrets}", {}),
        ("GET", "{secrets}", {"fieldSelector": "metadata.name=aws-ecr-token"}),
        ("GET", "{secrets}", {"watch": "true", "timeoutSeconds": "1"}),
        ("GET", "{secrets}", {"watch": "true", "fieldSelector": "metadata.name=aws-ecr-token", "timeoutSeconds": "1"}),
        ("GET", "/api/v1/secrets", {}),
        ("GET", "/api/v1/secrets", {"watch": "true", "timeoutSeconds": "1"}),
        ("GET", "/api/v1/watch/secrets", {"timeoutSeconds": "1"}),
        ("DELETE", "{secrets}/aws-ecr-token", {}),
        ("DELETE", "{secrets}/another", {}),
        ("DELETE", "{secrets}", {}),
        ("DELETE", "{secrets}", {"fieldSelector": "metadata.name=aws-ecr-token"}),
        ("GET", "/api/v1/namespaces/default", {}),
        ("GET", "/api/v1/namespaces", {"watch": "true", "timeoutSeconds": "1"}),
        ("DELETE", "/api/v1/namespaces/default", {}),
        ("GET", "/api/v1/namespaces/default/configmaps", {}),
        ("GET", "/api/v1/namespaces/default/serviceaccounts", {}),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/eks-upsert", {}),
        ("GET", "/api/v1/nodes", {}),
    ],
)
def test_it_may_neither_read_nor_delete(
    call: Caller, secrets: str, method: str, path: str, query: dict[str, str]
) -> None:
    assert call(method, path.format(secrets=secrets), **query) == 403


@pytest.mark.parametrize(
    ("method", "name", "content_type"),
    [
        ("PUT", SECRET, JSON),
        ("PUT", "another", JSON),
        ("POST", "", JSON),
        ("PATCH", "another", APPLY),
        ("PATCH", "another", MERGE),
        ("PATCH", "missing", APPLY),
        ("PATCH", f"{SECRET}-2", APPLY),
    ],
)
def test_it_may_write_in_no_other_way_and_under_no_other_name(
    call: Caller, secrets: str, method: str, name: str, content_type: str
) -> None:
    body = {**pull_secret(), "metadata": {"name": name or SECRET}}
    query = {"fieldManager": FIELD_MANAGER}

    assert call(method, f"{secrets}/{name}".rstrip("/"), body, content_type, **query) == 403


def test_it_may_not_create_its_secret_by_post(call: Caller, namespace: str) -> None:
    assert call("POST", f"/api/v1/namespaces/{namespace}/secrets", pull_secret()) == 403


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces",
        "/api/v1/namespaces/default/serviceaccounts/default/token",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ],
)
def test_it_may_create_nothing_else(call: Caller, path: str) -> None:
    assert call("POST", path, {"metadata": {"name": "x"}}) == 403


def test_what_it_may_not_do_left_both_secrets_as_they_were(
    control_plane: ControlPlane, call: Caller, secrets: str, namespace: str
) -> None:
    before = [control_plane.get_secret(namespace, name) for name in (SECRET, "another")]

    for method in ("GET", "DELETE", "PUT"):
        for name in (SECRET, "another"):
            assert call(method, f"{secrets}/{name}", pull_secret()) == 403

    assert [control_plane.get_secret(namespace, name) for name in (SECRET, "another")] == before


def test_the_audit_log_sees_who_it_was(control_plane: ControlPlane, call: Caller, namespace: str) -> None:
    audit = AuditLog(control_plane.audit_log)
    path = f"/api/v1/namespaces/{namespace}/secrets/{SECRET}"

    call("PATCH", path, manifest(), APPLY, fieldManager=FIELD_MANAGER)
    call("GET", path)

    assert audit.counts(user="refresher") == {("patch", "secrets"): 1, ("get", "secrets"): 1}
