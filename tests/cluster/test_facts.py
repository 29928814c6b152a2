"""What a real API server does that the code has to reckon with."""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest
from kubernetes import client

from tests.support import assets
from tests.support.controlplane import ControlPlane
from tests.support.refresher import FIELD_MANAGER, LAST_APPLIED, SECRET, document, login, pull_secret
from upsert.core.resources import SECRETS
from upsert.kube import calls

VALUE = "a-value-that-nobody-may-see"
ENCODED = base64.b64encode(VALUE.encode()).decode()


class Applier:
    """Applies as the refresher and returns status, headers and the raw body."""

    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self._api = api
        self._path = SECRETS.path(namespace, SECRET)
        # For what it asks the server to answer with, and how it reads that.
        self.call = calls.apply(self._path, document(), force=True)

    def __call__(self, body: object, *, accept: str = "", force: bool = True) -> tuple[int, Mapping[str, str], bytes]:
        try:
            response = self._api.call_api(
                self._path,
                "PATCH",
                query_params=[("fieldManager", FIELD_MANAGER), ("force", str(force).lower())],
                header_params={
                    "Accept": accept or self.call.headers["Accept"],
                    "Content-Type": "application/apply-patch+yaml",
                },
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
            )
        except client.ApiException as refused:
            return refused.status, refused.headers, refused.body.encode()
        return response.status, response.headers, response.data


@pytest.fixture
def apply(control_plane: ControlPlane, refresher_token: str, namespace: str) -> Iterator[Applier]:
    with closing(control_plane.api_client(refresher_token)) as api:
        yield Applier(api, namespace)


def manifest(**changes: Any) -> dict[str, Any]:
    return {**json.loads(document().reveal()), **changes}


@pytest.mark.parametrize(
    "broken",
    [
        {"data": {".dockerconfigjson": {"inner": VALUE}}},
        {"data": VALUE},
        {"data": [VALUE]},
        {"stringData": {".dockerconfigjson": VALUE}, "data": {}},
        {"data": {VALUE: f"no base64 {VALUE}"}},
    ],
)
def test_an_error_may_quote_the_manifest_and_what_is_read_of_it_does_not(
    apply: Applier, broken: dict[str, Any]
) -> None:
    status, headers, body = apply(manifest(**broken))

    assert status >= 400
    assert VALUE not in repr(apply.call.answer(status, headers, body))


def test_a_malformed_manifest_is_quoted_by_the_server(apply: Applier) -> None:
    """The reason why no text of an answer is ever repeated."""
    _, _, body = apply(manifest(data=[VALUE]))

    assert VALUE in body.decode()


def test_the_answer_to_an_apply_would_hold_the_values_if_it_were_not_asked_for_metadata(apply: Applier) -> None:
    body = document(login(password=VALUE)).reveal()
    value = json.loads(body)["data"][".dockerconfigjson"]

    assert value in apply(json.loads(body), accept="application/json")[2].decode()
    assert value not in apply(json.loads(body))[2].decode()


def test_metadata_still_shows_what_kubectl_left_in_its_annotation(
    control_plane: ControlPlane, namespace: str, apply: Applier
) -> None:
    annotations = {LAST_APPLIED: json.dumps({"data": {"password": ENCODED}})}
    control_plane.create_secret(
        namespace, pull_secret(metadata={"name": SECRET, "annotations": annotations}), "kubectl-client-side-apply"
    )

    status, headers, body = apply(manifest())

    assert ENCODED in body.decode()
    answer = apply.call.answer(status, headers, body)
    assert answer.value is not None
    assert answer.value.holds_last_applied
    assert ENCODED not in repr(answer)


def test_a_conflict_says_which_field_and_the_answer_keeps_the_managers_alone(
    control_plane: ControlPlane, namespace: str, apply: Applier
) -> None:
    control_plane.create_secret(namespace, pull_secret(), "a tool/v1.2")

    status, headers, body = apply(manifest(), force=False)

    causes = json.loads(body)["details"]["causes"]
    assert [cause["field"] for cause in causes] == [".data..dockerconfigjson"]
    assert apply.call.answer(status, headers, body).refusal.managers == ("a tool/v1.2",)


def test_the_server_is_one_that_is_supported(control_plane: ControlPlane) -> None:
    version = control_plane.request("GET", "/version")

    oldest = tuple(int(number) for number in assets.release(assets.OLDEST).removeprefix("v").split(".")[:2])
    assert (int(version["major"]), int(version["minor"].rstrip("+"))) >= oldest
