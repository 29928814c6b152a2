"""The function from event to answer, on a real API server, as the shipped roles: lines, records, import, no values."""

import base64
import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.adopt.conftest import KEEPS, Migration, Team
from tests.support import objects
from tests.support.adopter import ECR, OLD, config, digests, entry, granted, managers, secret
from tests.support.audit import AuditLog
from tests.support.canary import Canary
from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import new_password
from tests.support.invocation import Seen, canary
from tests.support.objects import ARN, HOST, SECRET, pull_object
from tests.support.refresher import password_in
from upsert import adopt_records
from upsert.adopt import AdoptReport
from upsert.adopt_records import adopt_answer
from upsert.adopt_request import Action
from upsert.core.adoptions import Adopted
from upsert.core.checks import missing
from upsert.core.document import LAST_APPLIED
from upsert.core.identity import FIELD_MANAGER
from upsert.errors import ImportRefused, InputError, NoNamespaceMatches, ObjectsFailed, SourceFailed

EVENTS = Path(__file__).parents[2] / "events"
TOKEN = "dckr_pat_Q2hlY2tUaGVuQWRvcHQ"
ROBOT = "ROBOTS-HAVE-LONG-PASSWORDS-0123456789"
OTHERS = {
    "https://index.docker.io/v1/": entry("team", TOKEN),
    "quay.io": {"auth": entry("team+puller", ROBOT)["auth"], "email": "team@example.com"},
}


# Each makes a kubelet reject the whole Secret: a token, bare, in base64, in base64 of URLs, with blanks, a plain login.
UNREADABLE = (
    "glpat-abcdEFGH1234",
    base64.b64encode(b"glpat-abcdEFGH1234").decode(),
    base64.urlsafe_b64encode(b"me:~~~???").decode(),
    f" {base64.b64encode(b'me:correct-horse').decode()} ",
    "me:correct-horse",
    base64.b64encode(base64.b64encode(b"me:correct-horse")).decode(),
    base64.b64encode(b"me:correct-horse").decode().replace("j", "j ", 1) + "\t",
)


def event(name: str) -> dict[str, Any]:
    """Return a shipped example of an event."""
    found: dict[str, Any] = json.loads((EVENTS / f"adopt-{name}.json").read_text())
    return found


def answer(seen: Seen) -> dict[str, Any]:
    assert seen.error is None, seen.error
    assert isinstance(seen.result, dict)
    return seen.result


def fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without what every record has, and what is never the same."""
    usual = ("level", "timestamp", "service", "request_id", "cluster")
    return {key: value for key, value in record.items() if key not in usual}


def test_the_way_through_a_migration(aws: Migration, plane: ControlPlane, team: Team) -> None:
    before = {
        name: plane.create_secret(team(name), secret(ECR | OTHERS), "kubectl-create") for name in ("team-a", "team-b")
    }
    lost = "only in live: https://index.docker.io/v1//auth, https://index.docker.io/v1//password"
    first = answer(aws.adopt(event("check"), **KEEPS))
    assert first["not_adoptable"] == 2
    assert any(line.startswith(f"team-a/{SECRET}: not adoptable: {lost}") for line in first["lines"])

    imported = answer(aws.adopt(event("import"), **KEEPS))
    assert imported["lines"] == [
        f"team-a/{SECRET}/{HOST}: left out (ECR gives a new password each time)",
        "team-a/aws-ecr-token/https://index.docker.io/v1/: imported",
        "team-a/aws-ecr-token/quay.io: imported",
    ]
    assert aws.secrets.value == config(OTHERS).decode()

    second = answer(aws.adopt(event("check"), **KEEPS))
    assert second["adoptable"] == 2
    for host, values in OTHERS.items():
        for field in values:
            assert f"team-b/{SECRET}/{host}/{field}: MATCH" in second["lines"]
    assert "team-b/aws-ecr-token/.dockerconfigjson: MATCH" in second["lines"]

    adopted = answer(aws.adopt(event("adopt"), **KEEPS))
    assert adopted["adopted"] == 2
    for name, live in before.items():
        found = plane.get_secret(name, SECRET)
        assert digests(found) == digests(live)
        assert managers(found) == {"kubectl-create", FIELD_MANAGER}

    refreshed = answer(aws.refresh({"namespaces": ["team-*"]}, **KEEPS))
    assert refreshed["applied"] == 2
    for name, live in before.items():
        found = plane.get_secret(name, SECRET)
        assert found is not None
        assert found["metadata"]["uid"] == live["metadata"]["uid"]
        assert password_in(found) == aws.ecr.passwords[-1]
        assert {host: auths(found)[host] for host in OTHERS} == OTHERS

    last = answer(aws.adopt(event("check"), **KEEPS))
    assert {line.partition(": ")[2].partition(" (")[0] for line in last["lines"]} == {"MATCH", "ROTATES", "adoptable"}


def auths(found: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """Return the entries of a Secret as a kubelet would read them."""
    assert found is not None, "there is no such Secret"
    entries: dict[str, dict[str, str]] = json.loads(base64.b64decode(found["data"][".dockerconfigjson"]))["auths"]
    return entries


def test_a_check_writes_one_record_per_verdict_and_one_for_the_namespace(
    aws: Migration, plane: ControlPlane, team: Team
) -> None:
    live = plane.create_secret(team("team-a"), secret({HOST: entry("AWS\n", OLD)}), "kubectl-create")
    seen = aws.adopt(event("check"))
    verdicts = seen.named("adopt.verdict")
    (username,) = [record for record in verdicts if record["key"] == f"{HOST}/username"]
    assert fields(username) == {
        "message": "adopt.verdict",
        "object": "secret/aws-ecr-token",
        "namespace": "team-a",
        "key": f"{HOST}/username",
        "verdict": "MISMATCH",
        "live_bytes": 4,
        "new_bytes": 3,
        "differences": ["trailing newline"],
        "line": f"team-a/{SECRET}/{HOST}/username: MISMATCH (4 vs 3 bytes; trailing newline)",
    }
    (checked,) = seen.named("adopt.checked")
    assert fields(checked) == {
        "message": "adopt.checked",
        "object": "secret/aws-ecr-token",
        "namespace": "team-a",
        "adoptable": False,
        "reasons": [f"differs: {HOST}/username"],
        "notes": ["data is managed by kubectl-create; the next refresh takes it over"],
        "uid": live["metadata"]["uid"],
        "resource_version": live["metadata"]["resourceVersion"],
        "type": "kubernetes.io/dockerconfigjson",
        "immutable": False,
        "owners": [],
        "finalizers": [],
        "being_deleted": False,
        "helm_release": "",
        "argo_cd": "",
        "tools": [],
        "last_applied": "",
        "copies": [],
        "managers": ["kubectl-create"],
    }
    (completed,) = seen.named("adopt.completed")
    assert fields(completed) == {
        "message": "adopt.completed",
        "action": "check",
        "objects": 1,
        "objects_not_made": [],
        "namespaces": 1,
        "not_adoptable": 1,
        "verdicts": {"MISMATCH": 2, "ROTATES": 2},
        "causes": {"its entries differ": 1, "trailing newline": 1},
        "api_requests": 3,
        "saw_external_secrets": False,
    }
    assert answer(seen) == {key: value for key, value in fields(completed).items() if key != "message"} | {
        "lines": [
            *sorted(record["line"] for record in verdicts),
            f"team-a/{SECRET}: note: {checked['notes'][0]}",
            f"team-a/{SECRET}: not adoptable: {checked['reasons'][0]}",
        ]
    }


def test_a_check_answers_with_a_report_if_it_is_asked_for_one(aws: Migration, team: Team) -> None:
    team("team-a", secret({HOST: entry("AWS\n", OLD)}))
    found = answer(aws.adopt(event("check") | {"report": "markdown"}))
    assert found["report"].startswith("### Adopter: check\n\n1 not adoptable.\n")
    assert "MISMATCH \\(4 vs 3 bytes; trailing newline\\) | team-a |" in found["report"]
    assert "report" not in answer(aws.adopt(event("check")))


def test_an_adoption_is_recorded_with_what_the_server_said(aws: Migration, plane: ControlPlane, team: Team) -> None:
    live = plane.create_secret(team("team-a"), secret(), "kubectl-create")
    (adopted,) = aws.adopt(event("adopt")).named("adopt.adopted")
    after = plane.get_secret("team-a", SECRET)
    assert after is not None
    assert fields(adopted) == {
        "message": "adopt.adopted",
        "object": "secret/aws-ecr-token",
        "namespace": "team-a",
        "uid": live["metadata"]["uid"],
        "resource_version": after["metadata"]["resourceVersion"],
        "written": True,
        "removed_last_applied": False,
        "took_over_from": [],
    }


def test_a_refusal_fails_the_run_after_the_others_were_adopted(aws: Migration, plane: ControlPlane, team: Team) -> None:
    plane.create_secret(team("team-a"), secret(immutable=True), "kubectl-create")
    plane.create_secret(team("team-b"), secret(), "kubectl-create")
    seen = aws.adopt(event("adopt"))
    assert isinstance(seen.error, ObjectsFailed)
    assert str(seen.error) == (
        "1 of 2 objects were not adopted: team-a/secret/aws-ecr-token: not adoptable: immutable. The log has every line"
    )
    (refused,) = seen.named("adopt.refused")
    assert fields(refused) == {
        "message": "adopt.refused",
        "object": "secret/aws-ecr-token",
        "namespace": "team-a",
        "reason": "not adoptable: immutable",
    }
    assert FIELD_MANAGER in managers(plane.get_secret("team-b", SECRET))


def test_the_report_of_an_adoption_that_refuses_is_in_the_log(aws: Migration, plane: ControlPlane, team: Team) -> None:
    plane.create_secret(team("team-a"), secret(immutable=True), "kubectl-create")
    plane.create_secret(team("team-b"), secret(), "kubectl-create")
    seen = aws.adopt(event("adopt") | {"report": "markdown"})
    assert str(seen.error).endswith(
        ": not adoptable: immutable. The log has every line, and the report as the record adopt.report"
    )
    (record,) = seen.named("adopt.report")
    assert record["report"].startswith("### Adopter: adopt\n\n1 adopted, 1 refused.\n")
    assert "| refused: not adoptable: immutable | team-a |" in record["report"]
    assert not aws.adopt(event("adopt")).named("adopt.report")


def two(**second: Any) -> dict[str, Any]:
    """Return a file of two objects: the shipped one, and another one."""
    return {"objects": [objects.entry(), objects.entry(name="pull-again", **second)]}


def of_all(name: str) -> dict[str, Any]:
    """Return a shipped example of an event, for every object of the file."""
    return event(name) | {"objects": ["*"]}


class TestTwoObjects:
    def test_each_has_its_lines_and_records(self, aws: Migration, plane: ControlPlane, team: Team) -> None:
        again = secret()
        again["metadata"]["name"] = "pull-again"
        plane.create_secret(team("team-a"), again, "kubectl-create")
        with granted(plane, *two()["objects"]):
            seen = aws.adopt(of_all("check"), **two())
            named = aws.adopt(event("check") | {"objects": ["pull-*"]}, **two())
        result = answer(seen)
        counts = {key: result[key] for key in ("objects", "namespaces", "adoptable", "missing")}
        assert counts == {"objects": 2, "namespaces": 1, "adoptable": 1, "missing": 1}
        conclusions = [line for line in result["lines"] if "adoptable" in line]
        assert conclusions == [
            "team-a/aws-ecr-token: not adoptable: missing (the next refresh creates it)",
            "team-a/pull-again: adoptable",
        ]
        checked = {record["object"]: record["adoptable"] for record in seen.named("adopt.checked")}
        assert checked == {"secret/aws-ecr-token": False, "secret/pull-again": True}
        assert answer(named)["objects"] == 1

    def test_a_source_that_fails_fails_its_own_object(self, aws: Migration, plane: ControlPlane, team: Team) -> None:
        plane.create_secret(team("team-a"), secret(), "kubectl-create")
        file = two(registries=[{"auths": {"secret": "not-there"}}])
        checked = aws.adopt(of_all("check"), **file)
        why = "registries[0].auths: cannot read the secret that the file of objects names here: ResourceNotFoundExc"
        assert answer(checked)["lines"][0].startswith(f"pull-again: not checked: {why}")
        assert answer(checked)["objects_not_made"] == ["secret/pull-again"]
        assert answer(checked)["adoptable"] == 1
        (record,) = checked.named("source.failed")
        assert record["object"] == "secret/pull-again"
        assert record["remedy"].startswith(why)
        adopted = aws.adopt(of_all("adopt"), **file)
        assert isinstance(adopted.error, SourceFailed)
        assert str(adopted.error).startswith(why)
        assert FIELD_MANAGER in managers(plane.get_secret("team-a", SECRET))

    def test_a_source_that_fails_is_told_with_the_objects_that_were_refused(
        self, aws: Migration, plane: ControlPlane, team: Team
    ) -> None:
        plane.create_secret(team("team-a"), secret(immutable=True), "kubectl-create")
        seen = aws.adopt(of_all("adopt"), **two(registries=[{"auths": {"secret": "not-there"}}]))
        assert isinstance(seen.error, ObjectsFailed)
        assert str(seen.error).startswith(
            "1 of 1 objects were not adopted: team-a/secret/aws-ecr-token: not adoptable: immutable; "
            "registries[0].auths: cannot read the secret that the file of objects names here: "
        )

    def test_one_that_selects_no_namespace_is_told(self, aws: Migration, plane: ControlPlane, team: Team) -> None:
        plane.create_secret(team("team-a"), secret(), "kubectl-create")
        seen = aws.adopt({"action": "check"}, **two(include=["nowhere"]))
        why = "no namespace of the cluster is in its scope; check include, exclude and selector"
        assert answer(seen)["lines"][0] == f"pull-again: not checked: {why}"
        (record,) = seen.named("object.unplaced")
        assert (record["object"], record["remedy"]) == ("secret/pull-again", why)


def test_a_check_in_which_every_object_failed_ends_as_an_error(aws: Migration, plane: ControlPlane, team: Team) -> None:
    plane.create_secret(team("team-a"), secret(), "kubectl-create")
    plane.kubectl("delete", "clusterrolebinding", "eks-upsert-adopter")
    plane.kubectl("create", "clusterrole", "lists-namespaces", "--verb=list", "--resource=namespaces")
    binding = ("--clusterrole=lists-namespaces", "--group=eks-upsert-adopter")
    plane.kubectl("create", "clusterrolebinding", "lists-namespaces", *binding)
    try:
        seen = eventually(lambda: aws.adopt(event("check")), lambda seen: isinstance(seen.error, ObjectsFailed))
    finally:
        plane.kubectl("delete", "clusterrolebinding,clusterrole", "lists-namespaces")
        plane.apply_yaml(objects.roles(is_adopter=True))
        eventually(lambda: aws.adopt(event("check")), lambda seen: seen.error is None)
    assert str(seen.error) == (
        "1 of 1 objects were not checked: team-a/secret/aws-ecr-token: forbidden. The log has every line"
    )
    (failed,) = seen.named("adopt.failed")
    assert "rbac/adopter.yaml" in failed["remedy"]
    assert "rbac/refresher.yaml" not in failed["remedy"]


def eventually(look: Callable[[], Seen], is_right: Callable[[Seen], bool]) -> Seen:
    """Return the first of what is seen that is right: the API server learns of roles a moment later."""
    deadline = time.monotonic() + 20
    while not is_right(seen := look()):
        assert time.monotonic() < deadline, seen.error
    return seen


def test_no_line_record_or_error_holds_part_of_a_value(aws: Migration, plane: ControlPlane, team: Team) -> None:
    live = {name: new_password() for name in ("ecr", "older", "quay", "kept", "misplaced")}
    in_the_wrong_place = "cGFzc3dvcmQgaW4gdGhlIHdyb25nIHBsYWNl"
    copy = json.dumps(secret({HOST: entry("AWS", live["older"])}))
    bodies = {
        "team-a": secret({HOST: entry("AWS", live["ecr"])}, metadata={"annotations": {LAST_APPLIED: copy}}),
        "team-b": secret({HOST: entry("AWS", live["ecr"] + "\n"), "quay.io": entry("x", live["quay"])}),
        "team-c": secret(config({in_the_wrong_place: {in_the_wrong_place: live["misplaced"]}})),
        "team-d": secret(config({}, **{live["misplaced"]: {}}), data={"x": live["misplaced"].encode()}),
        "team-e": secret(f'{{"auths": {live["misplaced"]}}}'.encode(), type="Opaque"),
        "team-f": secret({HOST: {"auth": live["ecr"]}}, metadata={"labels": {"app": "x"}}),
        "team-g": secret({"registry." + live["quay"][:40].lower() + ".io": entry("x", live["quay"].lower())}),
    }
    for name, body in bodies.items():
        plane.create_secret(team(name), body, "kubectl-create")
    known = Canary()
    for name, value in live.items():
        known.learn(name, value)
        known.learn(name, value.lower())
        known.learn(f"{name} auth", entry("AWS", value)["auth"])
    known.learn("in the wrong place", in_the_wrong_place)
    aws.secrets.value = config({"ghcr.io": entry("x", live["kept"])}).decode()
    seen = [
        aws.adopt({"action": action, key: value}, root_level=logging.DEBUG, LOG_LEVEL="DEBUG", **KEEPS)
        for action, key, value in (
            ("check", "namespaces", ["team-*"]),
            ("adopt", "namespaces", ["team-*"]),
            ("import", "namespace", "team-b"),
            ("import", "namespace", "team-c"),
            ("import", "namespace", "team-e"),
            ("check", "namespaces", ["team-*"]),
        )
    ]
    for refusal in ("AccessDeniedException", "InternalServiceError"):
        aws.secrets.refusal = refusal
        seen.append(aws.adopt({"action": "import", "namespace": "team-b"}, **KEEPS))
    known_now = canary(aws.ecr.passwords, aws.bearers)
    for run in seen:
        for text in run.texts:
            assert not known.leaks(text) | known_now.leaks(text)
    assert answer(seen[0])["namespaces"] == len(bodies), "there was something to say"


class TestImport:
    def test_what_is_there_already_is_not_written_again(self, aws: Migration, team: Team) -> None:
        team("team-a", secret(ECR | OTHERS))
        aws.adopt(event("import"), **KEEPS)
        puts = aws.secrets.calls.count("PutSecretValue")
        again = answer(aws.adopt(event("import"), **KEEPS))
        assert again["lines"][1:] == [
            "team-a/aws-ecr-token/https://index.docker.io/v1/: imported already",
            "team-a/aws-ecr-token/quay.io: imported already",
        ]
        assert aws.secrets.calls.count("PutSecretValue") == puts

    def test_what_others_imported_stays(self, aws: Migration, team: Team) -> None:
        kept = {"ghcr.io": entry("other", "another-teams-password")}
        aws.secrets.value = json.dumps({"auths": kept}, indent=2)
        team("team-a", secret(ECR | OTHERS))
        aws.adopt(event("import"), **KEEPS)
        assert aws.secrets.value == config(kept | OTHERS).decode()

    def test_another_value_is_not_overwritten(self, aws: Migration, team: Team) -> None:
        aws.secrets.value = kept = config({"quay.io": entry("other", "another-teams-password")}).decode()
        team("team-a", secret(ECR | OTHERS))
        seen = aws.adopt(event("import"), **KEEPS)
        assert isinstance(seen.error, ImportRefused)
        assert str(seen.error) == (
            f"team-a: secret {ARN} holds another value for quay.io; nothing was imported. Find out which one "
            "is right, and remove the other"
        )
        assert aws.secrets.value == kept

    def test_an_ecr_registry_that_is_not_ours_is_left_out(self, aws: Migration, team: Team) -> None:
        other = "999999999999.dkr.ecr.us-east-1.amazonaws.com"
        team("team-a", secret(ECR | {f"https://{other}": entry("AWS", OLD)} | OTHERS))
        lines = answer(aws.adopt(event("import"), **KEEPS))["lines"]
        assert f"team-a/aws-ecr-token/https://{other}: left out (ECR gives a new password each time)" in lines
        assert aws.secrets.value == config(OTHERS).decode()

    @pytest.mark.parametrize(
        "key",
        [
            f"https://{HOST}/v1/",
            f"{HOST}/team-a",
            f"{HOST}:443",
            "*.dkr.ecr.*.amazonaws.com",
            "public.ecr.aws/alias",
            f"http://{HOST.upper()}/v2/team/app",
            "9999*.dkr.ecr.us-*.amazonaws.com",
            "https://999999999999.dkr-ecr-fips.us-east-1.on.aws:443",
            "*.*.*.*.*.*",
            "ecr-public.aws.com/v2/",
        ],
    )
    def test_a_login_of_ecr_is_left_out_in_every_spelling(self, aws: Migration, team: Team, key: str) -> None:
        team("team-a", secret({key: entry("AWS", OLD)} | OTHERS))
        checked = answer(aws.adopt(event("check") | {"namespaces": ["team-a"]}, **KEEPS))["lines"]
        assert [line for line in checked if line.startswith(f"team-a/{SECRET}/{key}")], "it is printed"
        lines = answer(aws.adopt(event("import"), **KEEPS))["lines"]
        assert f"team-a/{SECRET}/{key}: left out (ECR gives a new password each time)" in lines
        assert aws.secrets.value == config(OTHERS).decode()

    @pytest.mark.parametrize("key", ["amazonaws.com", "*.amazonaws.com", "123456789012.dkr.ecr.example.com", "*.io"])
    def test_what_no_image_of_ecr_matches_is_imported(self, aws: Migration, team: Team, key: str) -> None:
        team("team-a", secret({key: entry("robot", TOKEN)}))
        assert answer(aws.adopt(event("import"), **KEEPS))["lines"] == [f"team-a/{SECRET}/{key}: imported"]

    @pytest.mark.parametrize("auth", UNREADABLE)
    def test_what_a_kubelet_cannot_read_is_not_imported(self, aws: Migration, team: Team, auth: str) -> None:
        team("team-a", secret(ECR | OTHERS | {"ghcr.io": {"auth": auth}}))
        seen = aws.adopt(event("import"), **KEEPS)
        assert isinstance(seen.error, ImportRefused)
        assert str(seen.error).startswith("team-a: a kubelet cannot read its .dockerconfigjson: auth of auths[")
        assert auth not in str(seen.error)
        assert aws.secrets.value is None

    @pytest.mark.parametrize("others", [{}, OTHERS], ids=["nothing to import", "something to import"])
    @pytest.mark.parametrize("auth", UNREADABLE)
    def test_nothing_is_added_to_what_a_kubelet_cannot_read(
        self, aws: Migration, team: Team, auth: str, others: dict[str, dict[str, str]]
    ) -> None:
        aws.secrets.value = kept = config({"ghcr.io": {"auth": auth}}).decode()
        team("team-a", secret(ECR | others))
        seen = aws.adopt(event("import"), **KEEPS)
        assert isinstance(seen.error, ImportRefused)
        assert str(seen.error).startswith(
            f"team-a: secret {ARN} would be of no use to a refresh: a kubelet could not read the Secret: auth of auths["
        )
        assert aws.secrets.value == kept

    @pytest.mark.parametrize(
        ("kept", "live"),
        [
            (None, {"quay.io": entry("x", "1"), "https://quay.io": entry("x", "2")}),
            ({"quay.io": entry("x", "1")}, {"https://quay.io/": entry("x", "2")}),
            ({"https://QUAY.io": entry("x", "1")}, {"quay.io": entry("x", "1")}),
        ],
    )
    def test_two_spellings_of_a_host_are_not_kept(
        self, aws: Migration, team: Team, kept: dict[str, dict[str, str]] | None, live: dict[str, dict[str, str]]
    ) -> None:
        """A refresh would refuse both, and with them the login of ECR."""
        aws.secrets.value = before = config(kept).decode() if kept else None
        team("team-a", secret(ECR | live))
        seen = aws.adopt(event("import"), **KEEPS)
        assert isinstance(seen.error, ImportRefused)
        assert "quay.io is there more than once" in str(seen.error).lower()
        assert aws.secrets.value == before

    @pytest.mark.parametrize("is_kept", [False, True])
    def test_whom_an_entry_is_for_hides_nothing_of_the_record(
        self, aws: Migration, team: Team, *, is_kept: bool
    ) -> None:
        host, quay = "registry.team-payments-backend.example.com", "quay.team-payments-backend.example.com"
        mine = {"username": "team-payments-backend", "email": f"puller@{host}", "password": new_password()}
        kept = {"username": quay, "email": f"puller@{quay}", "auth": entry(quay, new_password())["auth"]}
        aws.secrets.value = config({quay: kept}).decode() if is_kept else None
        team("team-payments-backend", secret(ECR | {host: mine} | {quay: kept}))
        seen = aws.adopt(event("import") | {"namespace": "team-payments-backend"}, **KEEPS)
        (record,) = seen.named("adopt.imported")
        assert "masked" not in record
        assert record["imported"] == ([host] if is_kept else [host, quay])
        assert record["imported_already"] == ([quay] if is_kept else [])

    def test_nothing_to_import_writes_nothing(self, aws: Migration, team: Team) -> None:
        team("team-a", secret())
        lines = answer(aws.adopt(event("import"), **KEEPS))["lines"]
        assert lines == [f"team-a/{SECRET}/{HOST}: left out (ECR gives a new password each time)"]
        assert aws.secrets.value is None

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (None, "team-a: the Secret was not read: missing; nothing was imported"),
            (
                secret(b"{]", type="Opaque"),
                "team-a: a kubelet cannot read its .dockerconfigjson: no JSON; nothing was imported",
            ),
            (
                secret(b'{"auths":{"quay.io":{"auth":"eDp5","auth":"eDp6"}}}'),
                "team-a: its .dockerconfigjson is not a docker config: repeated key; nothing was imported",
            ),
            (
                secret({"quay.io": entry("me", "é" * 9_000), "ghcr.io": entry("me", "x" * 10_500)}),
                f"team-a: secret {ARN} would have 66623 bytes; 65536 are the most that it holds; nothing was imported",
            ),
            (
                secret({"quay.io": {}}),
                "team-a: an entry has no host or no fields, which cannot be kept; nothing was imported",
            ),
        ],
    )
    def test_what_cannot_be_imported_is_refused(
        self, aws: Migration, team: Team, body: dict[str, Any] | None, message: str
    ) -> None:
        team("team-a", body)
        seen = aws.adopt(event("import"), **KEEPS)
        assert isinstance(seen.error, ImportRefused)
        assert str(seen.error) == message
        assert aws.secrets.value is None

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            (objects.entry(), "has no place for entries of other registries; add `- auths: {secret: NAME}` to its"),
            (
                objects.entry(registries=[{"ecr": {}}, {"auths": {"secret": ARN, "member": "docker"}}]),
                "registries[1].auths is one member of a secret, or not the current value of one of this account,",
            ),
        ],
    )
    def test_without_a_place_to_keep_them_it_stops(
        self, aws: Migration, team: Team, entry: dict[str, Any], message: str
    ) -> None:
        team("team-a", secret(ECR | OTHERS))
        calls = len(aws.secrets.calls)
        seen = aws.adopt(event("import"), objects=[entry])
        assert isinstance(seen.error, ImportRefused)
        assert str(seen.error).startswith(f"secret/aws-ecr-token: {message}")
        assert len(aws.secrets.calls) == calls

    def test_of_two_objects_one_is_named(self, aws: Migration, team: Team) -> None:
        team("team-a", secret(ECR | OTHERS))
        both = [objects.entry(kept=True), objects.entry(name="pull-again", kept=True)]
        seen = aws.adopt(of_all("import"), objects=both)
        assert isinstance(seen.error, InputError)
        assert seen.error.problems == ("event.objects: are 2 of the file; expected the name of one",)
        lines = answer(aws.adopt(event("import") | {"objects": [SECRET]}, objects=both))["lines"]
        assert f"team-a/{SECRET}/quay.io: imported" in lines

    @pytest.mark.parametrize("first", [None, config({"ghcr.io": entry("other", "another-teams-password")}).decode()])
    def test_of_two_at_once_one_says_that_it_lost(self, aws: Migration, team: Team, first: str | None) -> None:
        """The other one moves on between our reading and our writing."""
        team("team-a", secret(ECR | OTHERS))
        aws.secrets.value = first
        others = config({"gcr.io": entry("x", "of-the-other-import")}).decode()

        def move_on(operation: str) -> None:
            if operation == "PutSecretValue":
                aws.secrets.before = lambda _: None
                aws.secrets.value = others

        aws.secrets.before = move_on
        seen = aws.adopt(event("import"), **KEEPS)
        assert isinstance(seen.error, ImportRefused)
        assert str(seen.error) == (
            f"team-a: secret {ARN} was changed by someone else meanwhile; nothing was imported. Import again"
        )
        assert aws.secrets.value == others
        assert not seen.named("adopt.imported")
        answer(aws.adopt(event("import"), **KEEPS))
        assert aws.secrets.value == config(json.loads(others)["auths"] | OTHERS).decode()


PLACE = "secret/aws-ecr-token: registries[1].auths:"
KEPT: Mapping[str, tuple[str | None, str]] = {
    "no value yet": (None, f"secret {ARN} holds no value yet; put one there"),
    "an empty text": ("", f"secret {ARN} holds no value yet; put one there"),
    "no entries": ('{"auths": {}}', f"{PLACE} holds no entry"),
    "no JSON": ("secret:" + TOKEN, f"{PLACE} no JSON"),
    "a list": (f'["{TOKEN}"]', f"{PLACE} no JSON object"),
    "an entry that is a text": (f'{{"auths": {{"quay.io": "{TOKEN}"}}}}', f"{PLACE} an entry of auths is no object"),
    "a field that is no text": ('{"auths": {"quay.io": {"auth": 1}}}', f"{PLACE} a field of an entry is no text"),
    "a repeated key": (
        f'{{"auths": {{"quay.io": {{"auth": "x"}}, "quay.io": {{"auth": "{TOKEN}"}}}}}}',
        f"{PLACE} repeated key",
    ),
    "more than auths": (
        f'{{"auths": {{"quay.io": {{"auth": "x"}}}}, "{TOKEN}": 1}}',
        f"{PLACE} holds more than auths",
    ),
    "an entry without fields": ('{"auths": {"quay.io": {}}}', f"{PLACE} has an entry without host or fields"),
}


@pytest.mark.parametrize("auth", UNREADABLE)
def test_an_entry_that_a_kubelet_cannot_read_stops_all_that_would_use_it(
    aws: Migration, plane: ControlPlane, team: Team, auth: str
) -> None:
    aws.secrets.value = config(OTHERS | {"ghcr.io": {"auth": auth}}).decode()
    team("team-a", secret())
    before = plane.get_secret("team-a", SECRET)
    audit = AuditLog(plane.audit_log)
    for seen in (aws.refresh(**KEEPS), aws.adopt(event("check"), **KEEPS), aws.adopt(event("adopt"), **KEEPS)):
        assert isinstance(seen.error, SourceFailed)
        assert "a kubelet could not read the Secret: auth of auths[1] (ghcr.io) is no" in str(seen.error)
        assert auth.strip() not in "".join(seen.texts)
    assert plane.get_secret("team-a", SECRET) == before
    assert {key for user in ("refresher", "adopter") for key in audit.counts(user=user)} == set()


READABLE: Mapping[str, str] = {
    "auth without padding": '{"auth": "bWU6Y29ycmVjdC1ob3JzZTEy"}',
    "auth without its one =": '{"auth": "bWU6Y29ycmVjdC1ob3JzZTE"}',
    "auth without its two =": '{"auth": "bWU6Y29ycmVjdC1ob3JzZQ"}',
    "auth with a line break": '{"auth": "bWU6Y29ycmVj\\ndC1ob3JzZQ=="}',
    "email null": '{"username": "me", "password": "correct-horse", "email": null}',
    "auth null": '{"username": "me", "password": "correct-horse", "auth": null}',
    "a number in a field that it does not know": '{"auth": "bWU6Y29ycmVjdC1ob3JzZQ==", "expires": 5}',
    "an object in a field that it does not know": '{"auth": "bWU6Y29ycmVjdC1ob3JzZQ==", "more": {"a": [1, null]}}',
}


@pytest.mark.parametrize("case", READABLE)
def test_what_a_kubelet_reads_is_imported_matched_and_written(
    aws: Migration, plane: ControlPlane, team: Team, case: str
) -> None:
    text = '{"auths": {"quay.io": ' + READABLE[case] + "}}"
    team("team-a", secret(text.encode()))
    assert answer(aws.adopt(event("import"), **KEEPS))["lines"] == [f"team-a/{SECRET}/quay.io: imported"]
    checked = answer(aws.adopt(event("check"), **KEEPS))["lines"]
    assert [line for line in checked if "/quay.io/" in line and not line.endswith(": MATCH")] == []
    assert checked[-1] == f"team-a/{SECRET}: adoptable"
    assert answer(aws.refresh(**KEEPS))["failed"] == 0
    found: Any = auths(plane.get_secret("team-a", SECRET))
    assert found["quay.io"] == json.loads(READABLE[case])
    assert password_in(plane.get_secret("team-a", SECRET)) == aws.ecr.passwords[-1]


@pytest.mark.parametrize("text", ['{"auths": null}', "{}"])
def test_a_live_secret_without_entries_is_read_as_a_kubelet_does(aws: Migration, team: Team, text: str) -> None:
    team("team-a", secret(text.encode()))
    checked = answer(aws.adopt(event("check")))
    assert checked["lines"][-1] == f"team-a/{SECRET}: adoptable"
    assert answer(aws.adopt(event("import"), **KEEPS))["lines"] == []


@pytest.mark.parametrize("case", KEPT)
def test_bad_entries_for_other_registries_stop_a_refresh_and_an_adoption_before_any_patch(
    aws: Migration, plane: ControlPlane, team: Team, case: str
) -> None:
    aws.secrets.value, message = KEPT[case]
    team("team-a", secret())
    before = plane.get_secret("team-a", SECRET)
    audit = AuditLog(plane.audit_log)
    for seen in (aws.refresh(**KEEPS), aws.adopt(event("adopt"), **KEEPS)):
        assert isinstance(seen.error, SourceFailed)
        assert message in str(seen.error)
        assert TOKEN not in "".join(seen.texts)
    assert plane.get_secret("team-a", SECRET) == before
    assert {key for user in ("refresher", "adopter") for key in audit.counts(user=user)} == set()


def test_a_secret_that_may_not_be_read_stops_the_run_with_the_action_it_needs(aws: Migration) -> None:
    aws.secrets.refusal = "AccessDeniedException"
    seen = aws.refresh(**KEEPS)
    assert isinstance(seen.error, SourceFailed)
    assert str(seen.error).startswith(f"registries[1].auths: cannot read secret {ARN}: AccessDeniedException; ")
    assert "secretsmanager:BatchGetSecretValue on *" in str(seen.error)


def test_without_the_setting_secrets_manager_is_not_asked(aws: Migration, team: Team) -> None:
    team("team-a")
    calls = len(aws.secrets.calls)
    answer(aws.refresh({"namespaces": ["team-a"]}))
    answer(aws.adopt(event("check")))
    assert len(aws.secrets.calls) == calls


def test_before_the_first_import_a_check_tells_what_there_is_to_import(aws: Migration, team: Team) -> None:
    team("team-a", secret(ECR | OTHERS))
    lines = answer(aws.adopt(event("check"), **KEEPS))["lines"]
    assert "team-a/aws-ecr-token/quay.io/auth: ONLY IN LIVE" in lines


def test_ecr_wins_over_an_entry_that_is_kept_for_it(aws: Migration, plane: ControlPlane, team: Team) -> None:
    team("team-a")
    aws.secrets.value = config({f"https://{HOST.upper()}/": entry("AWS", OLD)} | OTHERS).decode()
    answer(aws.refresh({"namespaces": ["team-a"]}, **KEEPS))
    found = plane.get_secret("team-a", SECRET)
    assert password_in(found) == aws.ecr.passwords[-1]
    assert set(auths(found)) == {HOST, *OTHERS}


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ([], 'event: a list of 0 is wrong; expected a JSON object, such as {"action": "check"}'),
        ({}, "event.action: null is wrong; expected one of check, adopt, import, release"),
        ({"action": "take"}, "event.action: 'take' is wrong; expected one of check, adopt, import, release"),
        (
            {"action": "check", "namespace": "team-a"},
            "event: unknown field 'namespace'; expected action or objects or cluster or namespaces",
        ),
        (
            {"action": "adopt", "force": True},
            "event: unknown field 'force'; expected action or objects or cluster or namespaces",
        ),
        (
            {"action": "adopt", "namespaces": []},
            (
                "event.namespaces: a list of 0 is wrong; expected a list, each of it a namespace's name or a glob over "
                "such names, such as team-*"
            ),
        ),
        ({"action": "import"}, "event.namespace: is missing; expected a namespace's name"),
        (
            {"action": "import", "namespace": "team-*"},
            "event.namespace: 'team-*' is wrong; expected a namespace's name",
        ),
        (
            {"action": "check", "objects": ["another"]},
            "event.objects: 'another' is no object of the file for this cluster; expected 'aws-ecr-token'",
        ),
        (
            {"action": "check", "cluster": "another"},
            "event.cluster: 'another' is no cluster of the file; nothing else can be written to",
        ),
    ],
)
def test_a_bad_event_is_one_clear_error(aws: Migration, bad: object, problem: str) -> None:
    seen = aws.adopt(bad, **KEEPS)
    assert isinstance(seen.error, InputError)
    (found,) = seen.error.problems
    assert found.startswith(problem)
    (stopped,) = seen.named("adopt.stopped")
    assert stopped["error"] == "InputError"


@pytest.mark.parametrize("arn", ["arn:aws:s3:::bucket", ARN + " "])
def test_a_bad_arn_cannot_be_built(arn: str) -> None:
    with pytest.raises(InputError) as found:
        objects.compiled(objects.entry(registries=[{"auths": {"secret": arn}}]))
    (problem,) = found.value.problems
    assert problem.endswith("expected a secret's name in this account and region, or its ARN")
    assert arn not in problem


def test_an_unknown_namespace_is_named(aws: Migration) -> None:
    seen = aws.adopt({"action": "import", "namespace": "nowhere"}, **KEEPS)
    assert isinstance(seen.error, NoNamespaceMatches)
    assert "'nowhere' matches no namespace" in str(seen.error)


def test_an_answer_that_would_be_too_long_leaves_out_namespaces_without_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    title = pull_object().title
    results = [missing(title, f"team-{number}") for number in range(3)]
    fine = [
        Adopted(title, f"fine-{number}", "uid", "1", (), written=True, removed_last_applied=False)
        for number in range(3)
    ]
    report = AdoptReport(Action.ADOPT, (*fine, *results), api_requests=1, saw_external_secrets=True)
    assert len(adopt_answer(report)["lines"]) == 9
    monkeypatch.setattr(adopt_records, "_MOST_BYTES_OF_LINES", 470)
    short = adopt_answer(report)
    assert short["left_out"] == 2
    assert short["remedy"].startswith("the answer would be too long; the log has every line")
    assert [line.partition("/")[0] for line in short["lines"]] == [
        "fine-0",
        *(name for number in range(3) for name in (f"team-{number}", f"team-{number}")),
    ]
