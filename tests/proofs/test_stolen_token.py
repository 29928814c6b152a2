"""What whoever steals the refresher's bearer token can read: the named objects through the answer to a PATCH, no more.

RBAC has no verb for writing without reading, so this is the limit of "reads nothing", as SECURITY.md says it.
"""

import base64
import secrets
from collections.abc import Iterator
from contextlib import closing

import pytest
from kubernetes import client

from tests.support.controlplane import ControlPlane
from tests.support.objects import SECRET, entry, roles
from tests.support.refresher import FIELD_MANAGER, pull_secret

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

# Of somebody else, under a key of their own.
VALUE = base64.b64encode(b"a-value-of-somebody-else").decode()

EMPTY = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}}
WAYS = {
    "an empty merge patch": (MERGE, {}),
    "an empty JSON patch": (JSON_PATCH, []),
    "an apply of nothing": (APPLY, EMPTY),
    "a value copied to where an error quotes it": (
        JSON_PATCH,
        [{"op": "copy", "from": "/data/theirs", "path": "/metadata/resourceVersion"}],
    ),
}


class Thief:
    """Sends requests with a bearer token, as another user if headers say so, and gives what comes back whole."""

    def __init__(self, api: client.ApiClient, **headers: str) -> None:
        self._api = api
        self._headers = headers

    def __call__(self, method: str, path: str, body: object = None, content_type: str = MERGE, **query: str) -> str:
        given = {"fieldManager": FIELD_MANAGER, **query} if method == "PATCH" else query
        try:
            response = self._api.call_api(
                path,
                method,
                query_params=list(given.items()),
                header_params={"Accept": "application/json", "Content-Type": content_type, **self._headers},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=10,
            )
        except client.ApiException as refused:
            return f"{refused.status} {refused.body}"
        return f"{response.status} {response.data.decode()}"


@pytest.fixture
def thief(control_plane: ControlPlane) -> Iterator[Thief]:
    """Whoever holds a token of the shipped role."""
    with closing(control_plane.api_client(control_plane.token_of("refresher"))) as api:
        yield Thief(api)


def secret(name: str) -> dict[str, object]:
    held = pull_secret()
    return {**held, "metadata": {"name": name}, "data": {**held["data"], "theirs": VALUE}}


@pytest.fixture
def path(control_plane: ControlPlane, namespace: str) -> str:
    """The path of a namespace's Secrets: the named one and another, with a key of somebody else in both."""
    for name in (SECRET, "another"):
        control_plane.create_secret(namespace, secret(name), "somebody")
    return f"/api/v1/namespaces/{namespace}/secrets"


@pytest.mark.parametrize("dry_run", [{}, {"dryRun": "All"}], ids=["for real", "dry run"])
@pytest.mark.parametrize("way", WAYS)
def test_the_named_object_is_read_through_the_answer_to_a_patch(
    thief: Thief, path: str, way: str, dry_run: dict[str, str]
) -> None:
    content_type, body = WAYS[way]
    assert VALUE in thief("PATCH", f"{path}/{SECRET}", body, content_type, **dry_run)


@pytest.mark.parametrize("way", WAYS)
def test_no_other_object_is_read_so(control_plane: ControlPlane, thief: Thief, path: str, way: str) -> None:
    namespace = path.split("/")[4]
    control_plane.kubectl("create", "configmap", SECRET, f"--namespace={namespace}", f"--from-literal=theirs={VALUE}")
    content_type, body = WAYS[way]
    for other in (f"{path}/another", f"/api/v1/namespaces/{namespace}/configmaps/{SECRET}"):
        answer = thief("PATCH", other, body, content_type)
        assert answer.startswith("403 ")
        assert VALUE not in answer


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"fieldSelector": f"metadata.name={SECRET}"},
        {"watch": "true", "timeoutSeconds": "1"},
        {"fieldSelector": f"metadata.name={SECRET}", "watch": "true", "timeoutSeconds": "1"},
    ],
)
def test_nothing_is_read_in_the_ways_that_are_meant_for_it(thief: Thief, path: str, query: dict[str, str]) -> None:
    for asked in (path, f"{path}/{SECRET}", f"{path}/another", "/api/v1/secrets"):
        answer = thief("GET", asked, **query)
        assert answer.startswith("403 ")
        assert VALUE not in answer


def test_an_object_whose_namespaces_are_named_is_read_in_these_alone(
    control_plane: ControlPlane, namespace: str, path: str
) -> None:
    group, elsewhere = f"eks-upsert-{secrets.token_hex(4)}", f"{namespace}-other"
    control_plane.create_namespace(elsewhere)
    try:
        control_plane.create_secret(elsewhere, secret(SECRET), "somebody")
        control_plane.apply_roles(roles(entry(include=[namespace])).replace("eks-upsert", group))
        with closing(control_plane.api_client(control_plane.token_of("admin"))) as api:
            thief = Thief(api, **{"Impersonate-User": "thief", "Impersonate-Group": group})
            assert VALUE in thief("PATCH", f"{path}/{SECRET}", {})
            assert thief("PATCH", f"/api/v1/namespaces/{elsewhere}/secrets/{SECRET}", {}).startswith("403 ")
    finally:
        control_plane.kubectl("delete", "clusterrole,clusterrolebinding", group)
        control_plane.remove_namespace(elsewhere)
