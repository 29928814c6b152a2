"""Fields from outside: what is wrong is collected, each at its path, with what was expected."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import fields
from upsert.core.fields import Fields, Grammar, Path, Problem

NAME = Grammar("[a-z]+", "a name of small letters")
QUOTED = Grammar("[0-9]+", "digits, in quotes")


def noted(value: dict[str, Any], read: Callable[[Fields], object]) -> list[str]:
    """Return what reading these fields, which stand at ``event``, finds wrong."""
    problems: list[Problem] = []
    read(Fields(value, ("event",), problems))
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("event",), "event"),
        (("objects", 0, "registries", 1, "ecr"), "objects[0].registries[1].ecr"),
        (("data", "tls.crt"), 'data["tls.crt"]'),
        (("data", 'a"b'), 'data["a\\"b"]'),
        (("a" * 81,), "a" * 80 + "…"),
        (("event", "é" * 81), 'event["' + "\\u00e9" * 80 + '\\u2026"]'),
    ],
)
def test_a_path_is_spelled_as_people_write_it(path: Path, text: str) -> None:
    assert fields.spelled(path) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "'a'"),
        ("", "''"),
        ("a\n", "'a\\n'"),
        ("a" * 80, "'" + "a" * 80 + "'"),
        ("a" * 81, "'" + "a" * 80 + "'… (81 characters)"),
        (5, "5"),
        (1.5, "1.5"),
        (10**79, "1" + "0" * 79),
        (10**100, "1" + "0" * 79 + "…"),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ([], "a list of 0"),
        (["hunter2"], "a list of 1"),
        ({"password": "hunter2"}, "an object of 1"),
    ],
)
def test_a_value_is_shown_short_and_as_json_has_it(value: object, text: str) -> None:
    assert fields.shown(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hunter2", "a text of 7 characters"),
        (5, "a number"),
        (1.5, "a number"),
        (None, "null"),
        (True, "true"),
        (["hunter2"], "a list of 1"),
        ({"password": "hunter2"}, "an object of 1"),
    ],
)
def test_what_may_be_a_password_is_told_without_quoting_it(value: object, text: str) -> None:
    assert fields.unquoted(value) == text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "event: null is wrong; expected an event"),
        ([], "event: a list of 0 is wrong; expected an event"),
        ("{}", "event: a text of 2 characters is wrong; expected an event"),
        (5, "event: a number is wrong; expected an event"),
        ({5: "a"}, "event: an object of 1 is wrong; expected an event"),
    ],
)
def test_what_is_no_object_has_no_fields_and_is_one_problem(value: object, problem: str) -> None:
    problems: list[Problem] = []

    found = Fields.of(value, ("event",), problems, "an event")
    found.text("name", NAME)

    assert [str(one) for one in problems] == [problem]
    assert "name" not in found


@pytest.mark.parametrize(
    ("given", "value", "problems"),
    [
        ({"name": "ada"}, "ada", []),
        ({}, "", ["event.name: is missing; expected a name of small letters"]),
        ({"name": ""}, "", ["event.name: '' is wrong; expected a name of small letters"]),
        ({"name": "ada\n"}, "", ["event.name: 'ada\\n' is wrong; expected a name of small letters"]),
        ({"name": 5}, "", ["event.name: 5 is no text; expected a name of small letters, in quotes"]),
        ({"name": True}, "", ["event.name: true is no text; expected a name of small letters, in quotes"]),
        ({"name": None}, "", ["event.name: null is wrong; expected a name of small letters"]),
        ({"name": ["ada"]}, "", ["event.name: a list of 1 is wrong; expected a name of small letters"]),
    ],
)
def test_a_text_has_its_form(given: dict[str, Any], value: str, problems: list[str]) -> None:
    got: list[str] = []
    assert noted(given, lambda fields: got.append(fields.text("name", NAME))) == problems
    assert got == [value]


def test_quotes_are_asked_for_once() -> None:
    assert noted({"id": 5}, lambda fields: fields.text("id", QUOTED)) == [
        "event.id: 5 is no text; expected digits, in quotes"
    ]


def test_a_text_with_a_default_may_be_missing_and_no_more() -> None:
    got: list[str] = []

    def read(fields: Fields) -> None:
        got.extend(fields.text(name, NAME, default="ada") for name in ("missing", "wrong"))
        got.append(fields.text("missing", NAME, required=False))

    assert noted({"wrong": "5"}, read) == ["event.wrong: '5' is wrong; expected a name of small letters"]
    assert got == ["ada", "ada", ""]


@pytest.mark.parametrize("value", ["hunter2 hunter2", ["hunter2"], {"auths": "hunter2"}, 2222])
def test_a_text_that_may_be_the_secret_itself_is_not_quoted(value: object) -> None:
    (problem,) = noted({"secret": value}, lambda fields: fields.text("secret", NAME, is_secret=True))

    assert problem.startswith("event.secret: a")
    assert "hunter2" not in problem
    assert "2222" not in problem


@pytest.mark.parametrize(
    ("given", "value", "problems"),
    [
        ({}, False, []),
        ({"dry": True}, True, []),
        ({"dry": False}, False, []),
        ({"dry": "true"}, False, ["event.dry: 'true' is wrong; expected true or false"]),
        ({"dry": 1}, False, ["event.dry: 1 is wrong; expected true or false"]),
        ({"dry": None}, False, ["event.dry: null is wrong; expected true or false"]),
    ],
)
def test_a_flag_is_true_or_false(given: dict[str, Any], value: bool, problems: list[str]) -> None:
    got: list[bool] = []

    assert noted(given, lambda fields: got.append(fields.flag("dry"))) == problems
    assert got == [value]


NO_LIST = "is wrong; expected a list, each of it a name of small letters"


@pytest.mark.parametrize(
    ("given", "values", "problems"),
    [
        ({}, (), []),
        ({"names": ["a", "b"]}, ("a", "b"), []),
        ({"names": []}, (), [f"event.names: a list of 0 {NO_LIST}"]),
        ({"names": "a"}, (), [f"event.names: 'a' {NO_LIST}"]),
        ({"names": None}, (), [f"event.names: null {NO_LIST}"]),
        ({"names": {"a": 1}}, (), [f"event.names: an object of 1 {NO_LIST}"]),
        (
            {"names": ["a", 5, "B", ["c"]]},
            ("a",),
            [
                "event.names[1]: 5 is no text; expected a name of small letters, in quotes",
                "event.names[2]: 'B' is wrong; expected a name of small letters",
                "event.names[3]: a list of 1 is wrong; expected a name of small letters",
            ],
        ),
    ],
)
def test_a_list_holds_texts_of_one_form(given: dict[str, Any], values: tuple[str, ...], problems: list[str]) -> None:
    got: list[tuple[str, ...]] = []

    assert noted(given, lambda fields: got.append(fields.texts("names", NAME))) == problems
    assert got == [values]


def test_a_list_may_be_empty_where_that_says_something() -> None:
    assert noted({"names": []}, lambda fields: fields.texts("names", NAME, may_be_empty=True)) == []


def test_every_field_that_is_not_known_is_named_at_its_place() -> None:
    problems: list[Problem] = []

    Fields({"known": 1, "one": 1, "two": "hunter2"}, ("event",), problems).closed(("known", "other"))

    assert [str(problem) for problem in problems] == [
        "event: unknown field 'one'; expected known or other",
        "event: unknown field 'two'; expected known or other",
    ]
    assert [problem.place for problem in problems] == [("event", "one"), ("event", "two")]


def test_where_nothing_is_known_nothing_is_expected() -> None:
    assert noted({"one": 1}, lambda fields: fields.closed(())) == ["event: unknown field 'one'; expected none"]


def test_a_key_without_a_value_may_be_a_password_and_is_not_quoted() -> None:
    assert noted({"secret:hunter2": None}, lambda fields: fields.closed(("secret",))) == [
        "event: unknown field of 14 characters and without a value; expected secret"
    ]


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"ecr": {"region": "a"}}, []),
        ({}, ["event.ecr: is missing; expected an object of region"]),
        ({"ecr": None}, ["event.ecr: null is wrong; expected an object of region"]),
        ({"ecr": {}}, ["event.ecr.region: is missing; expected a name of small letters"]),
    ],
)
def test_a_field_may_be_an_object(given: dict[str, Any], problems: list[str]) -> None:
    def read(fields: Fields) -> None:
        fields.child("ecr", "an object of region").text("region", NAME)

    assert noted(given, read) == problems


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"list": [{"name": "a"}, {"name": "b"}]}, []),
        ({}, ["event.list: is missing; expected a list of names"]),
        ({"list": []}, ["event.list: a list of 0 is wrong; expected a list of names"]),
        ({"list": {"name": "hunter2"}}, ["event.list: an object of 1 is wrong; expected a list of names"]),
        (
            {"list": [{"name": "a"}, "hunter2", {"name": "B"}]},
            [
                "event.list[1]: a text of 7 characters is wrong; expected names",
                "event.list[2].name: 'B' is wrong; expected a name of small letters",
            ],
        ),
    ],
)
def test_a_field_may_be_a_list_of_objects(given: dict[str, Any], problems: list[str]) -> None:
    def read(fields: Fields) -> None:
        for one in fields.children("list", "names"):
            one.text("name", NAME)

    assert noted(given, read) == problems


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=120), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "x" * 200]), JSON))
def test_whatever_is_given_each_problem_is_short_and_stands_at_its_field(value: dict[str, Any]) -> None:
    def read(fields: Fields) -> None:
        fields.closed(("a", "b", "c"))
        fields.text("a", NAME)
        fields.texts("b", NAME)
        fields.flag("c")
        fields.child("a", "an object").closed(())
        for one in fields.children("b", "objects"):
            one.text("a", NAME, is_secret=True)

    for problem in noted(value, read):
        assert problem.startswith("event")
        assert len(problem) < 1000
