"""The way back: once the refresher stops, a Secret stays as it is, and another writer's apply takes it over."""

import json

from tests.support import adopter, refresher
from tests.support.adopter import NEW, OLD, cluster, digests, entry, managers, secret
from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane
from tests.support.objects import HOST, SECRET
from upsert.adopt_request import Action
from upsert.core.docker_config import DATA_KEY
from upsert.core.identity import FIELD_MANAGER


def adopted_and_refreshed(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create_secret(namespace, secret(), "kubectl-create")
    adopter.run(cluster(control_plane), Action.ADOPT, namespace)
    refresher.run(refresher.writer(control_plane), refresher.login(password=NEW), namespaces=[namespace])


def test_a_namespace_that_is_excluded_is_not_touched_again(control_plane: ControlPlane, namespace: str) -> None:
    adopted_and_refreshed(control_plane, namespace)
    before = control_plane.get_secret(namespace, SECRET)
    audit = AuditLog(control_plane.audit_log)
    refresher.run(refresher.writer(control_plane), exclude=(namespace,))
    assert control_plane.get_secret(namespace, SECRET) == before, "byte for byte, and the uid"
    assert not [event for event in audit.events(user="refresher") if event.namespace == namespace]


def test_another_writer_takes_it_over_by_its_own_forced_apply(control_plane: ControlPlane, namespace: str) -> None:
    adopted_and_refreshed(control_plane, namespace)
    before = control_plane.get_secret(namespace, SECRET)
    text = json.dumps(secret({HOST: entry("AWS", OLD)}))
    arguments = ["--server-side", "--force-conflicts", "--field-manager=next-writer", "--namespace", namespace]
    control_plane.kubectl("apply", *arguments, "--filename=-", stdin=text)
    after = control_plane.get_secret(namespace, SECRET)
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert refresher.password_in(after) == OLD
    assert managers(after) == {"next-writer"}


def test_a_writer_that_replaces_the_value_needs_no_leave(control_plane: ControlPlane, namespace: str) -> None:
    adopted_and_refreshed(control_plane, namespace)
    value = secret({HOST: entry("AWS", OLD)})["data"][DATA_KEY]
    patch = json.dumps({"data": {DATA_KEY: value}})
    control_plane.kubectl("patch", "secret", SECRET, "--namespace", namespace, "--patch", patch)
    after = control_plane.get_secret(namespace, SECRET)
    assert refresher.password_in(after) == OLD
    assert FIELD_MANAGER not in managers(after)


def test_deleting_a_namespace_s_other_objects_never_takes_the_secret_along(
    control_plane: ControlPlane, namespace: str
) -> None:
    adopted_and_refreshed(control_plane, namespace)
    found = control_plane.get_secret(namespace, SECRET)
    assert found is not None
    assert not found["metadata"].keys() & {"ownerReferences", "finalizers", "labels"}
    assert digests(found).keys() == {DATA_KEY}
