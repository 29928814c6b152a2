"""Quotas, limits, network policies and disruption budgets, from a manifest to the API server."""

import json
import random
import time
from collections.abc import Iterator, Mapping
from copy import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from compiler import loading, manifests
from compiler.compiled import compile_objects, load_objects
from compiler.dialects import KUBECTL
from compiler.files import Beside
from compiler.rbac import roles
from tests.support.controlplane import ControlPlane, KubectlFailed
from tests.support.refresher import FIELD_MANAGER, run, writer
from upsert import config, kinds, sources
from upsert.core.objects import Desired, Material, Object, OnConflict, Ref, Scope
from upsert.core.outcomes import Applied, Failed, Outcome
from upsert.core.resources import MANIFESTS
from upsert.kinds import manifest_comparison
from upsert.kinds.shapes import SPECS, ByName, Each, Leaf, Record, Shape

if TYPE_CHECKING:
    from upsert.sources.source import AwsApi

# As people write them: quantities in several spellings, numbers without quotes, and what the API server adds left out.
WRITTEN = {
    "ResourceQuota": """\
apiVersion: v1
kind: ResourceQuota
metadata:
  name: baseline
  creationTimestamp: null
  labels: {example.com/team: "42", app: bakery}
  annotations:
    example.com/why: "a word 😀 and <>&\\n a line\\x7f \\u2028 \\U0001f600 \\\\ud83d"
spec:
  hard:
    pods: 10
    count/jobs.batch: 1e3
    cpu: 1000m
    limits.cpu: 1.50
    memory: "1024Mi"
    requests.storage: 010
    persistentvolumeclaims: 1_0
status: {}
""",
    "LimitRange": """\
apiVersion: v1
kind: LimitRange
metadata: {name: baseline}
spec:
  limits:
    - type: Container
      max: {cpu: 2000m, memory: 2048Mi}
      min: {cpu: 0.100, memory: 64Mi, ephemeral-storage: 1Gi}
      default: {cpu: 500m}
    - {type: Pod, max: {cpu: 4}}
""",
    "NetworkPolicy": """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: baseline}
spec:
  podSelector: {}
  ingress:
    - from:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}
        - ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}
      ports: [{port: 8080}, {port: https}]
  egress:
    - {}
""",
    "PodDisruptionBudget": """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: baseline}
spec:
  minAvailable: 50%
  selector: {matchExpressions: [{key: app, operator: Exists}]}
status: {currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0}
""",
}
KINDS = pytest.mark.parametrize("kind", WRITTEN)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind, text in WRITTEN.items():
        (tmp_path / f"{kind}.yaml").write_text(text)
    return tmp_path


def file_of(*names: str, namespaces: str = '{include: ["team-*"]}') -> bytes:
    """Return a file of objects with these manifests."""
    entries = (f"  - manifest: {{file: {name}.yaml}}\n    namespaces: {namespaces}\n" for name in names)
    return f"version: 1\nobjects:\n{''.join(entries)}".encode()


def deployed(folder: Path, kind: str, on_conflict: OnConflict = OnConflict.REFUSE) -> Object:
    """Return the object as the function reads it from the compiled form."""
    compiled = json.loads(compile_objects(file_of(kind), "objects.yaml", Beside(folder)))
    environment = {"CLUSTER_NAME": "test", "ACCOUNT_ID": "123456789012", "AWS_REGION": "eu-central-1"}
    (one,) = config.config(environment, compiled).objects
    return replace(one, scope=Scope(), on_conflict=on_conflict)


def materials(one: Object) -> dict[Ref, Material]:
    """Return what the source gives, which needs no AWS."""
    reading = sources.read([part.ref for part in one.parts], cast("AwsApi", None))
    return {ref: given for ref, given in reading.items() if isinstance(given, Material)}


def apply(plane: ControlPlane, one: Object, namespace: str, user: str = "admin") -> Outcome:
    return run(writer(plane, user=user), materials(one), one, namespaces=[namespace]).outcomes[namespace]


def settled(plane: ControlPlane, one: Object, namespace: str, user: str = "admin") -> Applied:
    """Return what an apply comes to in a later second than that of the last change: no finer does the server tell."""
    deadline = time.monotonic() + 10
    while True:
        outcome = apply(plane, one, namespace, user)
        assert isinstance(outcome, Applied), outcome
        if outcome.change == "unchanged" or time.monotonic() > deadline:
            return outcome


def desired(one: Object) -> Desired:
    (part,) = one.parts
    return kinds.build(one, {part.place: materials(one)[part.ref]})


def live(plane: ControlPlane, one: Object, namespace: str) -> dict[str, Any]:
    return plane.request("GET", kinds.of(one).resource.path(namespace, one.name))


def rest(of: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {name: of["metadata"].get(name) or {} for name in ("labels", "annotations")}
    return {"spec": of["spec"], "metadata": metadata}


@KINDS
def test_the_compiled_form_holds_json_and_says_what_the_manifest_says(folder: Path, kind: str) -> None:
    (one,) = json.loads(compile_objects(file_of(kind), "objects.yaml", Beside(folder)))["objects"]

    assert (one["kind"], one["type"], one["name"]) == (kind, "", "baseline")
    (part,) = one["parts"]
    assert (part["place"], part["source"], list(part["ref"])) == ("manifest", "value", ["text"])
    assert json.loads(part["ref"]["text"])["spec"]


@KINDS
def test_a_second_apply_says_that_nothing_changed(
    control_plane: ControlPlane, namespace: str, folder: Path, kind: str
) -> None:
    one = deployed(folder, kind)

    first = apply(control_plane, one, namespace)
    second = settled(control_plane, one, namespace)

    assert isinstance(first, Applied)
    assert (first.title, first.change) == (f"{kind.lower()}/baseline", "created")
    assert (second.change, second.resource_version) == ("unchanged", first.resource_version)
    metadata = live(control_plane, one, namespace)["metadata"]
    assert [entry["manager"] for entry in metadata["managedFields"]] == [FIELD_MANAGER]
    assert not {"ownerReferences", "finalizers"} & metadata.keys()


@KINDS
def test_a_live_one_that_we_wrote_matches_by_path(
    control_plane: ControlPlane, namespace: str, folder: Path, kind: str
) -> None:
    one = deployed(folder, kind)
    apply(control_plane, one, namespace)

    verdicts = manifest_comparison.compare(rest(live(control_plane, one, namespace)), desired(one))

    assert {str(verdict).rpartition(": ")[2] for verdict in verdicts} == {"MATCH"}
    assert len(verdicts) == {"ResourceQuota": 10, "LimitRange": 1, "NetworkPolicy": 4, "PodDisruptionBudget": 2}[kind]


def test_what_another_one_holds_is_refused_or_taken_over(
    control_plane: ControlPlane, namespace: str, folder: Path
) -> None:
    theirs = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: baseline}, spec: {hard: {pods: 11}}}"
    arguments = ("apply", "--server-side", "--field-manager=somebody", f"--namespace={namespace}", "--filename=-")
    control_plane.kubectl(*arguments, stdin=theirs)

    refused = apply(control_plane, deployed(folder, "ResourceQuota"), namespace)
    taken = apply(control_plane, deployed(folder, "ResourceQuota", OnConflict.TAKE_OVER), namespace)

    assert isinstance(refused, Failed)
    assert refused.reason == "contested"
    assert "somebody writes this ResourceQuota too" in refused.remedy
    assert isinstance(taken, Applied)
    assert (taken.change, taken.took_over_from) == ("updated", ("somebody",))
    assert live(control_plane, deployed(folder, "ResourceQuota"), namespace)["spec"]["hard"]["pods"] == "10"


@KINDS
def test_the_printed_role_is_enough_and_for_that_name_alone(
    control_plane: ControlPlane, namespace: str, folder: Path, kind: str
) -> None:
    found = load_objects(file_of(kind, namespaces=f"{{include: [{namespace}]}}"), "objects.yaml", Beside(folder))
    local = [one for one in yaml.safe_load_all(roles(found)) if one["metadata"].get("namespace") == namespace]
    one = deployed(folder, kind)

    before = apply(control_plane, one, namespace, user="refresher")
    control_plane.apply_roles(yaml.safe_dump_all(local))
    created = apply(control_plane, one, namespace, user="refresher")
    again = settled(control_plane, one, namespace, user="refresher")
    other = apply(control_plane, replace(one, name="another"), namespace, user="refresher")

    assert [one["kind"] for one in local] == ["Role", "RoleBinding"]
    assert isinstance(created, Applied)
    assert (created.change, again.change) == ("created", "unchanged")
    for refused, name in ((before, "baseline"), (other, "another")):
        assert isinstance(refused, Failed)
        assert (refused.reason, refused.status) == ("forbidden", 403)
        assert f"the group eks-upsert may not patch this {kind}; apply rbac/refresher.yaml" in refused.remedy
        assert f"with {name} in resourceNames" in refused.remedy


# What kubectl makes of it ------------------------------------------------------------------------------------------


def by_kubectl(plane: ControlPlane, folder: Path, *texts: str) -> list[dict[str, Any]]:
    """Return what kubectl would send of each manifest."""
    for number, text in enumerate(texts):
        (folder / f"{number:04}.yaml").write_bytes(text.encode())
    arguments = ("create", "--dry-run=client", "--validate=false", "--output=json", f"--filename={folder}")
    left, made = plane.kubectl(*arguments), []
    while left.strip():
        one, end = json.JSONDecoder().raw_decode(left.lstrip())
        made.append(one)
        left = left.lstrip()[end:]
    return made


def sent(text: str) -> dict[str, Any]:
    """Return what of a manifest is sent, as the API server reads it."""
    found, faults = manifests.read(text.encode())
    assert found, faults
    one = {"name": found.name, **json.loads(found.rest).get("metadata", {})}
    return {"kind": found.kind, "metadata": one, "spec": json.loads(found.rest)["spec"]}


@KINDS
def test_it_is_sent_as_kubectl_would_send_it(control_plane: ControlPlane, tmp_path: Path, kind: str) -> None:
    (theirs,), ours = by_kubectl(control_plane, tmp_path, WRITTEN[kind]), sent(WRITTEN[kind])

    assert as_json(ours["spec"]) == as_json(theirs["spec"])
    assert ours["metadata"] == {
        name: value for name, value in theirs["metadata"].items() if name not in ("namespace", "creationTimestamp")
    }


TEXTS = (
    "",
    " ",
    "a: b",
    "- a",
    "#",
    "a #b",
    "x\n",
    "\n x\n\ny",
    "'",
    '"',
    "\\",
    "\t",
    "äö😀 \u2028 x",
    "on",
    "1e3",
    "~",
    "<&>",
    "a" * 200,
)


def generated(made: random.Random) -> str:
    """Return a manifest in one of the many ways in which programs write YAML."""
    quantities = {
        f"count/x{n}.y": made.choice([n, f"{n}", f"{n}m", f"{n}.5Gi", n / 4]) for n in range(made.randint(1, 9))
    }
    scopes = made.sample(["BestEffort", "Terminating", "CrossNamespacePodAffinity"], made.randint(0, 3))
    annotations = {f"example.com/{n}": made.choice(TEXTS) for n in range(made.randint(1, 9))}
    metadata = {"name": f"a{made.randrange(10**6)}", "labels": {"a": made.choice(["", "on", "1", "x.y"])}}
    content = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"hard": quantities, "scopes": scopes},
    }
    if made.random() < 0.2:
        return json.dumps(content, indent=made.choice([None, 1]), ensure_ascii=False)
    return str(
        yaml.dump(
            content,
            Dumper=type("_OneOfMany", (_Quoting,), {"made": made}),
            default_flow_style=made.choice([True, False]),
            width=made.choice([20, 80]),
            allow_unicode=made.choice([True, False]),
            sort_keys=False,
        )
    )


class _Quoting(yaml.SafeDumper):
    """Writes texts in one of the ways that keep them texts for everybody."""

    made = random.Random(0)

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, self.made.choice(["'", '"', "|", ">"]))


_Quoting.add_representer(str, _Quoting.represent_str)


def test_generated_manifests_are_sent_as_kubectl_would_send_them(control_plane: ControlPlane, tmp_path: Path) -> None:
    made = random.Random(11)
    texts = [generated(made) for _ in range(200)]

    for text, theirs in zip(texts, by_kubectl(control_plane, tmp_path, *texts), strict=True):
        ours = sent(text)
        assert as_json(ours["spec"]) == as_json(theirs["spec"]), text
        assert {"namespace": "default", **ours["metadata"]} == {"namespace": "default", **theirs["metadata"]}, text


@pytest.mark.parametrize(
    "arguments",
    [
        ("quota", "built", "--hard=cpu=1,memory=1G,pods=2,count/jobs.batch=3", "--scopes=BestEffort"),
        ("poddisruptionbudget", "built", "--selector=app=rails,!old", "--min-available=50%"),
        ("poddisruptionbudget", "built", "--selector=app=rails", "--max-unavailable=1"),
    ],
)
def test_what_kubectl_create_prints_is_taken(control_plane: ControlPlane, arguments: tuple[str, ...]) -> None:
    printed = control_plane.kubectl("create", *arguments, "--dry-run=client", "--output=yaml")

    assert as_json(sent(printed)["spec"]) == as_json(yaml.safe_load(printed)["spec"])


def made(kind: str, spec: str) -> str:
    """Return a manifest with that spec."""
    (version,) = (one.api_version for one in MANIFESTS if one.kind == kind)
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: made}}\nspec: {{{spec}}}\n"


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("ResourceQuota", "hard: {pods: -1}"),
        ("ResourceQuota", 'hard: {cpu: "-0.5"}'),
        ("PodDisruptionBudget", "minAvailable: -1"),
        ("PodDisruptionBudget", "maxUnavailable: -1%"),
        ("PodDisruptionBudget", "minAvailable: 1, maxUnavailable: 50%"),
    ],
)
def test_the_api_server_refuses_what_the_build_refuses(control_plane: ControlPlane, kind: str, spec: str) -> None:
    found, faults = manifests.read(made(kind, spec).encode())
    assert (found, len(faults)) == (None, 1)
    with pytest.raises(KubectlFailed, match=r"is invalid: spec"):
        control_plane.kubectl("apply", "--dry-run=server", "--filename=-", stdin=made(kind, spec))


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("ResourceQuota", 'hard: {pods: -0, cpu: "-0.0"}'),
        ("PodDisruptionBudget", "minAvailable: 0"),
        ("PodDisruptionBudget", "selector: {}"),
    ],
)
def test_the_build_takes_what_the_api_server_takes(control_plane: ControlPlane, kind: str, spec: str) -> None:
    assert manifests.read(made(kind, spec).encode())[0]
    control_plane.kubectl("apply", "--dry-run=server", "--filename=-", stdin=made(kind, spec))


PLAIN = """
1 10 010 0o10 0O17 08 09.5 0x1F 0X1f -0x1f 0b101 0B1 +0b11 -017 00 0 -0 +0 +5 -5 1_000 0_7 _1 1__0 -1_0
1e3 1E3 1e+3 1e-3 1.5e3 .5 .5e1 -.5 +.5 5. 1. 0.10 1.0 1e21 1e22 1e16 123456789012345678 1e999 .5_0 ._5 .5_ .5__0 .5e1_0
9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 -9223372036854775809
0xffffffffffffffff 0x10000000000000000 0777777777777777777777777 0b2 0x 0xg 1e 1e+ . .. + 1.2.3 1:30 190:20:30
y Y yes Yes YES yEs n N no No NO true True TRUE tRUE on On ON off OFF false FALSE null Null NULL nULL ~ ~x
2024-01-01 2001-12-14t21:59:43.10-05:00 10% 500m 1Gi 2Ki 1.5Gi 1e3Mi 12abc =5 <<x !
""".replace("!", "").split()  # fmt: skip


def spellings() -> Iterator[str]:
    yield from PLAIN
    made = random.Random(7)
    for _ in range(600):
        yield made.choice("0123456789+.yYnNtTofF~") + "".join(
            made.choices("0123456789_.eExXbo+-ymniaN", k=made.randint(0, 6))
        )


def test_what_stands_without_quotes_means_what_it_means_to_kubectl(control_plane: ControlPlane, tmp_path: Path) -> None:
    texts = list(dict.fromkeys(text for text in spellings() if not is_no_number(text)))
    hard = "".join(f"    k{n}: {text}\n" for n, text in enumerate(texts))
    text = f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: a}}\nspec:\n  hard:\n{hard}"

    theirs = by_kubectl(control_plane, tmp_path, text)[0]["spec"]["hard"]
    ours = loading.load(text.encode(), KUBECTL).value["spec"]["hard"]

    assert len(texts) > 450
    wrong = {
        text: (ours[f"k{n}"], theirs[f"k{n}"])
        for n, text in enumerate(texts)
        if not same(ours[f"k{n}"], theirs[f"k{n}"])
    }
    assert not wrong


def is_no_number(text: str) -> bool:
    return text.lower().lstrip("+-") in (".inf", ".nan")


def same(ours: object, theirs: object) -> bool:
    return type(ours) is type(theirs) and ours == theirs


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


# What the API server makes of it -----------------------------------------------------------------------------------


def schemas(plane: ControlPlane) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for group in ("api/v1", "apis/networking.k8s.io/v1", "apis/policy/v1"):
        found |= plane.request("GET", f"/openapi/v3/{group}")["components"]["schemas"]
    return found


LEAVES = {"string": Leaf.TEXT, "integer": Leaf.INTEGER}
NAMED = {"Quantity": Leaf.QUANTITY, "IntOrString": Leaf.INTEGER_OR_TEXT}


def shape_of(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Shape:
    """Return the shape that the API server publishes."""
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    (reference,) = (one["$ref"] for one in schema.get("allOf", [{"$ref": schema.get("$ref", "")}]))
    name = reference.rpartition("/")[2]
    short = name.rpartition(".")[2]
    if short:
        shape = NAMED.get(short) or shape_of(known[name], known)
        return replace(shape, is_atomic=shape.is_atomic or is_atomic) if isinstance(shape, Record) else shape
    match schema["type"]:
        case "object" if "properties" in schema:
            return Record({key: shape_of(one, known) for key, one in schema["properties"].items()}, is_atomic)
        case "object":
            return ByName(shape_of(schema["additionalProperties"], known))
        case "array":
            assert schema.get("x-kubernetes-list-type", "atomic") == "atomic"
            return Each(shape_of(schema["items"], known))
        case single:
            return LEAVES[single]


@pytest.mark.parametrize("kind", SPECS)
def test_the_fields_are_those_of_the_api_server(control_plane: ControlPlane, kind: str) -> None:
    known = schemas(control_plane)
    (published,) = (one for name, one in known.items() if name.rpartition(".")[2] == f"{kind}Spec")

    assert shape_of(published, known) == SPECS[kind]


# What is compared --------------------------------------------------------------------------------------------------


def verdicts(kind: str, live: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return the verdicts on a live spec, or on all of a live object, by path, each with whether it loses nothing."""
    (resource,) = (one for one in MANIFESTS if one.kind == kind)
    whole = [one if {"spec", "metadata"} & one.keys() else {"spec": one} for one in (live, new)]
    found = manifest_comparison.compare(whole[0], Desired(resource, "baseline", "", {}, rest=whole[1]))
    return {verdict.key: (str(verdict.likeness), verdict.loses_nothing) for verdict in found}


MATCH, MISMATCH = ("MATCH", True), ("MISMATCH", False)
ONLY_IN_NEW, ONLY_IN_LIVE = ("ONLY IN NEW", True), ("ONLY IN LIVE", True)


@pytest.mark.parametrize(
    ("live", "new"),
    [
        ("10", 10),
        ("1", "1000m"),
        ("1", 1),
        ("1", "1.0"),
        ("1500m", 1.5),
        ("1Gi", "1024Mi"),
        ("1G", "1000M"),
        ("1k", "1e3"),
        ("1k", "1E3"),
        ("1E", "1000P"),
        ("0", "0Ki"),
        ("100u", ".1m"),
        ("2", "+2"),
        ("1n", "1e-9"),
    ],
)
def test_quantities_are_compared_by_value(live: object, new: object) -> None:
    assert verdicts("ResourceQuota", {"hard": {"cpu": live}}, {"hard": {"cpu": new}}) == {"spec.hard.cpu": MATCH}


@pytest.mark.parametrize(
    ("live", "new"),
    [
        ("1", "2"),
        ("1Gi", "1G"),
        ("1k", "1Ki"),
        ("1", "1m"),
        ("-1", "1"),
        ("1", "x"),
        ("1", f"1.{'0' * 40}1"),
        (f"{10**40}", f"{10**40 + 1}"),
    ],
)
def test_another_quantity_is_a_mismatch(live: object, new: object) -> None:
    assert verdicts("ResourceQuota", {"hard": {"cpu": live}}, {"hard": {"cpu": new}}) == {"spec.hard.cpu": MISMATCH}


PORT, NAMED_PORT = {"port": 80, "protocol": "TCP"}, {"port": "80", "protocol": "TCP"}
DEFAULTED = {"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("kind", "live", "new", "expected"),
    [
        (
            "ResourceQuota",
            {"hard": {"pods": "1", "limits.cpu": "2"}, "scopes": ["BestEffort"]},
            {"hard": {"pods": "1", "count/jobs.batch": 3}},
            {
                "spec.hard.pods": MATCH,
                'spec.hard["limits.cpu"]': ONLY_IN_LIVE,
                'spec.hard["count/jobs.batch"]': ONLY_IN_NEW,
                "spec.scopes": ONLY_IN_LIVE,
            },
        ),
        ("ResourceQuota", {"scopes": ["A", "B"]}, {"scopes": ["B", "A"]}, {"spec.scopes": MISMATCH}),
        ("ResourceQuota", {}, {"hard": {}, "scopes": []}, {}),
        (
            "LimitRange",
            {"limits": [DEFAULTED]},
            {"limits": [{"type": "Container", "max": {"cpu": 1}}]},
            {"spec.limits": MATCH},
        ),
        (
            "LimitRange",
            {"limits": [{**DEFAULTED, "default": {"cpu": "2"}}]},
            {"limits": [{"type": "Container", "max": {"cpu": 1}}]},
            {"spec.limits": MISMATCH},
        ),
        ("LimitRange", {"limits": [DEFAULTED, DEFAULTED]}, {"limits": [DEFAULTED]}, {"spec.limits": MISMATCH}),
        (
            "NetworkPolicy",
            {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"ports": [PORT]}]},
            {"ingress": [{"ports": [{"port": 80}]}]},
            {"spec.podSelector": MATCH, "spec.policyTypes": MATCH, "spec.ingress": MATCH},
        ),
        (
            "NetworkPolicy",
            {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{"ports": [NAMED_PORT]}]},
            {"ingress": [{"ports": [{"port": 80}]}], "egress": []},
            {"spec.podSelector": MATCH, "spec.policyTypes": MISMATCH, "spec.ingress": MISMATCH},
        ),
        # An apply replaces a selector whole, and an empty one selects everything.
        (
            "NetworkPolicy",
            {"podSelector": {"matchLabels": {"a": "b"}}, "policyTypes": ["Ingress"]},
            {"podSelector": {}},
            {"spec.podSelector": MISMATCH, "spec.policyTypes": MATCH},
        ),
        (
            "PodDisruptionBudget",
            {"selector": {"matchLabels": {"a": "b", "c": "d"}}, "minAvailable": 1},
            {"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": "1"},
            {"spec.selector": MISMATCH, "spec.minAvailable": ONLY_IN_LIVE, "spec.maxUnavailable": ONLY_IN_NEW},
        ),
        ("PodDisruptionBudget", {"minAvailable": 1}, {"minAvailable": "1"}, {"spec.minAvailable": MISMATCH}),
        # What no API server sends.
        ("ResourceQuota", {"hard": "a"}, {"hard": {"pods": 1}}, {"spec.hard": MISMATCH}),
        # A field that the table does not know yet.
        ("PodDisruptionBudget", {"new": {"a": 1}}, {}, {"spec.new": ONLY_IN_LIVE}),
        (
            "ResourceQuota",
            {"spec": {}, "metadata": {"labels": {"a": "b", "theirs": "x"}, "annotations": {"theirs": "x"}}},
            {"spec": {}, "metadata": {"labels": {"a": "c", "ours": "x"}}},
            {"metadata.labels.a": MISMATCH, "metadata.labels.ours": ONLY_IN_NEW},
        ),
        (
            "ResourceQuota",
            {"spec": {}},
            {"spec": {}, "metadata": {"labels": {"a": "b"}}},
            {"metadata.labels.a": ONLY_IN_NEW},
        ),
        ("ResourceQuota", {"spec": {}, "metadata": {"labels": {"a": "b"}}}, {"spec": {}}, {}),
    ],
)
def test_a_live_one_is_compared_by_path(
    kind: str, live: dict[str, Any], new: dict[str, Any], expected: dict[str, tuple[str, bool]]
) -> None:
    assert verdicts(kind, live, new) == expected


def test_a_live_one_that_says_nothing_lacks_all_that_is_new() -> None:
    assert verdicts("PodDisruptionBudget", {"metadata": {}}, {"minAvailable": 1}) == {"spec.minAvailable": ONLY_IN_NEW}
    assert verdicts("LimitRange", {"metadata": {}}, {"spec": {}}) == {}


def test_a_mismatch_tells_no_value() -> None:
    (resource,) = (one for one in MANIFESTS if one.kind == "ResourceQuota")
    new = Desired(resource, "baseline", "", {}, rest={"spec": {"hard": {"pods": 4711}}})

    (verdict,) = manifest_comparison.compare({"spec": {"hard": {"pods": "42"}}}, new)

    assert str(verdict).startswith("spec.hard.pods: MISMATCH (")
    assert "42" not in str(verdict)
    assert "4711" not in str(verdict)
