"""Templates decide what they write and nothing else; whatever is left to one is said."""

import pytest

from tests.hooks.conftest import Check
from tests.hooks.support import (
    CLUSTER_HEAD,
    HEAD,
    NO_POLICY,
    TEMPLATE_KIND,
    TEMPLATE_POLICY,
    Cases,
    external_secret,
)

NO_POLICY_8 = [f"8: ExternalSecret database: {NO_POLICY}"]
NO_POLICY_9 = [f"9: ExternalSecret database: {NO_POLICY}"]

# The operator has templates of its own, which look like Helm's and are texts for everyone but it.
OPERATOR: Cases = {
    "a line that begins with an action": (
        external_secret(
            "  target:\n    template:\n      data:\n        config: |\n"
            "          {{ if .admin }}\n          user: {{ .user }}\n          {{ end }}\n"
        ),
        NO_POLICY_9,
    ),
    "such a line in a folded scalar": (
        external_secret("  target:\n    template:\n      data:\n        a: >-\n          {{ .user }}\n"),
        NO_POLICY_9,
    ),
    "such a line in a quoted scalar": (
        external_secret('  target:\n    template:\n      data:\n        a: "\n          {{ .user }}"\n'),
        NO_POLICY_9,
    ),
    "such a line in a plain scalar": (
        external_secret("  target:\n    template:\n      data:\n        a: user\n          {{ .user }}\n"),
        NO_POLICY_9,
    ),
    "such a line in a comment": (
        external_secret("  # \n  #{{ .user }}\n  target: {}\n"),
        [f"10: ExternalSecret database: {NO_POLICY}"],
    ),
    "quoted values and keys": (
        external_secret("  target:\n    template:\n      data: {'{{ .key }}': '{{ .password }}'}\n"),
        NO_POLICY_9,
    ),
    "an explicit policy": (
        external_secret(
            "  target:\n    creationPolicy: Owner\n    template:\n      data:\n        a: |\n          {{ .b }}\n"
        ),
        [],
    ),
    "a rewrite": (external_secret("  target: {}\n").replace("key: database", "key: '{{ .name }}'"), NO_POLICY_8),
    "a ClusterExternalSecret": (
        CLUSTER_HEAD + "    target:\n      template:\n        data:\n          a: |\n            {{ .b }}\n",
        [f"9: ClusterExternalSecret pull: {NO_POLICY}"],
    ),
    "Helm elsewhere in a whole object": (
        external_secret("  target: {name: x}\n", name='{{ .Values.name | default "a" }}').replace(
            "{name: store}", "{{ .Values.store }}"
        ),
        [f"8: ExternalSecret without a name: {NO_POLICY}"],
    ),
    # Helm renders a file of YAML as well, but it could only add what an action stands for.
    "Helm in a comment": (
        "# {{ if .Values.enabled }}\n" + external_secret("  target: {}\n") + "# {{ end }}\n",
        [f"9: ExternalSecret database: {NO_POLICY}"],
    ),
    "no YAML, with the operator's template in it": (
        external_secret(
            "  target:\n    template:\n      data:\n        a: |\n          {{ .b }}\n   creationPolicy: Owner\n"
        ),
        ["13: is not YAML: did not find expected key"],
    ),
}

DECIDED_BY_A_TEMPLATE: Cases = {
    "the policy": (
        external_secret("  target:\n    creationPolicy: {{ .Values.policy }}\n"),
        [f"9: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "the policy, quoted": (
        external_secret('  target:\n    creationPolicy: "{{ .Values.policy }}"\n'),
        [f"9: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "the policy, by Jinja": (
        external_secret('  target:\n    creationPolicy: "{% if a %}Owner{% endif %}"\n'),
        [f"9: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "the policy, by Flux": (
        external_secret("  target:\n    creationPolicy: ${POLICY:=Owner}\n"),
        [f"9: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "the target": (
        external_secret("  target: {{ .Values.target }}\n"),
        [f"8: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "something in the target": (
        external_secret("  target:\n    {{ .Values.key }}: x\n"),
        [f"9: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "what is merged into the target": (
        external_secret("  target:\n    name: x\n    <<: {{ .Values.target }}\n"),
        [f"9: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "the spec": (
        HEAD.partition("spec:")[0] + "spec:\n  {{ toYaml .Values.spec }}\n",
        [f"6: note: ExternalSecret database: {TEMPLATE_POLICY}"],
    ),
    "the spec of what is made": (
        CLUSTER_HEAD.partition("externalSecretSpec:")[0] + "externalSecretSpec: {{ .Values.spec }}\n",
        [f"5: note: ClusterExternalSecret pull: {TEMPLATE_POLICY}"],
    ),
    "the kind": (
        external_secret("  target: {name: x} # of an ExternalSecret\n").replace("kind: E", "kind: '{{ .Kind }}' # E"),
        [f"1: note: {TEMPLATE_KIND}"],
    ),
    "the kind and the version": (
        "# ExternalSecret\napiVersion: {{ .version }}\nkind: {{ .kind }}\n",
        [f"2: note: {TEMPLATE_KIND}"],
    ),
    "the version": (
        external_secret("  target: {name: x}\n").replace("external-secrets.io/v1", "'{{ .version }}'"),
        [f"8: note: skipped: a template decides its apiVersion, or else: {NO_POLICY}"],
    ),
    "the version of an object with a policy": (
        external_secret("  target: {creationPolicy: Orphan}\n").replace("external-secrets.io/v1", "{{ .version }}"),
        [],
    ),
    "the kind of something else": ("# ExternalSecret\napiVersion: v1\nkind: {{ .Values.kind }}\n", []),
}


def a_template(problem: str) -> str:
    return f"note: skipped: a template (is not YAML: {problem}); check what it renders to"


NO_YAML: Cases = {
    "Helm": (
        "---\n{{- if .Values.enabled }}\n" + external_secret("  target: {}\n") + "{{- end }}\n",
        ["1: " + a_template("did not find expected node content")],
    ),
    "Helm that merely mentions the kind": (
        "# ExternalSecret\nkind: ClusterRole\nrules:\n  {{- range .Values.rules }}\n- {{ . }}\n  {{- end }}\n",
        ["1: " + a_template("did not find expected node content")],
    ),
    "Jinja": (
        "{% if a %}\n" + external_secret() + "{% endif %}\n",
        ["1: " + a_template("found character that cannot start any token")],
    ),
    "a comment of Jinja": (
        "{# ExternalSecret #}\nkind: ConfigMap\n",
        ["1: " + a_template("did not find expected ',' or '}'")],
    ),
    "ERB": (
        external_secret("  <% if a %>\n  target: {}\n  <% end %>\n"),
        ["1: " + a_template("could not find expected ':'")],
    ),
    "Terraform": (
        external_secret("  target:\n  %{~ for a in b ~}\n    ${a}: b\n  %{ endfor ~}\n"),
        ["1: " + a_template("found character that cannot start any token")],
    ),
    "a placeholder": (
        external_secret("  target: @TARGET@\n"),
        ["1: " + a_template("found character that cannot start any token")],
    ),
    "an action inside a quoted text": (
        external_secret('  target: {name: "{{ printf "%s" .name }}"}\n'),
        ["1: " + a_template("found character that cannot start any token")],
    ),
    "a template beside an object": (
        "{{ if x }}\nkind: ExternalSecret\n{{ end }}\n---\n" + external_secret("  target: {}\n"),
        ["1: " + a_template("did not find expected <document start>"), f"12: ExternalSecret database: {NO_POLICY}"],
    ),
    "an object that is no YAML": (
        "kind: ExternalSecret\n  spec: [\n",
        ["2: is not YAML: mapping values are not allowed in this context"],
    ),
    "an object that is no JSON": (
        '{"kind":"ExternalSecret",\n"spec":]}\n',
        ["2: is not YAML: did not find expected node content"],
    ),
    "something else that mentions the kind": (
        "# ExternalSecret\nkind: Deployment\n  spec: [\n",
        ["3: note: skipped: is not YAML: mapping values are not allowed in this context"],
    ),
    "a template that does not mention it": ("{{- if .Values.enabled }}\nkind: Secret\n{{- end }}\n", []),
}


@pytest.mark.parametrize("case", OPERATOR)
def test_the_operators_own_template_decides_nothing(check: Check, case: str) -> None:
    content, found = OPERATOR[case]
    assert check(content) == found


@pytest.mark.parametrize("case", DECIDED_BY_A_TEMPLATE)
def test_what_a_template_writes_is_skipped_and_said_so(check: Check, case: str) -> None:
    content, found = DECIDED_BY_A_TEMPLATE[case]
    assert check(content) == found


@pytest.mark.parametrize("case", NO_YAML)
def test_no_yaml_is_skipped_and_said_so_if_a_template_may_be_why_and_fails_otherwise(check: Check, case: str) -> None:
    content, found = NO_YAML[case]
    assert check(content) == found
