"""A member of a JSON text is taken by its exact name, as it is, or not at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import members
from upsert.core.members import NoMember
from upsert.core.sensitive import Sensitive

PASSWORD = "hunter2hunter2"


def member(text: str, name: str = "a") -> str:
    return members.member(Sensitive(text), name).reveal()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "b"}', "b"),
        ('{"a": ""}', ""),
        ('{"a": " b\\n"}', " b\n"),
        ('{"a": "ü\\u00fc\\ud83d\\ude00"}', "üü\U0001f600"),
        ('{"a": "null"}', "null"),
        ('{"a": "1.50"}', "1.50"),
        ('{"a": "{\\"a\\": 1}"}', '{"a": 1}'),
        ('{"a": 1}', "1"),
        ('{"a": -0}', "-0"),
        ('{"a": 1.50}', "1.50"),
        ('{"a": 1e3}', "1e3"),
        ('{"a": 1E+3}', "1E+3"),
        ('{"a": 0.10000000000000000000001}', "0.10000000000000000000001"),
        ('{"a": ' + "9" * 5000 + "}", "9" * 5000),
        ('{"a": true}', "true"),
        ('{"a": false}', "false"),
        (' \n{"b": null, "c": [1, {"a": 2}], "a": "b"}\n', "b"),
    ],
)
def test_a_string_is_taken_as_it_is_and_a_number_or_boolean_as_its_own_json_text(text: str, value: str) -> None:
    assert member(text) == value


@pytest.mark.parametrize("name", ["a.b", "a[0]", "$.a", "*", "a b", "ü", "", "A", '"'])
def test_a_name_is_exact_and_no_path(name: str) -> None:
    assert member(json.dumps({"a": {"b": 1}, "x": [1], name: "value"}), name) == "value"
    with pytest.raises(NoMember, match=r"^is missing$"):
        member('{"a": {"b": 1}, "B": 2}', name)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "is missing"),
        (f'{{"A": "{PASSWORD}"}}', "is missing"),
        (f'{{"{PASSWORD}": 1}}', "is missing"),
        ('{"a": null}', "is null; expected a string, number, true or false"),
        (f'{{"a": ["{PASSWORD}"]}}', "is a list or an object; expected a string, number, true or false"),
        (f'{{"a": {{"a": "{PASSWORD}"}}}}', "is a list or an object; expected a string, number, true or false"),
        ('{"a": []}', "is a list or an object; expected a string, number, true or false"),
        (f'{{"a": "{PASSWORD}", "a": "{PASSWORD}"}}', "is in a JSON text with a repeated member"),
        (f'{{"a": "x", "b": {{"c": "{PASSWORD}", "c": 2}}}}', "is in a JSON text with a repeated member"),
        (f'["{PASSWORD}"]', "is looked for in a JSON text that is no object"),
        (f'"{PASSWORD}"', "is looked for in a JSON text that is no object"),
        ("1", "is looked for in a JSON text that is no object"),
        ("null", "is looked for in a JSON text that is no object"),
        (PASSWORD, "is looked for in a text that is no JSON"),
        ("", "is looked for in a text that is no JSON"),
        (f'{{"a": "{PASSWORD}', "is looked for in a text that is no JSON"),
        (f'{{"a": "{PASSWORD}"', "is looked for in a text that is no JSON"),
        (f'{{"a": "{PASSWORD}"}} {{}}', "is looked for in a text that is no JSON"),
        (f"{{'a': '{PASSWORD}'}}", "is looked for in a text that is no JSON"),
        ('{"a": NaN}', "is looked for in a text that is no JSON"),
        ('{"a": -Infinity}', "is looked for in a text that is no JSON"),
        ('{"a": 01}', "is looked for in a text that is no JSON"),
        (f'\ufeff{{"a": "{PASSWORD}"}}', "is looked for in a text that is no JSON"),
        ("[" * 200_000, "is looked for in a text that is no JSON"),
        ('{"a":' * 200_000, "is looked for in a text that is no JSON"),
    ],
)
def test_anything_else_is_refused_with_why_and_quotes_nothing(text: str, why: str) -> None:
    with pytest.raises(NoMember) as refused:
        member(text)

    assert str(refused.value) == why
    assert refused.value.__cause__ is None


def test_the_value_is_masked() -> None:
    assert repr(members.member(Sensitive(f'{{"a": "{PASSWORD}"}}'), "a")) == "Sensitive(***)"


SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)


@given(st.text(max_size=10), SCALARS, st.dictionaries(st.text(max_size=5), SCALARS, max_size=3))
def test_what_was_written_comes_out(name: str, value: Any, others: dict[str, Any]) -> None:
    text = json.dumps({**others, name: value})

    assert member(text, name) == (value if isinstance(value, str) else json.dumps(value))


def why_none(text: str) -> str:
    try:
        return f"is {len(member(text))} characters long"
    except NoMember as why:
        return str(why)


@given(st.text(max_size=60))
def test_any_text_at_all_has_a_member_or_says_why_not(text: str) -> None:
    assert why_none(text).startswith("is ")
