"""What is secret in a value is learned by the guard; what only says whom and what it is for would empty the log."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core.secrecy import secrets_in, secrets_in_bytes
from upsert.core.sensitive import Sensitive

KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"
# https://cloud.google.com/iam/docs/keys-create-delete#creating
SERVICE_ACCOUNT = {
    "type": "service_account",
    "project_id": "production-eu",
    "private_key_id": "f6a1d0c4b7e94c1b8a6e5d3c2b1a09f8e7d6c5b4",
    "private_key": KEY,
    "client_email": "puller@production-eu.iam.gserviceaccount.com",
    "client_id": "113579246801357924680",
    "auth_uri": "https://accounts.google.com/o/oauth2/auth",
    "token_uri": "https://oauth2.googleapis.com/token",
    "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
    "client_x509_cert_url": "https://www.googleapis.com/robot/v1/metadata/x509/puller%40production-eu",
    "universe_domain": "googleapis.com",
}
# https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_secret_json_structure.html
DATABASE = {
    "engine": "postgres",
    "host": "production-eu.abcdefghijkl.eu-central-1.rds.amazonaws.com",
    "port": 5432,
    "dbname": "production-eu",
    "username": "application-user",
    "password": "correct-horse-battery",
}


def basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def found(value: str) -> list[str]:
    return [secret.reveal() for secret in secrets_in(Sensitive(value))]


def kept(host: str, **fields: str) -> str:
    return json.dumps({"auths": {host: fields}})


@pytest.mark.parametrize(
    ("value", "secrets"),
    [
        ("correct-horse-battery", ["correct-horse-battery"]),
        (KEY, [KEY]),
        ("", []),
        ("two words", ["two words"]),
        # As `docker login` writes it: the password is nowhere else.
        (basic("me", "correct-horse"), [basic("me", "correct-horse"), "correct-horse"]),
        (basic("me", "a:b:c"), [basic("me", "a:b:c"), "a:b:c"]),
        (basic("", "correct-horse"), [basic("", "correct-horse")]),
        (kept("quay.io", username="me", password="secret"), ["secret"]),
        (kept("quay.io", auth=basic("me", "secret")), [basic("me", "secret"), "secret"]),
        (kept("quay.io", identitytoken="secret", email="me@example.com"), ["secret"]),
        (
            kept("eu.gcr.io", username="_json_key", password=json.dumps(SERVICE_ACCOUNT)),
            [KEY],
        ),
        (
            kept("eu.gcr.io", auth=basic("_json_key", json.dumps(SERVICE_ACCOUNT))),
            [basic("_json_key", json.dumps(SERVICE_ACCOUNT)), KEY],
        ),
        # As the user `_json_key_base64` has it, alone or under a password that was encoded once more.
        (encoded(json.dumps(SERVICE_ACCOUNT)), [encoded(json.dumps(SERVICE_ACCOUNT)), KEY]),
        (
            kept("eu.gcr.io", username="_json_key_base64", password=encoded(json.dumps(SERVICE_ACCOUNT, indent=2))),
            [encoded(json.dumps(SERVICE_ACCOUNT, indent=2)), KEY],
        ),
        (
            kept("eu.gcr.io", auth=basic("_json_key_base64", encoded(json.dumps(SERVICE_ACCOUNT)))),
            [
                basic("_json_key_base64", encoded(json.dumps(SERVICE_ACCOUNT))),
                encoded(json.dumps(SERVICE_ACCOUNT)),
                KEY,
            ],
        ),
        # What a kubelet reads: without padding, and with line breaks.
        (kept("quay.io", auth=basic("me", "secrets").rstrip("=")), [basic("me", "secrets").rstrip("="), "secrets"]),
        (kept("quay.io", auth=basic("me", "a secret").rstrip("=")), [basic("me", "a secret").rstrip("="), "a secret"]),
        (kept("quay.io", auth=basic("me", "secret") + "\n"), [basic("me", "secret") + "\n", "secret"]),
        (kept("quay.io", auth="bWU6\r\nc2VjcmV0"), ["bWU6\r\nc2VjcmV0", "secret"]),
        ("bWU6fn9-Pz8_", ["bWU6fn9-Pz8_", "~\x7f~???"]),
        (json.dumps(SERVICE_ACCOUNT), [KEY]),
        (json.dumps([SERVICE_ACCOUNT, SERVICE_ACCOUNT]), [KEY]),
        (json.dumps(DATABASE), ["correct-horse-battery"]),
        (json.dumps({"api_key": "one", "nested": {"token": "two", "list": ["three", {"four": "4"}]}}), [
            "one", "two", "three", "4",
        ]),
        (json.dumps({"Password": "one", "USERNAME": "me", "Client_ID": "public"}), ["one"]),
        (json.dumps({"username": {"password": "one"}}), ["one"]),
        # What is no JSON object or list is one text.
        ('"quoted"', ['"quoted"']),
        ('{"cut": "off', ['{"cut": "off']),
        ("{}", ["{}"]),
    ],
)  # fmt: skip
def test_passwords_and_keys_are_learned(value: str, secrets: list[str]) -> None:
    assert found(value) == secrets


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, text in SERVICE_ACCOUNT.items() if text != KEY])
def test_what_a_service_account_says_of_itself_is_public(name: str, text: str) -> None:
    assert text not in found(json.dumps(SERVICE_ACCOUNT))
    assert text not in found(json.dumps({name: text, "password": "one"}))


@pytest.mark.parametrize(
    "public",
    [
        {"username": "production-eu"},
        {"email": "me@example.com", "serveraddress": "https://quay.io"},
        {"host": "db.example", "dbname": "production-eu", "region": "eu-central-1", "account": "111122223333"},
        {"tenant": "production-eu", "tenant_id": "production-eu", "login_url": "https://example.com"},
    ],
)
def test_whom_and_what_a_credential_is_for_is_public(public: dict[str, str]) -> None:
    assert found(json.dumps({**public, "password": "secret"})) == ["secret"]


@pytest.mark.parametrize(
    "secret",
    [
        "password",
        "auth",
        "identitytoken",
        "registrytoken",
        "secret",
        "private_key",
        "secret_access_key",
        "token",
        "key",
    ],
)
def test_any_other_member_is_secret(secret: str) -> None:
    assert found(json.dumps({secret: "value", "username": "me"})) == ["value"]


@pytest.mark.parametrize("depth", [100, 2_000, 20_000, 200_000])
def test_a_value_however_deep_is_learned_at_least_as_a_whole(depth: int) -> None:
    text = "[" * depth + '"secret"' + "]" * depth

    assert found(text) in (["secret"], [text])


def test_secrets_are_masked() -> None:
    assert repr(secrets_in(Sensitive("correct-horse"))) == "(Sensitive(***),)"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_of_any_json_every_secret_is_learned_once(document: Any) -> None:
    secrets = found(json.dumps({"a": document, "password": "the secret"}))

    assert "the secret" in secrets
    assert len(set(secrets)) == len(secrets)
    assert "" not in secrets


@given(st.text(max_size=40))
def test_of_any_text_something_is_learned(text: str) -> None:
    if text and text.lstrip()[:1] not in ("{", "["):
        assert text in found(text)


@pytest.mark.parametrize(
    ("value", "secrets"),
    [
        (b"", []),
        (b"correct-horse", ["correct-horse"]),
        (b'{"username": "me", "password": "secret"}', ["secret"]),
        (b"\xff\x00correct-horse", ["/wBjb3JyZWN0LWhvcnNl"]),
        ("\u00fc".encode("latin-1"), ["/A=="]),
    ],
)
def test_of_bytes_that_are_no_text_the_base64_is_learned(value: bytes, secrets: list[str]) -> None:
    assert [one.reveal() for one in secrets_in_bytes(Sensitive(value))] == secrets
