"""The last guard finds parts of secrets in any text, and nothing in ordinary texts."""

import base64
import json
import secrets as random_secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ecr_standin import new_password
from tests.support.refresher import EXPIRES_AT, logins
from upsert.core import docker_config, manifest
from upsert.core.redaction import Redactor
from upsert.core.sensitive import Sensitive

FOUND_FROM = 23
PASSWORD = new_password()

ORDINARY = [
    "",
    "x",
    "team-a",
    '{"level": "INFO", "message": "object.applied", "namespace": "team-a", "secret": "aws-ecr-token"}',
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
    granted = logins(password=PASSWORD)
    payload = manifest.pull_secret("aws-ecr-token", docker_config.render(granted.entries), EXPIRES_AT)
    data = json.loads(manifest.render(payload).reveal())["data"][".dockerconfigjson"]
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
