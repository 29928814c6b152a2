"""Entries for other registries than ECR, kept in AWS Secrets Manager as ``{"auths": {…}}``."""

from collections.abc import Sequence
from dataclasses import dataclass

from upsert.core import docker_config
from upsert.core.docker_config import Entry, NotADockerConfig
from upsert.core.registries import is_ecr
from upsert.core.sensitive import Sensitive
from upsert.errors import ExtraRegistriesError

_FORM = 'expected {"auths": {"HOST": {"username": "…", "password": "…", "auth": "…"}}} with at least one host'
_UNTOUCHED = "No namespace was touched"


@dataclass(frozen=True, slots=True)
class Import:
    """What becomes of a live Secret's entries; `merged` is the new whole. Hosts are in the order of the live Secret."""

    added: tuple[str, ...]
    present: tuple[str, ...]
    contradicted: tuple[str, ...]
    left_to_ecr: tuple[str, ...]
    merged: tuple[Entry, ...]


def read(value: Sensitive[str] | None) -> tuple[Entry, ...]:
    """Return the entries of the secret's value, in their order and with their fields as they are.

    None is a secret that holds no value yet. Raises `ExtraRegistriesError` for that, for an empty and a malformed one.
    """
    entries = read_if_any(value)
    if not entries:
        raise ExtraRegistriesError(f"EXTRA_REGISTRIES_SECRET holds no entry; {_FORM}. {_UNTOUCHED}")
    return entries


def read_if_any(value: Sensitive[str] | None) -> tuple[Entry, ...]:
    """Return the entries like `read`, and none for a secret that holds none yet."""
    if value is None or not value.reveal().strip():
        return ()
    try:
        config = docker_config.read(value.reveal().encode(errors="surrogatepass"))
    except NotADockerConfig as wrong:
        raise ExtraRegistriesError(f"EXTRA_REGISTRIES_SECRET is malformed: {wrong}; {_FORM}. {_UNTOUCHED}") from None
    if config.others:
        raise ExtraRegistriesError(f"EXTRA_REGISTRIES_SECRET holds more than auths; {_FORM}. {_UNTOUCHED}")
    if any(not one.host or not one.fields for one in config.entries):
        raise ExtraRegistriesError(
            f"EXTRA_REGISTRIES_SECRET has an entry without host or fields; {_FORM}. {_UNTOUCHED}"
        )
    return config.entries


def plan_import(live: Sequence[Entry], kept: Sequence[Entry], own_hosts: Sequence[str]) -> Import:
    """Return how the live entries go into those that are kept already, for a refresher of `own_hosts`.

    Nothing kept is changed: a host with another value there is contradicted. An entry of any ECR registry stays out,
    since its password is worth nothing after 12 hours.
    """
    own = {docker_config.bare(host) for host in own_hosts}
    there = {one.host: one for one in kept}
    left = [one for one in live if docker_config.bare(one.host) in own or is_ecr(docker_config.bare(one.host))]
    others = [one for one in live if one not in left]
    added = [one for one in others if one.host not in there]
    return Import(
        added=tuple(one.host for one in added),
        present=tuple(one.host for one in others if there.get(one.host) == one),
        contradicted=tuple(one.host for one in others if one.host in there and there[one.host] != one),
        left_to_ecr=tuple(one.host for one in left),
        merged=(*kept, *added),
    )
