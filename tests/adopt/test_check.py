"""The check, on a real API server, as the shipped ClusterRole of the adopter: every verdict with its exact line."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support import adopter
from tests.support.adopter import ECR, OLD, FakeKept, cluster, config, entry, secret
from tests.support.controlplane import ControlPlane
from tests.support.refresher import HOST, SECRET
from upsert.core.manifest import LAST_APPLIED
from upsert.settings import Action, OnConflict

QUAY = {"quay.io": entry("puller", "a-robot-account-password")}
PRETTY = json.dumps({"auths": ECR}, indent=2).encode()
REORDERED = config({HOST: dict(reversed(ECR[HOST].items()))})
ROTATES = {
    f"{HOST}/auth: ROTATES (52 vs 56 bytes)",
    f"{HOST}/password: ROTATES (33 vs 38 bytes)",
}
USUAL = ROTATES | {f"{HOST}/username: MATCH", ".dockerconfigjson: MATCH"}
TAKEN_OVER = ": note: data is managed by kubectl-create; the next refresh takes it over"


def check(control_plane: ControlPlane, namespace: str, kept: FakeKept | None = None, **changes: Any) -> list[str]:
    """Return the lines of a check, without the namespace that each starts with."""
    lines = adopter.run(cluster(control_plane), Action.CHECK, namespace, kept=kept, **changes).lines
    assert all(line.startswith(namespace) for line in lines)
    return [line.removeprefix(namespace).removeprefix("/") for line in lines]


def expected(keys: set[str], *rest: str) -> list[str]:
    return [*sorted(keys), TAKEN_OVER, *rest]


CASES: Mapping[str, tuple[dict[str, Any], set[str], str]] = {
    "as kubectl creates it": (secret(), USUAL, "adoptable"),
    "another registry": (
        secret(ECR | QUAY),
        ROTATES
        | {
            ".dockerconfigjson: MISMATCH (313 vs 189 bytes; its entries differ)",
            f"{HOST}/username: MATCH",
            "quay.io/auth: ONLY IN LIVE",
            "quay.io/password: ONLY IN LIVE",
            "quay.io/username: ONLY IN LIVE",
        },
        "not adoptable: only in live: quay.io/auth, quay.io/password, quay.io/username",
    ),
    "an email": (
        secret({HOST: entry("AWS", OLD, email="none@example.com")}),
        ROTATES
        | {
            ".dockerconfigjson: MISMATCH (216 vs 189 bytes; its entries differ)",
            f"{HOST}/username: MATCH",
            f"{HOST}/email: ONLY IN LIVE",
        },
        f"not adoptable: only in live: {HOST}/email",
    ),
    "a trailing newline in a value": (
        secret({HOST: entry("AWS\n", OLD)}),
        {
            ".dockerconfigjson: MISMATCH (191 vs 189 bytes; its entries differ)",
            f"{HOST}/username: MISMATCH (4 vs 3 bytes; trailing newline)",
            *ROTATES,
        },
        f"not adoptable: differs: {HOST}/username",
    ),
    "CRLF in a value": (
        secret({HOST: entry("AWS\r\n", OLD)}),
        {
            ".dockerconfigjson: MISMATCH (193 vs 189 bytes; its entries differ)",
            f"{HOST}/username: MISMATCH (5 vs 3 bytes; CRLF; trailing newline)",
            f"{HOST}/auth: ROTATES (52 vs 56 bytes)",
            f"{HOST}/password: ROTATES (33 vs 38 bytes)",
        },
        f"not adoptable: differs: {HOST}/username",
    ),
    "white space around a value": (
        secret({HOST: entry(" AWS ", OLD)}),
        {
            ".dockerconfigjson: MISMATCH (191 vs 189 bytes; its entries differ)",
            f"{HOST}/username: MISMATCH (5 vs 3 bytes; leading and trailing white space)",
            *ROTATES,
        },
        f"not adoptable: differs: {HOST}/username",
    ),
    "a trailing newline after the text": (
        secret(config(ECR) + b"\n"),
        USUAL - {".dockerconfigjson: MATCH"} | {".dockerconfigjson: MISMATCH (190 vs 189 bytes; trailing newline)"},
        "adoptable",
    ),
    "CRLF between the lines": (
        secret(PRETTY.replace(b"\n", b"\r\n")),
        USUAL - {".dockerconfigjson: MATCH"} | {".dockerconfigjson: MISMATCH (240 vs 189 bytes; JSON spacing; CRLF)"},
        "adoptable",
    ),
    "JSON spacing": (
        secret(PRETTY),
        USUAL - {".dockerconfigjson: MATCH"} | {".dockerconfigjson: MISMATCH (232 vs 189 bytes; JSON spacing)"},
        "adoptable",
    ),
    "JSON key order": (
        secret(REORDERED),
        USUAL - {".dockerconfigjson: MATCH"} | {".dockerconfigjson: MISMATCH (189 vs 189 bytes; JSON key order)"},
        "adoptable",
    ),
    "https:// on the host": (
        secret({f"https://{HOST}": entry("AWS", OLD)}),
        {
            ".dockerconfigjson: MISMATCH (197 vs 189 bytes; its entries differ)",
            f"https://{HOST}: MISMATCH (55 vs 47 bytes; https:// on the host)",
            f"https://{HOST}/auth: ROTATES (52 vs 56 bytes)",
            f"https://{HOST}/password: ROTATES (33 vs 38 bytes)",
            f"https://{HOST}/username: MATCH",
        },
        f"not adoptable: differs: https://{HOST}",
    ),
    "a slash after the host": (
        secret({f"{HOST}/": entry("AWS", OLD)}),
        {
            ".dockerconfigjson: MISMATCH (190 vs 189 bytes; its entries differ)",
            f"{HOST}/: MISMATCH (48 vs 47 bytes; trailing slash)",
            f"{HOST}//auth: ROTATES (52 vs 56 bytes)",
            f"{HOST}//password: ROTATES (33 vs 38 bytes)",
            f"{HOST}//username: MATCH",
        },
        f"not adoptable: differs: {HOST}/",
    ),
    "the host in capitals": (
        secret({HOST.upper(): entry("AWS", OLD)}),
        {
            ".dockerconfigjson: MISMATCH (189 vs 189 bytes; its entries differ)",
            f"{HOST.upper()}: MISMATCH (47 vs 47 bytes; case of the host)",
            f"{HOST.upper()}/auth: ROTATES (52 vs 56 bytes)",
            f"{HOST.upper()}/password: ROTATES (33 vs 38 bytes)",
            f"{HOST.upper()}/username: MATCH",
        },
        f"not adoptable: differs: {HOST.upper()}",
    ),
    "auth of a password with a newline": (
        secret({HOST: entry("AWS", OLD) | {"auth": entry("AWS", OLD + "\n")["auth"]}}),
        {
            ".dockerconfigjson: MATCH",
            f"{HOST}/auth: MISMATCH (52 vs 56 bytes; auth is not username:password; trailing newline)",
            f"{HOST}/password: ROTATES (33 vs 38 bytes)",
            f"{HOST}/username: MATCH",
        },
        f"not adoptable: differs: {HOST}/auth",
    ),
    "auth alone": (
        secret({HOST: {"auth": ECR[HOST]["auth"]}}),
        {
            ".dockerconfigjson: MISMATCH (125 vs 194 bytes; its entries differ)",
            f"{HOST}/auth: ROTATES (52 vs 56 bytes)",
            f"{HOST}/password: ONLY IN NEW",
            f"{HOST}/username: ONLY IN NEW",
        },
        "adoptable",
    ),
    "another user": (
        secret({HOST: entry("aws", OLD)}),
        ROTATES
        | {
            ".dockerconfigjson: MISMATCH (189 vs 189 bytes; its entries differ)",
            f"{HOST}/username: MISMATCH (3 vs 3 bytes)",
        },
        f"not adoptable: differs: {HOST}/username",
    ),
    "another data key": (
        secret(data={"notes.txt": b"written by hand"}),
        USUAL | {"notes.txt: ONLY IN LIVE"},
        "not adoptable: only in live: notes.txt",
    ),
    "a credential helper": (
        secret(config(ECR, credsStore="desktop")),
        USUAL - {".dockerconfigjson: MATCH"}
        | {
            ".dockerconfigjson: MISMATCH (212 vs 189 bytes; its entries differ)",
            ".dockerconfigjson/credsStore: ONLY IN LIVE",
        },
        "not adoptable: only in live: .dockerconfigjson/credsStore",
    ),
    "immutable": (secret(immutable=True), USUAL, "not adoptable: immutable"),
    "another type": (
        secret(type="Opaque"),
        USUAL,
        "not adoptable: type is Opaque, expected kubernetes.io/dockerconfigjson",
    ),
    "no text": (
        secret(b"{}", type="Opaque", data={".dockerconfigjson": b"\xff\xfe"}),
        {".dockerconfigjson: MISMATCH (2 vs 198 bytes; not a docker config; no UTF-8)"},
        "not adoptable: type is Opaque, expected kubernetes.io/dockerconfigjson; differs: .dockerconfigjson",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_verdict_has_this_line(control_plane: ControlPlane, namespace: str, case: str) -> None:
    body, keys, conclusion = CASES[case]
    control_plane.create_secret(namespace, body, "kubectl-create")
    before = control_plane.get_secret(namespace, SECRET)
    assert check(control_plane, namespace) == expected(keys, f": {conclusion}")
    assert control_plane.get_secret(namespace, SECRET) == before, "a check writes nothing"


def test_a_missing_secret_is_no_trouble(control_plane: ControlPlane, namespace: str) -> None:
    assert check(control_plane, namespace) == [
        "aws-ecr-token: MISSING",
        ": not adoptable: missing (the next refresh creates it)",
    ]


def test_a_secret_without_the_key_loses_nothing_but_has_the_wrong_type(
    control_plane: ControlPlane, namespace: str
) -> None:
    body = secret(type="Opaque")
    body["data"] = {}
    control_plane.create_secret(namespace, body, "kubectl-create")
    assert check(control_plane, namespace) == [
        ".dockerconfigjson: ONLY IN NEW",
        ": not adoptable: type is Opaque, expected kubernetes.io/dockerconfigjson",
    ]


def test_other_registries_that_are_kept_match(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(ECR | QUAY), "kubectl-create")
    kept = FakeKept(config(QUAY).decode())
    quay = {f"quay.io/{field}: MATCH" for field in ("auth", "password", "username")}
    assert check(control_plane, namespace, kept) == expected(USUAL | quay, ": adoptable")


def test_another_value_of_a_kept_registry_is_a_mismatch(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(ECR | QUAY), "kubectl-create")
    kept = FakeKept(config({"quay.io": entry("puller", "a-robot-account-password\n")}).decode())
    assert {
        "quay.io/password: MISMATCH (24 vs 25 bytes; trailing newline)",
        "quay.io/username: MATCH",
        ": not adoptable: differs: quay.io/auth, quay.io/password",
    } <= set(check(control_plane, namespace, kept))


def test_a_registry_that_is_only_kept_is_only_in_new(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    lines = check(control_plane, namespace, FakeKept(config(QUAY).decode()))
    assert {f"quay.io/{field}: ONLY IN NEW" for field in ("auth", "password", "username")} < set(lines)
    assert lines[-1] == ": adoptable"


def test_both_spellings_of_the_host_at_once_leave_the_other_one_over(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.create_secret(namespace, secret(ECR | {f"https://{HOST}": ECR[HOST]}), "kubectl-create")
    lines = check(control_plane, namespace)
    assert {f"https://{HOST}/{field}: ONLY IN LIVE" for field in ("auth", "password", "username")} < set(lines)
    assert set(lines) > ROTATES


def test_what_else_has_a_say_is_noted_and_does_not_stand_in_the_way(
    control_plane: ControlPlane, namespace: str
) -> None:
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "registry-login",
        "uid": "5d7e9c1e-0000-4000-8000-000000000001",
    }
    copy = json.dumps(secret({HOST: entry("AWS", "an-even-older-password")}))
    metadata = {
        "ownerReferences": [owner],
        "finalizers": ["example.com/keep"],
        "labels": {"app.kubernetes.io/managed-by": "Helm", "argocd.argoproj.io/instance": "platform"},
        "annotations": {"meta.helm.sh/release-name": "pull-secrets", LAST_APPLIED: copy},
    }
    control_plane.create_secret(namespace, secret(metadata=metadata), "kubectl-client-side-apply")
    assert check(control_plane, namespace) == [
        *sorted(USUAL),
        ": note: owned by ConfigMap/registry-login: deleting that deletes this Secret; adopt leaves it so",
        ": note: finalizer example.com/keep: adopt leaves it alone",
        ": note: Helm release pull-secrets: its next upgrade or rollback may write its own value back",
        ": note: tracked by Argo CD: its next sync may write its own value back",
        ": note: last-applied-configuration holds a stale copy of the data; adopt removes the annotation",
        ": note: data is managed by kubectl-client-side-apply; the next refresh takes it over",
        ": adoptable",
    ]


def test_a_current_copy_is_told_from_a_stale_one(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("apply", "--namespace", namespace, "--filename=-", stdin=json.dumps(secret()))
    note = ": note: last-applied-configuration holds a current copy of the data; adopt removes the annotation"
    assert note in check(control_plane, namespace)


def test_under_refuse_the_note_says_that_the_next_refresh_will_not_write(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    note = ": note: data is managed by kubectl-create; the next refresh refuses to write it (ON_CONFLICT is refuse)"
    assert note in check(control_plane, namespace, on_conflict=OnConflict.REFUSE)
