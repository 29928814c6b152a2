"""How a run ends that the API server does not let in, or that does not reach it."""

import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.support.audit import AuditLog
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.objects import pull_object
from tests.support.refresher import SECRET, document, pull_secret, run, writer
from upsert.core.identity import REFRESHER
from upsert.core.outcomes import Applied, Failed, not_done
from upsert.core.remedies import Asked
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.errors import ClusterNotTrusted, ListForbidden, Unauthorized
from upsert.kube.access import ClusterAccess
from upsert.kube.api import Api
from upsert.kube.bearer import BearerTokens
from upsert.kube.writer import KubeWriter


def test_an_unknown_identity_is_told_to_get_an_access_entry(control_plane: ControlPlane) -> None:
    with pytest.raises(Unauthorized) as stopped:
        run(writer(control_plane, token="k8s-aws-v1.unknown"))

    assert "does not accept the function's role (401); create its access entry" in str(stopped.value)
    assert control_plane.endpoint in str(stopped.value)


def test_an_identity_without_the_role_is_told_to_apply_it(control_plane: ControlPlane) -> None:
    audit = AuditLog(control_plane.audit_log)

    with pytest.raises(ListForbidden, match=r"\(403\); apply rbac/refresher.yaml"):
        run(writer(control_plane, user="outsider"))

    assert audit.counts(user="outsider") == {("list", "namespaces"): 1}


def test_an_authority_that_did_not_sign_the_certificate_is_not_trusted(control_plane: ControlPlane) -> None:
    audit = AuditLog(control_plane.audit_log)

    with pytest.raises(ClusterNotTrusted, match="is not signed by the cluster's certificate authority"):
        run(writer(control_plane, ca_pem=make_serving_certificate().ca_pem))

    assert audit.counts(user="refresher") == {}


def signing(*tokens: str) -> Callable[[], Sensitive[str]]:
    left = list(tokens)
    return lambda: Sensitive(left.pop(0) if len(left) > 1 else left[0])


def writer_signing(control_plane: ControlPlane, *tokens: str) -> KubeWriter:
    access = ClusterAccess(control_plane.endpoint, control_plane.ca_pem)
    return KubeWriter(Api(access, BearerTokens(signing(*tokens)), REFRESHER, remaining=lambda: 300.0))


def test_a_token_that_the_server_refuses_is_renewed_once(
    control_plane: ControlPlane, namespace: str, refresher_token: str
) -> None:
    result = run(writer_signing(control_plane, "expired", refresher_token), namespaces=[namespace])

    assert isinstance(result.outcomes[namespace], Applied)
    assert result.report.api_requests == 3


def test_an_identity_that_ends_during_the_run_is_an_error_that_says_so(
    control_plane: ControlPlane, namespace: str, refresher_token: str
) -> None:
    listing = writer(control_plane, token=refresher_token)
    writing = writer_signing(control_plane, "ended")

    class Ending(KubeWriter):
        """Lists with an identity that ends before the first write."""

        def namespaces(self, selector: str, names: Sequence[str] = ()) -> list[str]:
            return listing.namespaces(selector, names)

    result = run(Ending(writing.api), namespaces=[namespace])

    failed = result.outcomes[namespace]
    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("unauthorized", 401)
    for is_by_hand in (True, False):
        assert isinstance(result.report.error(is_by_hand=is_by_hand), Unauthorized)
    assert control_plane.get_secret(namespace, SECRET) is None


def test_a_role_without_create_says_which_verb_is_missing(control_plane: ControlPlane, namespace: str) -> None:
    """As with an older role file that lets it patch only: what is there is refreshed, what is not fails."""
    control_plane.apply_yaml(f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: patch-only, namespace: {namespace}}}
rules: [{{apiGroups: [""], resources: [secrets], resourceNames: [{SECRET}], verbs: [patch]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: patch-only, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: patch-only}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: outsider}}]
""")
    control_plane.create_secret(namespace, pull_secret(), "somebody")
    target = writer(control_plane, user="outsider")
    # The authorizer learns of the role a moment after it was written.
    end = time.monotonic() + 10
    path = SECRETS.path(namespace, SECRET)
    while target.apply(path, document(), force=True).status != 200:
        assert time.monotonic() < end, "the role never took effect"
        time.sleep(0.05)
    control_plane.request("DELETE", path)

    asked = Asked(pull_object().title, namespace, REFRESHER)
    failed = not_done(asked, target.apply(path, document(), force=True))

    assert isinstance(failed, Failed)
    assert (failed.reason, failed.status) == ("forbidden", 403)
    assert "may not create this Secret; apply rbac/refresher.yaml" in failed.remedy
    assert control_plane.get_secret(namespace, SECRET) is None


@pytest.fixture(scope="module")
def without_identifier() -> Iterator[ControlPlane]:
    with ControlPlane(authority_key_identifier=False) as control_plane:
        yield control_plane


def test_an_authority_without_a_key_identifier_is_trusted(without_identifier: ControlPlane) -> None:
    without_identifier.create_namespace("team-a")

    result = run(writer(without_identifier), namespaces=["team-a"])

    assert isinstance(result.outcomes["team-a"], Applied)
    with pytest.raises(ClusterNotTrusted):
        run(writer(without_identifier, ca_pem=make_serving_certificate(authority_key_identifier=False).ca_pem))
