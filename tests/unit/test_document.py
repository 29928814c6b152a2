"""The documents that are sent claim what they must and nothing else."""

import base64
import json
from copy import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from upsert.core import document, manifests
from upsert.core.objects import Desired
from upsert.core.resources import RESOURCE_QUOTAS, SECRETS
from upsert.core.sensitive import Sensitive

NOON = datetime(2030, 1, 2, 12, 0, 0, 999999, tzinfo=UTC)
PULL_SECRET = Desired(
    SECRETS,
    "aws-ecr-token",
    "kubernetes.io/dockerconfigjson",
    {".dockerconfigjson": Sensitive(b'{"auths":{}}')},
    expires_at=NOON,
)


def test_the_bytes_are_these() -> None:
    assert document.desired(PULL_SECRET).reveal() == (
        b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"aws-ecr-token",'
        b'"annotations":{"eks-upsert/expires-at":"2030-01-02T12:00:00Z"}},'
        b'"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"eyJhdXRocyI6e319"}}'
    )


def test_nothing_else_is_claimed() -> None:
    claimed = json.loads(document.desired(PULL_SECRET).reveal())

    assert set(claimed) == {"apiVersion", "kind", "metadata", "type", "data"}
    assert set(claimed["metadata"]) == {"name", "annotations"}, "no labels, ownerReferences, finalizers or namespace"
    assert set(claimed["metadata"]["annotations"]) == {"eks-upsert/expires-at"}
    assert set(claimed["data"]) == {".dockerconfigjson"}


def test_what_never_expires_has_no_annotation() -> None:
    claimed = json.loads(document.desired(replace(PULL_SECRET, expires_at=None)).reveal())

    assert claimed["metadata"] == {"name": "aws-ecr-token"}


def test_equal_input_gives_equal_bytes() -> None:
    one = replace(PULL_SECRET, data={"b": Sensitive(b"2"), "a": Sensitive(b"1")})
    two = replace(PULL_SECRET, data={"a": Sensitive(b"1"), "b": Sensitive(b"2")})

    assert document.desired(one) == document.desired(two)


def test_another_kind_of_object_needs_no_other_code() -> None:
    tls = Desired(SECRETS, "tls", "kubernetes.io/tls", {"tls.key": Sensitive(b"\x00\xff")})

    claimed = json.loads(document.desired(tls).reveal())

    assert claimed["type"] == "kubernetes.io/tls"
    assert base64.b64decode(claimed["data"]["tls.key"]) == b"\x00\xff"


def test_the_result_is_masked() -> None:
    desired = replace(PULL_SECRET, data={"key": Sensitive(b"the-password")})

    assert repr(document.desired(desired)) == "Sensitive(***)"
    assert "the-password" not in repr(desired)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOON, "2030-01-02T12:00:00Z"),
        (NOON.astimezone(timezone(timedelta(hours=-5))), "2030-01-02T12:00:00Z"),
        (datetime(2030, 1, 2, 1, 0, tzinfo=timezone(timedelta(hours=2))), "2030-01-01T23:00:00Z"),
    ],
)
def test_times_are_utc_in_whole_seconds(moment: datetime, text: str) -> None:
    assert document.timestamp(moment) == text


def test_the_merge_patch_removes_the_annotation_from_this_very_version_and_nothing_else() -> None:
    assert json.loads(document.without_last_applied("u-1", "7").reveal()) == {
        "metadata": {
            "uid": "u-1",
            "resourceVersion": "7",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": None},
        }
    }


def test_a_claim_holds_the_live_values_of_the_desired_keys_and_the_version_that_they_were_read_at() -> None:
    live = {"a": Sensitive(b"live"), "other": Sensitive(b"not ours")}
    desired = replace(PULL_SECRET, data={"a": Sensitive(b"new"), "missing": Sensitive(b"new")})

    claimed = json.loads(document.claim(desired, live, uid="u-1", resource_version="7").reveal())

    assert claimed == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "aws-ecr-token", "uid": "u-1", "resourceVersion": "7"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {"a": base64.b64encode(b"live").decode()},
    }


@pytest.mark.parametrize(
    ("live", "desired", "claimed"),
    [
        ({"hard": {"pods": "1", "theirs": "2"}}, {"hard": {"pods": 1, "new": 3}}, {"hard": {"pods": "1"}}),
        ({"hard": {"theirs": "2"}}, {"hard": {"new": 3}}, {}),
        # Who says nothing of what is in there must not own it: its next apply would delete it.
        ({"hard": {"theirs": "2"}}, {"hard": {}}, {}),
        ({"labels": {}}, {"labels": {"new": "x"}}, {}),
        ({"podSelector": {}, "ingress": [{"ports": [1]}]}, {"podSelector": {}, "ingress": []}, ...),
        ({"minAvailable": 0}, {"minAvailable": "0", "maxUnavailable": 1}, {"minAvailable": 0}),
    ],
)
def test_of_a_manifest_is_claimed_what_is_there_and_desired_as_it_stands_there(
    live: dict[str, Any], desired: dict[str, Any], claimed: object
) -> None:
    new = Desired(RESOURCE_QUOTAS, "a", "", {}, rest={"spec": desired})
    there = replace(new, rest=manifests.shared({"spec": live}, new.rest))
    sent = json.loads(document.claim(there, {}, uid="u-1", resource_version="7").reveal())
    assert sent.get("spec", {}) == (live if claimed is ... else claimed)
