"""Adopting any object, on a real API server, and what a refresh does to it before and after: migrate, then rotate."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import adopter, keyed, refresher
from tests.support.adopter import Run, cluster
from tests.support.audit import AuditLog
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.keyed import body, keyed_object, owners_of, values_of
from tests.support.objects import roles
from upsert.adopt_request import Action
from upsert.core.document import LAST_APPLIED
from upsert.core.identity import FIELD_MANAGER
from upsert.core.objects import Object
from upsert.core.outcomes import Applied, Failed, Outcome

NAME = "api-config"
LIVE = {"DB_PASSWORD": b"correct-horse-battery-9", "keystore.p12": b"\x00\xff\xfe\x80 store", "EMPTY": b""}
NEXT = LIVE | {"DB_PASSWORD": b"the-next-password-of-the-database"}


@pytest.fixture(autouse=True)
def _granted(control_plane: ControlPlane) -> Iterator[None]:
    """Let both functions do what `make rbac` prints for the objects of these tests."""
    values = {"key": b"value"}
    entries = [
        keyed.entry(NAME, values),
        keyed.entry("second", values),
        keyed.entry("third", values),
        keyed.entry("settings", values, kind="ConfigMap"),
    ]
    both = [roles(*entries), roles(*entries, is_adopter=True)]
    control_plane.apply_roles("\n---\n".join(both))
    yield
    control_plane.apply_roles("\n---\n".join([roles(), roles(is_adopter=True)]))


def adopt(plane: ControlPlane, namespace: str, values: Mapping[str, bytes] = LIVE, **more: Any) -> Run:
    more.setdefault("objects", [keyed_object(NAME, values)])
    return adopter.run(cluster(plane), Action.ADOPT, namespace, read=keyed.read_from(values), **more)


def refresh(plane: ControlPlane, namespace: str, values: Mapping[str, bytes], *objects: Object) -> Outcome:
    wanted = objects or (keyed_object(NAME, values),)
    run = refresher.run(refresher.writer(plane), keyed.source(values), *wanted, namespaces=[namespace])
    return run.outcomes[namespace]


def by_create(plane: ControlPlane, namespace: str, folder: Path) -> None:
    files = []
    for key, value in LIVE.items():
        (folder / key).write_bytes(value)
        files.append(f"--from-file={key}={folder / key}")
    plane.kubectl("create", "secret", "generic", NAME, f"--namespace={namespace}", *files)


def by_apply(plane: ControlPlane, namespace: str, _: Path) -> None:
    keyed.apply(plane, namespace, body(NAME, LIVE))


def by_server_side_apply(plane: ControlPlane, namespace: str, _: Path) -> None:
    keyed.apply(plane, namespace, body(NAME, LIVE), "--server-side", "--field-manager=other-writer")


def by_string_data(plane: ControlPlane, namespace: str, _: Path) -> None:
    texts = {key: value.decode() for key, value in LIVE.items() if keyed.is_text(value)}
    rest = {key: base64.b64encode(value).decode() for key, value in LIVE.items() if not keyed.is_text(value)}
    document = body(NAME, {}) | {"data": rest, "stringData": texts}
    keyed.apply(plane, namespace, document, "--server-side", "--field-manager=other-writer")


type Maker = Callable[[ControlPlane, str, Path], None]

MAKERS: Mapping[str, tuple[Maker, str]] = {
    "kubectl create": (by_create, "kubectl-create"),
    "kubectl apply": (by_apply, "kubectl-client-side-apply"),
    "server-side apply": (by_server_side_apply, "other-writer"),
    "stringData": (by_string_data, "other-writer"),
}


def found(plane: ControlPlane, namespace: str, name: str = NAME) -> dict[str, Any]:
    secret = plane.get_secret(namespace, name)
    assert secret is not None
    return secret


@pytest.mark.parametrize("made", MAKERS)
def test_an_object_is_adopted_byte_for_byte_and_rotates_only_then(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, made: str
) -> None:
    make, manager = MAKERS[made]
    make(control_plane, namespace, tmp_path)
    before = found(control_plane, namespace)
    assert values_of(before) == LIVE

    run = adopt(control_plane, namespace)
    adopted = found(control_plane, namespace)
    removed = ", last-applied-configuration removed" if made == "kubectl apply" else ""
    assert run.lines == [
        f"{namespace}/{NAME}/DB_PASSWORD: MATCH",
        f"{namespace}/{NAME}/EMPTY: MATCH",
        f"{namespace}/{NAME}/keystore.p12: MATCH",
        f"{namespace}/{NAME}: adopted (uid the same, ownerReferences untouched{removed}, claim of {manager} dropped)",
    ]
    assert values_of(adopted) == LIVE
    assert adopted["metadata"]["uid"] == before["metadata"]["uid"]
    assert owners_of(adopted) == {FIELD_MANAGER}
    assert LAST_APPLIED not in adopted["metadata"].get("annotations", {})

    assert isinstance(outcome := refresh(control_plane, namespace, LIVE), Applied)
    assert outcome.change == "unchanged"
    assert isinstance(outcome := refresh(control_plane, namespace, NEXT), Applied)
    assert (outcome.change, outcome.took_over_from) == ("updated", ())
    rotated = found(control_plane, namespace)
    assert values_of(rotated) == NEXT
    assert rotated["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.parametrize("made", ["kubectl create", "kubectl apply", "server-side apply"])
def test_while_the_source_differs_a_refresh_writes_nothing_and_says_so(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, made: str
) -> None:
    make, manager = MAKERS[made]
    make(control_plane, namespace, tmp_path)
    before = found(control_plane, namespace)
    outcome = refresh(control_plane, namespace, NEXT)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("contested", 409)
    assert manager in outcome.remedy
    assert found(control_plane, namespace) == before, "the version did not move either"


def test_of_one_that_is_applied_as_string_data_a_refresh_says_that_it_wrote_over_it(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The API server reports no conflict with such a writer, so that a migration has to keep the refresher away."""
    by_string_data(control_plane, namespace, tmp_path)
    outcome = refresh(control_plane, namespace, NEXT)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "contested"
    assert "It was written over, since no conflict is reported for stringData" in outcome.remedy


def test_a_run_that_adopts_rotates_nothing(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    by_create(control_plane, namespace, tmp_path)
    before = found(control_plane, namespace)
    run = adopt(control_plane, namespace, NEXT)
    assert run.lines[-1] == f"{namespace}/{NAME}: refused: not adoptable: differs: DB_PASSWORD"
    assert found(control_plane, namespace) == before


def test_a_writer_that_goes_on_after_the_adoption_is_refused_by_name(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Its claim was dropped, not its leave to write: with its next write it is back, and nothing is written over it."""
    by_create(control_plane, namespace, tmp_path)
    adopt(control_plane, namespace)
    patch = json.dumps({"data": {"DB_PASSWORD": base64.b64encode(b"by the old writer").decode()}})
    control_plane.kubectl("patch", "secret", NAME, f"--namespace={namespace}", f"--patch={patch}")
    outcome = refresh(control_plane, namespace, NEXT)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, "kubectl-patch" in outcome.remedy) == ("contested", True)
    assert values_of(found(control_plane, namespace))["DB_PASSWORD"] == b"by the old writer"


def test_what_others_claim_of_their_own_stays_theirs(control_plane: ControlPlane, namespace: str) -> None:
    document = body(NAME, LIVE, metadata={"name": NAME, "labels": {"app": "api"}})
    keyed.apply(control_plane, namespace, document, "--server-side", "--field-manager=other-writer")
    adopt(control_plane, namespace)
    (theirs,) = [
        one for one in found(control_plane, namespace)["metadata"]["managedFields"] if one["manager"] == "other-writer"
    ]
    assert theirs["fieldsV1"] == {"f:metadata": {"f:labels": {"f:app": {}}}}


def test_adopting_again_writes_nothing(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    by_apply(control_plane, namespace, tmp_path)
    adopt(control_plane, namespace)
    before, audit = found(control_plane, namespace), AuditLog(control_plane.audit_log)
    assert adopt(control_plane, namespace).report.counts == {"adopted_already": 1}
    assert found(control_plane, namespace) == before
    assert ("patch", "secrets") not in audit.counts(user="adopter")


def test_a_config_map_is_adopted_with_the_keys_where_they_are(control_plane: ControlPlane, namespace: str) -> None:
    values = {"LEVEL": b"info", "logo.png": b"\x89PNG\xff"}
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"LEVEL": "info"},
        "binaryData": {"logo.png": base64.b64encode(values["logo.png"]).decode()},
    }
    keyed.apply(control_plane, namespace, document)
    one = keyed_object("settings", values, kind="ConfigMap", type="")
    run = adopt(control_plane, namespace, values, objects=[one])
    assert run.report.counts == {"adopted": 1}, run.lines
    path = f"/api/v1/namespaces/{namespace}/configmaps/settings"
    adopted = control_plane.request("GET", path)
    assert values_of(adopted) == values
    assert owners_of(adopted) == {FIELD_MANAGER}
    assert LAST_APPLIED not in adopted["metadata"].get("annotations", {})
    assert isinstance(refresh(control_plane, namespace, values | {"LEVEL": b"debug"}, one), Applied)
    assert values_of(control_plane.request("GET", path))["LEVEL"] == b"debug"


def test_a_pair_for_tls_is_adopted_as_its_type(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    pair = make_serving_certificate()
    values = {"tls.crt": pair.certificate_pem.encode(), "tls.key": pair.key_pem.encode()}
    for key, value in values.items():
        (tmp_path / key).write_bytes(value)
    files = (f"--cert={tmp_path / 'tls.crt'}", f"--key={tmp_path / 'tls.key'}")
    control_plane.kubectl("create", "secret", "tls", NAME, f"--namespace={namespace}", *files)
    run = adopt(control_plane, namespace, values, objects=[keyed_object(NAME, values, type="tls")])
    assert run.report.counts == {"adopted": 1}, run.lines
    assert values_of(found(control_plane, namespace)) == values


class TestAllOrNothing:
    NAMES = (NAME, "second", "third")

    def run(self, plane: ControlPlane, *namespaces: str, **more: Any) -> Run:
        objects = [keyed_object(name, LIVE) for name in self.NAMES]
        return adopter.run(
            cluster(plane), Action.ADOPT, *namespaces, objects=objects, read=keyed.read_from(LIVE), **more
        )

    def make(self, plane: ControlPlane, namespace: str, **different: bytes) -> None:
        for name in self.NAMES:
            values = LIVE | {"DB_PASSWORD": different.get(name, LIVE["DB_PASSWORD"])}
            plane.create_secret(namespace, body(name, values), "kubectl-create")

    def test_all_of_a_namespace_are_adopted_if_all_are_clean(self, control_plane: ControlPlane, namespace: str) -> None:
        self.make(control_plane, namespace)
        run = self.run(control_plane, namespace, all_or_nothing=True)
        assert run.report.counts == {"adopted": 3}
        assert run.report.error() is None

    def test_one_that_is_not_clean_stops_those_of_its_namespace_and_no_others(
        self, control_plane: ControlPlane, namespace: str
    ) -> None:
        other = f"{namespace}-other"
        control_plane.create_namespace(other)
        try:
            self.make(control_plane, namespace, second=b"by hand")
            self.make(control_plane, other)
            before = [found(control_plane, namespace, name) for name in self.NAMES]
            run = self.run(control_plane, f"{namespace}*", all_or_nothing=True)
            assert run.report.counts == {"refused": 3, "adopted": 3}
            assert [found(control_plane, namespace, name) for name in self.NAMES] == before
            assert f"{namespace}/third: refused: all_or_nothing, and not clean here: secret/second" in run.lines
            assert f"{namespace}/second: refused: not adoptable: differs: DB_PASSWORD" in run.lines
            assert owners_of(found(control_plane, other)) == {FIELD_MANAGER}
        finally:
            control_plane.remove_namespace(other)

    def test_so_does_one_that_is_missing(self, control_plane: ControlPlane, namespace: str) -> None:
        control_plane.create_secret(namespace, body(NAME, LIVE), "kubectl-create")
        run = self.run(control_plane, namespace, all_or_nothing=True)
        assert run.report.counts == {"refused": 1, "missing": 2}
        assert f"{namespace}/{NAME}: refused: all_or_nothing, and not clean here: secret/second, secret/third" in (
            run.lines
        )

    def test_unasked_each_is_for_itself(self, control_plane: ControlPlane, namespace: str) -> None:
        self.make(control_plane, namespace, second=b"by hand")
        assert self.run(control_plane, namespace).report.counts == {"refused": 1, "adopted": 2}
