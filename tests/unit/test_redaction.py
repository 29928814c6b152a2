"""The last guard finds parts of secrets in any text, and nothing in ordinary texts."""

import base64
import json
import secrets as random_secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ecr_standin import new_password
from tests.support.refresher import document, login
from upsert.core import redaction
from upsert.core.redaction import Redactor
from upsert.core.sensitive import Sensitive

FOUND_FROM = 23
PASSWORD = new_password()

ORDINARY = [
    "",
    "x",
    "team-a",
    '{"level": "INFO", "message": "object.applied", "namespace": "team-a", "object": "secret/aws-ecr-token"}',
    '{"uid": "0d6e0f9e-2a62-4a3c-9d0c-0a9b4ed7f1a5", "resource_version": "184467440737", "change": "updated"}',
    "k8s-aws-v1.",
    "arn:aws:iam::123456789012:role/eks-upsert",
    "123456789012.dkr.ecr.eu-central-1.amazonaws.com",
    "A" * 500,
    "=" * 50,
]


def knowing(*values: str) -> Redactor:
    redactor = Redactor()
    for value in values:
        redactor.learn(Sensitive(value))
    return redactor


KNOWING = knowing(PASSWORD)


@given(st.integers(0, len(PASSWORD) - FOUND_FROM), st.text(max_size=40), st.text(max_size=40))
def test_any_part_long_enough_is_found_anywhere(start: int, before: str, after: str) -> None:
    assert KNOWING.finds_in(before + PASSWORD[start : start + FOUND_FROM] + after)


@given(st.binary(max_size=40), st.binary(max_size=40), st.data())
def test_any_part_of_its_base64_is_found_at_any_alignment(before: bytes, after: bytes, data: st.DataObject) -> None:
    encoded = base64.b64encode(before + PASSWORD.encode() + after).decode()
    inside = range(len(before) * 4 // 3 + 4, (len(before) + len(PASSWORD)) * 4 // 3 - 4 - FOUND_FROM)
    start = data.draw(st.sampled_from(inside))

    assert KNOWING.finds_in(encoded[start : start + FOUND_FROM])


def test_any_part_of_what_a_secret_holds_is_found() -> None:
    data = json.loads(document(login(password=PASSWORD)).reveal())["data"][".dockerconfigjson"]
    # Host and key names, which are no secret, make up the parts that are not found.
    length = 200

    missed = [start for start in range(160, len(data) - length) if not KNOWING.finds_in(data[start : start + length])]

    assert missed == []


def test_the_whole_secret_is_found_in_each_form_that_a_library_might_print() -> None:
    for text in (PASSWORD, repr({"p": PASSWORD}), json.dumps([PASSWORD]), repr(PASSWORD.encode())):
        assert KNOWING.finds_in(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_texts_pass(text: str) -> None:
    assert not KNOWING.finds_in(text)


@given(st.text(max_size=300))
def test_texts_that_have_nothing_to_do_with_it_pass(text: str) -> None:
    assert not KNOWING.finds_in(text)


def test_other_secrets_pass() -> None:
    others = "".join(random_secrets.token_urlsafe(300) for _ in range(50))

    assert not KNOWING.finds_in(others)


def test_all_that_was_learned_is_found() -> None:
    first, second = random_secrets.token_hex(40), random_secrets.token_hex(40)
    redactor = knowing(first, second)

    assert redactor.finds_in(f"…{first[20:50]}…")
    assert redactor.finds_in(f"…{second[20:50]}…")


def test_nothing_is_found_before_anything_was_learned() -> None:
    assert not Redactor().finds_in(PASSWORD)


def test_a_secret_too_short_to_be_told_from_chance_hides_no_record() -> None:
    assert not knowing("short").finds_in("a short text")


def test_text_that_is_no_unicode_can_be_a_secret_too() -> None:
    secret = "\ud800" + PASSWORD
    assert knowing(secret).finds_in(PASSWORD)


@pytest.mark.parametrize(
    ("text", "reveals"),
    [
        ("the end of it is correct-hors", True),
        ("the end of it is correct-ho", False),
        (f"in base64: {base64.b64encode(b'a correct-horse-battery')[6:20].decode()}", True),
        ("team-a/aws-ecr-token: adoptable", False),
        ("", False),
    ],
)
def test_a_line_reveals_twelve_characters_of_a_short_secret_and_no_fewer(text: str, reveals: bool) -> None:
    assert redaction.reveals(text, [Sensitive("short"), Sensitive("correct-horse-battery")]) is reveals


def test_no_secret_is_revealed_if_there_is_none() -> None:
    assert not redaction.reveals(PASSWORD, [])


@given(
    st.integers(0, len(PASSWORD) - FOUND_FROM),
    st.integers(FOUND_FROM, 80),
    st.text("_.: ", max_size=40),
    st.text("_.: ", max_size=40),
)
def test_what_is_masked_is_the_part_of_the_secret_and_little_else(
    start: int, length: int, before: str, after: str
) -> None:
    part = PASSWORD[start : start + length]

    masked = KNOWING.masked(before + part + after)

    assert not KNOWING.finds_in(masked)
    assert "***" in masked
    assert masked.startswith(before[:-3])
    assert masked.endswith(after[3:])
    assert len(masked) < len(before) + len(after) + 23


def test_each_part_in_a_text_is_masked() -> None:
    text = f"one {PASSWORD[10:60]}, and far from it, {PASSWORD[900:960]} three"

    masked = KNOWING.masked(text)

    assert masked.count("***") == 2
    assert not KNOWING.finds_in(masked)
    assert "nd far from" in masked


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_texts_are_not_masked(text: str) -> None:
    assert KNOWING.masked(text) == text
