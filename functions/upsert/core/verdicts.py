"""What would change if the refresher wrote over a live Secret: verdicts, never values."""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from upsert.core import differences, docker_config, redaction
from upsert.core.docker_config import Entry, NotADockerConfig
from upsert.core.live import ExternalSecret, LiveSecret
from upsert.core.manifest import DATA_KEY, SECRET_TYPE
from upsert.core.names import Names
from upsert.core.sensitive import Sensitive

# What a fresh login changes, and nothing else.
_ROTATING_FIELDS = ("password", "auth")


class Kind(StrEnum):
    """How one key of the live Secret relates to what a refresh would write."""

    MATCH = "MATCH"
    MISMATCH = "MISMATCH"
    ROTATES = "ROTATES"
    ONLY_IN_LIVE = "ONLY IN LIVE"
    ONLY_IN_NEW = "ONLY IN NEW"
    MISSING = "MISSING"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one key. Lengths are in bytes, where both sides have a value; `differences` say what differs.

    `loses_nothing` is whether a refresh may go ahead for all that this key says.
    """

    key: str
    kind: Kind
    live_bytes: int | None = None
    new_bytes: int | None = None
    differences: tuple[str, ...] = ()
    loses_nothing: bool = True

    def __str__(self) -> str:
        if self.kind not in (Kind.MISMATCH, Kind.ROTATES):
            return f"{self.key}: {self.kind}"
        lengths = f"{self.live_bytes} vs {self.new_bytes} bytes"
        return f"{self.key}: {self.kind} ({'; '.join((lengths, *self.differences))})"


@dataclass(frozen=True, slots=True)
class Intention:
    """What a refresh would write: its entries, and the hosts whose password is new each time."""

    secret_name: str
    entries: tuple[Entry, ...]
    rotating: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Check:
    """All that is said about the Secret of one namespace.

    `notes` say what may go wrong after an adoption; `reasons` say why there can be none, and are empty if it can.
    """

    namespace: str
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    live: LiveSecret | None = field(default=None, repr=False)

    @property
    def adoptable(self) -> bool:
        """Return whether the Secret can be adopted and then refreshed without losing anything."""
        return not self.reasons

    @property
    def lines(self) -> list[str]:
        """Return the lines to print: the keys, sorted, then the notes, then the conclusion."""
        keys = sorted(f"{self.namespace}/{verdict}" for verdict in self.verdicts)
        notes = [f"{self.namespace}: note: {note}" for note in self.notes]
        return [*keys, *notes, f"{self.namespace}: {self.conclusion}"]

    @property
    def conclusion(self) -> str:
        """Return ``adoptable``, or ``not adoptable`` with the reasons."""
        return "adoptable" if self.adoptable else f"not adoptable: {'; '.join(self.reasons)}"


def check(
    namespace: str,
    live: LiveSecret,
    new: Intention,
    *,
    external_secrets: Sequence[ExternalSecret] = (),
    refuses_conflicts: bool = False,
) -> Check:
    """Return what a refresh would change in the live Secret.

    `refuses_conflicts` is whether the refresher leaves a Secret alone that another field manager writes.
    """
    verdicts = compare(live.data, new)
    found = Check(
        namespace,
        verdicts,
        notes=tuple(_notes(live, external_secrets, refuses_conflicts=refuses_conflicts)),
        reasons=tuple(_reasons(live, verdicts)),
        live=live,
    )
    if redaction.reveals("\n".join(found.lines), credentials_in(live.data)):
        return Check(
            namespace, (), reasons=("a name in it holds part of a password, so no line is printed",), live=live
        )
    return found


def missing(namespace: str, secret_name: str) -> Check:
    """Return the check of a namespace without the Secret."""
    verdict = Verdict(secret_name, Kind.MISSING, loses_nothing=False)
    return Check(namespace, (verdict,), reasons=("missing (the next refresh creates it)",))


def compare(live: Mapping[str, Sensitive[bytes]], new: Intention) -> tuple[Verdict, ...]:
    """Return one verdict per data key, and per field of each host in the docker config."""
    names = Names()
    others = [Verdict(names.of_key(key), Kind.ONLY_IN_LIVE, loses_nothing=False) for key in live if key != DATA_KEY]
    return (*_of_docker_config(live.get(DATA_KEY), new, names), *others)


def same(before: LiveSecret, after: LiveSecret) -> tuple[Verdict, ...]:
    """Return the verdicts that prove that nothing changed, or show what did."""
    config = before.data.get(DATA_KEY)
    try:
        entries = docker_config.read(config.reveal()).entries if config else ()
    except NotADockerConfig:
        entries = ()
    verdicts = []
    for verdict in compare(after.data, Intention("", entries)):
        if verdict.key == DATA_KEY and config and (now := after.data.get(DATA_KEY)):
            # The bytes themselves, not another rendering of the same entries.
            verdicts.append(_of_value(DATA_KEY, now, config))
        else:
            verdicts.append(verdict)
    return tuple(verdicts)


def credentials_in(data: Mapping[str, Sensitive[bytes]]) -> Iterator[Sensitive[str]]:
    """Give the values of the docker config that nobody may see."""
    config = data.get(DATA_KEY)
    try:
        entries = docker_config.read(config.reveal()).entries if config else ()
    except NotADockerConfig:
        return
    for entry in entries:
        yield from entry.credentials
        # As `docker login` writes it, the password is nowhere else.
        if auth := entry.get("auth"):
            try:
                yield Sensitive(base64.b64decode(auth.reveal()).decode().partition(":")[2])
            except ValueError:
                continue
    yield from (Sensitive(value.reveal().decode(errors="replace")) for key, value in data.items() if key != DATA_KEY)


def _of_docker_config(live: Sensitive[bytes] | None, new: Intention, names: Names) -> Iterator[Verdict]:
    if live is None:
        yield Verdict(DATA_KEY, Kind.ONLY_IN_NEW)
        return
    text = live.reveal()
    try:
        config = docker_config.read(text)
    except NotADockerConfig as wrong:
        lengths = len(text), len(docker_config.write(new.entries).reveal())
        yield Verdict(DATA_KEY, Kind.MISMATCH, *lengths, ("not a docker config", str(wrong)), loses_nothing=False)
        return
    pairs, only_new = _pair(config.entries, new.entries)
    yield _of_text(text, _as_if_not_rotated(pairs, new))
    yield from (
        Verdict(f"{DATA_KEY}/{names.of_member(other)}", Kind.ONLY_IN_LIVE, loses_nothing=False)
        for other in config.others
    )
    for live_entry, new_entry in pairs:
        yield from _of_entry(live_entry, new_entry, new, names)
    for entry in only_new:
        host = names.of_host(entry.host)
        yield from (Verdict(f"{host}/{names.of_field(name)}", Kind.ONLY_IN_NEW) for name, _ in entry.fields)


type _Pair = tuple[Entry, Entry | None]


def _pair(live: Sequence[Entry], new: Sequence[Entry]) -> tuple[list[_Pair], list[Entry]]:
    """Return each live entry with its counterpart, if any, and the new entries that are left over.

    Equal hosts go together first; what is left is paired in spite of its spelling.
    """
    left = {entry.host: entry for entry in new}
    exact = {entry.host: left.pop(entry.host) for entry in live if entry.host in left}
    pairs: list[_Pair] = []
    for entry in live:
        mine = exact.get(entry.host)
        if mine is None and (
            alike := [host for host in left if docker_config.bare(host) == docker_config.bare(entry.host)]
        ):
            mine = left.pop(alike[0])
        pairs.append((entry, mine))
    return pairs, list(left.values())


def _as_if_not_rotated(pairs: Iterable[_Pair], new: Intention) -> bytes:
    """Return the bytes that a refresh would write if the registry's password were still the live one."""
    kept = {
        mine.host: mine.with_values_of(theirs, _ROTATING_FIELDS)
        for theirs, mine in pairs
        if mine and mine.host in new.rotating
    }
    return docker_config.write(kept.get(entry.host, entry) for entry in new.entries).reveal()


def _of_text(live: bytes, new: bytes) -> Verdict:
    """Return the verdict on the text as a whole. What its entries lose, if anything, their own verdicts say."""
    if live == new:
        return Verdict(DATA_KEY, Kind.MATCH)
    notes = differences.of_texts(live, new) or ("its entries differ",)
    return Verdict(DATA_KEY, Kind.MISMATCH, len(live), len(new), notes)


def _of_entry(live: Entry, mine: Entry | None, new: Intention, names: Names) -> Iterator[Verdict]:
    host = names.of_host(live.host)
    if mine is None:
        keys = [f"{host}/{names.of_field(name)}" for name, _ in live.fields] or [host]
        yield from (Verdict(key, Kind.ONLY_IN_LIVE, loses_nothing=False) for key in keys)
        return
    if live.host != mine.host:
        notes = differences.of_hosts(live.host, mine.host)
        lengths = len(live.host.encode(errors="surrogatepass")), len(mine.host.encode())
        yield Verdict(host, Kind.MISMATCH, *lengths, notes, loses_nothing=False)
    for name, value in live.fields:
        key, other = f"{host}/{names.of_field(name)}", mine.get(name)
        if other is None:
            yield Verdict(key, Kind.ONLY_IN_LIVE, loses_nothing=False)
        elif mine.host in new.rotating and name in _ROTATING_FIELDS:
            contradictions = _contradictions(value, live, mine) if name == "auth" else ()
            yield _of_rotating(key, _bytes(value), _bytes(other), contradictions)
        else:
            yield _of_value(key, _bytes(value), _bytes(other))
    only_new = [name for name, _ in mine.fields if live.get(name) is None]
    yield from (Verdict(f"{host}/{names.of_field(name)}", Kind.ONLY_IN_NEW) for name in only_new)


def _of_rotating(key: str, live: Sensitive[bytes], new: Sensitive[bytes], contradictions: tuple[str, ...]) -> Verdict:
    """Return the verdict on a value that is meant to differ, unless it contradicts its own entry."""
    a, b = live.reveal(), new.reveal()
    if a == b:
        return Verdict(key, Kind.MATCH)
    if contradictions:
        return Verdict(key, Kind.MISMATCH, len(a), len(b), contradictions, loses_nothing=False)
    return Verdict(key, Kind.ROTATES, len(a), len(b), differences.of_values(a, a.strip()))


def _contradictions(auth: Sensitive[str], live: Entry, mine: Entry) -> tuple[str, ...]:
    """Return why the live ``auth`` is not username:password, with what it differs by, or nothing if it is."""
    username, password = live.get("username") or mine.get("username"), live.get("password")
    start = (username.reveal() if username else "").encode(errors="surrogatepass") + b":"
    # A kubelet's decoder (Go's encoding/base64) passes over line breaks; base64(1) puts one after every 76 characters.
    unbroken = auth.reveal().replace("\r", "").replace("\n", "")
    try:
        decoded = base64.b64decode(unbroken, validate=True)
    except ValueError:
        return ("auth is not base64",)
    if password is None:
        return () if decoded.startswith(start) else ("auth is not for this username",)
    expected = start + _bytes(password).reveal()
    return () if decoded == expected else ("auth is not username:password", *differences.of_values(decoded, expected))


def _of_value(key: str, live: Sensitive[bytes], new: Sensitive[bytes]) -> Verdict:
    a, b = live.reveal(), new.reveal()
    if a == b:
        return Verdict(key, Kind.MATCH)
    return Verdict(key, Kind.MISMATCH, len(a), len(b), differences.of_values(a, b), loses_nothing=False)


def _bytes(value: Sensitive[str]) -> Sensitive[bytes]:
    return Sensitive(value.reveal().encode(errors="surrogatepass"))


def _reasons(live: LiveSecret, verdicts: Iterable[Verdict]) -> Iterator[str]:
    if live.type != SECRET_TYPE:
        yield f"type is {live.type}, expected {SECRET_TYPE}"
    if live.immutable:
        yield "immutable"
    lost = [verdict for verdict in verdicts if not verdict.loses_nothing]
    for kind, words in ((Kind.ONLY_IN_LIVE, "only in live"), (Kind.MISMATCH, "differs")):
        if keys := sorted(verdict.key for verdict in lost if verdict.kind is kind):
            more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
            yield f"{words}: {', '.join(keys[:_SHOWN])}{more}"


_SHOWN = 8


def _notes(live: LiveSecret, external_secrets: Sequence[ExternalSecret], *, refuses_conflicts: bool) -> Iterator[str]:
    for owner in live.owners:
        yield f"owned by {owner}: deleting that deletes this Secret; adopt leaves it so"
    for finalizer in live.finalizers:
        yield f"finalizer {finalizer}: adopt leaves it alone"
    if live.helm_release:
        yield f"Helm release {live.helm_release}: its next upgrade or rollback may write its own value back"
    if live.argo_cd:
        yield f"{live.argo_cd} by Argo CD: its next sync may write its own value back"
    if live.last_applied:
        yield f"last-applied-configuration holds a {live.last_applied} copy of the data; adopt removes the annotation"
    if live.other_managers:
        then = "refuses to write it (ON_CONFLICT is refuse)" if refuses_conflicts else "takes it over"
        yield f"data is managed by {', '.join(live.other_managers)}; the next refresh {then}"
    for one in external_secrets:
        yield f"ExternalSecret {one.name} writes it (creationPolicy {one.creation_policy}): stop that first"
