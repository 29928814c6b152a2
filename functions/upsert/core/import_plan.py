"""Which entries of a live docker config go into the secret where those for other registries are kept."""

from collections.abc import Sequence
from dataclasses import dataclass

from upsert.core import docker_config
from upsert.core.docker_auth import is_ecr
from upsert.core.docker_config import Entry


@dataclass(frozen=True, slots=True)
class Import:
    """What becomes of a live Secret's entries; `merged` is the new whole. Hosts are in the order of the live Secret."""

    added: tuple[str, ...]
    present: tuple[str, ...]
    contradicted: tuple[str, ...]
    left_to_ecr: tuple[str, ...]
    merged: tuple[Entry, ...]


def plan_import(live: Sequence[Entry], kept: Sequence[Entry], own_hosts: Sequence[str]) -> Import:
    """Return how the live entries go into those that are kept already, for a refresher of `own_hosts`.

    Nothing kept is changed: a host with another value there is contradicted. An entry of any ECR registry stays out,
    since its password is worth nothing after 12 hours.
    """
    own = {docker_config.bare(host) for host in own_hosts}
    there = {one.host: one for one in kept}
    left: list[Entry] = []
    others: list[Entry] = []
    for one in live:
        host = docker_config.bare(one.host)
        (left if host in own or is_ecr(one.host) else others).append(one)
    added = [one for one in others if one.host not in there]
    return Import(
        added=tuple(one.host for one in added),
        present=tuple(one.host for one in others if there.get(one.host) == one),
        contradicted=tuple(one.host for one in others if one.host in there and there[one.host] != one),
        left_to_ecr=tuple(one.host for one in left),
        merged=(*kept, *added),
    )
