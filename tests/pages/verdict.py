"""What somebody has who followed the README to its end, and what is wrong with it."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.pages.desk import Desk
from tests.support.objects import HOST, SECRET

NAMESPACES = ("apps", "team-a", "team-b", "team-blue")
ADDRESS = "on-call@example.com"


@dataclass(frozen=True)
class Ending:
    """What is there in the end."""

    schedule: str
    """The state of the schedule."""
    logins: Mapping[str, bool]
    """Of each namespace, whether the Secret there holds a login that ECR gave."""
    told: Mapping[str, bool]
    """Of each alarm, whether it reaches the reader's address."""
    tried_first: bool
    """Whether the first run of all went to its end and wrote nothing."""
    waited: bool
    """Whether the schedule was off until then."""


def follow(desk: Desk, steps: Sequence[str]) -> Ending:
    """Take the steps of the README, and return what is there then; raises `CommandFailed`."""
    waited = True
    for step in steps:
        desk.shell(step)
        waited = waited and (_schedule(desk) != "ENABLED" or bool(desk.runs()))
    return _gather(desk, waited=waited)


def _gather(desk: Desk, *, waited: bool) -> Ending:
    aws = desk.world.aws
    subscriptions = aws.client("sns").list_subscriptions()["Subscriptions"]
    mailed = {one["TopicArn"] for one in subscriptions if one["Endpoint"] == ADDRESS}
    alarms = aws.client("cloudwatch").describe_alarms()["MetricAlarms"]
    runs = desk.runs()
    return Ending(
        schedule=_schedule(desk),
        logins={name: _has_login(desk, name) for name in NAMESPACES},
        told={one["AlarmName"]: bool(mailed.intersection(one["AlarmActions"])) for one in alarms},
        tried_first=[one["dry_run"] for run in runs[:1] for one in run.named("refresh.completed")] == [True],
        waited=waited,
    )


def judge(ending: Ending) -> list[str]:
    """Return what is wrong, nothing if all is as the README promises."""
    problems = []
    if ending.schedule != "ENABLED":
        problems.append(f"the schedule is {ending.schedule or 'not there'}")
    problems += [f"{name} has no login" for name, has_login in ending.logins.items() if not has_login]
    problems += [f"{name} reaches nobody" for name, is_told in ending.told.items() if not is_told]
    if not ending.told:
        problems.append("there is no alarm")
    if not ending.tried_first:
        problems.append("nothing was tried without writing")
    if not ending.waited:
        problems.append("the schedule was on before anything was tried")
    return problems


def _schedule(desk: Desk) -> str:
    found = desk.world.aws.client("scheduler").list_schedules()["Schedules"]
    return found[0]["State"] if found else ""


def _has_login(desk: Desk, namespace: str) -> bool:
    secret = desk.world.control_plane.get_secret(namespace, SECRET)
    if secret is None:
        return False
    config = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))
    return config["auths"].get(HOST, {}).get("password") in desk.world.ecr.passwords
