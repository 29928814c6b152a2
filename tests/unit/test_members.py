"""A member of a JSON text is taken by its exact name, as it is, or not at all."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import members
from upsert.core.members import NotUsable
from upsert.core.sensitive import Sensitive

PASSWORD = "hunter2hunter2"
RAW = "a string in it has a raw line break or another control character"


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
    with pytest.raises(NotUsable, match=r"^is missing$"):
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
        (f'{{"a": "{PASSWORD}', "is looked for in a text that is no JSON: it is cut off"),
        (f'{{"a": "{PASSWORD}"', "is looked for in a text that is no JSON: it is cut off"),
        (f'{{"a": "{PASSWORD}"\n', "is looked for in a text that is no JSON: it is cut off"),
        (f'{{"a": "{PASSWORD}",', "is looked for in a text that is no JSON: it is cut off"),
        (f'{{"b": "{PASSWORD}", "a', "is looked for in a text that is no JSON: it is cut off"),
        ("{", "is looked for in a text that is no JSON: it is cut off"),
        (f'{{"a": "one\ntwo {PASSWORD}"}}', f"is looked for in a text that is no JSON: {RAW}"),
        (f'{{"a": "one\ttwo {PASSWORD}"}}', f"is looked for in a text that is no JSON: {RAW}"),
        (f'{{"b": "{PASSWORD}\r\n", "a": 1}}', f"is looked for in a text that is no JSON: {RAW}"),
        ('{"a": "\\x41"}', "is looked for in a text that is no JSON"),
        (f"<html>{PASSWORD}</html>", "is looked for in a text that is no JSON"),
        (f'{{"a": "{PASSWORD}"}} {{}}', "is looked for in a text that is no JSON"),
        (f"{{'a': '{PASSWORD}'}}", "is looked for in a text that is no JSON"),
        ('{"a": NaN}', "is looked for in a text that is no JSON"),
        ('{"a": -Infinity}', "is looked for in a text that is no JSON"),
        ('{"a": 01}', "is looked for in a text that is no JSON"),
        (
            f'\ufeff{{"a": "{PASSWORD}"}}',
            "is looked for in a text that is no JSON: it starts with a byte order mark",
        ),
        ("[" * 200_000, "is looked for in a text that is no JSON"),
        ('{"a":' * 200_000, "is looked for in a text that is no JSON"),
    ],
)
def test_anything_else_is_refused_with_why_and_quotes_nothing(text: str, why: str) -> None:
    with pytest.raises(NotUsable) as refused:
        member(text)

    assert str(refused.value) == why
    assert refused.value.__cause__ is None


def test_the_value_is_masked() -> None:
    assert repr(members.member(Sensitive(f'{{"a": "{PASSWORD}"}}'), "a")) == "Sensitive(***)"


@pytest.mark.parametrize(
    ("text", "is_there"),
    [('{"a": null}', True), ('{"a": []}', True), ('{"A": 1}', False), ('{"a": 1, "a": 2}', False), ('{"a"', False)],
)
def test_a_member_is_vouched_for_by_the_text_that_has_it(text: str, is_there: bool) -> None:
    with pytest.raises(NotUsable) as refused:
        member(text)

    assert refused.value.is_there is is_there


def to_bytes(text: str, *, decode: bool = False) -> bytes:
    return members.to_bytes(Sensitive(text), decode=decode).reveal()


@pytest.mark.parametrize("text", ["", "a", " ü\n", "\0", "\ufeff", "\U0001f600", "\r\n"])
def test_a_text_is_its_bytes_in_utf_8(text: str) -> None:
    assert to_bytes(text) == text.encode()


@pytest.mark.parametrize("text", ['"\\ud800"', '"\\udfff a"', '"a\\ude00\\ud83d"'])
def test_half_of_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(NotUsable) as refused:
        to_bytes(member(f'{{"a": {text}}}'))

    assert str(refused.value) == r"has half of a surrogate pair (\ud800 to \udfff); expected text"
    assert refused.value.is_there
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("", b""), ("YQ==", b"a"), ("YWI=", b"ab"), ("YWJj", b"abc"), ("/+8=", b"\xff\xef"), ("AAAA", bytes(3))],
)
def test_base64_is_decoded(text: str, value: bytes) -> None:
    assert to_bytes(text, decode=True) == value


@pytest.mark.parametrize(
    "text",
    [
        "YQ", "YQ=", "YQ===", "=", "====", "Y", "YWI", "YWJjY", "YQ==YQ==", "YQ==\n", "YWJj\nYWJj", " YWJj", "YWJj ",
        "_-8=", "YR==", "YWJ=", "YWJ j", "ü", "YWJj\0", PASSWORD, "\ud800",
    ],
)  # fmt: skip
def test_other_base64_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(NotUsable) as refused:
        to_bytes(text, decode=True)

    assert str(refused.value) == "is no base64; expected it padded, without line breaks"
    assert refused.value.__cause__ is None


@given(st.binary(max_size=40))
def test_all_bytes_come_back_from_their_base64_and_from_no_other(value: bytes) -> None:
    encoded = base64.b64encode(value).decode()

    assert to_bytes(encoded, decode=True) == value
    for wrong in (f"{encoded}=", f"{encoded}\n", encoded.rstrip("=") if "=" in encoded else f"{encoded}A"):
        with pytest.raises(NotUsable):
            to_bytes(wrong, decode=True)


SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)


@given(st.text(max_size=10), SCALARS, st.dictionaries(st.text(max_size=5), SCALARS, max_size=3))
def test_what_was_written_comes_out(name: str, value: Any, others: dict[str, Any]) -> None:
    text = json.dumps({**others, name: value})

    assert member(text, name) == (value if isinstance(value, str) else json.dumps(value))


def why_none(text: str) -> str:
    try:
        return f"is {len(member(text))} characters long"
    except NotUsable as why:
        return str(why)


@given(st.text(max_size=60))
def test_any_text_at_all_has_a_member_or_says_why_not(text: str) -> None:
    assert why_none(text).startswith("is ")


def why_no_bytes(text: str, *, decode: bool) -> str:
    try:
        return f"has bytes: {len(to_bytes(text, decode=decode))}"
    except NotUsable as why:
        return str(why)


@given(st.text(max_size=60), st.booleans())
def test_any_text_at_all_has_bytes_or_says_why_not(text: str, decode: bool) -> None:
    assert why_no_bytes(text, decode=decode).startswith(("is no base64", "has half of", "has bytes: "))


@given(st.dictionaries(st.text(max_size=5), SCALARS, min_size=1, max_size=3), st.data())
def test_a_text_that_is_cut_anywhere_has_no_member(document: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(document)
    end = data.draw(st.integers(0, len(text) - 1))

    assert why_none(text[:end]).startswith("is looked for in a text that is no JSON")


@given(st.text(max_size=5), SCALARS, SCALARS, st.dictionaries(st.text(max_size=5), SCALARS, max_size=3))
def test_a_member_that_is_there_twice_spoils_all_of_them(
    name: str, one: Any, other: Any, others: dict[str, Any]
) -> None:
    rest = "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in others.items() if key != name)
    pair = f"{json.dumps(name)}: {json.dumps(one)}, {json.dumps(name)}: {json.dumps(other)}"

    assert why_none(f"{{{pair}{rest}}}") == "is in a JSON text with a repeated member"
    assert why_none(f'{{"a": 1, "nested": [{{{pair}}}]}}') == "is in a JSON text with a repeated member"
