"""Which values of a live object go where, and what is kept there then: nothing that is kept is changed or lost."""

import base64
import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.compiled import load_objects
from tests.support.keyed import KEPT, is_text, keyed_object, ref
from upsert.core import members, value_plan
from upsert.core.objects import Part, Ref
from upsert.core.sensitive import Sensitive
from upsert.core.value_plan import Change, NotKept, Store

SECRET, PARAMETER = Store("secret", KEPT), Store("parameter", "/apps/api/token")
WHOLE = Part("token", Ref("secret", (("secret", KEPT),)))
IN_BASE64 = Part("token", Ref("secret", (("decode", "base64"), ("secret", KEPT))))
OF_A_PARAMETER = Part("token", Ref("parameter", (("parameter", "/apps/api/token"),)))


def live(values: Mapping[str, bytes]) -> dict[str, Sensitive[bytes]]:
    return {key: Sensitive(value) for key, value in values.items()}


def parts(values: Mapping[str, bytes]) -> list[Part]:
    return [Part(key, ref(key, value)) for key, value in values.items()]


def changed(values: Mapping[str, bytes], kept: str | None, *wanted: Part, store: Store = SECRET) -> Change:
    text = None if kept is None else Sensitive(kept)
    return value_plan.change(store, wanted or parts(values), live(values), text)


KEYS = st.text("abcXYZ019._-", min_size=1, max_size=12)
VALUES = st.dictionaries(KEYS, st.one_of(st.text().map(str.encode), st.binary(max_size=40)), min_size=1, max_size=6)
TEXTS = st.dictionaries(st.text(max_size=8), st.one_of(st.text(), st.integers(), st.none(), st.lists(st.text())))


@given(VALUES, TEXTS)
def test_what_is_kept_is_read_as_it_was_live_and_what_was_there_stays(
    values: Mapping[str, bytes], there: Mapping[str, object]
) -> None:
    before = json.dumps({name: value for name, value in there.items() if name not in values}, indent=1)
    made = changed(values, before)
    assert set(made.added) == set(values)
    after = json.loads(made.text.reveal())
    for key, value in values.items():
        text = members.member(made.text, key)
        assert members.to_bytes(text, decode=not is_text(value)).reveal() == value
        del after[key]
    assert after == json.loads(before)
    again = changed(values, made.text.reveal())
    assert (again.added, set(again.present), again.text) == ((), set(values), made.text)


@pytest.mark.parametrize("kept", [None, "", " \n", "{}", " { } "])
def test_the_first_members_make_a_text_of_their_own(kept: str | None) -> None:
    made = changed({"a": b"one", "b": b"\xff"}, kept)
    assert json.loads(made.text.reveal()) == {"a": "one", "b": base64.b64encode(b"\xff").decode()}


def test_what_is_kept_already_stays_as_it_is_written() -> None:
    kept = '{\n  "price": 1.50,\n  "big": 12345678901234567890.0,\n  "name": "\\u00e9"\n}\n'
    made = changed({"a": "ü".encode()}, kept)
    assert made.text.reveal() == kept.rstrip().removesuffix("}").rstrip() + ',"a":"ü"}'


@pytest.mark.parametrize("there", ['"other"', "null", "{}", "[1]", "true", '"one\\n"'])
def test_a_member_with_another_value_is_named_and_not_written_over(there: str) -> None:
    with pytest.raises(NotKept, match=r"^another value is kept for a$"):
        changed({"a": b"one", "b": b"two"}, f'{{"a":{there}}}')


@pytest.mark.parametrize("kept", ["no JSON", "[]", '"a text"', "7", '{"a":1', "\ufeff{}", "[" * 100_000])
def test_beside_what_is_no_json_object_no_member_is_put(kept: str) -> None:
    with pytest.raises(NotKept, match="no member can be put into what is kept there: a member is looked for in a"):
        changed({"a": b"one"}, kept)


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        ('{"a":"one","a":"one"}', "is in a JSON text with a repeated member"),
        ('{"b":"one","b":"two"}', "is in a JSON text with a repeated member"),
        ('{"b":{"c":1,"c":1}}', "is in a JSON text with a repeated member"),
        ('{"b":NaN}', "is looked for in a text that is no JSON"),
    ],
)
def test_nor_into_a_text_of_which_a_refresh_reads_none(kept: str, why: str) -> None:
    with pytest.raises(NotKept, match=f"what is kept there: a member {why}$"):
        changed({"a": b"one"}, kept)


def test_numbers_are_the_same_as_they_are_written() -> None:
    assert changed({"a": b"1.50"}, '{"a":1.50}').present == ("a",)
    with pytest.raises(NotKept):
        changed({"a": b"1.5"}, '{"a":1.50}')


def test_bytes_that_are_no_text_need_base64_in_the_entry() -> None:
    with pytest.raises(NotKept, match=r"^token: is no UTF-8; say `decode: base64` in its entry"):
        changed({"token": b"\xff"}, None, WHOLE)
    assert changed({"token": b"\xff"}, None, IN_BASE64).text.reveal() == "/w=="


class TestWhole:
    @pytest.mark.parametrize("kept", [None, ""])
    def test_the_first_value(self, kept: str | None) -> None:
        assert changed({"token": b"one\n"}, kept, WHOLE) == Change(("token",), (), Sensitive("one\n"))

    def test_the_same_value(self) -> None:
        assert changed({"token": b"one"}, "one", WHOLE) == Change((), ("token",), Sensitive("one"))

    @pytest.mark.parametrize("kept", ["two", "one\n", " "])
    def test_another_value(self, kept: str) -> None:
        with pytest.raises(NotKept, match="another value is kept for token"):
            changed({"token": b"one"}, kept, WHOLE)

    def test_an_empty_value(self) -> None:
        with pytest.raises(NotKept, match="token: is empty, which can be kept as a member alone"):
            changed({"token": b""}, None, WHOLE)

    def test_beside_others(self) -> None:
        with pytest.raises(NotKept, match="token: is all of what others are a part of"):
            changed({"token": b"one", "a": b"two"}, None, WHOLE, Part("a", ref("a")))


@pytest.mark.parametrize(
    ("store", "most", "part"),
    [(SECRET, 65_536, WHOLE), (PARAMETER, 4_096, OF_A_PARAMETER)],
    ids=["secret", "parameter"],
)
def test_more_than_a_place_holds_is_refused(store: Store, most: int, part: Part) -> None:
    assert changed({"token": b"x" * most}, None, part, store=store).added == ("token",)
    with pytest.raises(NotKept, match=rf"token: the {store.source} would have {most + 1} bytes; {most} are the most"):
        changed({"token": b"x" * (most - 1) + "é".encode()}, None, part, store=store)


def test_the_size_is_that_of_the_whole_in_bytes() -> None:
    kept = json.dumps({"there": "x" * 60_000})
    with pytest.raises(NotKept, match=r"a: the secret would have 6\d{4} bytes"):
        changed({"a": b"y" * 5_600}, kept)


def test_a_parameter_that_is_there_gets_no_further_member() -> None:
    part = Part("token", Ref("parameter", (("member", "token"), ("parameter", "/apps/api/token"))))
    with pytest.raises(NotKept, match="an import only creates parameters"):
        changed({"token": b"one"}, '{"other":"x"}', part, store=PARAMETER)
    assert changed({"token": b"one"}, '{"token":"one"}', part, store=PARAMETER).present == ("token",)
    assert changed({"token": b"one"}, None, part, store=PARAMETER).text.reveal() == '{"token":"one"}'


class TestSplit:
    LIVE = live({"a": b"one", "b": b"two", "bin": b"\xff"})

    def test_what_the_file_lacks_goes_to_its_one_secret(self) -> None:
        found = value_plan.split(keyed_object("x", {"a": b""}), self.LIVE, ())
        assert [part.place for part in found.parts] == ["a", "b", "bin"]
        assert found.added == (Part("b", ref("b")), Part("bin", ref("bin", b"\xff")))

    @pytest.mark.parametrize(
        "mine",
        [
            (Part("a", Ref("secret", (("secret", "one"),))),),
            (Part("a", ref("a")), Part("c", Ref("secret", (("member", "c"), ("secret", "another"))))),
            (Part("a", Ref("parameter", (("parameter", "/a"),))),),
        ],
        ids=["no members", "two secrets", "a parameter"],
    )
    def test_without_one_secret_of_members_it_is_left_out(self, mine: tuple[Part, ...]) -> None:
        found = value_plan.split(keyed_object("x", {}, parts=mine), self.LIVE, ())
        assert set(found.left_out) == {"b", "bin"}
        assert found.added == ()

    def test_a_name_that_cannot_be_printed_is_left_out(self) -> None:
        assert set(value_plan.split(keyed_object("x", {"a": b""}), self.LIVE, {"b"}).left_out) == {"b"}

    def test_what_stands_in_the_file_is_left_out(self) -> None:
        mine = (Part("a", Ref("value", (("text", "one"),))), Part("b", ref("b")))
        found = value_plan.split(keyed_object("x", {}, parts=mine), self.LIVE, ())
        assert found.left_out == {"a": "the file has its value"}

    @pytest.mark.parametrize("chosen", ["stage", "version", "role_arn"])
    def test_another_version_or_role_is_refused(self, chosen: str) -> None:
        mine = (Part("a", Ref("secret", (("secret", "one"), (chosen, "x")))),)
        with pytest.raises(NotKept, match=f"a: its entry names a {chosen}"):
            value_plan.split(keyed_object("x", {}, parts=mine), self.LIVE, ())

    def test_what_is_not_live_is_not_looked_at(self) -> None:
        assert value_plan.split(keyed_object("x", {"a": b"", "gone": b""}), live({"a": b"1"}), ()).parts == (
            Part("a", ref("a")),
        )


NAMES = st.from_regex(r"(?!\.$|\.\.)[-._a-zA-Z0-9]{1,40}", fullmatch=True)


@given(st.dictionaries(st.one_of(NAMES, st.sampled_from(["yes", "null", "~", "1e3", "0x1", "on", "N"])), st.binary()))
def test_the_entry_that_is_printed_describes_just_these_parts(values: Mapping[str, bytes]) -> None:
    names = {key: value for key, value in values.items() if key != "~"} or {"a": b""}
    wanted = parts(names)
    lines = [f"  {line}" for line in value_plan.entry_lines(wanted)]
    text = "\n".join(["version: 1", "objects:", "- name: x", '  namespaces: {include: ["*"]}', *lines])
    (one,) = load_objects(text.encode(), "objects.yaml").objects
    assert {part.place: part.ref for part in one.parts} == {part.place: part.ref for part in wanted}
