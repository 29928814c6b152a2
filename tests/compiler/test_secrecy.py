"""Somebody puts the value itself into the file of objects: no fault repeats it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compiler.compiled import compile_objects
from tests.compiler.cases import a_file, an_object, of_registries
from upsert.errors import InputError

CANARY = "hunterTwo"


def told(text: str) -> str:
    try:
        compile_objects(text.encode(), "objects.yaml")
    except InputError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize(
    "registries",
    [
        "CANARY",
        "[CANARY]",
        "[{ecr: CANARY}]",
        "[{auths: CANARY}]",
        "[{auths: [CANARY]}]",
        "[{auths: {CANARY}}]",
        "[{auths: {secret: a, CANARY}}]",
        "[{auths: {secret: a, member:CANARY}}]",
        "[{auths: {secret: 'CANARY!'}}]",
        "[{auths: {secret: [CANARY]}}]",
        "[{auths: {secret: {CANARY: CANARY}}}]",
        "[{auths: {secret: *CANARY}}]",
        "[{auths: {secret: !CANARY}}]",
        "[{auths: {secret: !CANARY!x}}]",
        "[{auths: {secret: &CANARY}}]",
        "[{auths: {secret: &CANARY a, member: &CANARY b}}]",
        "[{auths: {secret: @CANARY}}]",
        "[{auths: {secret: %CANARY}}]",
        '[{auths: {secret: "CANARY}}]',
        '[{auths: {secret: "\\uCANARY"}}]',
        '[{auths: {auths: {a.example.com: {username: u, password: "CANARY"}}}}]',
    ],
)
def test_a_value_where_its_source_belongs_is_not_quoted(registries: str) -> None:
    said = told(of_registries(registries.replace("CANARY", CANARY)))
    assert said, "the file is wrong"
    assert CANARY not in said


@given(st.text("{}[],:&*!|>'\"%@`#?-~<=.$ ", max_size=4), st.text("{}[],:&*!|>'\"%@`#?-~<=.$ ", max_size=4))
@example("!", "!x")
@example(", ", "")
def test_a_value_that_yaml_reads_as_something_else_is_not_quoted(before: str, after: str) -> None:
    for text in (
        of_registries(f"[{{auths: {{secret: {before}{CANARY}{after}}}}}]"),
        a_file(an_object(registries=""), more=f"registries:\n  - auths:\n      secret: {before}{CANARY}{after}"),
    ):
        assert CANARY not in told(text)


def test_a_number_where_a_secrets_name_belongs_is_not_quoted() -> None:
    for number in ("87654321", "0777888", "1e300"):
        said = told(of_registries(f"[{{auths: {{secret: {number}}}}}]"))
        assert said
        assert number not in said


@pytest.mark.parametrize(
    "more",
    [
        "data: {PASSWORD:CANARY}",
        "data: {PASSWORD=CANARY}",
        "data: {PASSWORD=CANARY: {secret: apps/api}}",
        "data: {PASSWORD=CANARY: {secret: apps/api, member: ''}}",
        "data:\n  PASSWORD = CANARY: x",
        "data: {PASSWORD: CANARY}",
        "data: {PASSWORD: {value: CANARY}}",
        "data: {PASSWORD: {file: CANARY}}",
        "kind: ConfigMap\ndata: {PASSWORD:CANARY}",
        "data_from: [{secret:CANARY}]",
        "data_from: [{secret: apps/api, members: [PASSWORD=CANARY]}]",
        "data_from: [{secret: apps/api, members: ['CANARY!', 'CANARY!']}]",
        "data_from: [{env_file: CANARY}]",
    ],
)
def test_a_value_in_the_place_of_a_key_is_not_quoted(more: str) -> None:
    entry = f"name: a\nnamespaces: {{include: [team-a]}}\n{more.replace('CANARY', CANARY)}"
    said = told("version: 1\nobjects:\n  - " + entry.replace("\n", "\n    ") + "\n")
    assert said, "the file is wrong"
    assert CANARY not in said
