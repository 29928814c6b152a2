"""The use case behind import: a live pull Secret's entries for other registries go to where they are kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from upsert import check
from upsert.adopt import AdoptReport
from upsert.adopt_request import AdoptRequest
from upsert.check import AdoptReader, AdoptWriter, Sources
from upsert.core import docker_auth, docker_config, import_plan, planning
from upsert.core.adoptions import Imported, Result
from upsert.core.docker_config import DATA_KEY, Entry, NotADockerConfig
from upsert.core.live import LiveObject
from upsert.core.names import Names
from upsert.core.objects import BadMaterial, Desired, Material, NothingYet, Object, Part
from upsert.core.remedies import Asked
from upsert.core.resources import SECRETS
from upsert.core.secrecy import secrets_in
from upsert.core.sensitive import Sensitive
from upsert.errors import ImportRefused, SourceFailed
from upsert.rounds import Again

_UNCHANGED = "nothing was imported"


@dataclass(frozen=True, slots=True)
class Version:
    """A value of the secret outside the cluster, with the id of its version."""

    value: Sensitive[str]
    id: str


class Kept(Protocol):
    """The secret outside the cluster with the entries for other registries."""

    @property
    def name(self) -> str: ...
    def fetch(self) -> Version | None: ...
    def put(self, value: Sensitive[str], *, over: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class ImportParts:
    """What an import is made of. `conceal` gets the values that are moved."""

    sources: Sources
    kept: Callable[[str], Kept]
    connect: Callable[[], tuple[AdoptWriter, AdoptReader]]
    record: Callable[[Result], None]
    conceal: Callable[[Sensitive[str]], None]


def import_entries(request: AdoptRequest, parts: ImportParts) -> AdoptReport:
    """Move a live Secret's entries for other registries to where they are kept, and return the report.

    Raises an `UpsertError` if that loses anything; then nothing has been written.
    """
    (one,) = request.objects
    part = _part(one)
    kept = parts.kept(part.ref.get("secret"))
    writer, reader = parts.connect()
    namespace = _namespace(writer, request, one)
    version = _fetched(kept, part)
    before = _entries_kept(kept.name, version)
    live = _entries_live(writer, reader, one, namespace)
    for entries in (live, before):
        # As a whole: which of the fields are public shows by their names.
        for secret in secrets_in(Sensitive(docker_config.write(entries).reveal().decode())):
            parts.conceal(secret)
    plan = import_plan.plan_import(live, before, _own_hosts(one, part, parts.sources))
    names = Names()
    if plan.contradicted:
        hosts = ", ".join(names.of_host(host) for host in plan.contradicted)
        raise ImportRefused(
            f"{namespace}: secret {kept.name} holds another value for {hosts}; {_UNCHANGED}. Find out which one is "
            "right, and remove the other"
        )
    _check_usable(one, part, plan.merged, parts.sources.build, f"{namespace}: secret {kept.name}")
    if plan.added:
        text = Sensitive(docker_config.write(plan.merged).reveal().decode())
        # Two imports at once read the same version, and only one of them moves on from it.
        if not kept.put(text, over=version.id if version else ""):
            raise ImportRefused(
                f"{namespace}: secret {kept.name} was changed by someone else meanwhile; {_UNCHANGED}. Import again"
            )
    result = Imported(
        one.title,
        namespace,
        added=tuple(names.of_host(host) for host in plan.added),
        present=tuple(names.of_host(host) for host in plan.present),
        left_out=tuple(names.of_host(host) for host in plan.left_to_ecr),
    )
    parts.record(result)
    return AdoptReport(request.action, (result,), writer.requests, reader.may_see_external_secrets)


def _part(one: Object) -> Part:
    """Return the part where entries for other registries are kept, in a secret of their own."""
    parts = [part for part in one.parts if part.place.endswith(".auths") and part.ref.get("secret")]
    if not parts:
        raise ImportRefused(
            f"{one.title}: has no place for entries of other registries; add `- auths: {{secret: NAME}}` to its "
            "registries in the file of objects"
        )
    for part in parts:
        if not part.ref.get("member"):
            return part
    raise ImportRefused(
        f"{one.title}: {parts[0].place} is one member of a secret, and an import writes a whole one; keep the entries "
        "in a secret of their own, without member"
    )


def _namespace(writer: AdoptWriter, request: AdoptRequest, one: Object) -> str:
    existing = {one.scope.selector: writer.namespaces(one.scope.selector, request.namespaces)}
    planning.plan([one], existing, requested=request.namespaces)
    return request.namespaces[0]


def _fetched(kept: Kept, part: Part) -> Version | None:
    try:
        return kept.fetch()
    except SourceFailed as why:
        raise why.at(part.place) from None


def _own_hosts(one: Object, kept: Part, sources: Sources) -> list[str]:
    """Return the hosts of the registries whose login is asked for anew each time."""
    readings = sources.read([part.ref for part in one.parts if part != kept])
    hosts = []
    for part in (part for part in one.parts if part != kept):
        reading = readings[part.ref]
        if isinstance(reading, SourceFailed):
            raise reading.at(part.place)
        if server := reading.data.get("server"):
            hosts.append(server.reveal().decode())
    return hosts


def _check_usable(
    one: Object,
    kept: Part,
    entries: Sequence[Entry],
    build: Callable[[Object, Mapping[str, Material]], Desired],
    whose: str,
) -> None:
    """Raise `ImportRefused` if no object could be made of what would be kept."""
    try:
        build(one, {kept.place: Material({"value": docker_config.write(entries)})})
    except NothingYet:
        return
    except BadMaterial as wrong:
        raise ImportRefused(f"{whose} would be of no use to a refresh: {wrong}; {_UNCHANGED}") from None


def _entries_kept(name: str, version: Version | None) -> tuple[Entry, ...]:
    if version is None:
        return ()
    try:
        return docker_config.entries_of(Sensitive(version.value.reveal().encode(errors="surrogatepass")))
    except NotADockerConfig as wrong:
        raise ImportRefused(f"secret {name}: {wrong}; {_UNCHANGED}") from None


def _entries_live(writer: AdoptWriter, reader: AdoptReader, one: Object, namespace: str) -> tuple[Entry, ...]:
    answer = reader.live(SECRETS.path(namespace, one.name))
    if answer.value is None:
        trouble = check.not_done(Asked(one.title, namespace, writer.identity, verb="read"), answer)
        trouble = trouble.result if isinstance(trouble, Again) else trouble
        why = "missing" if answer.is_not_found else getattr(trouble, "remedy", trouble.reason)
        raise ImportRefused(f"{namespace}: the Secret was not read: {why}; {_UNCHANGED}")
    return _entries_of(answer.value, namespace)


def _entries_of(live: LiveObject, namespace: str) -> tuple[Entry, ...]:
    text = live.data.get(DATA_KEY, Sensitive(b"")).reveal()
    if why := docker_auth.unreadable(text):
        raise ImportRefused(f"{namespace}: a kubelet cannot read its {DATA_KEY}: {why}; {_UNCHANGED}")
    try:
        entries = docker_config.parse(text).entries
    except NotADockerConfig as wrong:
        raise ImportRefused(f"{namespace}: its {DATA_KEY} is not a docker config: {wrong}; {_UNCHANGED}") from None
    if any(not (entry.host and entry.fields) for entry in entries):
        raise ImportRefused(f"{namespace}: an entry has no host or no fields, which cannot be kept; {_UNCHANGED}")
    return entries
