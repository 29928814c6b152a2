"""The pages under `docs`, each to the letter, by somebody who has deployed as the README says.

The tests share one stack and leave it working. Those that are about a minute of building and deploying are long proofs.
"""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.pages.conftest import WORDS
from tests.pages.desk import Desk
from tests.release import contents
from tests.support.objects import HOST, SECRET
from tests.support.template import ROOT
from tests.support.world import CLUSTER, Run

TEAM = "team-blue"


def secret_of(desk: Desk, namespace: str, name: str = SECRET) -> dict[str, str]:
    """Return the metadata that a Secret has now: its uid and its version."""
    found = desk.world.control_plane.get_secret(namespace, name)
    assert found is not None
    return {name: found["metadata"][name] for name in ("uid", "resourceVersion")}


def last_run(desk: Desk) -> Run:
    return desk.runs()[-1]


@contextmanager
def own_objects(desk: Desk, text: str) -> Iterator[None]:
    """Have another file of objects in the copy while the block lasts."""
    file = desk.copy / "functions" / "objects.yaml"
    before = file.read_bytes()
    file.write_text(text)
    try:
        yield
    finally:
        file.write_bytes(before)


def shown_file(page: str) -> str:
    """Return the file of objects that a page shows."""
    (text,) = re.findall(r"^```yaml\n(version: 1\n.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    return str(text)


def test_parameters(deployed: Desk) -> None:
    deployed.follow("docs/parameters.md", "Parameters and outputs of the stack", WORDS)
    (stack,) = deployed.world.aws.client("cloudformation").describe_stacks(StackName="eks-upsert")["Stacks"]
    kept = {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}
    assert (kept["ClusterName"], kept["AlarmEmail"]) == (CLUSTER, WORDS["YOU@EXAMPLE.COM"])
    assert kept["ScheduleState"] == "ENABLED"


def test_refreshing_now(deployed: Desk) -> None:
    before = secret_of(deployed, TEAM)
    words = {"REGION": deployed.world.aws.region, "FUNCTION": deployed.outputs()["FunctionName"]}
    _, printed = deployed.follow("docs/runbook.md", "Refresh now", words)
    assert '"failed": 0' in printed
    after = secret_of(deployed, TEAM)
    assert after["uid"] == before["uid"]
    assert after["resourceVersion"] != before["resourceVersion"]


def test_when_the_cluster_cannot_pull_anything(deployed: Desk) -> None:
    before = secret_of(deployed, TEAM)
    expiry, written = deployed.follow("docs/runbook.md", "The cluster cannot pull anything")
    assert re.search(rf"^{TEAM} +20\d\d-\S+Z$", expiry, re.MULTILINE)
    assert "serverside-applied" in written
    by_hand = deployed.world.control_plane.get_secret(TEAM, SECRET)
    assert by_hand is not None
    assert by_hand["metadata"]["uid"] == before["uid"]
    assert "by-hand" in {one["manager"] for one in by_hand["metadata"]["managedFields"]}
    deployed.shell("sam remote invoke RefreshFunction --event '{}'")
    (taken,) = (one for one in last_run(deployed).named("object.applied") if one["namespace"] == TEAM)
    assert taken["took_over_from"] == ["by-hand"]


def test_looking_at_lost_runs(deployed: Desk) -> None:
    queue = deployed.outputs()["FailedRuns"]
    deployed.world.aws.client("sqs").send_message(QueueUrl=queue, MessageBody='{"requestContext": {}}')
    (printed,) = deployed.follow("docs/runbook.md", "Alarm: run lost", {"QUEUE": queue})
    assert [message["Body"] for message in json.loads(printed)["Messages"]] == ['{"requestContext": {}}']


def test_letting_the_role_in(deployed: Desk) -> None:
    role = deployed.outputs()["RoleArn"]
    deployed.world.aws.client("eks").delete_access_entry(clusterName=CLUSTER, principalArn=role)
    deployed.shell("sam remote invoke RefreshFunction --event '{}'")
    assert last_run(deployed).raised == "Unauthorized"
    deployed.follow("docs/runbook.md", "`Unauthorized`", WORDS | {"ROLE": role})
    deployed.shell("sam remote invoke RefreshFunction --event '{}'")
    assert last_run(deployed).raised is None


def test_questions_to_the_logs(deployed: Desk) -> None:
    words = {"LOG_GROUP": deployed.outputs()["LogGroup"]}
    (answers,) = deployed.follow("docs/runbook.md", "Questions to the logs", words)
    assert re.search(rf"^ *{CLUSTER} +secret/{SECRET} +{TEAM} +1 ", answers, re.MULTILINE)
    records = [json.loads(line) for line in answers.splitlines() if line.startswith('{"')]
    assert {one["namespace"] for one in records} == {"team-a"}


def test_new_namespaces(deployed: Desk) -> None:
    deployed.world.aws.client("logs").create_log_group(logGroupName=f"/aws/eks/{CLUSTER}/cluster")
    deployed.follow("docs/new-namespaces.md", "Switch it on", WORDS)
    filters = deployed.world.aws.client("logs").describe_subscription_filters(
        logGroupName=f"/aws/eks/{CLUSTER}/cluster"
    )["subscriptionFilters"]
    assert len(filters) == 1
    deployed.world.control_plane.kubectl("delete", "secret", SECRET, f"--namespace={TEAM}")
    deployed.follow("docs/new-namespaces.md", "Try it by hand")
    assert {one["namespace"] for one in last_run(deployed).named("object.applied")} == {TEAM}


def test_a_bad_value_was_rotated_in(deployed: Desk) -> None:
    secrets = deployed.world.aws.client("secretsmanager")
    good = secrets.create_secret(Name="apps/proxy", SecretString="good")["VersionId"]
    bad = secrets.put_secret_value(SecretId="apps/proxy", SecretString="bad")["VersionId"]
    (printed,) = deployed.follow("docs/rotation.md", "A bad value was rotated in", {"GOOD": good, "BAD": bad})
    assert good in printed
    assert bad in printed
    assert secrets.get_secret_value(SecretId="apps/proxy")["SecretString"] == "good"


@pytest.mark.soak
def test_service_accounts(deployed: Desk) -> None:
    plane = deployed.world.control_plane
    path = f"/api/v1/namespaces/{TEAM}/serviceaccounts"
    plane.request("POST", path, {"metadata": {"name": "default"}})
    with own_objects(deployed, shown_file("docs/service-accounts.md")):
        deployed.follow("docs/service-accounts.md", "Switch it on")
    deployed.shell("sam remote invoke RefreshFunction --event '{}'")
    assert plane.request("GET", f"{path}/default")["imagePullSecrets"] == [{"name": SECRET}]


OWN = """\
version: 1
objects:
  - name: partner
    type: docker-registry
    registries: [{ecr: {}}]
    namespaces: {include: [team-a, team-b]}
"""


def test_a_file_of_your_own(deployed: Desk) -> None:
    mine = deployed.copy / "my" / "objects.yaml"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text(OWN)
    _, roles = deployed.follow("docs/objects.md", "A file of your own")
    deployed.world.control_plane.apply_yaml(roles[roles.index("apiVersion") :])
    deployed.shell("sam remote invoke RefreshFunction --event '{}'")
    assert {one["namespace"] for one in last_run(deployed).named("object.applied")} == {"team-a", "team-b"}
    secret_of(deployed, "team-a", "partner")


def test_a_namespace_that_has_left_the_file(deployed: Desk) -> None:
    mine = deployed.copy / "my" / "objects.yaml"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text(OWN)
    deployed.shell("make rbac OBJECTS=my/objects.yaml | kubectl apply -f -")
    (printed,) = deployed.follow("docs/objects.md", "Namespaces")
    assert "role.rbac.authorization.k8s.io/eks-upsert" in printed
    left = deployed.shell("kubectl get roles,rolebindings -A --field-selector=metadata.name=eks-upsert -o name")
    assert len(left.splitlines()) == 2


@pytest.mark.soak
def test_upgrading_and_going_back(deployed: Desk, tmp_path: Path) -> None:
    """The newer version is one commit further, whose changelog says so."""
    git = "git -c user.name=reader -c user.email=reader@example.com"
    deployed.shell(
        f"git init --quiet --initial-branch=main; git add .; {git} commit --quiet --message=before; git tag v1.2.3;"
        f"git clone --quiet . {tmp_path}/newer; cd {tmp_path}/newer; echo newer >> CHANGELOG.md;"
        f"{git} commit --quiet --all --message=newer; cd -; git remote add origin {tmp_path}/newer;"
        "git fetch --quiet; git branch --quiet --set-upstream-to=origin/main"
    )
    changelog = deployed.copy / "CHANGELOG.md"
    deployed.follow("docs/upgrading.md", "Upgrading")
    assert changelog.read_text().endswith("newer\n")
    deployed.follow("docs/upgrading.md", "What an upgrade does to the cluster")
    tried, done = deployed.runs()[-2:]
    assert [run.named("refresh.completed")[0]["dry_run"] for run in (tried, done)] == [True, False]
    assert {one["namespace"] for one in done.named("object.applied")} > {TEAM}
    deployed.follow("docs/upgrading.md", "Back to the version before")
    assert not changelog.read_text().endswith("newer\n")


@pytest.mark.soak
def test_installing_a_release(deployed: Desk, tmp_path: Path) -> None:
    """The stack that is there becomes the release's."""
    version = contents.version()
    folder = tmp_path / f"eks-upsert-{version}"
    contents.write(folder, deployed.copy / ".aws-sam" / "build")
    deployed.shell(f"tar -czf {folder.name}.tar.gz {folder.name}; rm -r {folder.name}", tmp_path)
    unpack, deploy = deployed.texts("docs/installing.md", "Installing a release", WORDS | {"VERSION": version})
    deployed.shell(unpack, tmp_path)
    deployed.shell(deploy, folder)
    (folder / "my").mkdir()
    (folder / "my" / "objects.yaml").write_text(OWN)
    deployed.follow("docs/installing.md", "With your own file of objects", folder=folder)
    deployed.shell("sam remote invoke RefreshFunction --event '{}'")
    assert {one["object"] for one in last_run(deployed).named("object.applied")} == {"secret/partner"}
    bucket = {"BUCKET": "my-artifacts"}
    deployed.world.aws.client("s3").create_bucket(
        Bucket=bucket["BUCKET"], CreateBucketConfiguration={"LocationConstraint": deployed.world.aws.region}
    )
    deployed.follow("docs/installing.md", "Without the SAM CLI", WORDS | bucket, folder)
    deployed.shell("sam remote invoke RefreshFunction --event '{}'")
    assert last_run(deployed).raised is None


KEPT = "      - auths: {secret: other-registries}\n"


@pytest.mark.soak
def test_adopting_the_pull_secret(deployed: Desk) -> None:
    """Two teams have a Secret that somebody made by hand, with one more registry in it."""
    teams, kubectl = ("team-a", "team-b"), deployed.world.control_plane.kubectl
    entries = {HOST: ("AWS", "of-yesterday"), "quay.io": ("robot", "of-quay")}
    config = {"auths": {host: entry(*login) for host, login in entries.items()}}
    body = {"metadata": {"name": SECRET}, "type": "kubernetes.io/dockerconfigjson"}
    for team in teams:
        kubectl("delete", "secret", SECRET, f"--namespace={team}", "--ignore-not-found")
        data = {".dockerconfigjson": json.dumps(config)}
        deployed.world.control_plane.create_secret(team, body | {"stringData": data}, "kubectl-create")
    before = {team: secret_of(deployed, team)["uid"] for team in teams}

    aws = deployed.world.aws
    place = f"arn:aws:secretsmanager:{aws.region}:{aws.account}:secret:other-registries-??????"
    words = WORDS | {"ARN": f"'{place}'"}
    deploy, check, keep, fetch, adopt = deployed.texts("docs/adopting.md", "The pull Secret", words)
    deployed.shell(deploy)
    assert "team-a/aws-ecr-token/quay.io/auth: ONLY IN LIVE" in deployed.shell(check)
    shipped = (deployed.copy / "functions" / "objects.yaml").read_text()
    with own_objects(deployed, re.sub(r"( +- ecr: \{\}.*\n)", rf"\1{KEPT}", shipped)):
        deployed.shell(keep)
    assert "ONLY IN LIVE" not in deployed.shell(fetch)
    deployed.shell(adopt)

    assert {team: secret_of(deployed, team)["uid"] for team in teams} == before
    logins = {team: logins_of(deployed, team) for team in teams}
    assert {team: auths["quay.io"] for team, auths in logins.items()} == dict.fromkeys(
        teams, config["auths"]["quay.io"]
    )
    # One was refreshed, the other is as it was.
    assert logins["team-a"][HOST]["password"] in deployed.world.ecr.passwords
    assert logins["team-b"] == config["auths"]
    (report,) = deployed.follow("docs/adopting.md", "Verdicts")
    assert "team-a" in report


def entry(username: str, password: str) -> dict[str, str]:
    auth = base64.b64encode(f"{username}:{password}".encode()).decode()
    return {"username": username, "password": password, "auth": auth}


def logins_of(desk: Desk, namespace: str) -> dict[str, dict[str, str]]:
    found = desk.world.control_plane.get_secret(namespace, SECRET)
    assert found is not None
    auths: dict[str, dict[str, str]] = json.loads(base64.b64decode(found["data"][".dockerconfigjson"]))["auths"]
    return auths


EXTERNAL_SECRETS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: externalsecrets.external-secrets.io}
spec:
  group: external-secrets.io
  scope: Namespaced
  names: {kind: ExternalSecret, plural: externalsecrets, singular: externalsecret}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def test_from_external_secrets_operator(desk: Desk) -> None:
    """The operator itself is not there: what is tried is that its object and its Secret take these patches."""
    plane, team = desk.world.control_plane, "team-api"
    plane.create_namespace(team)
    plane.apply_yaml(EXTERNAL_SECRETS)
    plane.wait_established("externalsecrets.external-secrets.io")
    root = f"/apis/external-secrets.io/v1/namespaces/{team}/externalsecrets"
    theirs = {"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"name": "api-config"}}
    made = plane.request("POST", root, theirs | {"spec": {"target": {"creationPolicy": "Owner"}}})
    owner = {"apiVersion": theirs["apiVersion"], "kind": theirs["kind"], "name": "api-config"}
    owners = [owner | {"uid": made["metadata"]["uid"]}]
    plane.create_secret(team, {"metadata": {"name": "api-config", "ownerReferences": owners}}, "external-secrets")
    desk.follow("docs/adopting.md", "External Secrets Operator beside it")
    after = plane.request("GET", f"{root}/api-config")["spec"]
    assert after == {
        "refreshPolicy": "CreatedOnce",
        "target": {"creationPolicy": "Orphan", "deletionPolicy": "Retain"},
    }
    secret = plane.get_secret(team, "api-config")
    assert secret is not None
    assert "ownerReferences" not in secret["metadata"]
