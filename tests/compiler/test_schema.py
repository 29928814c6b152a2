"""The schema that editors use refuses no good file, and finds what it can of the bad ones."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from compiler import checks
from tests.compiler.cases import BAD, GOOD, Bad
from upsert import kinds, sources
from upsert.core import grammars
from upsert.core.fields import Grammar

FUNCTIONS = Path(__file__).parents[2] / "functions"
SCHEMA = json.loads((FUNCTIONS / "objects.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DEFINED = SCHEMA["$defs"]


class AsInEditors(yaml.SafeLoader):
    """Takes for a number, true, false or null what the core schema of YAML 1.2 does, and all else for a text."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - as PyYAML declares it


AsInEditors.add_implicit_resolver("null", re.compile(r"(~|null|)$"), ["~", "n", ""])
AsInEditors.add_implicit_resolver("flag", re.compile(r"(true|false)$"), ["t", "f"])
AsInEditors.add_implicit_resolver(
    "number", re.compile(r"([-+]?[0-9.]+(e[0-9]+)?|0x[0-9a-f]+|\.inf)$"), list("-+.0123456789")
)
AsInEditors.add_constructor("null", lambda *_: None)
AsInEditors.add_constructor("flag", lambda _, node: node.value == "true")
AsInEditors.add_constructor("number", lambda _, node: int(node.value) if node.value.isdecimal() else 0.5)


def errors(text: str | bytes) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(yaml.load(text, AsInEditors))]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_shipped_file_names_it_and_keeps_to_it() -> None:
    text = (FUNCTIONS / "objects.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=objects.schema.json\n")
    assert not errors(text)


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_it_takes_what_the_compiler_takes(text: str) -> None:
    assert not errors(text)


@pytest.mark.parametrize(
    "bad",
    [pytest.param(bad, id=name) for name, bad in BAD.items() if bad.in_schema],
)
def test_it_refuses_what_it_can_of_what_the_compiler_refuses(bad: Bad) -> None:
    try:
        assert errors(bad.text)
    except yaml.constructor.ConstructorError as error:
        assert "could not determine a constructor for the tag" in str(error.problem)  # noqa: PT017 - the editor's own fault


@pytest.mark.parametrize(
    ("schema", "grammar"),
    [
        (DEFINED["region"], grammars.REGION),
        (DEFINED["role_arn"], grammars.ROLE_ARN),
        (DEFINED["namespace_glob"], grammars.NAMESPACE_GLOB),
        (DEFINED["namespaces"]["properties"]["selector"], grammars.SELECTOR),
        (DEFINED["cluster"]["properties"]["name"], grammars.CLUSTER),
        (DEFINED["object"]["properties"]["name"], grammars.OBJECT),
        (DEFINED["object"]["properties"]["clusters"]["items"], grammars.CLUSTER_GLOB),
        (DEFINED["object"]["properties"]["service_accounts"]["items"], grammars.SERVICE_ACCOUNT),
        (DEFINED["registry"]["properties"]["ecr"]["properties"]["account"], grammars.ACCOUNT),
        (DEFINED["registry"]["properties"]["ecr"]["properties"]["host"], grammars.HOST),
        (DEFINED["object"]["properties"]["data"]["propertyNames"], grammars.DATA_KEY),
        (DEFINED["registry"]["properties"]["server"], grammars.SERVER),
        (DEFINED["registry"]["properties"]["username"]["anyOf"][0], grammars.USERNAME),
        (DEFINED["registry"]["properties"]["email"], grammars.EMAIL),
        (DEFINED["value"]["properties"]["secret"], grammars.SECRET_ID),
        (DEFINED["value"]["properties"]["parameter"], grammars.PARAMETER),
        (DEFINED["value"]["properties"]["file"], grammars.FILE),
        (DEFINED["values"]["properties"]["secret"], grammars.SECRET_ID),
        (DEFINED["values"]["properties"]["parameter"], grammars.PARAMETER),
        (DEFINED["values"]["properties"]["env_file"], grammars.FILE),
        (DEFINED["stage"], grammars.SECRET_STAGE),
        (DEFINED["label"], grammars.PARAMETER_LABEL),
    ],
)
def test_its_patterns_are_the_compilers(schema: dict[str, Any], grammar: Grammar) -> None:
    assert schema["pattern"] == f"^(?:{grammar.expression})$"


def test_it_has_every_field_that_the_compiler_knows() -> None:
    own = {name for kind in kinds.TABLE.values() for name in kind.own_fields}
    assert set(DEFINED["object"]["properties"]) >= {*checks.OBJECT_FIELDS, *own}
    assert set(DEFINED["cluster"]["properties"]) == set(checks.CLUSTER_FIELDS)
    assert set(DEFINED["namespaces"]["properties"]) == set(checks.SCOPE_FIELDS)
    assert set(SCHEMA["properties"]) == set(checks.FILE_FIELDS)
    words = {source.word for source in sources.TABLE.values()}
    assert words <= {name for one in ("registry", "value", "values") for name in DEFINED[one]["properties"]}


def described(schema: Any, place: str = "") -> Iterator[tuple[str, bool]]:
    for name, field in schema.get("properties", {}).items():
        target = DEFINED[field["$ref"].rsplit("/", 1)[1]] if "$ref" in field else {}
        yield f"{place}{name}", bool(field.get("description") or target.get("description"))
        yield from described(field, f"{place}{name}.")


def test_it_says_what_every_field_is() -> None:
    found = [one for schema in (SCHEMA, *DEFINED.values()) for one in described(schema)]
    assert len(found) > 20
    assert not [place for place, is_described in found if not is_described]
