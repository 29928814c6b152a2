"""The manifest claims what it must and nothing else."""

import base64
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from upsert.core import manifest
from upsert.core.manifest import Payload
from upsert.core.sensitive import Sensitive

NOON = datetime(2030, 1, 2, 12, 0, 0, 999999, tzinfo=UTC)
CONFIG = Sensitive(b'{"auths":{}}')


def test_the_bytes_are_these() -> None:
    payload = manifest.pull_secret("aws-ecr-token", CONFIG, NOON)

    assert manifest.render(payload).reveal() == (
        b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"aws-ecr-token",'
        b'"annotations":{"eks-upsert/expires-at":"2030-01-02T12:00:00Z"}},'
        b'"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"eyJhdXRocyI6e319"}}'
    )


def test_nothing_else_is_claimed() -> None:
    document = json.loads(manifest.render(manifest.pull_secret("aws-ecr-token", CONFIG, NOON)).reveal())

    assert set(document) == {"apiVersion", "kind", "metadata", "type", "data"}
    assert set(document["metadata"]) == {"name", "annotations"}, "no labels, ownerReferences, finalizers or namespace"
    assert set(document["metadata"]["annotations"]) == {"eks-upsert/expires-at"}
    assert set(document["data"]) == {".dockerconfigjson"}


def test_equal_input_gives_equal_bytes() -> None:
    one = Payload("name", "Opaque", {"b": Sensitive(b"2"), "a": Sensitive(b"1")}, NOON)
    two = Payload("name", "Opaque", {"a": Sensitive(b"1"), "b": Sensitive(b"2")}, NOON)

    assert manifest.render(one) == manifest.render(two)


def test_another_kind_of_payload_needs_no_other_code() -> None:
    payload = Payload("tls", "kubernetes.io/tls", {"tls.key": Sensitive(b"\x00\xff")}, NOON)

    document = json.loads(manifest.render(payload).reveal())

    assert document["type"] == "kubernetes.io/tls"
    assert base64.b64decode(document["data"]["tls.key"]) == b"\x00\xff"


def test_the_result_is_masked() -> None:
    payload = manifest.pull_secret("aws-ecr-token", Sensitive(b"the-password"), NOON)

    assert repr(manifest.render(payload)) == "Sensitive(***)"
    assert "the-password" not in repr(payload)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOON, "2030-01-02T12:00:00Z"),
        (NOON.astimezone(timezone(timedelta(hours=-5))), "2030-01-02T12:00:00Z"),
        (datetime(2030, 1, 2, 1, 0, tzinfo=timezone(timedelta(hours=2))), "2030-01-01T23:00:00Z"),
    ],
)
def test_times_are_utc_in_whole_seconds(moment: datetime, text: str) -> None:
    assert manifest.timestamp(moment) == text


def test_the_merge_patch_removes_the_annotation_and_nothing_else() -> None:
    assert json.loads(manifest.WITHOUT_LAST_APPLIED) == {
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": None}}
    }
