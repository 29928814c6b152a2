"""A real API server takes the printed roles, and allows exactly what the file of objects needs."""

import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.compiler.cases import a_file, an_object
from tests.rbac.files import printed
from tests.support.controlplane import ControlPlane

type May = Callable[..., bool]


@pytest.fixture
def group() -> str:
    """A group of this test's own: the shipped roles stay as they are."""
    return f"eks-upsert-{secrets.token_hex(4)}"


@pytest.fixture
def may(control_plane: ControlPlane, namespace: str, group: str) -> Iterator[May]:
    """Whether the refresher may do something, by the roles for two objects, one of them in one namespace."""
    text = printed(
        a_file(
            an_object(name="wide", namespaces="{include: ['test-*']}", service_accounts="[default]"),
            an_object(name="narrow", namespaces=f"{{include: [{namespace}]}}", service_accounts="[builder]"),
        )
    ).text
    control_plane.apply_roles(text.replace("eks-upsert", group))

    def ask(verb: str, resource: str, name: str = "", namespace: str = "") -> bool:
        attributes = {"verb": verb, "resource": resource, "name": name, "namespace": namespace}
        review = {"spec": {"user": "anybody", "groups": [group], "resourceAttributes": attributes}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(control_plane.request("POST", path, review)["status"]["allowed"])

    yield ask
    control_plane.kubectl("delete", "clusterrole,clusterrolebinding", group)


def test_it_may_write_its_objects_where_they_go(may: May, namespace: str) -> None:
    assert may("list", "namespaces")
    for verb in ("create", "patch"):
        assert may(verb, "secrets", "wide", "anywhere")
        assert may(verb, "secrets", "narrow", namespace)
        assert not may(verb, "secrets", "narrow", "anywhere")
        assert not may(verb, "secrets", "another", namespace)
        assert not may(verb, "secrets", "", namespace)


def test_it_may_name_the_secret_in_service_accounts(may: May, namespace: str) -> None:
    assert may("list", "serviceaccounts", "default")
    assert may("list", "serviceaccounts", "builder")
    assert not may("list", "serviceaccounts")
    assert may("patch", "serviceaccounts", "default", "anywhere")
    assert may("patch", "serviceaccounts", "builder", namespace)
    assert not may("patch", "serviceaccounts", "builder", "anywhere")
    assert not may("create", "serviceaccounts", "default", "anywhere")


@pytest.mark.parametrize("verb", ["get", "list", "watch", "update", "delete", "deletecollection"])
def test_it_may_do_nothing_else_with_its_objects(may: May, namespace: str, verb: str) -> None:
    for name in ("wide", "narrow", ""):
        assert not may(verb, "secrets", name, namespace)
