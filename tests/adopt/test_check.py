"""The check, on a real API server, as the shipped ClusterRole of the adopter: every verdict with its exact line."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support import adopter
from tests.support.adopter import ECR, OLD, being_deleted, by_string_data, cluster, config, entry, granted, secret
from tests.support.controlplane import ControlPlane
from tests.support.objects import HOST, SECRET, pull_object
from tests.support.objects import entry as entry_of
from upsert.adopt_request import Action
from upsert.core.document import LAST_APPLIED
from upsert.core.objects import OnConflict

QUAY = {"quay.io": entry("puller", "a-robot-account-password")}
PRETTY = json.dumps({"auths": ECR}, indent=2).encode()
REORDERED = config({HOST: dict(reversed(ECR[HOST].items()))})
ROTATES = {
    f"{HOST}/auth: ROTATES (52 vs 56 bytes)",
    f"{HOST}/password: ROTATES (33 vs 38 bytes)",
}
USUAL = ROTATES | {f"{HOST}/username: MATCH", ".dockerconfigjson: MATCH"}
MAY = "may write its own value back, and delete this Secret once its source leaves it out; to keep it"
TAKEN_OVER = ": note: data is managed by kubectl-create; the next refresh takes it over"
REFUSED = (
    ": note: data is managed by kubectl-create; a refresh refuses to write another value (on_conflict is refuse) until "
    "it is adopted"
)
BLIND = (
    "other-writer applies it as stringData, for which no conflict is ever reported: each apply writes its own value "
    "back; stop that first"
)
COPY = (
    "annotation kapp.k14s.io/original holds a stale copy of the data; adopt leaves it, so remove it with whoever "
    "writes it"
)


def check(control_plane: ControlPlane, namespace: str, kept: str | None = None, **changes: Any) -> list[str]:
    """Return the lines of a check, without the namespace and object that each starts with."""
    lines = adopter.run(cluster(control_plane), Action.CHECK, namespace, kept=kept, **changes).lines
    place = f"{namespace}/{SECRET}"
    assert all(line.startswith((f"{place}/", f"{place}: ")) for line in lines)
    return [line.removeprefix(place).removeprefix("/") for line in lines]


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
        ": MISSING",
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
    kept = config(QUAY).decode()
    quay = {f"quay.io/{field}: MATCH" for field in ("auth", "password", "username")}
    assert check(control_plane, namespace, kept) == expected(USUAL | quay, ": adoptable")


def test_another_value_of_a_kept_registry_is_a_mismatch(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(ECR | QUAY), "kubectl-create")
    kept = config({"quay.io": entry("puller", "a-robot-account-password\n")}).decode()
    assert {
        "quay.io/password: MISMATCH (24 vs 25 bytes; trailing newline)",
        "quay.io/username: MATCH",
        ": not adoptable: differs: quay.io/auth, quay.io/password",
    } <= set(check(control_plane, namespace, kept))


def test_a_registry_that_is_only_kept_is_only_in_new(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    lines = check(control_plane, namespace, config(QUAY).decode())
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
        f": note: Helm release pull-secrets: its next upgrade or rollback {MAY}, set helm.sh/resource-policy: keep",
        f": note: tracked by Argo CD: its next sync {MAY}, set argocd.argoproj.io/sync-options: Prune=false",
        ": note: last-applied-configuration holds a stale copy of the data; adopt removes the annotation",
        ": note: data is managed by kubectl-client-side-apply; the next refresh takes it over",
        ": adoptable",
    ]


def test_one_that_is_being_deleted_is_not_adoptable(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(metadata={"finalizers": ["example.com/keep"]}), "kubectl-create")
    before = check(control_plane, namespace)
    with being_deleted(control_plane, namespace):
        after = check(control_plane, namespace)
    assert before[-1] == ": adoptable", "a finalizer alone is no hindrance"
    reason = "being-deleted: it is gone once its finalizers are, and the next refresh creates it anew"
    assert after == [*before[:-1], f": not adoptable: {reason}"]


def test_who_applies_string_data_is_named_though_the_server_reports_no_conflict(
    control_plane: ControlPlane, namespace: str
) -> None:
    by_string_data(control_plane, namespace, config(ECR))
    assert check(control_plane, namespace) == [
        *sorted(USUAL),
        ": note: data is managed by other-writer; the next refresh takes it over",
        f": note: {BLIND}",
        ": adoptable",
    ]
    refused = REFUSED.replace("kubectl-create", "other-writer")
    assert refused in check(control_plane, namespace, on_conflict=OnConflict.REFUSE)


def test_a_tool_that_prunes_is_named_with_what_keeps_the_secret(control_plane: ControlPlane, namespace: str) -> None:
    labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kapp.k14s.io/app": "1733011200000000000"}
    annotations = {"kapp.k14s.io/original": json.dumps(secret({HOST: entry("AWS", "an-even-older-password")}))}
    body = secret(metadata={"labels": labels, "annotations": annotations})
    control_plane.create_secret(namespace, body, "kapp-server-side-apply")
    assert check(control_plane, namespace) == [
        *sorted(USUAL),
        f": note: Flux Kustomization apps: its next run {MAY}, set kustomize.toolkit.fluxcd.io/prune: disabled",
        f": note: kapp app 1733011200000000000: its next run {MAY}, set kapp.k14s.io/delete-strategy: orphan",
        f": note: {COPY}",
        ": note: data is managed by kapp-server-side-apply; the next refresh takes it over",
        ": adoptable",
    ]


def test_each_object_of_the_file_has_lines_of_its_own(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(immutable=True), "kubectl-create")
    again = secret()
    again["metadata"]["name"] = "pull-again"
    control_plane.create_secret(namespace, again, "kubectl-create")
    both = (pull_object(), pull_object(name="pull-again", on_conflict=OnConflict.REFUSE))
    with granted(control_plane, entry_of(), entry_of(name="pull-again")):
        run = adopter.run(cluster(control_plane), Action.CHECK, namespace, objects=both)
    assert run.lines == [
        *sorted(f"{namespace}/aws-ecr-token/{key}" for key in USUAL),
        f"{namespace}/aws-ecr-token{TAKEN_OVER}",
        f"{namespace}/aws-ecr-token: not adoptable: immutable",
        *sorted(f"{namespace}/pull-again/{key}" for key in USUAL),
        f"{namespace}/pull-again{REFUSED}",
        f"{namespace}/pull-again: adoptable",
    ]
    assert run.report.counts == {"not_adoptable": 1, "adoptable": 1}


def test_a_current_copy_is_told_from_a_stale_one(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("apply", "--namespace", namespace, "--filename=-", stdin=json.dumps(secret()))
    note = ": note: last-applied-configuration holds a current copy of the data; adopt removes the annotation"
    assert note in check(control_plane, namespace)


def test_under_refuse_the_note_says_that_the_next_refresh_will_not_write(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    assert REFUSED in check(control_plane, namespace, on_conflict=OnConflict.REFUSE)
