"""What is granted: to few names, and where the file names all namespaces of an object, in these alone."""

import pytest

from tests.compiler.cases import NAMED_CLUSTERS, a_file, an_object
from tests.rbac.files import a_config_map, a_manifest, printed
from upsert.errors import InputError

NAMESPACES = "list namespaces/*"
ANYWHERE = "{include: ['team-*']}"


@pytest.mark.parametrize(
    "namespaces",
    ["{include: ['*']}", "{include: [a, 'b-*']}", "{include: ['a?']}", "{selector: 'x=y'}"],
)
def test_an_object_that_goes_by_globs_or_a_selector_is_granted_everywhere(namespaces: str) -> None:
    assert printed(a_file(an_object(name="token", namespaces=namespaces))).rules == {
        "": [NAMESPACES, "create,patch secrets/token"]
    }


@pytest.mark.parametrize(
    "namespaces",
    ["{include: [b, a]}", "{include: [a, b], selector: 'x=y'}", "{include: [a, b, c-1], exclude: ['c-*']}"],
)
def test_an_object_whose_namespaces_are_all_named_is_granted_in_these_alone(namespaces: str) -> None:
    assert printed(a_file(an_object(name="token", namespaces=namespaces))).rules == {
        "": [NAMESPACES],
        "a": ["create,patch secrets/token"],
        "b": ["create,patch secrets/token"],
    }


def test_objects_share_one_rule_in_each_place() -> None:
    text = a_file(
        an_object(name="two", namespaces=ANYWHERE),
        an_object(name="one", namespaces="{selector: 'x=y'}"),
        an_object(name="four", namespaces="{include: [a]}"),
        an_object(name="three", namespaces="{include: [a, b]}"),
    )
    assert printed(text).rules == {
        "": [NAMESPACES, "create,patch secrets/one,two"],
        "a": ["create,patch secrets/four,three"],
        "b": ["create,patch secrets/three"],
    }


def test_what_is_granted_everywhere_is_not_granted_again() -> None:
    text = a_file(
        an_object(namespaces="{include: ['*'], exclude: [a]}", service_accounts="[default]"),
        an_object(namespaces="{include: [a]}", service_accounts="[default]"),
    )
    assert printed(text).rules == {
        "": [
            NAMESPACES,
            "list serviceaccounts/default",
            "create,patch secrets/aws-ecr-token",
            "patch serviceaccounts/default",
        ]
    }


def test_service_accounts_are_listed_everywhere_and_patched_where_the_object_is() -> None:
    text = a_file(
        an_object(name="wide", namespaces=ANYWHERE, service_accounts="[default]"),
        an_object(name="narrow", namespaces="{include: [a]}", service_accounts="[default, builder]"),
    )
    assert printed(text).rules == {
        "": [
            NAMESPACES,
            "list serviceaccounts/builder,default",
            "create,patch secrets/wide",
            "patch serviceaccounts/default",
        ],
        "a": ["create,patch secrets/narrow", "patch serviceaccounts/builder"],
    }


def test_the_adopter_may_read_what_it_compares_and_no_service_account() -> None:
    text = a_file(
        an_object(name="wide", namespaces=ANYWHERE, service_accounts="[default]"),
        an_object(name="narrow", namespaces="{include: [a]}"),
    )
    found = printed(text, is_adopter=True)
    assert found.rules == {
        "": [NAMESPACES, "create,patch,get secrets/wide"],
        "a": ["create,patch,get secrets/narrow"],
    }
    assert {one["metadata"]["name"] for one in found.documents} == {"eks-upsert-adopter"}


EVERY_KIND = a_file(
    an_object(name="token", namespaces=ANYWHERE),
    a_config_map("settings"),
    *map(a_manifest, ("quota", "limits", "network-policy", "disruption-budget")),
)


@pytest.mark.parametrize(("is_adopter", "verbs"), [(False, "create,patch"), (True, "create,patch,get")])
def test_every_kind_is_granted_by_name_in_its_own_api_group(*, is_adopter: bool, verbs: str) -> None:
    assert printed(EVERY_KIND, is_adopter=is_adopter).rules == {
        "": [
            NAMESPACES,
            f"{verbs} configmaps/settings",
            f"{verbs} limitranges/baseline",
            f"{verbs} networkpolicies.networking.k8s.io/baseline",
            f"{verbs} poddisruptionbudgets.policy/baseline",
            f"{verbs} resourcequotas/baseline",
            f"{verbs} secrets/token",
        ]
    }


def test_every_kind_is_granted_where_its_namespaces_are_named() -> None:
    text = a_file(a_config_map("settings", "{include: [a, b]}"), a_manifest("network-policy", "{include: [b]}"))
    assert printed(text).rules == {
        "": [NAMESPACES],
        "a": ["create,patch configmaps/settings"],
        "b": ["create,patch configmaps/settings", "create,patch networkpolicies.networking.k8s.io/baseline"],
    }


@pytest.mark.parametrize("text", [EVERY_KIND, a_file(a_manifest("quota"))])
def test_what_a_manifest_gives_away_is_said_beside_it(text: str) -> None:
    (_, before) = printed(text).text.split('  - apiGroups: [""]\n    resources: [namespaces]')
    above, _, _ = before.rpartition("resources: [resourcequotas]")
    assert "server-side-apply PATCH" in above
    assert above.count("whoever holds this could lift these very quotas and") == 1
    assert "lift these very quotas" not in printed(a_file(an_object(), a_config_map("settings"))).text


def test_each_role_is_bound_in_its_own_place() -> None:
    text = a_file(an_object(namespaces="{include: [a, b]}"))
    _, everywhere, *local = printed(text).documents
    assert everywhere["kind"] == "ClusterRoleBinding"
    assert [(one["kind"], one["metadata"]["namespace"]) for one in local] == [
        ("Role", "a"),
        ("RoleBinding", "a"),
        ("Role", "b"),
        ("RoleBinding", "b"),
    ]
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "eks-upsert"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "eks-upsert"}
    assert [(one["roleRef"], one["subjects"]) for one in local[1::2]] == [(role, [group])] * 2


DIFFERENT = a_file(an_object(name="a", clusters="[test]"), an_object(name="b"), more=NAMED_CLUSTERS)


def test_a_cluster_gets_the_role_for_its_own_objects() -> None:
    assert printed(DIFFERENT, cluster="test").rules == {
        "": [NAMESPACES],
        "apps": ["create,patch secrets/a,b"],
    }
    assert printed(DIFFERENT, cluster="production-us").rules == {"": [NAMESPACES], "apps": ["create,patch secrets/b"]}


def test_clusters_that_differ_need_a_name() -> None:
    with pytest.raises(InputError, match="one has to be named: 'production-eu, production-us, test'"):
        printed(DIFFERENT)


def test_clusters_that_get_the_same_need_none() -> None:
    text = a_file(an_object(), more=NAMED_CLUSTERS)
    assert printed(text).documents == printed(text, cluster="test").documents


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            DIFFERENT,
            "cluster 'blue' is not in the file of objects; expected one of 'production-eu, production-us, test'",
        ),
        (
            a_file(an_object()),
            "cluster 'blue' is not in the file of objects; expected none, since the file has no clusters",
        ),
    ],
)
def test_an_unknown_cluster_is_an_error(text: str, expected: str) -> None:
    with pytest.raises(InputError) as refused:
        printed(text, cluster="blue")
    assert str(refused.value) == expected


def test_names_that_yaml_takes_for_something_else_are_quoted() -> None:
    names = ["on", "no", "y", "1e3", "2024-01-01", "0x1f", "12", "null", "a.b"]
    text = a_file(*(an_object(name=f'"{name}"', namespaces="{include: ['*']}") for name in names))
    role = printed(text).documents[0]
    assert role["rules"][1]["resourceNames"] == sorted(names)
    assert 'resourceNames: ["0x1f", "12", "1e3", "2024-01-01", a.b, "no", "null", "on", "y"]' in printed(text).text


def test_a_long_list_of_names_is_written_below_one_another() -> None:
    text = a_file(*(an_object(name=f"token-{n:02}", namespaces=ANYWHERE) for n in range(30)))
    found = printed(text)
    assert max(map(len, found.text.splitlines())) <= 120
    assert found.documents[0]["rules"][1]["resourceNames"] == [f"token-{n:02}" for n in range(30)]


def test_each_comment_is_there_once() -> None:
    text = a_file(
        an_object(name="wide", namespaces=ANYWHERE, service_accounts="[default]"),
        an_object(name="narrow", namespaces="{include: [a, b]}", service_accounts="[builder]"),
    )
    comments = [line.strip() for line in printed(text).text.splitlines() if line.strip().startswith("# ")]
    assert sorted(comments) == sorted(set(comments))
    said = " ".join(comment.removeprefix("# ") for comment in comments)
    assert "RBAC cannot limit a patch to one field" in said
    assert "asks for all namespaces at once, which no role in some of them allows" in said
    assert "needs this file again" in said


def test_each_document_is_there_once() -> None:
    text = a_file(an_object(namespaces="{include: [a, b]}"))
    identities = [(one["kind"], *one["metadata"].values()) for one in printed(text).documents]
    assert len(identities) == len(set(identities))
