"""The compiled form: one line of JSON, with every field there, equal for equal contents."""

import json
from pathlib import Path

import yaml

from compiler.compiled import compile_objects
from tests.compiler.cases import RICH, a_file, an_object
from upsert.config import config
from upsert.core.objects import Object, OnConflict, Part, Ref, Scope, Target

SHIPPED = Path(__file__).parents[2] / "functions" / "objects.yaml"
GOLDEN = Path(__file__).parent / "golden"
ENVIRONMENT = {"CLUSTER_NAME": "test", "ACCOUNT_ID": "111122223333", "AWS_REGION": "eu-central-1"}


def compiled(text: str) -> str:
    return compile_objects(text.encode(), "objects.yaml")


def test_the_shipped_file_compiles_to_its_golden_form() -> None:
    assert compiled(SHIPPED.read_text()) == (GOLDEN / "shipped.json").read_text()


def test_a_rich_file_compiles_to_its_golden_form() -> None:
    assert compiled(RICH) == (GOLDEN / "rich.json").read_text()


def test_it_is_one_line_with_its_keys_sorted() -> None:
    text = compiled(RICH)
    assert text.index("\n") == len(text) - 1
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) + "\n"


def test_the_order_of_fields_and_the_way_of_writing_change_nothing() -> None:
    values = yaml.safe_load(RICH)
    backwards = {"objects": [dict(reversed(one.items())) for one in values["objects"]], **values}
    assert compiled(json.dumps(backwards)) == compiled(RICH)


def test_what_is_left_out_has_its_default() -> None:
    (one,) = json.loads(compiled(a_file(an_object(namespaces='{selector: "a=b"}'))))["objects"]
    assert one["namespaces"] == {"include": ["*"], "exclude": [], "selector": "a=b"}
    assert (one["kind"], one["on_conflict"], one["clusters"]) == ("Secret", "refuse", ["*"])


def test_the_function_reads_what_the_compiler_wrote() -> None:
    found = config(ENVIRONMENT, json.loads(compiled(SHIPPED.read_text())))
    assert found.targets == (Target("test"),)
    assert found.objects == (
        Object(
            "aws-ecr-token",
            "docker-registry",
            (Part("registries[0]", Ref("ecr")),),
            Scope(),
            on_conflict=OnConflict.TAKE_OVER,
        ),
    )
