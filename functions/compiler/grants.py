"""Decides what the refresher, or the adopter, must be allowed in a cluster: as few names as possible in each place."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.checks import ObjectsFile
from upsert import kinds
from upsert.core.fields import shown
from upsert.core.namespaces import is_any, is_name
from upsert.core.objects import Object, Scope
from upsert.core.resources import SERVICE_ACCOUNTS, Resource
from upsert.errors import InputError

type Names = dict[Resource, set[str]]


@dataclass(frozen=True, slots=True)
class Grants:
    """Names of what is written, by resource: in every namespace, and by namespace where the file names them all.

    `accounts` are the ServiceAccounts that are looked for, which is done in all namespaces at once.
    """

    everywhere: Names = field(default_factory=dict)
    local: dict[str, Names] = field(default_factory=dict)
    accounts: set[str] = field(default_factory=set)


def grants(found: ObjectsFile, *, cluster: str = "", has_accounts: bool = True) -> Grants:
    """Return what writing the objects of a file needs, in one of its clusters or in all of them.

    Raises `InputError` if the file has no such cluster, or needs one to be named.
    """
    wanted = Grants()
    for one in _objects_for(found, cluster):
        named = _named(one.scope)
        for names in [wanted.local.setdefault(namespace, {}) for namespace in named] or [wanted.everywhere]:
            _add(names, kinds.of(one).resource, (one.name,))
            _add(names, SERVICE_ACCOUNTS, one.service_accounts if has_accounts else ())
        wanted.accounts.update(one.service_accounts if has_accounts else ())
    local = {namespace: _less(names, wanted.everywhere) for namespace, names in sorted(wanted.local.items())}
    return Grants(wanted.everywhere, {namespace: names for namespace, names in local.items() if names}, wanted.accounts)


def _objects_for(found: ObjectsFile, cluster: str) -> tuple[Object, ...]:
    names = [one.name for one in found.clusters]
    if cluster and cluster not in names:
        expected = f"one of {shown(', '.join(names))}" if names else "none, since the file has no clusters"
        raise InputError([f"cluster {shown(cluster)} is not in the file of objects; expected {expected}"])
    by_cluster = {name: tuple(one for one in found.objects if one.is_for(name)) for name in names}
    if cluster or not names:
        return by_cluster.get(cluster, found.objects)
    if len(set(by_cluster.values())) > 1:
        raise InputError([f"the clusters get different objects, so one has to be named: {shown(', '.join(names))}"])
    return by_cluster[names[0]]


def _named(scope: Scope) -> tuple[str, ...]:
    """Return the namespaces of a scope if the file names each of them, else nothing."""
    if not all(map(is_name, scope.include)):
        return ()
    return tuple(name for name in scope.include if not is_any(name, scope.exclude))


def _add(names: Names, resource: Resource, more: Iterable[str]) -> None:
    for name in more:
        names.setdefault(resource, set()).add(name)


def _less(names: Names, others: Names) -> Names:
    left = {resource: mine - others.get(resource, set()) for resource, mine in names.items()}
    return {resource: mine for resource, mine in left.items() if mine}
