"""Objects inside other objects are judged, those inside texts are noted, and references are neither."""

import json

import pytest
import yaml

from tests.hooks.conftest import Check
from tests.hooks.support import (
    HEAD,
    NO_POLICY,
    OWNER,
    PARTIAL,
    TEMPLATE_KIND,
    TEMPLATE_POLICY,
    Cases,
    external_secret,
    indented,
)

FOUND = f"ExternalSecret database: {NO_POLICY}"


def item(by: int) -> str:
    return " " * by + "- " + indented(HEAD, by + 2)[by + 2 :]


OBJECTS: Cases = {
    "values of a chart": ("extraObjects:\n" + item(2), [f"7: {FOUND}"]),
    "values of Flux": ("kind: HelmRelease\nspec:\n  values:\n    extraObjects:\n" + item(4), [f"10: {FOUND}"]),
    "values of Argo CD": (
        "kind: Application\nspec:\n  source:\n    helm:\n      valuesObject:\n        extraObjects:\n" + item(8),
        [f"12: {FOUND}"],
    ),
    "Crossplane": ("kind: Object\nspec:\n  forProvider:\n    manifest:\n" + indented(HEAD, 6), [f"10: {FOUND}"]),
    "a ManifestWork": ("kind: ManifestWork\nspec:\n  workload:\n    manifests:\n" + item(4), [f"10: {FOUND}"]),
    "an OpenShift template": ("kind: Template\nobjects:\n" + item(0), [f"8: {FOUND}"]),
    "a task of Ansible": ("- kubernetes.core.k8s:\n    definition:\n" + indented(HEAD, 6), [f"8: {FOUND}"]),
    "a list without a kind": (item(0), [f"6: {FOUND}"]),
    "a List in a List": ("kind: List\nitems:\n- kind: List\n  items:\n" + item(2), [f"10: {FOUND}"]),
    "a rule of Kyverno": (
        (
            "kind: ClusterPolicy\nspec:\n  rules:\n  - generate:\n      apiVersion: external-secrets.io/v1\n"
            "      kind: ExternalSecret\n      name: aws-ecr-token\n      data:\n        spec:\n"
            "          secretStoreRef: {name: store}\n          data: []\n          target:\n"
            "            creationPolicy: Owner\n"
        ),
        [f"13: ExternalSecret aws-ecr-token: {OWNER}"],
    ),
    "one object in two places": ("a: &a\n" + indented(HEAD, 2) + "b: *a\n", [f"7: {FOUND}"]),
    "an explicit policy": ("a:\n" + indented(external_secret("  target: {creationPolicy: None}\n"), 2), []),
    "a template": (
        "a:\n" + indented(external_secret("  target: {{ .Values.target }}\n"), 2),
        [f"9: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "a kind of a template": (
        "a:\n" + indented(HEAD, 2).replace("kind: ", "kind: '{{ .kind }}' # "),
        [f"2: note: {TEMPLATE_KIND}"],
    ),
    "a part of an object": (
        "assert:\n  apiVersion: external-secrets.io/v1\n  kind: ExternalSecret\n  spec: {refreshInterval: 1h}\n",
        [f"4: note: ExternalSecret without a name: {PARTIAL}"],
    ),
    "a patch by its key": (
        (
            "mutate:\n  patchStrategicMerge:\n    apiVersion: external-secrets.io/v1\n    kind: ExternalSecret\n"
            "    spec: {refreshInterval: 1h}\n"
        ),
        [],
    ),
    "what an ExternalSecret makes itself": (
        external_secret("  target:\n    creationPolicy: Owner\n    template:\n      data:\n        a: |\n")
        + indented(HEAD, 10),
        [],
    ),
}

TEXTS: Cases = {
    "a literal": ("kind: ConfigMap\ndata:\n  a.yaml: |\n" + indented(HEAD, 4), [f"9: note: in a text: {FOUND}"]),
    "a literal with an indentation, a chomping and a comment": (
        "kind: ConfigMap\ndata:\n  a.yaml: |2- # text\n\n" + indented(HEAD, 4),
        [f"10: note: in a text: {FOUND}"],
    ),
    "the second document of a literal": (
        "kind: ConfigMap\ndata:\n  a.yaml: |\n    a: b\n    ---\n" + indented(HEAD, 4),
        [f"11: note: in a text: {FOUND}"],
    ),
    "a literal of the second document": (
        "a: b\n---\nkind: ConfigMap\ndata:\n  a.yaml: |\n" + indented(HEAD, 4),
        [f"11: note: in a text: {FOUND}"],
    ),
    "a text in a text": (
        "a: |\n  b: |\n" + indented(HEAD, 4),
        [f"8: note: in a text: in a text: {FOUND}"],
    ),
    "JSON in a quoted text": (
        "kind: ClusterServiceVersion\nmetadata:\n  annotations:\n    alm-examples: '"
        + json.dumps([yaml.safe_load(HEAD)])
        + "'\n",
        [f"4: note: in a text: {FOUND}"],
    ),
    "a folded text": (
        "a:\n  b: >-\n    " + json.dumps(yaml.safe_load(HEAD)).replace(", ", ",\n    ") + "\n",
        [f"2: note: in a text: {FOUND}"],
    ),
    "a template in a text": (
        "a: |\n" + indented("{{- if .Values.enabled }}\n" + HEAD + "{{- end }}\n", 2),
        [
            (
                "2: note: in a text: skipped: a template (is not YAML: did not find expected node content); "
                "check what it renders to"
            )
        ],
    ),
    "no YAML in a text": (
        "a: |\n  apiVersion: external-secrets.io/v1\n  kind: ExternalSecret\n    spec:\n",
        ["4: note: in a text: is not YAML: mapping values are not allowed in this context"],
    ),
    "an explicit policy": ("a: |\n" + indented(external_secret("  target: {creationPolicy: None}\n"), 2), []),
    "another group's kind": ("a: |\n" + indented(HEAD.replace("external-secrets", "example"), 2), []),
    "a description": ("description: |\n  Of an object whose kind: ExternalSecret says what it is\n", []),
    "a whole document that is a text": ("--- |\n" + indented(HEAD, 2), [f"7: note: in a text: {FOUND}"]),
    "a text that has the words": ("apiVersion kind:ExternalSecret\n", []),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_an_object_in_an_object_is_judged(check: Check, case: str) -> None:
    content, found = OBJECTS[case]
    assert check(content) == found


@pytest.mark.parametrize("case", TEXTS)
def test_an_object_in_a_text_is_noted_since_nobody_may_apply_it(check: Check, case: str) -> None:
    content, found = TEXTS[case]
    assert check(content) == found
