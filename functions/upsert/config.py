"""What a deployment fixes: the compiled file of objects and the function's environment, checked whole and frozen."""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from upsert import variables
from upsert.core.fields import Fields, Grammar, Problem
from upsert.core.grammars import ACCOUNT, CLUSTER, REGION
from upsert.core.objects import Object, OnConflict, Part, Ref, Scope, Target
from upsert.errors import InputError

COMPILED = "objects.json"
VERSION = 1

_LEVEL = Grammar("DEBUG|INFO|WARNING|ERROR", "one of DEBUG, INFO, WARNING, ERROR")
_DETAIL = Grammar("fleet|cluster|object", "one of fleet, cluster, object")
_FLAG = Grammar("true|false", "true or false")
_RATE = Grammar(r"rate\(([1-9][0-9]{0,3}) (minute|hour)s?\)", "rate(N minutes) or rate(N hours), such as rate(3 hours)")


class Config(NamedTuple):
    """What is written where, and how this deployment is called.

    `targets` are the clusters, in the order of the file: one, unless it `is_fleet`; `own` is that of the parameter
    ClusterName. `account` and `region` are the function's own. `detail` is how finely it measures.
    """

    own: Target
    targets: tuple[Target, ...]
    objects: tuple[Object, ...]
    account: str
    region: str
    schedule: timedelta
    log_level: str
    detail: str = "object"
    is_fleet: bool = False
    state_machine: str = ""

    def target(self, name: str) -> Target | None:
        """Return the cluster of that name, or None if the file has none."""
        return next((target for target in self.targets if target.name == name), None)


def load(environment: Mapping[str, str]) -> Config:
    """Return what the environment and the compiled file beside the function say.

    Raises `InputError` that names every bad variable at once.
    """
    return config(environment, _compiled(Path(environment.get("LAMBDA_TASK_ROOT", ".")) / COMPILED))


def config(environment: Mapping[str, str], compiled: Mapping[str, Any]) -> Config:
    """Return what the environment and a compiled file say, like `load`."""
    problems: list[Problem] = []
    given = Fields(environment, (), problems)
    variables.check(given)
    cluster = given.text("CLUSTER_NAME", CLUSTER)
    fleet = given.text("FLEET", _FLAG) if "FLEET" in given else "false"
    is_fleet = fleet == "true"
    schedule = re.fullmatch(_RATE.expression, given.text("SCHEDULE", _RATE, default="rate(3 hours)"))
    targets, objects = _contents(compiled)
    own = next((target for target in targets if target.name == cluster), Target(cluster))
    found = Config(
        own=own,
        targets=targets or (own,),
        objects=objects,
        account=given.text("ACCOUNT_ID", ACCOUNT),
        region=given.text("AWS_REGION", REGION),
        schedule=timedelta(**{f"{schedule[2]}s": int(schedule[1])}) if schedule else timedelta(),
        log_level=given.text("LOG_LEVEL", _LEVEL, default="INFO"),
        detail=given.text("METRICS", _DETAIL, default="object"),
        is_fleet=is_fleet,
        state_machine=environment.get("FLEET_STATE_MACHINE", ""),
    )
    if is_fleet and not targets:
        given.wrong("FLEET", "'true' is wrong; expected false, since the file of objects has no clusters")
    elif targets and fleet == "false":
        given.wrong("FLEET", "'false' is wrong; expected true, since the file of objects has clusters")
    elif is_fleet and cluster and own not in targets:
        given.wrong("CLUSTER_NAME", f"{cluster!r} is wrong; expected one of the clusters in the file of objects")
    if problems:
        raise InputError([str(problem) for problem in problems])
    return found


def _compiled(path: Path) -> Mapping[str, Any]:
    try:
        compiled = json.loads(path.read_bytes(), object_pairs_hook=_without_repeats)
    except OSError:
        raise InputError([f"{path.name}: is not beside the function; build it with `sam build`"]) from None
    except (ValueError, RecursionError):
        raise InputError([f"{path.name}: is no JSON, or has a key twice; build it anew with `sam build`"]) from None
    if not isinstance(compiled, dict) or compiled.get("version") != VERSION:
        raise InputError([f"{path.name}: is not of version {VERSION}; build it anew with `sam build`"])
    return compiled


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _contents(compiled: Mapping[str, Any]) -> tuple[tuple[Target, ...], tuple[Object, ...]]:
    try:
        targets = tuple(Target(**one) for one in compiled.get("clusters", ()))
        return targets, tuple(_object(one) for one in compiled["objects"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError([f"{COMPILED}: is not as the build writes it; build it anew with `sam build`"]) from None


def _object(one: Mapping[str, Any]) -> Object:
    scope = one["namespaces"]
    return Object(
        name=one["name"],
        type=one["type"],
        parts=tuple(
            Part(part["place"], Ref(part["source"], tuple(sorted(part["ref"].items())))) for part in one["parts"]
        ),
        scope=Scope(tuple(scope["include"]), tuple(scope["exclude"]), scope["selector"]),
        kind=one["kind"],
        on_conflict=OnConflict(one["on_conflict"]),
        service_accounts=tuple(one["service_accounts"]),
        clusters=tuple(one["clusters"]),
        is_written=one["is_written"],
    )
