"""A real API server takes the printed roles, and allows exactly what the file of objects needs."""

import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compiler.cases import a_file, an_object
from tests.rbac.files import a_config_map, a_manifest, printed
from tests.support.controlplane import ControlPlane

# Each with the file of a manifest of it.
MANIFESTS = {
    "resourcequotas": "quota",
    "limitranges": "limits",
    "networkpolicies.networking.k8s.io": "network-policy",
    "poddisruptionbudgets.policy": "disruption-budget",
}
# The commands of docs/objects.md.
DOCUMENTED = dict(
    zip(
        ("find", "delete"),
        re.findall(
            r"^    (kubectl (?:get|delete) roles?,rolebindings?.*)$",
            (Path(__file__).parents[2] / "docs" / "objects.md").read_text(),
            re.MULTILINE,
        ),
        strict=True,
    )
)

type May = Callable[..., bool]


@pytest.fixture
def group() -> str:
    """A group of this test's own: the shipped roles stay as they are."""
    return f"eks-upsert-{secrets.token_hex(4)}"


@pytest.fixture
def may(control_plane: ControlPlane, namespace: str, group: str) -> Iterator[May]:
    """Whether the refresher may do something, by the roles for objects of every kind, most of them in one namespace."""
    text = printed(
        a_file(
            an_object(name="wide", namespaces="{include: ['test-*']}", service_accounts="[default]"),
            an_object(name="narrow", namespaces=f"{{include: [{namespace}]}}", service_accounts="[builder]"),
            *(a_manifest(name, f"{{include: [{namespace}]}}") for name in MANIFESTS.values()),
            a_config_map("settings"),
        )
    ).text
    control_plane.apply_roles(text.replace("eks-upsert", group))

    def ask(verb: str, resource: str, name: str = "", namespace: str = "") -> bool:
        plural, _, api_group = resource.partition(".")
        attributes = {"verb": verb, "group": api_group, "resource": plural, "name": name, "namespace": namespace}
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


def test_it_may_write_config_maps_and_what_manifests_say_under_their_names_alone(may: May, namespace: str) -> None:
    for verb in ("create", "patch"):
        assert may(verb, "configmaps", "settings", "anywhere")
        assert not may(verb, "configmaps", "another", "anywhere")
        for resource in MANIFESTS:
            assert may(verb, resource, "baseline", namespace)
            assert not may(verb, resource, "baseline", "anywhere")
            assert not may(verb, resource, "another", namespace)
            assert not may(verb, resource, "", namespace)


@pytest.mark.parametrize("verb", ["get", "list", "watch", "update", "delete", "deletecollection"])
def test_it_may_do_nothing_else_with_its_objects(may: May, namespace: str, verb: str) -> None:
    for name in ("wide", "narrow", ""):
        assert not may(verb, "secrets", name, namespace)
    for resource in MANIFESTS:
        assert not may(verb, resource, "baseline", namespace)


def test_roles_in_namespaces_that_left_the_file_are_found_and_deleted_as_the_documents_say(
    control_plane: ControlPlane, namespace: str, group: str
) -> None:
    for namespaces in (f"{{include: [{namespace}, default]}}", "{include: [default]}"):
        control_plane.apply_roles(printed(a_file(an_object(namespaces=namespaces))).text.replace("eks-upsert", group))

    def found() -> list[str]:
        asked = DOCUMENTED["find"].replace("eks-upsert", group).split()[1:]
        said = control_plane.kubectl(*asked, "--output=name", "--no-headers").split()
        return [line.partition(".")[0] for line in said]

    assert found() == ["role", "role", "rolebinding", "rolebinding"]
    control_plane.kubectl(*DOCUMENTED["delete"].replace("eks-upsert", group).replace("team-a", namespace).split()[1:])
    assert found() == ["role", "rolebinding"]
    control_plane.kubectl("delete", "role,rolebinding", group, "--namespace=default")
    control_plane.kubectl("delete", "clusterrole,clusterrolebinding", group)
