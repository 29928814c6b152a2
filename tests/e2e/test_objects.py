"""The file that docs/objects.md shows, deployed: every kind, every source, 50 namespaces, woken by what changes."""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import example
from tests.support.audit import AuditLog
from tests.support.canary import Canary
from tests.support.readers import Eyes
from tests.support.sam import ROOT
from tests.support.story import LOG_TOKEN, NAMESPACES, PLURALS, READS, Story, value_of
from tests.support.world import Invocation, World

WITHIN_SECONDS = 5.0
EVERYTHING: dict[str, Any] = {}
PARAMETER_CHANGED = json.loads((ROOT / "events" / "parameter-changed.json").read_text())


@pytest.fixture(scope="module")
def story(world: World) -> Iterator[Story]:
    with Story(world).played() as running:
        yield running


@pytest.fixture(scope="module")
def first(story: Story) -> Invocation:
    answer = story.world.invoke(EVERYTHING)
    assert not answer.failed, answer.payload
    return answer


@pytest.fixture(autouse=True)
def settled(story: Story) -> Iterator[None]:
    with story.settled():
        yield


@pytest.mark.usefixtures("first")
def test_each_object_is_where_the_page_says_and_nowhere_else(story: Story) -> None:
    assert {title: set(story.everywhere(title)) for title in example.titles()} == {
        title: story.goes_to(title) for title in example.titles()
    }


@pytest.mark.usefixtures("first")
def test_each_value_is_its_sources_byte_for_byte(story: Story) -> None:
    values, there = story.values, {title: story.everywhere(title)["team-01"] for title in example.titles()[:1]}
    config = story.everywhere("secret/api-config")["team-50"]
    assert config["type"] == "Opaque"
    assert {key: value_of(config, key) for key in config["data"]} == {
        "DB_PASSWORD": values.member("apps/api", "db_password").encode(),
        "DB_HOST": b"db.internal",
        "LOG_TOKEN": values.parameter.encode(),
        "keystore.p12": values.secrets["apps/keystore"],
    }
    auths = json.loads(value_of(there["secret/aws-ecr-token"], ".dockerconfigjson"))["auths"]
    assert auths["quay.io"] == json.loads(values.secrets["apps/registries"])["auths"]["quay.io"]
    proxy = story.everywhere("secret/proxy-login")["team-10"]
    assert (proxy["type"], value_of(proxy, "password")) == (
        "kubernetes.io/basic-auth",
        values.member("apps/proxy", "password").encode(),
    )
    key = story.everywhere("secret/deploy-key")["team-02"]
    assert value_of(key, "ssh-privatekey") == base64.b64decode(values.member("apps/deploy-key", "private_key"))
    tls = story.everywhere("secret/wildcard-tls")["team-30"]
    assert {key: value_of(tls, key).decode() for key in tls["data"]} == {
        "tls.crt": values.member("tls/wildcard", "crt"),
        "tls.key": values.member("tls/wildcard", "key"),
    }
    assert story.everywhere("configmap/settings")["team-25"]["data"] == {
        "LEVEL": "info",
        "notice.txt": "Kept by the platform team.\n",
        "REGION": "eu-central-1",
        "GREETING": '"with quotes, which stay"',
    }
    assert story.everywhere("resourcequota/baseline")["team-25"]["spec"]["hard"] == {"pods": "50", "services": "20"}


@pytest.mark.usefixtures("first")
def test_a_run_takes_one_patch_per_object_and_namespace_and_each_source_once(story: Story) -> None:
    world = story.world
    audit, trail = AuditLog(world.control_plane.audit_log), world.trail(*READS, "GetAuthorizationToken")

    answer = world.invoke(EVERYTHING)

    expected: Counter[tuple[str, str]] = Counter()
    for title in example.titles():
        expected["patch", PLURALS[title.partition("/")[0]]] += len(story.goes_to(title))
    # One list for each selector: every namespace, proxy=yes, ingress=public.
    expected["list", "namespaces"] = 3
    assert audit.counts(user=world.user) == expected
    assert answer.payload["api_requests"] == expected.total()
    assert trail.counts() == {"BatchGetSecretValue": 1, "GetParameters": 1, "GetAuthorizationToken": 1}


@pytest.mark.usefixtures("first")
def test_what_was_there_before_is_said_to_be_unchanged(story: Story) -> None:
    before = story.proofs()
    # The time of a change is told in whole seconds: what was written in this very one is said to be updated.
    story.wait_a_second()
    answer = story.world.invoke(EVERYTHING)
    changes = Counter((record["object"], record["change"]) for record in answer.run.named("object.applied"))
    assert changes == {
        (title, "updated" if title == "secret/aws-ecr-token" else "unchanged"): len(story.goes_to(title))
        for title in example.titles()
    }
    now = story.proofs()
    assert {key: uid for key, (uid, _) in now.items()} == {key: uid for key, (uid, _) in before.items()}
    moved = {title for (title, name), proof in now.items() if proof != before[title, name]}
    assert moved == {"secret/aws-ecr-token"}


@pytest.mark.usefixtures("first")
def test_a_secret_that_changes_is_everywhere_within_seconds_and_was_never_absent(story: Story) -> None:
    title, world = "secret/api-config", story.world
    uids = {name: found["metadata"]["uid"] for name, found in story.everywhere(title).items()}
    audit, trail = AuditLog(world.control_plane.audit_log), world.trail(*READS)
    changed = json.dumps({"db_password": "pässword-2 4f9a", "db_host": "db.internal"})
    known = world.runs()
    with Eyes(world.control_plane, "api-config", sorted(story.goes_to(title))) as eyes:
        story.put("apps/api", changed)
        seconds = story.wait_until(
            title, lambda one: value_of(one, "DB_PASSWORD") == "pässword-2 4f9a".encode(), timeout=60
        )
    assert seconds < WITHIN_SECONDS
    assert eyes.reads > 0
    assert (eyes.absent, eyes.events["DELETED"]) == (0, 0)
    assert {name: found["metadata"]["uid"] for name, found in story.everywhere(title).items()} == uids
    run = world.wait_for_run(known, timeout=60)
    assert run.raised is None
    # Nothing else got a request, and no other source was read.
    assert audit.counts(user=world.user) == {
        ("list", "namespaces"): 1,
        ("patch", "secrets"): len(story.goes_to(title)),
    }
    assert {event.name for event in audit.events(user=world.user) if event.verb == "patch"} == {"api-config"}
    # Its own: the secret that changed with the keystore beside it, and the parameter.
    assert trail.counts() == {"BatchGetSecretValue": 1, "GetParameters": 1}


@pytest.mark.usefixtures("first")
def test_a_bad_rotation_is_taken_back_at_its_source(story: Story) -> None:
    title = "secret/proxy-login"
    before = story.values.secrets["apps/proxy"]
    good = story.values.member("apps/proxy", "password").encode()
    uids = {name: found["metadata"]["uid"] for name, found in story.everywhere(title).items()}
    story.put("apps/proxy", json.dumps({"username": "squid-user-17", "password": "mistyped-33f0"}))
    story.wait_until(title, lambda one: value_of(one, "password") == b"mistyped-33f0", timeout=60)
    story.take_back("apps/proxy")
    seconds = story.wait_until(title, lambda one: value_of(one, "password") == good, timeout=60)
    assert seconds < WITHIN_SECONDS
    assert {name: found["metadata"]["uid"] for name, found in story.everywhere(title).items()} == uids
    story.values.secrets["apps/proxy"] = before


@pytest.mark.usefixtures("first")
def test_a_secret_that_is_in_no_object_wakes_nothing_that_asks_for_anything(story: Story) -> None:
    world = story.world
    audit, trail, known = AuditLog(world.control_plane.audit_log), world.trail(*READS), world.runs()
    story.world.aws.client("secretsmanager").create_secret(Name="apps/unrelated", SecretString="x")
    story.world.aws.client("secretsmanager").put_secret_value(SecretId="apps/unrelated", SecretString="y")
    run = world.wait_for_run(known, timeout=60)
    assert run.raised is None
    assert (run.named("refresh.completed")[0]["applied"], run.named("object.applied")) == (0, [])
    assert audit.counts(user=world.user) == {}
    assert trail.counts() == {}
    story.world.aws.client("secretsmanager").delete_secret(SecretId="apps/unrelated", ForceDeleteWithoutRecovery=True)


@pytest.mark.usefixtures("first")
def test_a_parameter_that_changes_wakes_its_objects(story: Story) -> None:
    """The local AWS tells nobody of it, so the function gets the event that the rule would pass on."""
    story.values.parameter = "token-of-the-log-2-c2a9"
    aws, world = story.world.aws, story.world
    aws.client("ssm").put_parameter(Name=LOG_TOKEN, Value=story.values.parameter, Type="SecureString", Overwrite=True)
    audit = AuditLog(world.control_plane.audit_log)

    answer = world.invoke(PARAMETER_CHANGED | {"account": aws.account, "region": aws.region})

    assert not answer.failed, answer.payload
    wanted = story.values.parameter.encode()
    assert {value_of(one, "LOG_TOKEN") for one in story.everywhere("secret/api-config").values()} == {wanted}
    assert audit.counts(user=world.user) == {
        ("list", "namespaces"): 1,
        ("patch", "secrets"): len(story.goes_to("secret/api-config")),
    }


@pytest.mark.usefixtures("first")
def test_a_burst_of_changes_ends_with_the_last_one(story: Story) -> None:
    for number in range(5):
        story.put("apps/api", json.dumps({"db_password": f"burst-{number}-77e1", "db_host": "db.internal"}))
    story.wait_until("secret/api-config", lambda one: value_of(one, "DB_PASSWORD") == b"burst-4-77e1", timeout=60)
    story.world.invoke(EVERYTHING)
    assert {value_of(one, "DB_PASSWORD") for one in story.everywhere("secret/api-config").values()} == {b"burst-4-77e1"}


@pytest.mark.usefixtures("first")
def test_no_log_line_holds_a_part_of_any_value(story: Story) -> None:
    world = story.world
    with world.environment(LOG_LEVEL="DEBUG"):
        answer = world.invoke(EVERYTHING)
    canary = Canary()
    for name, secret in story.values.secrets.items():
        texts = [secret] if isinstance(secret, str) else [base64.b64encode(secret).decode()]
        if isinstance(secret, str) and secret.startswith("{") and name != "apps/registries":
            texts = [value for key, value in json.loads(secret).items() if key not in ("db_host", "username", "crt")]
        for text in texts:
            canary.learn(name, text)
    canary.learn("parameter", story.values.parameter)
    for run in world.runs():
        assert not canary.leaks(run.text)
    assert not canary.leaks(json.dumps(answer.payload))
    assert canary.searched
    assert len(NAMESPACES) == 50
