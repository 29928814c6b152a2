"""The migration, step by step, on the deployed stack, and what an admin sees before and after each step."""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.demo_adopt.cast import Application, cast
from tests.support.audit import AuditLog
from tests.support.migration import DeployedAdopter
from tests.support.ministack import ACCOUNT, REGION
from tests.support.objects import roles
from tests.support.readers import Eyes
from tests.support.world import World

ROTATED, GIVEN_BACK, IMPORTED = "api", "search", "legacy"
ROTATED_KEY, NEW_VALUE = "db_password", "api-password-of-tomorrow-91"
THEIRS = "the-value-of-another-writer-5c"

_ARNS = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:apps/*"
_WOKEN_SECONDS = 60

type Objects = Mapping[str, dict[str, Any]]
type Tell = Callable[[str, Sequence[str]], None]


@dataclass
class Story:
    """What was seen: every object as an admin gets it at five moments, and all that the functions said."""

    applications: Sequence[Application] = ()
    before: Objects = field(default_factory=dict)
    checked: Objects = field(default_factory=dict)
    adopted: Objects = field(default_factory=dict)
    rotated: Objects = field(default_factory=dict)
    released: Objects = field(default_factory=dict)
    first_lines: Sequence[str] = ()
    said: list[str] = field(default_factory=list)
    other_writer: str = ""
    reads: int = 0
    absent: int = 0
    uids: dict[str, set[str]] = field(default_factory=dict)
    requests: Mapping[tuple[str, str], int] = field(default_factory=dict)


def play(world: World, tell: Tell, folder: Path) -> Story:
    """Deploy, check, correct the sources, import, adopt, rotate one, give one back; `tell` gets each step's lines."""
    story = Story(cast())
    _prepare(world, story.applications, folder)
    world.deploy(*_entries(story), CreateAdopter="true", ReadableArns=_ARNS, ScheduleState="DISABLED")
    _permit(world, story)
    adopter = DeployedAdopter(world)
    audit = AuditLog(world.control_plane.audit_log)

    def step(title: str, event: Mapping[str, Any]) -> list[str]:
        answer = adopter.invoke(event)
        lines: list[str] = answer.get("lines") or [answer["errorMessage"]]
        story.said.append(json.dumps(answer))
        tell(f"{title}   {json.dumps(event)}", lines)
        return lines

    story.before = _look(world, story)
    with _watched(world, story):
        story.first_lines = step("1. check", {"action": "check"})
        tell("2. correct the sources, which nothing reads yet", _correct(world, story.applications))
        legacy = story.applications[-1]
        step(
            "3. import what has no source yet, unseen",
            {"action": "import", "objects": [legacy.written["name"]], "namespace": legacy.namespace},
        )
        step("4. check again", {"action": "check"})
        story.checked = _look(world, story)
        step("5. adopt", {"action": "adopt"})
        story.adopted = _look(world, story)
        tell("6. one value rotates at its source", _rotate(world, story))
        story.rotated = _look(world, story)
        with world.objects(*_entries(story, given_back=True)):
            step(
                "7. give one back: its entry says write: never, then",
                {"action": "release", "objects": [_of(story, GIVEN_BACK).written["name"]]},
            )
        story.released = _look(world, story)
    tell("8. another writer takes it, without force", _written_by_another(world, story))
    session = f"arn:aws:sts::{world.aws.account}:assumed-role/{adopter.role.rpartition('/')[2]}/{adopter.function[:64]}"
    story.requests = audit.counts(user=session)
    story.said += [run.text for run in world.runs()]
    return story


def data_of(found: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the values of a Secret."""
    return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}


def _prepare(world: World, applications: Sequence[Application], folder: Path) -> None:
    client = world.aws.client("secretsmanager")
    for one in applications:
        world.control_plane.create_namespace(one.namespace)
        here = folder / one.name
        here.mkdir()
        one.prepare(world.control_plane, one, here)
        value = {} if one.believed is None else {"SecretString": one.kept(one.believed)}
        client.create_secret(Name=one.secret, **value)


def _entries(story: Story, *, given_back: bool = False) -> list[dict[str, Any]]:
    never = {GIVEN_BACK} if given_back else set()
    return [one.written | ({"write": "never"} if one.name in never else {}) for one in story.applications]


def _permit(world: World, story: Story) -> None:
    for is_adopter in (False, True):
        world.control_plane.apply_roles(roles(*_entries(story), is_adopter=is_adopter))


def _look(world: World, story: Story) -> Objects:
    found = {one.name: world.control_plane.get_secret(one.namespace, one.written["name"]) for one in story.applications}
    return {name: secret for name, secret in found.items() if secret is not None}


@contextmanager
def _watched(world: World, story: Story) -> Iterator[None]:
    """Have every object read all the time while the block lasts."""
    eyes = [Eyes(world.control_plane, one.written["name"], [one.namespace]) for one in story.applications]
    for eye in eyes:
        eye.__enter__()
    try:
        yield
    finally:
        for one, eye in zip(story.applications, eyes, strict=True):
            eye.__exit__(None, None, None)
            story.reads += eye.reads
            story.absent += eye.absent + eye.events["DELETED"]
            story.uids[one.name] = set(eye.uids[one.namespace])


def _correct(world: World, applications: Sequence[Application]) -> list[str]:
    """Give each source what its pods read today: first the same bytes, better ones later."""
    client = world.aws.client("secretsmanager")
    lines = []
    for one in applications:
        if one.believed is not None:
            client.put_secret_value(SecretId=one.secret, SecretString=one.kept(one.live))
            lines.append(f"{one.secret}: {', '.join(sorted(one.planted))}")
    return lines


def _rotate(world: World, story: Story) -> list[str]:
    """Change one value at its source, with the rules of the stack switched on, and wait until it is in the cluster."""
    one = _of(story, ROTATED)
    events = world.aws.client("events")
    for rule in events.list_rules()["Rules"]:
        events.enable_rule(Name=rule["Name"])
    known, started = world.runs(), time.monotonic()
    changed = {**one.live, ROTATED_KEY: NEW_VALUE.encode()}
    world.aws.client("secretsmanager").put_secret_value(SecretId=one.secret, SecretString=one.kept(changed))
    while data_of(_look(world, story)[one.name])[ROTATED_KEY] != NEW_VALUE.encode():
        if time.monotonic() - started > _WOKEN_SECONDS:
            raise TimeoutError(f"{one.title} did not follow its source within {_WOKEN_SECONDS} s")
        time.sleep(0.05)
    seconds = time.monotonic() - started
    # The emulator ends the runs under way when the next step changes the file.
    world.wait_for_run(known, _WOKEN_SECONDS)
    for rule in events.list_rules()["Rules"]:
        events.disable_rule(Name=rule["Name"])
    return [f"{one.namespace}/{one.written['name']}/{ROTATED_KEY}: in the cluster after {seconds:.1f} s"]


def _written_by_another(world: World, story: Story) -> list[str]:
    """Have another writer apply its own value to what was given back, without force."""
    one = _of(story, GIVEN_BACK)
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": one.written["name"]},
        "data": {"index_key": base64.b64encode(THEIRS.encode()).decode()},
    }
    story.other_writer = world.control_plane.kubectl(
        "apply", "--server-side", "--field-manager=another-writer", f"--namespace={one.namespace}", "--filename=-",
        stdin=json.dumps(body),
    )  # fmt: skip
    found = world.control_plane.get_secret(one.namespace, one.written["name"])
    is_theirs = found is not None and data_of(found)["index_key"] == THEIRS.encode()
    story.other_writer = story.other_writer.strip() if is_theirs else ""
    return [story.other_writer or "the other writer's value is not there"]


def _of(story: Story, name: str) -> Application:
    return next(one for one in story.applications if one.name == name)
