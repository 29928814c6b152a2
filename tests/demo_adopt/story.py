"""The migration, step by step, on the deployed stack; what an admin sees before and after each; and the judgement."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.demo_adopt.cast import CAST, TWO_REGISTRIES, VALUES, prepare
from tests.support.adopter import digests, managers
from tests.support.audit import AuditLog
from tests.support.canary import Canary
from tests.support.migration import DeployedAdopter
from tests.support.objects import SECRET, entry
from tests.support.refresher import FIELD_MANAGER, LAST_APPLIED, password_in
from tests.support.world import World

EVENTS = Path(__file__).parents[2] / "events"

type Secrets = Mapping[str, dict[str, Any] | None]
type Tell = Callable[[str, Sequence[str]], None]


@dataclass
class Story:
    """What was seen: every Secret as an admin gets it at four moments, and all that the functions said."""

    before: Secrets = field(default_factory=dict)
    checked: Secrets = field(default_factory=dict)
    adopted: Secrets = field(default_factory=dict)
    refreshed: Secrets = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    requests: Mapping[tuple[str, str], int] = field(default_factory=dict)
    next_password: str = ""


def play(world: World, tell: Tell) -> Story:
    """Deploy, migrate, refresh; `tell` gets the title and the lines of each step."""
    story = Story()
    prepare(world.control_plane)
    # Without a value: the import gives it its first one.
    arn = world.aws.client("secretsmanager").create_secret(Name="other-registries")["ARN"]
    registries = [{"ecr": {}}, {"auths": {"secret": arn}}]
    pull = entry(registries=registries, include=["team-*"])
    world.deploy(pull, ScheduleState="DISABLED", CreateAdopter="true", ReadableArns=arn)
    adopter = DeployedAdopter(world)
    audit = AuditLog(world.control_plane.audit_log)

    def step(title: str, event: Mapping[str, Any]) -> None:
        answer = adopter.invoke(event)
        lines = answer.get("lines") or [answer["errorMessage"]]
        story.said.append(json.dumps(answer))
        tell(f"{title}   {json.dumps(event)}", lines)

    story.before = _look(world)
    step("1. check", _event("check"))
    step("2. import what is not ECR", _event("import") | {"namespace": TWO_REGISTRIES})
    step("3. check again", _event("check") | {"namespaces": [TWO_REGISTRIES]})
    story.checked = _look(world)
    clean = [part.namespace for part in CAST if part.ending == "adopted"]
    step("4. adopt what is clean", _event("adopt") | {"namespaces": clean})
    step("5. ask for all of them: what is not clean is refused, and the run fails", _event("adopt"))
    story.adopted = _look(world)
    refreshed = world.invoke({"namespaces": [*clean, "team-new"]})
    story.said.append(refreshed.run.text)
    tell(
        "6. refresh what is ours now, and create what is missing",
        [
            f"{record['namespace']}/{SECRET}: {record['change']}"
            + (f", taken over from {', '.join(record['took_over_from'])}" if record["took_over_from"] else "")
            for record in refreshed.run.records
            if record.get("message") == "object.applied"
        ],
    )
    story.refreshed = _look(world)
    step("7. check once more", _event("check") | {"namespaces": [TWO_REGISTRIES, "team-new"]})
    story.next_password = world.ecr.passwords[-2]
    session = f"arn:aws:sts::{world.aws.account}:assumed-role/{adopter.role.rpartition('/')[2]}/{adopter.function[:64]}"
    story.requests = audit.counts(user=session)
    return story


def judge(story: Story) -> tuple[list[str], str]:
    """Return what is not as it should be, and the proof in one line."""
    problems = []
    clean = [part.namespace for part in CAST if part.ending == "adopted"]
    refused = [part.namespace for part in CAST if part.ending == "refused"]
    identical = [name for name in clean if _same_values(story.before[name], story.adopted[name])]
    ours = [name for name in clean if FIELD_MANAGER in managers(story.adopted[name])]
    stable = [name for name in clean if _uid(story.before[name]) == _uid(story.refreshed[name])]
    untouched = [name for name in refused if story.before[name] == story.refreshed[name]]
    rotated = [name for name in [*clean, "team-new"] if password_in(story.refreshed[name]) == story.next_password]
    leaking = [name for name, found in story.adopted.items() if found and LAST_APPLIED in str(found["metadata"])]
    canary = Canary()
    for value in VALUES:
        canary.learn(value, value)
    told = {name for text in story.said for name in canary.leaks(text)}
    for what, found, wanted in (
        ("adopted", ours, clean),
        ("byte for byte the same when adopted", identical, clean),
        ("with their uid", stable, clean),
        ("refused and untouched", untouched, refused),
        ("rotated afterwards", rotated, [*clean, "team-new"]),
    ):
        if missing := sorted(set(wanted) - set(found)):
            problems.append(f"not {what}: {', '.join(missing)}")
    if story.checked != story.before:
        problems.append("a check or an import changed a Secret")
    if leaking:
        problems.append(f"kubectl's copy is still there: {', '.join(leaking)}")
    if told:
        problems.append(f"parts of {len(told)} values were said")
    if set(story.requests) - {
        ("list", "namespaces"),
        ("get", "secrets"),
        ("patch", "secrets"),
        ("list", "externalsecrets"),
    }:
        problems.append(f"the adopter did more than it may need: {dict(story.requests)}")
    proof = (
        f"proof: namespaces={len(CAST)} adopted={len(ours)} identical={len(identical)}/{len(clean)} "
        f"uid_stable={len(stable)}/{len(clean)} refused={len(refused)} untouched={len(untouched)}/{len(refused)} "
        f"rotated={len(rotated)}/{len(clean) + 1} values_said={len(told)}"
    )
    return problems, proof


def _event(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVENTS / f"adopt-{name}.json").read_text())
    return found


def _look(world: World) -> Secrets:
    return {part.namespace: world.control_plane.get_secret(part.namespace, SECRET) for part in CAST}


def _same_values(before: dict[str, Any] | None, after: dict[str, Any] | None) -> bool:
    return before is not None and digests(before) == digests(after)


def _uid(found: dict[str, Any] | None) -> str:
    return str(found["metadata"]["uid"]) if found else "none"
