"""The last guard on both sides: nothing secret passes, and no record is lost, whatever the credentials look like."""

import base64
import io
import json
import logging
import random
import string
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.support.context import Context
from upsert.core.secrecy import secrets_in
from upsert.core.sensitive import Sensitive
from upsert.telemetry import SERVICE, Telemetry

CLUSTER, NAMESPACE, HOST = "production-eu-central-1", "team-payments-backend", "registry.production-eu.example.com"
_RANDOM = random.Random(14)  # the same credentials in each run


def letters(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(_RANDOM.choice(alphabet) for _ in range(count))


def json_key(project: str) -> tuple[str, str]:
    """Return a service account's key file as Google Cloud gives it, and the secret in it."""
    body = "\n".join(base64.b64encode(_RANDOM.randbytes(48)).decode() for _ in range(20))
    private_key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    account = f"puller@{project}.iam.gserviceaccount.com"
    key = {
        "type": "service_account",
        "project_id": project,
        "private_key_id": letters(40, "0123456789abcdef"),
        "private_key": private_key,
        "client_email": account,
        "client_id": letters(21, string.digits),
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": "https://oauth2.googleapis.com/token",
        "client_x509_cert_url": f"https://www.googleapis.com/robot/v1/metadata/x509/{account}",
        "universe_domain": "googleapis.com",
    }
    return json.dumps(key, indent=2), private_key


def docker_config(host: str, username: str, password: str) -> str:
    auth = base64.b64encode(f"{username}:{password}".encode()).decode()
    return json.dumps({"auths": {host: {"username": username, "password": password, "auth": auth}}})


def credentials() -> Iterator[tuple[str, str]]:
    """Give values as people keep them, each with what is secret in it."""
    for number in range(40):
        yield json_key((CLUSTER, NAMESPACE, HOST.replace(".", "-"), f"project-{number}")[number % 4])
    for number in range(30):
        key, secret = json_key(CLUSTER)
        yield docker_config(f"eu.gcr.io/{number}", "_json_key", key), secret
    for number in range(10):
        key, secret = json_key((CLUSTER, NAMESPACE, HOST.replace(".", "-"))[number % 3])
        yield docker_config(f"eu.gcr.io/{number}", "_json_key_base64", base64.b64encode(key.encode()).decode()), secret
    for prefix, length in (("glpat-", 20), ("ghp_", 36), ("dckr_pat_", 27), ("xoxb-", 50), ("AKIA", 16), ("hvs.", 90)):
        for _ in range(10):
            token = prefix + letters(length)
            yield token, token
    for number in range(30):
        password = letters(32)
        yield docker_config(HOST, f"robot${NAMESPACE}+ci-{number}", password), password
    for word in ("password", "changeme", "hunter2", "admin", CLUSTER, NAMESPACE, HOST, "a", "correct horse battery"):
        yield word, word
        yield docker_config(HOST, "AWS", word), word
    for number in range(30):
        password = letters(24, string.ascii_letters + string.digits + '/+="\\\n')
        yield json.dumps({"host": HOST, "port": 5432, "username": "app", "password": password, "n": number}), password


CREDENTIALS = list(credentials())


@pytest.fixture
def output() -> Iterator[io.StringIO]:
    """What the function's own logger writes."""
    with Telemetry(Context()):
        pass
    (handler,) = logging.getLogger(SERVICE).handlers
    assert isinstance(handler, logging.StreamHandler)
    before, handler.stream = handler.stream, io.StringIO()
    yield handler.stream
    handler.stream = before


def told(output: io.StringIO, value: str, remedy: str) -> Sequence[dict[str, Any]]:
    """Return the records of a run that was given a credential, one of which has a remedy."""
    telemetry = Telemetry(Context())
    telemetry.configure(level="INFO", cluster=CLUSTER)
    for secret in secrets_in(Sensitive(value)):
        telemetry.conceal(secret)
    telemetry.info("object.applied", object="secret/aws-ecr-token", namespace=NAMESPACE, uid="u", resource_version="1")
    telemetry.error("object.failed", object="secret/aws-ecr-token", namespace=NAMESPACE, remedy=remedy)
    telemetry.info("refresh.completed", applied=1, failed=1, hosts=[HOST])
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_there_are_two_hundred_credentials() -> None:
    assert len(CREDENTIALS) >= 200


@pytest.mark.parametrize(("value", "secret"), CREDENTIALS)
def test_no_record_is_lost_and_the_names_in_it_are_legible(output: io.StringIO, value: str, secret: str) -> None:
    applied, failed, completed = told(output, value, f"look at {HOST} of {CLUSTER}")

    assert [record["message"] for record in (applied, failed, completed)] == [
        "object.applied",
        "object.failed",
        "refresh.completed",
    ]
    assert {record["cluster"] for record in (applied, failed, completed)} == {CLUSTER}
    assert applied["namespace"] == failed["namespace"] == NAMESPACE
    assert (applied["uid"], completed["applied"]) == ("u", 1)
    if secret not in (CLUSTER, HOST):
        assert failed["remedy"] == f"look at {HOST} of {CLUSTER}"
        assert completed["hosts"] == [HOST]


@pytest.mark.parametrize(("value", "secret"), [pair for pair in CREDENTIALS if len(pair[1]) >= 20])
def test_a_secret_that_gets_into_a_record_is_masked_there(output: io.StringIO, value: str, secret: str) -> None:
    encoded = base64.b64encode(secret.encode()).decode()
    _, failed, _ = told(output, value, f"the server said {secret!r}, that is {secret} or {encoded}; ask it again")

    assert failed["masked"] == ["remedy"]
    assert failed["remedy"].startswith("the server s")
    assert failed["remedy"].endswith(" it again")
    pieces = {secret[start : start + 12] for start in range(len(secret) - 11)}
    assert not any(piece in failed["remedy"] for piece in pieces)
