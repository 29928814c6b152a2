"""The use case of the adopter: read, compare, say verdicts, and adopt what loses nothing."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from upsert.core import docker_config, extra_registries, manifest, namespaces, outcomes, verdicts
from upsert.core.adoption import Adopted, Imported, Refused, Result, ending
from upsert.core.answers import Answer
from upsert.core.docker_config import Entry, Login, NotADockerConfig
from upsert.core.live import ExternalSecret, LiveSecret
from upsert.core.names import Names
from upsert.core.outcomes import Failed, Skipped
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Intention
from upsert.errors import ImportRefused, NamespacesFailed, UpsertError
from upsert.parallel import in_parallel
from upsert.settings import Action, Adoption, OnConflict, Settings

_NAMED_IN_ERROR = 5


class Cluster(Protocol):
    """The API server, as far as an adoption needs it."""

    @property
    def role_file(self) -> str: ...
    @property
    def requests(self) -> int: ...
    def namespaces(self, selector: str) -> Sequence[str]: ...
    def read_secret(self, namespace: str, name: str) -> Answer: ...
    def external_secrets(self, namespace: str, name: str) -> tuple[ExternalSecret, ...]: ...
    @property
    def may_see_external_secrets(self) -> bool: ...
    def adopt(self, namespace: str, name: str, manifest: Sensitive[bytes]) -> Answer: ...
    def remove_last_applied_from(self, namespace: str, name: str, patch: bytes) -> Answer: ...
    def may_start(self) -> bool: ...


class Kept(Protocol):
    """The secret outside the cluster with the entries for other registries."""

    def read(self) -> Sensitive[str] | None: ...
    def write(self, value: Sensitive[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to; `results` are in the order of their namespaces."""

    action: Action
    results: tuple[Result, ...]
    api_requests: int
    saw_external_secrets: bool

    @property
    def counts(self) -> dict[str, int]:
        """Return how many namespaces ended how."""
        return dict(Counter(ending(result) for result in self.results))

    def error(self) -> UpsertError | None:
        """Return the error that an adoption has to end with, if a Secret that is there was not adopted."""
        left = [result for result in self.results if isinstance(result, (Refused, Failed))]
        if self.action is not Action.ADOPT or not left:
            return None
        named = "; ".join(f"{result.namespace}: {result.reason}" for result in left[:_NAMED_IN_ERROR])
        more = f"; and {len(left) - _NAMED_IN_ERROR} more" if len(left) > _NAMED_IN_ERROR else ""
        return NamespacesFailed(
            f"{len(left)} of {len(self.results)} namespaces were not adopted: {named}{more}. The log has every line"
        )


def run(
    settings: Settings,
    request: Adoption,
    *,
    logins: Callable[[], Sequence[Login]],
    kept: Callable[[], Kept],
    connect: Callable[[], Cluster],
    record: Callable[[Result], None],
    conceal: Callable[[Sensitive[str]], None],
) -> Report:
    """Do what the request asks for, give each result to `record` as it comes, and return the report.

    `conceal` gets the credentials that are kept outside the cluster.
    Raises a `UpsertError` if the run cannot go on; then nothing has been written.
    """
    if request.action is Action.IMPORT:
        return _import_entries(settings, request, kept=kept(), cluster=connect(), record=record, conceal=conceal)
    granted = logins()
    extra = _extra_entries(settings, request, kept)
    for credential in (credential for entry in extra for credential in entry.credentials):
        conceal(credential)
    new = Intention(
        settings.secret_name, docker_config.merge(granted, extra), frozenset(login.host for login in granted)
    )
    cluster = connect()
    one = partial(_one, cluster, settings, new, request.action)
    results: list[Result] = []
    planned = _plan(cluster, settings, request)
    for result in in_parallel(one, planned, workers=settings.concurrency, broken=outcomes.broken):
        record(result)
        results.append(result)
    results.sort(key=lambda result: result.namespace)
    return Report(request.action, tuple(results), cluster.requests, cluster.may_see_external_secrets)


def _extra_entries(settings: Settings, request: Adoption, kept: Callable[[], Kept]) -> tuple[Entry, ...]:
    if not settings.extra_registries_secret:
        return ()
    # Before the first import nothing is kept yet, and a check is what tells how to go on.
    read = extra_registries.read_if_any if request.action is Action.CHECK else extra_registries.read
    return read(kept().read())


def _plan(cluster: Cluster, settings: Settings, request: Adoption) -> Sequence[str]:
    return namespaces.plan(
        cluster.namespaces(settings.namespace_selector),
        include=settings.include_namespaces,
        exclude=settings.exclude_namespaces,
        requested=request.namespaces,
    )


def _one(cluster: Cluster, settings: Settings, new: Intention, action: Action, namespace: str) -> Result:
    """Return what became of one namespace: its check, and then, if that is clean, its adoption."""
    if not cluster.may_start():
        return outcomes.deadline(namespace)
    answer = cluster.read_secret(namespace, new.secret_name)
    if answer.status == 404 and not answer.trouble:
        return verdicts.missing(namespace, new.secret_name)
    if answer.secret is None:
        return _failed(cluster, namespace, answer)
    check = verdicts.check(
        namespace,
        answer.secret,
        new,
        external_secrets=cluster.external_secrets(namespace, new.secret_name),
        refuses_conflicts=settings.on_conflict is OnConflict.REFUSE,
    )
    if action is Action.CHECK:
        return check
    if not check.adoptable:
        return Refused(namespace, check.conclusion, check)
    return _adopt(cluster, new.secret_name, namespace, answer.secret)


def _adopt(cluster: Cluster, name: str, namespace: str, live: LiveSecret) -> Result:
    """Return what became of a Secret whose check is clean.

    Whether it is ours now is read back and not concluded from the answers to the writes: the answer to a write that
    did happen may be lost.
    """
    trouble = _write(cluster, name, namespace, live)
    read = cluster.read_secret(namespace, name)
    now = read.secret
    if (
        now
        and now.is_ours
        and not now.last_applied
        and (now.uid, now.data, now.type) == (live.uid, live.data, live.type)
    ):
        if now.ownership == live.ownership:
            return Adopted(
                namespace,
                uid=now.uid,
                resource_version=now.resource_version,
                verdicts=verdicts.same(live, now),
                written=now.resource_version != live.resource_version,
                removed_last_applied=bool(live.last_applied),
            )
        return Refused(namespace, "ownerReferences or finalizers changed while it was adopted; check again")
    if trouble and not (trouble.precondition_failed or trouble.is_conflict_of_managers):
        return _failed(cluster, namespace, trouble)
    if not (now or read.status == 404):
        return _failed(cluster, namespace, read)
    return Refused(namespace, "changed since the check; check again")


def _write(cluster: Cluster, name: str, namespace: str, live: LiveSecret) -> Answer | None:
    """Claim the live value and remove kubectl's copy; return the first answer that is no success, or None."""
    version = live.resource_version
    if not live.is_ours:
        document = manifest.adoption(name, live.data[manifest.DATA_KEY], uid=live.uid, resource_version=version)
        answer = cluster.adopt(namespace, name, document)
        if not answer.succeeded:
            return answer
        version = answer.resource_version
    if live.last_applied:
        patch = manifest.without_last_applied(live.uid, version)
        answer = cluster.remove_last_applied_from(namespace, name, patch)
        if not answer.succeeded:
            return answer
    return None


def _failed(cluster: Cluster, namespace: str, answer: Answer) -> Refused | Failed:
    outcome = outcomes.not_applied(namespace, answer)
    if isinstance(outcome, Skipped):
        return Refused(namespace, f"the namespace is {outcome.reason}")
    if outcome.reason == "forbidden" and answer.missing_verb:
        remedy = f"the function's group may not {answer.missing_verb} this Secret; apply {cluster.role_file} with the "
        return replace(outcome, remedy=f"{remedy}Secret's name in resourceNames")
    return outcome


def _import_entries(
    settings: Settings,
    request: Adoption,
    *,
    kept: Kept,
    cluster: Cluster,
    record: Callable[[Result], None],
    conceal: Callable[[Sensitive[str]], None],
) -> Report:
    """Move a live Secret's entries for other registries to where they are kept, and return the report."""
    (namespace,) = _plan(cluster, settings, request)
    before = extra_registries.read_if_any(kept.read())
    answer = cluster.read_secret(namespace, settings.secret_name)
    if answer.secret is None:
        trouble = _failed(cluster, namespace, answer)
        remedy = trouble.remedy if isinstance(trouble, Failed) else trouble.reason
        raise ImportRefused(f"{namespace}: the Secret was not read: {'missing' if answer.status == 404 else remedy}")
    config = answer.secret.data.get(manifest.DATA_KEY)
    try:
        live = docker_config.read(config.reveal() if config else b"").entries
    except NotADockerConfig as wrong:
        raise ImportRefused(f"{namespace}: its {manifest.DATA_KEY} is not a docker config: {wrong}") from None
    if any(not (entry.host and entry.fields) for entry in live):
        raise ImportRefused(
            f"{namespace}: an entry has no host or no fields, which cannot be kept; nothing was imported"
        )
    for credential in (credential for entry in (*live, *before) for credential in entry.credentials):
        conceal(credential)
    plan = extra_registries.plan_import(live, before, [registry.host for registry in settings.registries])
    names = Names()
    if plan.contradicted:
        hosts = ", ".join(names.of_host(host) for host in plan.contradicted)
        raise ImportRefused(
            f"{namespace}: EXTRA_REGISTRIES_SECRET holds another value for {hosts}; nothing was imported. Find out "
            "which one is right, and remove the other"
        )
    if plan.added:
        text = Sensitive(docker_config.write(plan.merged).reveal().decode())
        kept.write(text)
        if kept.read() != text:
            raise ImportRefused(
                f"{namespace}: EXTRA_REGISTRIES_SECRET was changed by someone else meanwhile; import again"
            )
    result = Imported(
        namespace,
        added=tuple(names.of_host(host) for host in plan.added),
        present=tuple(names.of_host(host) for host in plan.present),
        left_out=tuple(names.of_host(host) for host in plan.left_to_ecr),
    )
    record(result)
    return Report(request.action, (result,), cluster.requests, cluster.may_see_external_secrets)
