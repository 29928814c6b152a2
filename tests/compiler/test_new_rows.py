"""A new kind or source is a row of its table: the compiler, the roles and the schema take it as it is."""

import json
from collections.abc import Mapping, Sequence
from copy import replace
from pathlib import Path

import jsonschema
import pytest
import yaml

from compiler import compiled, rbac
from compiler.compiled import compile_objects
from tests.compiler.cases import VALUES, a_file, an_object
from upsert import kinds, sources
from upsert.core.fields import Fields, Grammar
from upsert.core.objects import Part
from upsert.core.resources import Resource
from upsert.errors import InputError
from upsert.kinds.kind import PartReader
from upsert.sources.source import Folder

SCHEMA = json.loads((Path(__file__).parents[2] / "functions" / "objects.schema.json").read_text())
_KEY = 'objects.yaml:3: objects[0].data["tls.key"]'
TICKET = {"type": "ticket", "registries": "", "data": "{password: {vault: /apps/password}}"}
NOTE = {**TICKET, "kind": "Note", "type": ""}


def data(at: Fields, reader: PartReader) -> Sequence[Part]:
    values = at.child("data", "a source for each key")
    fields = {key: Fields.of(value, (*values.path, key), at.problems) for key, value in values.value.items()}
    return [reader.part(key, there, login=False) for key, there in fields.items()]


def vault(at: Fields, _: Folder) -> Mapping[str, str]:
    at.closed(("vault",))
    return {"vault": at.text("vault", Grammar("/.*", "a path"), is_secret=True)}


@pytest.fixture
def new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kinds, one of them no Secret, and a source."""
    known = kinds.TABLE["docker-registry"]
    ticket = replace(known, word="ticket", type="example.com/ticket", own_fields=("data",), parts=data)
    note = replace(ticket, word="Note", type="", resource=Resource("Note", "notes", "example.com"))
    for kind in (ticket, note):
        monkeypatch.setitem(kinds.TABLE, kind.word, kind)
    source = replace(sources.TABLE["secret"], word="vault", form=vault)
    monkeypatch.setitem(sources.TABLE, source.word, source)


@pytest.mark.usefixtures("new_rows")
@pytest.mark.parametrize(("fields", "kind", "type_"), [(TICKET, "Secret", "ticket"), (NOTE, "Note", "")])
def test_an_object_of_a_new_kind_from_a_new_source(fields: dict[str, str], kind: str, type_: str) -> None:
    text = a_file(an_object(**fields))
    (one,) = json.loads(compile_objects(text.encode(), "objects.yaml"))["objects"]
    assert (one["kind"], one["type"]) == (kind, type_)
    assert one["parts"] == [{"place": "password", "source": "vault", "ref": {"vault": "/apps/password"}}]
    jsonschema.validate(yaml.safe_load(text), SCHEMA)


@pytest.mark.usefixtures("new_rows")
def test_the_role_is_for_the_kinds_resource() -> None:
    found = compiled.load_objects(a_file(an_object(**NOTE), an_object()).encode(), "objects.yaml")
    _, _, role, _ = yaml.safe_load_all(rbac.roles(found))
    assert [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["example.com"], ["notes"], ["create", "patch"]),
        ([""], ["secrets"], ["create", "patch"]),
    ]


@pytest.mark.usefixtures("new_rows")
def test_a_fault_of_a_new_kind_is_told_as_those_of_the_others() -> None:
    bad = {"data": "{tls.crt: {vault: hunter2}, tls.key: {secrets: a}}", "service_accounts": "[default]"}
    with pytest.raises(InputError) as refused:
        compile_objects(a_file(an_object(**{**TICKET, **bad})).encode(), "objects.yaml")
    assert refused.value.problems == (
        'objects.yaml:3: objects[0].data["tls.crt"].vault: a text of 7 characters is wrong; expected a path',
        f"{_KEY}: unknown field 'secrets', did you mean secret; expected one of {VALUES}, vault",
        "objects.yaml:3: objects[0].service_accounts: is wrong for ticket; expected it in pull Secrets alone",
    )


@pytest.mark.usefixtures("new_rows")
def test_objects_of_one_name_and_two_kinds_do_not_overlap() -> None:
    assert compile_objects(a_file(an_object(**NOTE), an_object()).encode(), "objects.yaml")


@pytest.mark.usefixtures("new_rows")
def test_a_secret_whose_type_is_left_out_is_generic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.TABLE, "generic", replace(kinds.TABLE["ticket"], word="generic", type="Opaque"))
    (one,) = json.loads(compile_objects(a_file(an_object(**{**TICKET, "type": ""})).encode(), "o"))["objects"]
    assert (one["kind"], one["type"]) == ("Secret", "generic")
