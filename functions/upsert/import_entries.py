"""The import of a pull Secret: its entries for other registries go to where they are kept."""

from upsert.adopt import AdoptReport
from upsert.adopt_request import AdoptRequest
from upsert.check import Sources
from upsert.core import docker_auth, docker_config, import_plan
from upsert.core.adoptions import Imported
from upsert.core.docker_config import DATA_KEY, Entry, NotADockerConfig
from upsert.core.live import LiveObject
from upsert.core.names import Names
from upsert.core.objects import Material, Object, Part
from upsert.core.secrecy import secrets_in
from upsert.core.sensitive import Sensitive
from upsert.core.value_plan import MOST_BYTES, SECRET, Store, Version
from upsert.errors import ImportRefused, SourceFailed
from upsert.importing import UNCHANGED, ImportParts, Kept, check_usable, live_object

_BY_ECR = "ECR gives a new password each time"


def import_entries(request: AdoptRequest, parts: ImportParts) -> AdoptReport:
    """Move a live Secret's entries for other registries to where they are kept, and return the report.

    Raises an `UpsertError` if that loses anything; then nothing has been written.
    """
    (one,) = request.objects
    part = _part(one)
    name = part.ref.get("secret")
    kept = parts.kept(Store.of(part.ref))
    writer, reader = parts.connect()
    (namespace,) = request.namespaces
    live = _entries_of(live_object(writer, reader, request, parts.resource(one)), namespace)
    version = _fetched(kept, part)
    before = _entries_kept(name, version)
    for entries in (live, before):
        # As a whole: which of the fields are public shows by their names.
        for secret in secrets_in(Sensitive(docker_config.write(entries).reveal().decode())):
            parts.conceal(secret)
    hosts = _own_hosts(one, parts.sources)
    plan = import_plan.plan_import(live, before, list(hosts))
    names = Names()
    if plan.contradicted:
        named = ", ".join(names.of_host(host) for host in plan.contradicted)
        raise ImportRefused(
            f"{namespace}: secret {name} holds another value for {named}; {UNCHANGED}. Find out which one is right, "
            "and remove the other"
        )
    whole = docker_config.write(plan.merged)
    size = len(whole.reveal())
    if plan.added and size > MOST_BYTES[SECRET]:
        raise ImportRefused(
            f"{namespace}: secret {name} would have {size} bytes; {MOST_BYTES[SECRET]} are the most that it holds; "
            f"{UNCHANGED}"
        )
    check_usable(parts.sources, one, {part.place: Material({"value": whole})}, f"{namespace}: secret {name}")
    if plan.added:
        text = Sensitive(whole.reveal().decode())
        # Two imports at once read the same version, and only one of them moves on from it.
        if not kept.put(text, over=version.id if version else ""):
            raise ImportRefused(
                f"{namespace}: secret {name} was changed by someone else meanwhile; {UNCHANGED}. Import again"
            )
        now = _entries_kept(name, _fetched(kept, part))
        if missing := [host for host in plan.added if not any(entry in now for entry in live if entry.host == host)]:
            named = ", ".join(names.of_host(host) for host in missing)
            raise ImportRefused(
                f"{namespace}: {named} was imported, but secret {name} does not hold it; somebody may have changed it "
                "since. Check again"
            )
    result = Imported(
        one.title,
        namespace,
        added=tuple(names.of_host(host) for host in plan.added),
        present=tuple(names.of_host(host) for host in plan.present),
        left_out={names.of_host(host): hosts.get(docker_config.bare(host), _BY_ECR) for host in plan.left_to_ecr},
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
        if [name for name, _ in part.ref.fields] == ["secret"]:
            return part
    raise ImportRefused(
        f"{one.title}: {parts[0].place} is one member of a secret, or not the current value of one of this account, "
        "and an import writes a whole one; keep the entries in a secret of their own, with nothing beside its name"
    )


def _fetched(kept: Kept, part: Part) -> Version | None:
    try:
        return kept.fetch()
    except SourceFailed as why:
        raise why.at(part.place) from None


def _own_hosts(one: Object, sources: Sources) -> dict[str, str]:
    """Return the hosts, in one spelling, whose logins the file has sources of their own for, each with which."""
    logins = [part for part in one.parts if not part.place.endswith((".auths", ".username", ".password", ".email"))]
    readings = sources.read([part.ref for part in logins])
    hosts = {}
    for part in logins:
        reading = readings[part.ref]
        if isinstance(reading, SourceFailed):
            raise reading.at(part.place)
        is_new_each_time = "server" in reading.data
        host = reading.data["server" if is_new_each_time else "value"].reveal().decode()
        hosts[docker_config.bare(host)] = _BY_ECR if is_new_each_time else "the file has a login of its own for it"
    return hosts


def _entries_kept(name: str, version: Version | None) -> tuple[Entry, ...]:
    if version is None:
        return ()
    try:
        return docker_config.entries_of(Sensitive(version.value.reveal().encode(errors="surrogatepass")))
    except NotADockerConfig as wrong:
        raise ImportRefused(f"secret {name}: {wrong}; {UNCHANGED}") from None


def _entries_of(live: LiveObject, namespace: str) -> tuple[Entry, ...]:
    text = live.data.get(DATA_KEY, Sensitive(b"")).reveal()
    if why := docker_auth.unreadable(text):
        raise ImportRefused(f"{namespace}: a kubelet cannot read its {DATA_KEY}: {why}; {UNCHANGED}")
    try:
        entries = docker_config.parse(text).entries
    except NotADockerConfig as wrong:
        raise ImportRefused(f"{namespace}: its {DATA_KEY} is not a docker config: {wrong}; {UNCHANGED}") from None
    if any(not (entry.host and entry.fields) for entry in entries):
        raise ImportRefused(f"{namespace}: an entry has no host or no fields, which cannot be kept; {UNCHANGED}")
    return entries
