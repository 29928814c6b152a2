"""The environment and the event, checked whole and frozen."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from pullsecret.core.namespaces import is_pattern
from pullsecret.core.registries import Registry
from pullsecret.errors import SettingsError


class OnConflict(StrEnum):
    """What to do about a Secret that another field manager writes."""

    TAKE_OVER = "take-over"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the template's parameters say. Each field is the environment variable of the same name in upper case."""

    cluster_name: str
    secret_name: str
    registries: tuple[Registry, ...]
    include_namespaces: tuple[str, ...]
    exclude_namespaces: tuple[str, ...]
    namespace_selector: str
    on_conflict: OnConflict
    concurrency: int
    log_level: str
    schedule: timedelta


@dataclass(frozen=True, slots=True)
class Request:
    """What the event asks for: `namespaces` are names or globs, empty for all; `dry_run` writes nothing."""

    namespaces: tuple[str, ...] = ()
    dry_run: bool = False


def load(environment: Mapping[str, str], event: object) -> tuple[Settings, Request]:
    """Return the settings and the request. Raises `SettingsError` that names every bad field at once."""
    problems: list[str] = []
    values = {name: _field(name, environment, problems) for name in _READERS}
    request = _request(event, problems)
    if problems:
        raise SettingsError(problems)
    return Settings(**values), request


def _field(name: str, environment: Mapping[str, str], problems: list[str]) -> Any:
    variable = name.upper()
    text = environment.get(variable, _DEFAULTS.get(name, ""))
    try:
        return _READERS[name](text)
    except _BadValue as bad:
        problems.append(f"{variable}: {bad}" if bad.says_value else f"{variable}: {_shown(text)} is wrong; {bad}")
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
        re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}"),
        "a role ARN such as arn:aws:iam::111122223333:role/pull",
    ),
    "host": (
        re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:[0-9]{1,5})?"),
        "a bare host without https:// and path, such as 111122223333.dkr.ecr.eu-central-1.amazonaws.com",
    ),
}


def _registries(text: str) -> tuple[Registry, ...]:
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


def _registry(place: str, entry: object) -> Registry:
    if not isinstance(entry, dict):
        raise _BadValue(f"{place} is {_shown(entry)}; expected an object", says_value=True)
    if unknown := sorted(set(entry) - set(_REGISTRY_KEYS)):
        raise _BadValue(
            f"{place} has the unknown key {_shown(unknown[0])}; known: {', '.join(_REGISTRY_KEYS)}", says_value=True
        )
    if missing := [key for key in ("account", "region") if key not in entry]:
        raise _BadValue(f"{place} has no {missing[0]}; expected {_REGISTRY_KEYS[missing[0]][1]}", says_value=True)
    for key, value in entry.items():
        pattern, expected = _REGISTRY_KEYS[key]
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _BadValue(f"{place}.{key} is {_shown(value)}; expected {expected}", says_value=True)
    return Registry(entry["account"], entry["region"], entry.get("role_arn"), entry.get("host"))


_READERS: dict[str, Callable[[str], Any]] = {
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
    "cluster_name": _matching(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", "the name of an EKS cluster"),
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


def _request(event: object, problems: list[str]) -> Request:
    if not isinstance(event, dict):
        problems.append(f"event: {_shown(event)} is wrong; expected a JSON object, such as {{}}")
        return Request()
    if event.get("detail-type") == "Scheduled Event" and event.get("source") in _SCHEDULED_SOURCES:
        return Request()
    known = ("namespaces", "dry_run")
    problems.extend(
        f"event: unknown key {_shown(key)}; expected {' and '.join(known)}, or a scheduled event"
        for key in event
        if key not in known
    )
    namespaces = event.get("namespaces", [])
    if not isinstance(namespaces, list) or ("namespaces" in event and not namespaces):
        problems.append(
            f"event.namespaces: {_shown(namespaces)} is wrong; expected a list of names or globs, not empty"
        )
        namespaces = []
    problems.extend(
        f"event.namespaces: {_shown(pattern)} is wrong; expected a namespace's name or a glob over such names"
        for pattern in namespaces
        if not isinstance(pattern, str) or not is_pattern(pattern)
    )
    dry_run = event.get("dry_run", False)
    if not isinstance(dry_run, bool):
        problems.append(f"event.dry_run: {_shown(dry_run)} is wrong; expected true or false")
    return Request(tuple(namespaces), dry_run)
