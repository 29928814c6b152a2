"""Nobody but who deploys decides where anything is sent: not who may invoke, not who may write to a bucket.

The member's cluster is the one they would like to reach. It stands in another account, its role trusts the function's,
the stack's own policy lets the function assume it, and the cluster lets it write: all that is missing is its name in
the deployed file.
"""

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import FLEET_NAMESPACES, pull_secret
from tests.support.audit import AuditLog
from tests.support.fleet import HOME, MEMBER, Fleet
from tests.support.ministack import Keys
from tests.support.objects import SECRET, compiled
from upsert.aws import SESSION_NAME
from upsert.config import COMPILED

EVENTS = Path(__file__).parents[2] / "events"
INVOKE, PUT = "lambda:InvokeFunction", "s3:PutObject"
FOREIGN = {key: value for key, value in MEMBER.entry.items() if key != "name"}
ARN = f"arn:aws:eks:{MEMBER.region}:{MEMBER.account}:cluster/{MEMBER.name}"


def shipped(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVENTS / name).read_text())
    return found


def scheduled() -> dict[str, Any]:
    """Return what a schedule delivers, with the member's cluster wherever it names anything."""
    where = {"account": MEMBER.account, "region": MEMBER.region, "resources": [ARN]}
    return shipped("scheduled.json") | where | {"detail": json.dumps({"cluster": MEMBER.name})}


def audited() -> dict[str, Any]:
    """Return a batch of audit events as it would come from the member's account."""
    batch = json.loads(gzip.decompress(base64.b64decode(shipped("audit-secret-deleted.json")["awslogs"]["data"])))
    batch |= {"owner": MEMBER.account, "logGroup": f"/aws/eks/{MEMBER.name}/cluster", "cluster": MEMBER.name}
    for event in batch["logEvents"]:
        message = json.loads(event["message"])
        message["objectRef"] |= {"namespace": "team-blue", "name": SECRET}
        event["message"] = json.dumps(message | {"cluster": MEMBER.name})
    return {"awslogs": {"data": base64.b64encode(gzip.compress(json.dumps(batch).encode())).decode()}}


TRIES: dict[str, object] = {
    "by its name": {"cluster": MEMBER.name},
    "by its ARN": {"cluster": ARN},
    "as an entry of the file": {"cluster": MEMBER.entry},
    "by a glob": {"cluster": "*"},
    "the own name, elsewhere": {"cluster": HOME.name, **FOREIGN},
    "with clusters of its own": {"cluster": HOME.name, "clusters": [MEMBER.entry]},
    "with objects of its own": {"cluster": HOME.name, "objects": [pull_secret(clusters=[MEMBER.name])]},
    "as the state machine sends it": {"cluster": MEMBER.name, "event": {}},
    "as the state machine sends it, as an entry": {"cluster": MEMBER.entry, "event": {}},
    "in the event of one of a fleet": {"cluster": HOME.name, "event": {"cluster": MEMBER.name}},
    "in the event of one of a fleet, as an entry": {"cluster": HOME.name, "event": {"cluster": MEMBER.entry}},
    "beside the event of one of a fleet": {"cluster": HOME.name, "event": {}, **FOREIGN},
    "in the question": {"clusters_for": {"cluster": MEMBER.name}},
    "beside the question": {"clusters_for": {}, "clusters": [MEMBER.entry]},
    "as a schedule": scheduled() | {"cluster": MEMBER.name},
    "in what a schedule says of itself": {"cluster": HOME.name, "event": scheduled()},
    "from its audit log": audited(),
    "with another file": {"cluster": HOME.name, "file": compiled(clusters=[HOME.entry, MEMBER.entry])},
}


@pytest.fixture(scope="module", autouse=True)
def _file_without_the_member(fleet: Fleet) -> Iterator[None]:
    with fleet.objects(pull_secret(), clusters=[HOME.entry]):
        yield


@pytest.fixture(scope="module")
def invoker(fleet: Fleet) -> Keys:
    return fleet.aws.user_with_policy([INVOKE])


@pytest.fixture(scope="module")
def writer(fleet: Fleet) -> Keys:
    return fleet.aws.user_with_policy([PUT])


def versions_at(fleet: Fleet, site: Any) -> list[str | None]:
    found = [fleet.planes[site].get_secret(name, SECRET) for name in FLEET_NAMESPACES]
    return [secret["metadata"]["resourceVersion"] if secret else None for secret in found]


@contextmanager
def nothing_reaches_the_member(fleet: Fleet) -> Iterator[None]:
    """Fail unless its API server heard of nobody but the tests' admin while the block lasted."""
    before = versions_at(fleet, MEMBER)
    audit = AuditLog(fleet.planes[MEMBER].audit_log)
    yield
    audit.counts(user="admin")  # waits until the log is complete
    assert [event for event in audit.events() if event.user != "admin" and not event.user.startswith("system:")] == []
    assert versions_at(fleet, MEMBER) == before


def test_with_the_member_in_the_deployed_file_an_invoker_reaches_it(fleet: Fleet, invoker: Keys) -> None:
    """Without this the other tests would prove nothing."""
    audit = AuditLog(fleet.planes[MEMBER].audit_log)
    with fleet.objects(pull_secret(), clusters=[HOME.entry, MEMBER.entry]):
        answer = fleet.invoke({"cluster": MEMBER.name}, keys=invoker)
    assert not answer.failed, answer.payload
    assert answer.payload["applied"] == len(FLEET_NAMESPACES)
    user = f"arn:aws:sts::{MEMBER.account}:assumed-role/{MEMBER.entry['role_arn'].rpartition('/')[2]}/{SESSION_NAME}"
    assert audit.counts(user=user) == {("list", "namespaces"): 1, ("patch", "secrets"): len(FLEET_NAMESPACES)}


@pytest.mark.parametrize("event", TRIES.values(), ids=TRIES.keys())
def test_no_event_of_an_invoker_sends_anything_to_a_cluster_that_is_not_in_the_deployed_file(
    fleet: Fleet, invoker: Keys, event: object
) -> None:
    with nothing_reaches_the_member(fleet):
        answer = fleet.invoke(event, keys=invoker)
    # Or it was taken, and then it meant the cluster of the file.
    assert answer.run.raised in {"InputError", None}
    assert {record["cluster"] for record in answer.run.named("object.applied")} <= {HOME.name}


def test_an_invoker_can_do_nothing_but_invoke(fleet: Fleet, invoker: Keys) -> None:
    def client(service: str) -> Any:
        return fleet.aws.client(service, invoker)

    calls: dict[str, Callable[[], object]] = {
        "lambda:UpdateFunctionCode": lambda: client("lambda").update_function_code(
            FunctionName=fleet.function, ZipFile=b"an archive"
        ),
        "lambda:UpdateFunctionConfiguration": lambda: client("lambda").update_function_configuration(
            FunctionName=fleet.function, Environment={"Variables": {"CLUSTER_NAME": MEMBER.name}}
        ),
        "states:StartExecution": lambda: client("stepfunctions").start_execution(
            stateMachineArn=fleet.state_machine, input=json.dumps({"cluster": MEMBER.entry})
        ),
        "s3:PutObject": lambda: client("s3").put_object(Bucket=buckets(fleet)[0], Key="objects.json", Body=b"{}"),
    }
    for action, call in calls.items():
        with pytest.raises(ClientError) as refused:
            call()
        assert "AccessDenied" in refused.value.response["Error"]["Code"], action


def with_file(code: bytes, compiled_file: str) -> bytes:
    """Return a function's archive with another file of objects in it."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(code)) as source, zipfile.ZipFile(content, "w") as target:
        for name in source.namelist():
            target.writestr(name, compiled_file if name == COMPILED else source.read(name))
    return content.getvalue()


def holds_a_function(content: bytes) -> bool:
    archive = io.BytesIO(content)
    return zipfile.is_zipfile(archive) and COMPILED in zipfile.ZipFile(archive).namelist()


def buckets(fleet: Fleet) -> list[str]:
    return [bucket["Name"] for bucket in fleet.aws.client("s3").list_buckets()["Buckets"]]


@pytest.fixture
def overwritten(fleet: Fleet, writer: Keys) -> Iterator[list[str]]:
    """Put the member, as the writer, into all objects of all buckets and into new ones; give those with a function."""
    root, put = fleet.aws.client("s3"), fleet.aws.client("s3", writer).put_object
    with_member = compiled(clusters=[HOME.entry, MEMBER.entry])
    before = {
        (bucket, found["Key"]): root.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
        for bucket in buckets(fleet)
        for found in root.list_objects_v2(Bucket=bucket).get("Contents", [])
    }
    new = {
        (bucket, key): json.dumps(content).encode()
        for bucket in buckets(fleet)
        for key, content in (
            ("fleet.json", [HOME.entry, MEMBER.entry]),
            ("clusters.json", [HOME.entry, MEMBER.entry]),
            (COMPILED, json.loads(with_member)),
        )
    }
    for bucket in buckets(fleet):
        # SAM's own bucket refuses requests without TLS, which the emulator does not speak.
        root.delete_bucket_policy(Bucket=bucket)
    for (bucket, key), content in before.items():
        put(Bucket=bucket, Key=key, Body=with_file(content, with_member) if holds_a_function(content) else b"[]")
    for (bucket, key), content in new.items():
        put(Bucket=bucket, Key=key, Body=content)
    yield [key for (_, key), content in before.items() if holds_a_function(content)]
    for (bucket, key), content in before.items():
        root.put_object(Bucket=bucket, Key=key, Body=content)
    for bucket, key in new:
        root.delete_object(Bucket=bucket, Key=key)


def test_who_may_write_to_every_bucket_sends_nothing_to_a_cluster_that_is_not_in_the_deployed_file(
    fleet: Fleet, overwritten: list[str]
) -> None:
    assert overwritten, "no bucket holds a function, so nothing was tried"
    with nothing_reaches_the_member(fleet):
        execution = fleet.execute()
        with fleet.environment(LOG_LEVEL="WARNING"):  # so that the next run is a cold start
            again = fleet.execute()
    for one in (execution, again):
        assert one.status == "SUCCEEDED", one.cause
        assert (one.output["clusters"], one.output["applied"]) == (1, len(FLEET_NAMESPACES))


def test_who_may_write_to_every_bucket_can_do_nothing_else(fleet: Fleet, writer: Keys) -> None:
    with pytest.raises(ClientError) as refused:
        fleet.invoke({"cluster": HOME.name}, keys=writer)
    assert "AccessDenied" in refused.value.response["Error"]["Code"]
    with pytest.raises(ClientError) as refused:
        fleet.aws.client("stepfunctions", writer).start_execution(stateMachineArn=fleet.state_machine)
    assert "AccessDenied" in refused.value.response["Error"]["Code"]
