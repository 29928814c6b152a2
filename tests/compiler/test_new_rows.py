"""A new kind or source is a row of its table: the compiler, the roles and the schema take it as it is."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import yaml

from compiler import compiled, rbac
from compiler.compiled import compile_objects
from tests.compiler.cases import a_file, an_object
from upsert import kinds, sources
from upsert.core.fields import Fields, grammar
from upsert.core.objects import Part
from upsert.core.resources import Resource
from upsert.errors import InputError
from upsert.kinds.kind import PartReader

SCHEMA = json.loads((Path(__file__).parents[2] / "functions" / "objects.schema.json").read_text())
BASIC_AUTH = {"type": "basic-auth", "registries": "", "data": "{password: {parameter: /apps/password}}"}
SETTINGS = {**BASIC_AUTH, "kind": "ConfigMap", "type": ""}


def data(at: Fields, part: PartReader) -> Sequence[Part]:
    values = at.child("data", "a source for each key")
    return [
        part(key, Fields.of(values.value[key], (*values.path, key), at.problems), login=False) for key in values.value
    ]


def parameter(at: Fields) -> Mapping[str, str]:
    at.closed(("parameter",))
    return {"parameter": at.text("parameter", grammar("/.*", "a path"), is_secret=True)}


@pytest.fixture
def new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kinds, one of them a ConfigMap, and a source."""
    known = kinds.TABLE["docker-registry"]
    basic_auth = replace(known, word="basic-auth", type="kubernetes.io/basic-auth", own_fields=("data",), parts=data)
    config_map = replace(basic_auth, word="config-map", type="", resource=Resource("ConfigMap", "configmaps"))
    for kind in (basic_auth, config_map):
        monkeypatch.setitem(kinds.TABLE, kind.word, kind)
    source = replace(sources.TABLE["secret"], word="parameter", form=parameter)
    monkeypatch.setitem(sources.TABLE, source.word, source)


@pytest.mark.usefixtures("new_rows")
@pytest.mark.parametrize(
    ("fields", "kind", "type_"), [(BASIC_AUTH, "Secret", "basic-auth"), (SETTINGS, "ConfigMap", "config-map")]
)
def test_an_object_of_a_new_kind_from_a_new_source(fields: dict[str, str], kind: str, type_: str) -> None:
    text = a_file(an_object(**fields))
    (one,) = json.loads(compile_objects(text.encode(), "objects.yaml"))["objects"]
    assert (one["kind"], one["type"]) == (kind, type_)
    assert one["parts"] == [{"place": "password", "source": "parameter", "ref": {"parameter": "/apps/password"}}]
    jsonschema.validate(yaml.safe_load(text), SCHEMA)


@pytest.mark.usefixtures("new_rows")
def test_the_role_is_for_the_kinds_resource() -> None:
    found = compiled.load_objects(a_file(an_object(**SETTINGS), an_object()).encode(), "objects.yaml")
    _, _, role, _ = yaml.safe_load_all(rbac.roles(found))
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["configmaps"], ["create", "patch"]),
        (["secrets"], ["create", "patch"]),
    ]


@pytest.mark.usefixtures("new_rows")
def test_a_fault_of_a_new_kind_is_told_as_those_of_the_others() -> None:
    bad = {"data": "{tls.crt: {parameter: hunter2}, tls.key: {secrets: a}}", "service_accounts": "[default]"}
    with pytest.raises(InputError) as refused:
        compile_objects(a_file(an_object(**{**BASIC_AUTH, **bad})).encode(), "objects.yaml")
    assert refused.value.problems == (
        'objects.yaml:3: objects[0].data["tls.crt"].parameter: a text of 7 characters is wrong; expected a path',
        'objects.yaml:3: objects[0].data["tls.key"]: names no source; expected one of secret, parameter',
        "objects.yaml:3: objects[0].service_accounts: is wrong for basic-auth; expected it in pull Secrets alone",
    )


@pytest.mark.usefixtures("new_rows")
def test_a_secret_and_a_config_map_of_one_name_do_not_overlap() -> None:
    assert compile_objects(a_file(an_object(**SETTINGS), an_object()).encode(), "objects.yaml")
