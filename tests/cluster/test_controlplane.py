"""The control plane that the other tests rely on is what they take it for."""

import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import pytest
from kubernetes import client

from tests.support.audit import AuditLog
from tests.support.controlplane import GROUPS_OF_USERS, REPOSITORY, ControlPlane, KubectlFailed
from tests.support.standin import Reply, Request, Standin

OWN_A_CONTROL_PLANE = """
import sys
from tests.support.controlplane import ControlPlane
with ControlPlane() as control_plane:
    print(control_plane.endpoint, control_plane.audit_log.parent, flush=True)
    sys.stdin.readline()
"""


def who_am_i(control_plane: ControlPlane, token: str) -> tuple[str, set[str]]:
    """Return user name and groups of a bearer token, as the API server sees them."""
    with closing(control_plane.api_client(token)) as api:
        review = client.AuthenticationV1Api(api).create_self_subject_review(client.V1SelfSubjectReview())
    return review.status.user_info.username, set(review.status.user_info.groups or ())


def status_of_list(control_plane: ControlPlane, token: str) -> int:
    """Return the status of the answer when the bearer of the token lists namespaces."""
    with closing(control_plane.api_client(token)) as api:
        try:
            return int(client.CoreV1Api(api).list_namespace_with_http_info()[1])
        except client.ApiException as error:
            return int(error.status)


@pytest.mark.parametrize("user", sorted(GROUPS_OF_USERS))
def test_each_token_is_its_user_with_its_groups(control_plane: ControlPlane, user: str) -> None:
    token = control_plane.token_for(user, GROUPS_OF_USERS[user])

    name, groups = who_am_i(control_plane, token)

    assert name == user
    assert groups == {*GROUPS_OF_USERS[user], "system:authenticated"}


def test_there_is_no_token_for_a_user_in_other_groups(control_plane: ControlPlane) -> None:
    with pytest.raises(ValueError, match="no token for user 'outsider'"):
        control_plane.token_for("outsider", ["system:masters"])


def test_an_unknown_token_is_unauthorized(control_plane: ControlPlane) -> None:
    with pytest.raises(client.ApiException) as failure:
        who_am_i(control_plane, "nobody's")

    assert failure.value.status == 401


def test_a_user_without_groups_may_not_list_namespaces(control_plane: ControlPlane) -> None:
    assert status_of_list(control_plane, control_plane.token_of("outsider")) == 403


def test_the_refresher_may_list_namespaces_as_soon_as_the_control_plane_is_up(
    control_plane: ControlPlane, refresher_token: str
) -> None:
    with closing(control_plane.api_client(refresher_token)) as api:
        namespaces = {item.metadata.name for item in client.CoreV1Api(api).list_namespace().items}

    assert {"default", "kube-node-lease", "kube-public", "kube-system"} <= namespaces


def test_kubectl_runs_as_admin(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("create", "secret", "generic", "made", "--from-literal=key=value", f"--namespace={namespace}")

    secret = control_plane.get_secret(namespace, "made")

    assert secret is not None
    assert secret["data"] == {"key": "dmFsdWU="}


def test_a_failing_kubectl_raises_what_it_said(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(KubectlFailed, match=r'secrets "absent" not found'):
        control_plane.kubectl("get", "secret", "absent", f"--namespace={namespace}")


def test_a_created_secret_belongs_to_its_field_manager(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, {"metadata": {"name": "made"}, "data": {"key": "dmFsdWU="}}, "someone")

    secret = control_plane.get_secret(namespace, "made")

    assert secret is not None
    assert [entry["manager"] for entry in secret["metadata"]["managedFields"]] == ["someone"]


def test_an_absent_secret_is_none(control_plane: ControlPlane, namespace: str) -> None:
    assert control_plane.get_secret(namespace, "absent") is None


def test_a_deleted_namespace_stays_terminating_until_it_is_removed(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.delete_namespace(namespace)

    phase = control_plane.request("GET", f"/api/v1/namespaces/{namespace}")["status"]["phase"]

    assert phase == "Terminating"


def test_a_removed_namespace_and_its_secrets_do_not_come_back(control_plane: ControlPlane) -> None:
    name = "removed-and-made-again"
    control_plane.create_namespace(name)
    control_plane.create_secret(name, {"metadata": {"name": "made"}}, "someone")
    control_plane.remove_namespace(name)

    with pytest.raises(client.ApiException) as failure:
        control_plane.request("GET", f"/api/v1/namespaces/{name}")
    control_plane.create_namespace(name)
    secret = control_plane.get_secret(name, "made")
    control_plane.remove_namespace(name)

    assert failure.value.status == 404
    assert secret is None


def test_the_audit_log_counts_the_requests_of_each_user(
    control_plane: ControlPlane, audit: AuditLog, refresher_token: str, namespace: str
) -> None:
    with closing(control_plane.api_client(refresher_token)) as api:
        client.CoreV1Api(api).list_namespace()
        client.CoreV1Api(api).list_namespace()
        with pytest.raises(client.ApiException):
            client.CoreV1Api(api).read_namespaced_secret("any", namespace)

    assert audit.counts(user="refresher") == Counter({("list", "namespaces"): 2, ("get", "secrets"): 1})
    assert [event.status for event in audit.events(user="refresher")] == [200, 200, 403]
    assert audit.events(user="refresher")[-1].namespace == namespace


def test_what_came_before_the_mark_is_not_counted(
    control_plane: ControlPlane, audit: AuditLog, refresher_token: str
) -> None:
    with closing(control_plane.api_client(refresher_token)) as api:
        client.CoreV1Api(api).list_namespace()
        audit.counts(user="refresher")
        audit.mark()

    assert audit.counts(user="refresher") == Counter()


def test_the_audit_log_holds_no_value(control_plane: ControlPlane, audit: AuditLog, namespace: str) -> None:
    value = "dGhlLXZhbHVlLW9mLWEtc2VjcmV0"
    control_plane.create_secret(namespace, {"metadata": {"name": "made"}, "data": {"key": value}}, "someone")

    assert audit.counts(user="admin")["create", "secrets"] == 1
    assert value not in control_plane.audit_log.read_text()


def token_review(request: Request) -> Reply:
    """Answer a TokenReview of authentication.k8s.io/v1: of one token, that of alice in the group eks-upsert."""
    review: dict[str, Any] = json.loads(request.body)
    user = {"username": "alice", "groups": ["eks-upsert"]}
    known = review["spec"]["token"] == "known"
    review["status"] = {"authenticated": True, "user": user} if known else {"authenticated": False}
    return Reply(body=review, headers={"Content-Type": "application/json"})


@pytest.fixture(scope="module")
def other_control_plane() -> Iterator[ControlPlane]:
    """A control plane with each option of `ControlPlane` that the one of the session leaves alone."""
    with (
        Standin(token_review) as webhook,
        ControlPlane(
            authentication_webhook=f"{webhook.url}/token-review",
            authority_key_identifier=False,
            extra_arguments=["--anonymous-auth=false"],
        ) as control_plane,
    ):
        yield control_plane


def test_the_webhook_decides_about_tokens_that_are_not_static(other_control_plane: ControlPlane) -> None:
    assert status_of_list(other_control_plane, "known") == 200
    assert status_of_list(other_control_plane, "unknown") == 401


def test_static_tokens_work_beside_the_webhook(other_control_plane: ControlPlane) -> None:
    assert status_of_list(other_control_plane, other_control_plane.token_of("refresher")) == 200


def test_extra_arguments_reach_the_api_server(control_plane: ControlPlane, other_control_plane: ControlPlane) -> None:
    """Anonymous requests are refused as forbidden by default, and as unauthorized where they are switched off."""
    assert status_of_list(control_plane, "") == 403
    assert status_of_list(other_control_plane, "") == 401


def test_a_certificate_without_authority_key_identifier_fails_the_strict_check_alone(
    other_control_plane: ControlPlane,
) -> None:
    address = urlsplit(other_control_plane.endpoint)
    strict = ssl.create_default_context(cadata=other_control_plane.ca_pem)
    lenient = other_control_plane.tls_context()

    with (
        socket.create_connection((address.hostname, address.port)) as plain,
        pytest.raises(ssl.SSLCertVerificationError, match="Missing Authority Key Identifier"),
    ):
        strict.wrap_socket(plain, server_hostname=address.hostname)
    with (
        socket.create_connection((address.hostname, address.port)) as plain,
        lenient.wrap_socket(plain, server_hostname=address.hostname) as encrypted,
    ):
        assert encrypted.version() == "TLSv1.3"


def test_nothing_is_left_of_a_control_plane_whose_owner_was_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWN_A_CONTROL_PLANE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    with owner:
        assert owner.stdout is not None
        endpoint, folder = owner.stdout.readline().split()
        address = urlsplit(endpoint)
        socket.create_connection((address.hostname, address.port)).close()

        owner.send_signal(signal.SIGKILL)
        owner.wait(10)

        deadline = time.monotonic() + 20
        while (Path(folder).exists() or is_open(address)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(folder).exists()
        assert not is_open(address)


def is_open(address: SplitResult) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex((str(address.hostname), int(address.port or 0))) == 0
