"""Manifests that are named in the file of objects: what is taken, and what is refused, where and why."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from compiler import manifests
from compiler.compiled import compile_objects
from compiler.files import Beside
from upsert.core.resources import MANIFESTS
from upsert.errors import InputError

SCHEMA = json.loads((Path(__file__).parents[2] / "functions" / "objects.schema.json").read_text())
KINDS = " or ".join(resource.kind for resource in MANIFESTS)
QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: baseline}\nspec: {hard: {pods: 10}}\n"
POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a}
spec:
  ingress:
    - from: [{podSelector: {matchLabels: {a: 1}}}]
      port: [80]
    - ports: [{port: 80.5, endPort: '1'}]
"""
BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a}
spec: {minAvailable: 50%, maxUnavailable: 1}
"""
ENTRY = "{manifest: {file: quota.yaml}, namespaces: {include: [apps]}}"


def file_of(*entries: str) -> bytes:
    return "\n".join(["version: 1", "objects:", *(f"  - {one}" for one in entries)]).encode()


def quota(*, metadata: str = "", spec: str = "hard: {pods: 10}", more: str = "") -> str:
    """Return a manifest whose metadata stand in line 3, its spec in line 4, and what is added after these."""
    name = f"name: baseline{', ' if metadata else ''}"
    return f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{{name}{metadata}}}\nspec: {{{spec}}}\n{more}"


def of_kind(kind: str, version: str = "v1") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a, uid: b}}\nspec: {{nodeName: hunter2}}\n"


def compiled(folder: Path, text: str | bytes, *entries: str) -> str:
    (folder / "quota.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return compile_objects(file_of(*(entries or (ENTRY,))), "objects.yaml", Beside(folder))


def faults(folder: Path, text: str | bytes, *entries: str) -> list[str]:
    with pytest.raises(InputError) as refused:
        compiled(folder, text, *entries)
    return list(refused.value.problems)


@pytest.mark.parametrize(
    "text",
    [
        QUOTA,
        f"---\n{QUOTA}...\n",
        "\ufeff" + QUOTA.replace("\n", "\r\n"),
        json.dumps(yaml.safe_load(QUOTA), indent=2),
        QUOTA + "status: {}\n",
        QUOTA + "status: {used: {}, hard: null}\n",
        QUOTA.replace("{name: baseline}", "{name: baseline, creationTimestamp: null, labels: {}}"),
        "# why\napiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: &n baseline\nspec:\n  hard: {pods: 10}\n",
    ],
)
def test_what_says_the_same_is_compiled_to_the_same(tmp_path: Path, text: str) -> None:
    (one,) = json.loads(compiled(tmp_path, text))["objects"]
    assert one == {
        "kind": "ResourceQuota",
        "type": "",
        "name": "baseline",
        "parts": [{"place": "manifest", "source": "value", "ref": {"text": '{"spec":{"hard":{"pods":10}}}'}}],
        "namespaces": {"include": ["apps"], "exclude": [], "selector": ""},
        "service_accounts": [],
        "on_conflict": "refuse",
        "clusters": ["*"],
        "is_written": True,
    }


def test_labels_and_annotations_are_kept_as_written(tmp_path: Path) -> None:
    text = quota(metadata='labels: {example.com/a: "1", b: ""}, annotations: {c: "x\\ny", d/e: "yes"}')
    (one,) = json.loads(compiled(tmp_path, text))["objects"]
    assert json.loads(one["parts"][0]["ref"]["text"])["metadata"] == {
        "labels": {"example.com/a": "1", "b": ""},
        "annotations": {"c": "x\ny", "d/e": "yes"},
    }


_FILE = "objects.yaml:3: objects[0].manifest.file: quota.yaml"
_API = "expected none, since the API server says it: leave out what `kubectl get` added"
_RUNS_PODS = "who steals the token of a role that may write it runs pods of their own"
_GRANTS = "a role that may write it needs all that it grants, or the verb escalate or bind"
_OF_CLUSTER = "it is for the whole cluster, and objects go into namespaces"
_CLOSED = "each kind is one more power of the role, so the table of kinds is closed"
_NAME_FOR_MORE = "a field whose name YAML takes for a number, true, false or null; expected it in quotes"
_STATUS = "is filled; expected none, since the API server and controllers say it"
_TEXT = "expected a text, in quotes if YAML would take it for something else"
_LABEL = "expected a label's value, in quotes if YAML would take it for something else"
_QUANTITY = "expected a quantity such as 10, 500m or 2Gi"
_NAME = "expected an object's name: lower-case letters, digits, - and ."
_NO_NAMESPACE = "is there; expected none, since the file of objects says the namespaces"
_NO_OWNER = "is there; expected none, since deleting the owner would delete it"
_TAG = "a tag (!); expected the value without one, or quotes around a text that starts with !"
_AN_OBJECT, _OF_CONFIG_MAP = "expected an object with", "kind: ConfigMap, name and data"
_IN_OBJECTS = "in the file of objects"
_CANNOT_BE_READ = "cannot be read (No such file or directory); expected a file beside the file of objects"
_HALF = r"half of a character, such as \ud83d; expected it whole, such as \U0001f600"
_TOP = "apiVersion or kind or metadata or spec or status"
_META = "name or labels or annotations or creationTimestamp"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1: the file is empty; expected a manifest"]),
        ("# nothing\n", ["1: the file is empty; expected a manifest"]),
        ("[]", ["1: a list of 0 is wrong; expected a manifest"]),
        ("hunter2", ["1: a text of 7 characters is wrong; expected a manifest"]),
        (b"\xff", ["1: byte 1 is no UTF-8; expected a file in UTF-8"]),
        (QUOTA + "---\n" + QUOTA, ["5: a second document; expected one"]),
        (QUOTA + "spec: {}\n", ["5: spec: is there twice, first in line 4; expected once"]),
        (
            "{}",
            [
                f"1: kind: is missing; expected {KINDS}",
                "1: metadata: is missing; expected an object of name, labels and annotations",
                "1: spec: is missing; expected an object",
            ],
        ),
        (QUOTA.replace("ResourceQuota", "1"), [f"2: kind: 1 is no text; expected {KINDS}, in quotes"]),
        (QUOTA.replace("v1", "v2"), ["1: apiVersion: 'v2' is wrong; expected v1"]),
        (QUOTA.replace("apiVersion: v1\n", ""), ["1: apiVersion: is missing; expected v1"]),
        (QUOTA + "data: {a: b}\n", [f"5: unknown field 'data'; expected {_TOP}"]),
        (QUOTA + "status: {hard: {pods: 1}}\n", [f"5: status: {_STATUS}"]),
        (QUOTA + "status: hunter2\n", [f"5: status: {_STATUS}"]),
        (QUOTA.replace("baseline", "Base"), [f"3: metadata.name: 'Base' is wrong; {_NAME}"]),
        (quota(metadata="namespace: apps"), [f"3: metadata.namespace: {_NO_NAMESPACE}"]),
        (
            quota(metadata="uid: a, resourceVersion: '1'"),
            [f"3: metadata.uid: is there; {_API}", f"3: metadata.resourceVersion: is there; {_API}"],
        ),
        (quota(metadata="managedFields: []"), [f"3: metadata.managedFields: is there; {_API}"]),
        (quota(metadata="ownerReferences: []"), [f"3: metadata.ownerReferences: {_NO_OWNER}"]),
        (
            quota(metadata="finalizers: [a]"),
            ["3: metadata.finalizers: is there; expected none, since it could then not be deleted"],
        ),
        (quota(metadata="generateName: a-"), ["3: metadata.generateName: is there; expected a name"]),
        (
            quota(metadata="creationTimestamp: 2024-01-01"),
            ["3: metadata.creationTimestamp: is filled; expected null, since the API server says it"],
        ),
        (quota(metadata="labelz: {}"), [f"3: metadata: unknown field 'labelz'; expected {_META}"]),
        (quota(metadata="labels: [a]"), ["3: metadata.labels: a list of 1 is wrong; expected an object of labels"]),
        (quota(metadata="labels: {a: yes}"), [f"3: metadata.labels.a: true is no text; {_LABEL}"]),
        (quota(metadata="labels: {a: 1e3}"), [f"3: metadata.labels.a: a number is no text; {_LABEL}"]),
        (quota(metadata="labels: {a: b c}"), [f"3: metadata.labels.a: a text of 3 characters is wrong; {_LABEL}"]),
        (
            quota(metadata="labels: {'a b': c}"),
            ['3: metadata.labels["a b"]: is no name of a label or annotation; expected one such as example.com/team'],
        ),
        (quota(metadata="annotations: {a: null}"), [f"3: metadata.annotations.a: null is wrong; {_TEXT}"]),
        (quota(metadata='annotations: {a: "\\ud83d"}'), [f"3: metadata.annotations.a: {_HALF}"]),
        (quota(metadata='labels: {"\\udfff": a}'), [f"3: metadata.labels: {_HALF}"]),
        (json.dumps({**yaml.safe_load(QUOTA), "kind": "\ud800"}), [f"1: kind: {_HALF}"]),
        (quota(metadata="labels: {on: a}"), [f"3: metadata.labels: {_NAME_FOR_MORE}"]),
        (
            quota(metadata="annotations: {eks-upsert/expires-at: a}"),
            ['3: metadata.annotations["eks-upsert/expires-at"]: is one of eks-upsert\'s own; expected another name'],
        ),
        (
            quota(metadata="annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2}"),
            [
                (
                    '3: metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]: is kubectl\'s own; '
                    "expected none: kubectl create --dry-run=client -o yaml writes none"
                )
            ],
        ),
        (quota(spec="had: {pods: 1}"), ["4: spec: unknown field 'had'; expected hard or scopes or scopeSelector"]),
        (
            quota(spec='hard: {pods: -1, cpu: "-0.5", memory: -1e3, services: -0, secrets: 0}'),
            [
                "4: spec.hard.pods: a number is negative; expected 0 or more",
                "4: spec.hard.cpu: a text of 4 characters is negative; expected 0 or more",
                "4: spec.hard.memory: a number is negative; expected 0 or more",
            ],
        ),
        (BUDGET, ["4: spec: names minAvailable and maxUnavailable; expected one of the two"]),
        (
            BUDGET.replace(", maxUnavailable: 1", "").replace("50%", "-1%"),
            ["4: spec.minAvailable: a text of 3 characters is negative; expected 0 or more"],
        ),
        (quota(spec="hard: {pods: ten}"), [f"4: spec.hard.pods: a text of 3 characters is wrong; {_QUANTITY}"]),
        (quota(spec="hard: {pods: on}"), [f"4: spec.hard.pods: true is wrong; {_QUANTITY}"]),
        (quota(spec="hard: {pods: }"), [f"4: spec.hard.pods: null is wrong; {_QUANTITY}"]),
        (
            quota(spec="hard: {pods: .inf}"),
            ["4: spec.hard.pods: no number that JSON has; expected a number, or quotes around a text"],
        ),
        (quota(spec="hard: {pods: !!str 1}"), [f"4: spec.hard.pods: {_TAG}"]),
        (quota(spec="hard: {1: 2}"), [f"4: spec.hard: {_NAME_FOR_MORE}"]),
        (quota(spec="hard: {.nan: 2}"), [f"4: spec.hard: {_NAME_FOR_MORE}"]),
        (quota(spec="hard: {<<: {pods: 2}}"), ["4: spec.hard: a merge (<<); expected the fields themselves"]),
        (quota(spec="hard: [pods]"), ["4: spec.hard: a list of 1 is wrong; expected an object"]),
        (quota(spec="scopes: {a: b}"), ["4: spec.scopes: an object of 1 is wrong; expected a list"]),
        (quota(spec="scopes: [1]"), [f"4: spec.scopes[0]: a number is wrong; {_TEXT}"]),
        (
            POLICY,
            [
                f"6: spec.ingress[0].from[0].podSelector.matchLabels.a: a number is wrong; {_TEXT}",
                "7: spec.ingress[0]: unknown field 'port'; expected from or ports",
                "8: spec.ingress[1].ports[0].port: a number is wrong; expected a whole number or a text",
                "8: spec.ingress[1].ports[0].endPort: a text of 1 characters is wrong; expected a whole number",
            ],
        ),
        (
            of_kind("NetworkPolicy", "crd.projectcalico.org/v1"),
            [
                "1: apiVersion: 'crd.projectcalico.org/v1' is wrong; expected networking.k8s.io/v1",
                f"3: metadata.uid: is there; {_API}",
                "4: spec: unknown field 'nodeName'; expected podSelector or policyTypes or ingress or egress",
            ],
        ),
        *(
            (of_kind(kind), [f"2: kind: '{kind}' is wrong: {why}; expected {KINDS}"])
            for kind, why in (
                ("Pod", _RUNS_PODS),
                ("Deployment", _RUNS_PODS),
                ("CronJob", _RUNS_PODS),
                ("Role", _GRANTS),
                ("ClusterRoleBinding", _GRANTS),
                ("CustomResourceDefinition", _OF_CLUSTER),
                ("ServiceAccount", "who may write it gives its pods another identity, on EKS an IAM role"),
                ("List", "one object is kept by itself"),
                ("Gateway", _CLOSED),
                ("resourcequota", _CLOSED),
            )
        ),
        (
            of_kind("Secret"),
            [f"2: kind: is Secret: its values are kept at a source; {_AN_OBJECT} name, type and data {_IN_OBJECTS}"],
        ),
        (
            of_kind("ConfigMap"),
            [f"2: kind: is ConfigMap: it has a form of its own; {_AN_OBJECT} {_OF_CONFIG_MAP} {_IN_OBJECTS}"],
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_by_file_line_field_and_reason(
    tmp_path: Path, text: str | bytes, expected: list[str]
) -> None:
    assert faults(tmp_path, text) == [f"{_FILE}:{fault}" for fault in expected]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "{manifest: {file: quota.yaml}, name: a, type: b, kind: ConfigMap, namespaces: {include: [apps]}}",
            [f"objects[0].{name}: is said by the manifest; expected none here" for name in ("kind", "type", "name")],
        ),
        (
            "{manifest: {file: quota.yaml}, data: {}, namespaces: {include: [apps]}}",
            [
                "objects[0]: unknown field 'data'; expected manifest or namespaces or on_conflict or clusters or write",
            ],
        ),
        (
            "{manifest: {file: quota.yaml}, service_accounts: [a], namespaces: {include: [apps]}}",
            [
                (
                    "objects[0]: unknown field 'service_accounts'; "
                    "expected manifest or namespaces or on_conflict or clusters or write"
                )
            ],
        ),
        (
            "{manifest: quota.yaml, namespaces: {include: [apps]}}",
            [
                (
                    "objects[0].manifest: a text of 10 characters is wrong; "
                    "expected a file, such as {file: baseline/quota.yaml}"
                )
            ],
        ),
        (
            "{manifest: {url: a}, namespaces: {include: [apps]}}",
            [
                "objects[0].manifest: unknown field 'url'; expected file",
                (
                    "objects[0].manifest.file: is missing; "
                    "expected the path of a file beside the file of objects, such as config/ca.pem"
                ),
            ],
        ),
        (
            "{manifest: {file: none.yaml}, namespaces: {include: [apps]}}",
            [
                (
                    "objects[0].manifest.file: 'none.yaml' cannot be read (No such file or directory); "
                    "expected a file beside the file of objects"
                )
            ],
        ),
        (
            "{manifest: {file: ../quota.yaml}, namespaces: {include: [apps]}}",
            [
                (
                    "objects[0].manifest.file: '../quota.yaml' is wrong; "
                    "expected the path of a file beside the file of objects, such as config/ca.pem"
                )
            ],
        ),
        (
            "{kind: ResourceQuota, name: a, namespaces: {include: [apps]}}",
            [
                (
                    "objects[0].kind: 'ResourceQuota' is wrong; "
                    "expected Secret or ConfigMap, or in its place a manifest, such as {file: baseline/quota.yaml}"
                )
            ],
        ),
        (
            "{manifest: {file: quota.yaml}}",
            ["objects[0].namespaces: is missing; expected an object of include, exclude and selector"],
        ),
    ],
)
def test_an_entry_that_names_it_wrongly_is_refused(tmp_path: Path, entry: str, expected: list[str]) -> None:
    assert faults(tmp_path, QUOTA, entry) == [f"objects.yaml:3: {fault}" for fault in expected]


@pytest.mark.parametrize(
    ("entry", "is_good"),
    [
        (ENTRY, True),
        ("{manifest: {file: a.yaml}, namespaces: {selector: a}, on_conflict: take-over, write: never}", True),
        ("{manifest: {file: a.yaml}, name: a, namespaces: {include: [apps]}}", False),
        ("{manifest: {file: a.yaml}, kind: ConfigMap, namespaces: {include: [apps]}}", False),
        ("{manifest: {file: a.yaml}, data: {a: {secret: a}}, namespaces: {include: [apps]}}", False),
        ("{manifest: {}, namespaces: {include: [apps]}}", False),
        ("{manifest: {file: ../a.yaml}, namespaces: {include: [apps]}}", False),
        ("{manifest: a.yaml, namespaces: {include: [apps]}}", False),
        ("{namespaces: {include: [apps]}}", False),
    ],
)
def test_the_schema_tells_the_form(entry: str, *, is_good: bool) -> None:
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(file_of(entry))) is is_good


def test_one_name_in_one_namespace_is_an_overlap(tmp_path: Path) -> None:
    assert faults(tmp_path, QUOTA, ENTRY, ENTRY) == [
        (
            "objects.yaml:4: objects[1].namespaces: is for apps, and so is objects[0], which is resourcequota/baseline "
            "too; expected namespaces or clusters that differ"
        )
    ]


def test_faults_of_many_manifests_are_told_at_once(tmp_path: Path) -> None:
    other = ENTRY.replace("quota.yaml", "none.yaml")
    found = faults(tmp_path, quota(spec="had: 1", metadata="uid: a"), other, ENTRY)
    assert [fault.split(": ")[0:3:2] for fault in found] == [
        ["objects.yaml:3", f"'none.yaml' {_CANNOT_BE_READ}"],
        ["objects.yaml:4", "quota.yaml:3"],
        ["objects.yaml:4", "quota.yaml:4"],
    ]


def test_no_manifest_whatever_it_holds_breaks_the_reader() -> None:
    for text in (
        "a: b: c",
        "{",
        "- - -",
        "? [a]\n: b",
        "&a [*a]",
        "[" * 5000,
        "\x00",
        "%YAML 9",
        "!!binary a",
        "9" * 6000,
    ):
        found, told = manifests.read(text.encode())
        assert found is None
        assert told
