"""The environment and the event, checked whole and frozen."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from upsert.core import audit_events
from upsert.core.namespaces import is_pattern
from upsert.core.registries import PUBLIC_HOST, PublicRegistry, Registry
from upsert.core.service_accounts import is_name as is_service_account
from upsert.errors import SettingsError


class OnConflict(StrEnum):
    """What to do about a Secret that another field manager writes."""

    TAKE_OVER = "take-over"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the template's parameters say. Each field is the environment variable of the same name in upper case."""

    cluster_name: str
    secret_name: str
    registries: tuple[Registry | PublicRegistry, ...]
    include_namespaces: tuple[str, ...]
    exclude_namespaces: tuple[str, ...]
    namespace_selector: str
    on_conflict: OnConflict
    concurrency: int
    log_level: str
    schedule: timedelta
    extra_registries_secret: str = ""
    service_accounts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OneOfFleet:
    """A cluster that the event names: its region if not the function's own, and the role to assume for it, if any."""

    name: str
    region: str | None = None
    role_arn: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What the event asks for: `namespaces` are names or globs, empty for all; `dry_run` writes nothing.

    `cluster` is another cluster than that of the settings.

    If `from_audit_log`, the namespaces are those that the audit log names, and none means none. They may be gone by
    now, or left out by the settings; what a person names must be there.
    """

    namespaces: tuple[str, ...] = ()
    dry_run: bool = False
    from_audit_log: bool = False
    cluster: OneOfFleet | None = None


class Action(StrEnum):
    """What the adopter is asked to do."""

    CHECK = "check"
    ADOPT = "adopt"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Adoption:
    """What the event asks the adopter for. `namespaces` are names or globs, empty for all; one name for an import."""

    action: Action
    namespaces: tuple[str, ...] = ()


def load(environment: Mapping[str, str], event: object) -> tuple[Settings, Request]:
    """Return the settings and the request. Raises `SettingsError` that names every bad field at once.

    If the event names a cluster, the settings have its name.
    """
    secret_name = environment.get("SECRET_NAME", _DEFAULTS["secret_name"])
    settings, request = _load(environment, event, partial(_request, secret_name=secret_name))
    return (replace(settings, cluster_name=request.cluster.name) if request.cluster else settings), request


def load_adoption(environment: Mapping[str, str], event: object) -> tuple[Settings, Adoption]:
    """Return the settings and what the adopter is asked for. Raises `SettingsError` like `load`."""
    settings, adoption = _load(environment, event, _adoption)
    if adoption.action is Action.IMPORT and not settings.extra_registries_secret:
        raise SettingsError(["EXTRA_REGISTRIES_SECRET: is empty; import expected the ARN of the secret to write to"])
    return settings, adoption


def _load[R](
    environment: Mapping[str, str], event: object, read: Callable[[object, list[str]], R]
) -> tuple[Settings, R]:
    problems: list[str] = []
    values = {name: _field(name, environment, problems) for name in _READERS}
    request = read(event, problems)
    if problems:
        raise SettingsError(problems)
    return Settings(**values), request


def _field(name: str, environment: Mapping[str, str], problems: list[str]) -> Any:
    variable = name.upper()
    text = environment.get(variable, _DEFAULTS.get(name, ""))
    try:
        return _READERS[name](text)
    except _BadValue as bad:
        # Somebody may have put the entries themselves where the ARN of their secret belongs.
        shown = f"{len(text)} characters" if name == "extra_registries_secret" and "{" in text else _shown(text)
        problems.append(f"{variable}: {bad}" if bad.says_value else f"{variable}: {shown} is wrong; {bad}")
        return None


class _BadValue(Exception):
    """A value is wrong; the text says what was expected."""

    def __init__(self, expected: str, *, says_value: bool = False) -> None:
        super().__init__(expected)
        self.says_value = says_value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _matching(pattern: str, expected: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise _BadValue(f"expected {expected}")
        return text

    return read


def _one_of(*choices: str) -> Callable[[str], str]:
    return _matching("|".join(choices), f"one of {', '.join(choices)}")


def _globs(*, may_be_empty: bool) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        globs = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
        if not globs and not may_be_empty:
            raise _BadValue("expected comma-separated globs over namespaces, such as team-*,default")
        if bad := [glob for glob in globs if not is_pattern(glob)]:
            raise _BadValue(f"{_shown(bad[0])} is no name or glob of lower-case letters, digits, -, * and ?")
        return globs

    return read


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    if bad := [name for name in names if not is_service_account(name)]:
        raise _BadValue(f"{_shown(bad[0])} is no name of a ServiceAccount, such as default")
    return tuple(dict.fromkeys(names))


def _count(lowest: int, highest: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,4}", text) or not lowest <= int(text) <= highest:
            raise _BadValue(f"expected a whole number from {lowest} to {highest}")
        return int(text)

    return read


def _rate(text: str) -> timedelta:
    found = re.fullmatch(r"rate\(([1-9][0-9]{0,3}) (minute|hour)s?\)", text)
    if not found:
        raise _BadValue("expected rate(N minutes) or rate(N hours), such as rate(6 hours)")
    return timedelta(**{f"{found[2]}s": int(found[1])})


_REGISTRY_KEYS = {
    "account": (re.compile(r"[0-9]{12}"), "a 12-digit AWS account id"),
    "region": (re.compile(r"[a-z]{2,5}(-[a-z]+)+-[0-9]{1,2}"), "a region such as eu-central-1"),
    "role_arn": (
        re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]{1,512}"),
        "a role ARN such as arn:aws:iam::111122223333:role/pull",
    ),
    "host": (
        re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:[0-9]{1,5})?"),
        "a bare host without https:// and path, such as 111122223333.dkr.ecr.eu-central-1.amazonaws.com",
    ),
}


def _registries(text: str) -> tuple[Registry | PublicRegistry, ...]:
    """Return the registries of a JSON list; each entry is one host in the Secret.

    {"account": "111122223333", "region": "eu-central-1"}   a private registry, under the host name that follows
    {…, "role_arn": "arn:aws:iam::111122223333:role/pull"}  the same, its login asked for as that role
    {…, "host": "111122223333.dkr-ecr.eu-west-1.on.aws"}    the same, under another name: dual-stack, FIPS, a proxy
    {"host": "public.ecr.aws", "role_arn": "…"}             ECR Public, with or without a role
    """
    form = 'expected a JSON list of {"account": "…", "region": "…", "role_arn": "…"?, "host": "…"?}'
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        raise _BadValue(form) from None
    if not isinstance(entries, list) or not entries:
        raise _BadValue(f"{form}, with at least one entry")
    registries = tuple(_registry(f"[{index}]", entry) for index, entry in enumerate(entries))
    hosts = [registry.host for registry in registries]
    if repeated := sorted({host for host in hosts if hosts.count(host) > 1}):
        raise _BadValue(f"names the host {repeated[0]} more than once; expected one entry per host", says_value=True)
    return registries


def _registry(place: str, entry: object) -> Registry | PublicRegistry:
    if not isinstance(entry, dict):
        raise _BadValue(f"{place} is {_shown(entry)}; expected an object", says_value=True)
    if unknown := sorted(set(entry) - set(_REGISTRY_KEYS)):
        raise _BadValue(
            f"{place} has the unknown key {_shown(unknown[0])}; known: {', '.join(_REGISTRY_KEYS)}", says_value=True
        )
    public = entry.get("host") == PUBLIC_HOST
    if public and (of_private := [key for key in ("account", "region") if key in entry]):
        raise _BadValue(
            f"{place} is ECR Public, which has no {of_private[0]}; expected host and, if needed, role_arn",
            says_value=True,
        )
    if missing := [key for key in ("account", "region") if key not in entry and not public]:
        raise _BadValue(f"{place} has no {missing[0]}; expected {_REGISTRY_KEYS[missing[0]][1]}", says_value=True)
    for key, value in entry.items():
        pattern, expected = _REGISTRY_KEYS[key]
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _BadValue(f"{place}.{key} is {_shown(value)}; expected {expected}", says_value=True)
    if public:
        return PublicRegistry(entry.get("role_arn"))
    return Registry(entry["account"], entry["region"], entry.get("role_arn"), entry.get("host"))


# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
_CLUSTER_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}"), "the name of an EKS cluster"

_CLUSTER_KEYS = {
    "name": _CLUSTER_NAME,
    "region": _REGISTRY_KEYS["region"],
    "role_arn": _REGISTRY_KEYS["role_arn"],
}

_READERS: dict[str, Callable[[str], Any]] = {
    "cluster_name": _matching(_CLUSTER_NAME[0].pattern, _CLUSTER_NAME[1]),
    # A DNS subdomain (RFC 1123), which is what the API server takes for a Secret's name.
    "secret_name": _matching(
        r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*",
        "a Secret's name: lower-case letters, digits, - and .",
    ),
    "registries": _registries,
    "include_namespaces": _globs(may_be_empty=False),
    "exclude_namespaces": _globs(may_be_empty=True),
    # The server has the last word on its grammar; here only what can never be right.
    "namespace_selector": _matching(
        r"[A-Za-z0-9 ,=!()._/-]{0,1024}", "a label selector such as team=a,env in (dev,test)"
    ),
    "on_conflict": lambda text: OnConflict(_one_of(*OnConflict)(text)),
    "concurrency": _count(1, 64),
    "log_level": _one_of("DEBUG", "INFO", "WARNING", "ERROR"),
    "schedule": _rate,
    "extra_registries_secret": _matching(
        r"(arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9_/+=.@-]{1,519})?",
        "nothing, or an ARN such as arn:aws:secretsmanager:eu-central-1:111122223333:secret:registries-AbCdEf",
    ),
    "service_accounts": _names,
}

_DEFAULTS = {
    "secret_name": "aws-ecr-token",
    "include_namespaces": "*",
    "on_conflict": OnConflict.TAKE_OVER.value,
    "concurrency": "16",
    "log_level": "INFO",
    "schedule": "rate(6 hours)",
}

_SCHEDULED_SOURCES = ("aws.scheduler", "aws.events")
_SCHEDULED_KEYS = ("version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail")


def _request(event: object, problems: list[str], *, secret_name: str) -> Request:
    if not isinstance(event, dict):
        problems.append(f"event: {_shown(event)} is wrong; expected a JSON object, such as {{}}")
        return Request()
    if event.get("detail-type") == "Scheduled Event" and event.get("source") in _SCHEDULED_SOURCES:
        problems.extend(
            f"event: unknown key {_shown(key)} in a scheduled event; send it without detail-type"
            for key in event
            if key not in _SCHEDULED_KEYS
        )
        return Request()
    if set(event) == {"awslogs"}:
        return _from_audit_log(event["awslogs"], problems, secret_name)
    known = ("namespaces", "dry_run", "cluster")
    problems.extend(
        f"event: unknown key {_shown(key)}; expected {', '.join(known)}, or a scheduled event"
        for key in event
        if key not in known
    )
    namespaces = _patterns(event, problems)
    dry_run = event.get("dry_run", False)
    if not isinstance(dry_run, bool):
        problems.append(f"event.dry_run: {_shown(dry_run)} is wrong; expected true or false")
    return Request(namespaces, dry_run, cluster=_cluster(event["cluster"], problems) if "cluster" in event else None)


def _cluster(value: object, problems: list[str]) -> OneOfFleet:
    """Return the cluster that an event names. Its form is that of an entry in the list of a fleet."""
    if not isinstance(value, dict):
        problems.append(
            f'event.cluster: {_shown(value)} is wrong; expected {{"name": "…", "region": "…"?, "role_arn": "…"?}}'
        )
        return OneOfFleet("")
    problems.extend(
        f"event.cluster: unknown key {_shown(key)}; expected {', '.join(_CLUSTER_KEYS)}"
        for key in value
        if key not in _CLUSTER_KEYS
    )
    for key, (pattern, expected) in _CLUSTER_KEYS.items():
        given = value.get(key)
        if (key in value or key == "name") and not (isinstance(given, str) and pattern.fullmatch(given)):
            problems.append(f"event.cluster.{key}: {_shown(given)} is wrong; expected {expected}")
    return OneOfFleet(value.get("name", ""), value.get("region"), value.get("role_arn"))


def _from_audit_log(awslogs: object, problems: list[str], secret_name: str) -> Request:
    try:
        return Request(audit_events.affected(awslogs, secret_name), from_audit_log=True)
    except audit_events.NotABatch as wrong:
        problems.append(f"event.awslogs: is not what CloudWatch Logs delivers; {wrong}")
        return Request()


def _adoption(event: object, problems: list[str]) -> Adoption:
    if not isinstance(event, dict):
        problems.append(f'event: {_shown(event)} is wrong; expected a JSON object, such as {{"action": "check"}}')
        return Adoption(Action.CHECK)
    if event.get("action") not in tuple(Action):
        problems.append(f"event.action: {_shown(event.get('action'))} is wrong; expected one of {', '.join(Action)}")
        return Adoption(Action.CHECK)
    action = Action(event["action"])
    known = ("action", "namespace" if action is Action.IMPORT else "namespaces")
    problems.extend(
        f"event: unknown key {_shown(key)}; expected {' and '.join(known)} with action {action}"
        for key in event
        if key not in known
    )
    if action is not Action.IMPORT:
        return Adoption(action, _patterns(event, problems))
    name = event.get("namespace")
    if not isinstance(name, str) or not is_pattern(name) or set(name) & set("*?"):
        problems.append(f"event.namespace: {_shown(name)} is wrong; expected a namespace's name")
        return Adoption(action)
    return Adoption(action, (name,))


def _patterns(event: Mapping[str, Any], problems: list[str]) -> tuple[str, ...]:
    namespaces = event.get("namespaces", [])
    if not isinstance(namespaces, list) or ("namespaces" in event and not namespaces):
        problems.append(
            f"event.namespaces: {_shown(namespaces)} is wrong; expected a list of names or globs, not empty"
        )
        return ()
    problems.extend(
        f"event.namespaces: {_shown(pattern)} is wrong; expected a namespace's name or a glob over such names"
        for pattern in namespaces
        if not isinstance(pattern, str) or not is_pattern(pattern)
    )
    return tuple(namespaces)
