"""The rules: what is flagged and in which line, what is not, in all places where a manifest holds an ExternalSecret."""

import json

import pytest
import yaml

from tests.hooks.conftest import Check
from tests.hooks.support import (
    CLUSTER_HEAD,
    DELETE_ELSEWHERE,
    NO_POLICY,
    OWNER,
    OWNER_ELSEWHERE,
    Cases,
    delete_with,
    external_secret,
    indented,
)

LIST_HEAD = "apiVersion: v1\nkind: List\nitems:\n"
ITEM = "-" + indented(external_secret(), 2)[1:]

FLAGGED: Cases = {
    "no target": (external_secret(), [f"6: ExternalSecret database: {NO_POLICY}"]),
    "no policy": (external_secret("  target:\n    name: x\n"), [f"9: ExternalSecret database: {NO_POLICY}"]),
    "an empty target": (external_secret("  target:\n"), [f"8: ExternalSecret database: {NO_POLICY}"]),
    "an empty policy": (
        external_secret("  target:\n    creationPolicy:\n"),
        [f"9: ExternalSecret database: {NO_POLICY}"],
    ),
    "a policy of nothing": (
        external_secret('  target:\n    creationPolicy: ""\n'),
        [f"9: ExternalSecret database: {NO_POLICY}"],
    ),
    "a policy in the wrong place": (
        external_secret("  creationPolicy: Merge\n"),
        [f"6: ExternalSecret database: {NO_POLICY}"],
    ),
    "data instead of dataFrom": (
        external_secret().replace("dataFrom: [{extract: {key: database}}]", "data: [{secretKey: a}]"),
        [f"6: ExternalSecret database: {NO_POLICY}"],
    ),
    "a store for each of its data": (
        external_secret()
        .replace("  secretStoreRef: {name: store}\n", "")
        .replace("{extract", "{sourceRef: {}, extract"),
        [f"6: ExternalSecret database: {NO_POLICY}"],
    ),
    "a generator": (
        external_secret()
        .replace("  secretStoreRef: {name: store}\n", "")
        .replace("extract: {key: database}", "sourceRef: {generatorRef: {kind: ECRAuthorizationToken, name: ecr}}"),
        [f"6: ExternalSecret database: {NO_POLICY}"],
    ),
    "Owner of the pull Secret by its own name": (
        external_secret("  target:\n    creationPolicy: Owner\n", name="aws-ecr-token"),
        [f"9: ExternalSecret aws-ecr-token: {OWNER}"],
    ),
    "Owner of the pull Secret by the target's name": (
        external_secret("  target:\n    name: aws-ecr-token\n    creationPolicy: Owner\n"),
        [f"10: ExternalSecret database: {OWNER}"],
    ),
    "Delete with Merge": (
        external_secret("  target:\n    creationPolicy: Merge\n    deletionPolicy: Delete\n"),
        [f"10: ExternalSecret database: {delete_with('Merge')}"],
    ),
    "Delete with CreateOrMerge": (
        external_secret("  target:\n    deletionPolicy: Delete\n    creationPolicy: CreateOrMerge\n"),
        [f"9: ExternalSecret database: {delete_with('CreateOrMerge')}"],
    ),
    "a ClusterExternalSecret by the name of what it makes": (
        CLUSTER_HEAD + "    target:\n      creationPolicy: Owner\n  externalSecretName: aws-ecr-token\n",
        [f"9: ClusterExternalSecret pull: {OWNER}"],
    ),
    "a ClusterExternalSecret by its own name": (
        CLUSTER_HEAD.replace("pull", "aws-ecr-token") + "    target:\n      creationPolicy: Owner\n",
        [f"9: ClusterExternalSecret aws-ecr-token: {OWNER}"],
    ),
    "a ClusterExternalSecret without a policy": (
        CLUSTER_HEAD + "    target: {name: x}\n",
        [f"8: ClusterExternalSecret pull: {NO_POLICY}"],
    ),
    "a ClusterExternalSecret with its policy in the wrong place": (
        CLUSTER_HEAD + "  target: {creationPolicy: Merge}\n",
        [f"5: ClusterExternalSecret pull: {NO_POLICY}"],
    ),
    "v1beta1": (external_secret().replace("/v1", "/v1beta1"), [f"6: ExternalSecret database: {NO_POLICY}"]),
    "v1alpha1": (external_secret().replace("/v1", "/v1alpha1"), [f"6: ExternalSecret database: {NO_POLICY}"]),
    "the third and the last of many documents": (
        "\n---\n".join(
            [
                "# nothing but a comment",
                "kind: ConfigMap",
                external_secret("  target: {}"),
                "",
                external_secret("  target: {creationPolicy: None}"),
                external_secret("  target: {}\n", name="cache"),
            ]
        )
        + "---\n",
        [f"12: ExternalSecret database: {NO_POLICY}", f"32: ExternalSecret cache: {NO_POLICY}"],
    ),
    "a List": (LIST_HEAD + ITEM, [f"9: ExternalSecret database: {NO_POLICY}"]),
    "an ExternalSecretList": (
        LIST_HEAD.replace("kind: List", "kind: ExternalSecretList") + ITEM,
        [f"9: ExternalSecret database: {NO_POLICY}"],
    ),
    "JSON": (
        json.dumps(yaml.safe_load(external_secret("  target: {name: x}\n")), indent=2),
        [f"18: ExternalSecret database: {NO_POLICY}"],
    ),
    "JSON in one line": (
        json.dumps(yaml.safe_load(LIST_HEAD + ITEM), separators=(",", ":")),
        [f"1: ExternalSecret database: {NO_POLICY}"],
    ),
    "a name that would forge a line": (
        external_secret(name='"a\\nb\\e[31m"'),
        [f"6: ExternalSecret a?b?[31m: {NO_POLICY}"],
    ),
}

NOT_FLAGGED = (
    *(external_secret(f"  target: {{creationPolicy: {one}}}\n") for one in ("Owner", "Orphan", "Merge", "None")),
    external_secret("  target:\n    name: x\n    creationPolicy: Owner\n", name="aws-ecr-token"),
    external_secret("  target: {name: aws-ecr-token, creationPolicy: Orphan}\n"),
    external_secret("  target: {creationPolicy: Owner, deletionPolicy: Delete}\n"),
    external_secret("  target: {creationPolicy: Merge, deletionPolicy: Retain}\n"),
    CLUSTER_HEAD.replace("pull", "aws-ecr-token") + "    target: {creationPolicy: Owner}\n  externalSecretName: x\n",
    # What names the kind and is none.
    "apiVersion: kubernetes-client.io/v1\nkind: ExternalSecret\nspec: {data: [], secretStoreRef: {}}\n",
    "apiVersion: external-secrets.io/v1\nkind: PushSecret\nspec: {selector: {secret: {name: ExternalSecret}}}\n",
    "apiVersion: generators.external-secrets.io/v1alpha1\nkind: ExternalSecret\nspec: {data: [], sourceRef: {}}\n",
    (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "spec: {group: external-secrets.io, names: {kind: ExternalSecret, listKind: ExternalSecretList}}\n"
    ),
    (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
        "spec: {ignoreDifferences: [{group: external-secrets.io, kind: ExternalSecret}]}\n"
    ),
    (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "spec: {healthChecks: [{apiVersion: external-secrets.io/v1, kind: ExternalSecret, name: a}]}\n"
    ),
    (
        "apiVersion: v1\nkind: Secret\nmetadata:\n"
        "  ownerReferences: [{apiVersion: external-secrets.io/v1, kind: ExternalSecret, name: a}]\n"
    ),
    "# ExternalSecret\nexternalSecrets: {enabled: true, creationPolicy: Owner}\n",
    "kind: Deployment\n  spec: [\n",
    "---\n---\n# ExternalSecret\n---\n",
    "",
)

SKIPPED: Cases = {
    "Owner of what a template names": (
        external_secret("  target: {creationPolicy: Owner, name: '{{ .Values.name }}'}\n"),
        [f"8: note: ExternalSecret database: {OWNER_ELSEWHERE}"],
    ),
    "Owner of what a template may name so": (
        external_secret("  target: {creationPolicy: Owner, name: 'aws-${KIND}-token'}\n"),
        [f"8: note: ExternalSecret database: {OWNER_ELSEWHERE}"],
    ),
    "Owner of what no template would name so": (
        external_secret("  target: {creationPolicy: Owner, name: '{{ .Values.name }}-login'}\n"),
        [],
    ),
    "a deletionPolicy of a template": (
        external_secret("  target: {creationPolicy: Merge, deletionPolicy: '{{ .Values.deletion }}'}\n"),
        [f"8: note: ExternalSecret database: {DELETE_ELSEWHERE}"],
    ),
}


@pytest.mark.parametrize("case", FLAGGED)
def test_what_is_wrong_is_flagged_in_its_line(check: Check, case: str) -> None:
    content, found = FLAGGED[case]
    assert check(content) == found


@pytest.mark.parametrize("content", NOT_FLAGGED)
def test_what_is_right_or_another_kind_is_not_flagged(check: Check, content: str) -> None:
    assert check(content) == []


@pytest.mark.parametrize("case", SKIPPED)
def test_what_a_template_decides_about_an_explicit_policy_is_said(check: Check, case: str) -> None:
    content, found = SKIPPED[case]
    assert check(content) == found


def test_the_pull_secret_may_have_another_name(check: Check) -> None:
    content = external_secret("  target: {name: registries, creationPolicy: Owner}\n")
    assert check(content) == []
    (found,) = check(content, "manifest.yaml", "--secret-name", "registries")
    assert "aims at registries" in found
