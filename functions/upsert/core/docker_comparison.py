"""Compares docker configs, host by host and field by field."""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from upsert.core import differences, docker_auth, docker_config
from upsert.core.docker_config import DATA_KEY, Entry, NotADockerConfig
from upsert.core.names import Names
from upsert.core.objects import Desired
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Likeness, Verdict, of_value

# What a fresh login changes, and nothing else.
_ROTATING_FIELDS = ("password", "auth")


@dataclass(frozen=True)
class _Intention:
    """What a refresh would write, and the hosts whose password is new each time."""

    text: Sensitive[bytes]
    rotating: frozenset[str]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return docker_config.parse(self.text.reveal()).entries


def compare(live: Mapping[str, Sensitive[bytes]], desired: Desired) -> tuple[Verdict, ...]:
    """Return one verdict per data key, and per field of each host in the docker config."""
    names = Names()
    new = _Intention(desired.data[DATA_KEY], desired.rotating)
    others = [Verdict(names.of_key(key), Likeness.ONLY_IN_LIVE, loses_nothing=False) for key in live if key != DATA_KEY]
    return (*_of_docker_config(live.get(DATA_KEY), new, names), *others)


def _of_docker_config(live: Sensitive[bytes] | None, new: _Intention, names: Names) -> Iterator[Verdict]:
    if live is None:
        yield Verdict(DATA_KEY, Likeness.ONLY_IN_NEW)
        return
    text = live.reveal()
    try:
        config = docker_config.parse(text)
    except NotADockerConfig as wrong:
        lengths = len(text), len(new.text.reveal())
        yield Verdict(DATA_KEY, Likeness.MISMATCH, *lengths, ("not a docker config", str(wrong)), loses_nothing=False)
        return
    pairs, only_new = _pair(config.entries, new.entries)
    if why := docker_auth.unreadable(text):
        # A kubelet then has no login for any host of it, so there is nothing that could be adopted.
        notes = (f"a kubelet cannot read it: {why}",)
        yield Verdict(DATA_KEY, Likeness.MISMATCH, len(text), len(new.text.reveal()), notes, loses_nothing=False)
    else:
        yield _of_text(text, _as_if_not_rotated(pairs, new))
    yield from (
        Verdict(f"{DATA_KEY}/{names.of_member(other)}", Likeness.ONLY_IN_LIVE, loses_nothing=False)
        for other in config.others
    )
    for live_entry, new_entry in pairs:
        yield from _of_entry(live_entry, new_entry, new, names)
    for entry in only_new:
        host = names.of_host(entry.host)
        yield from (Verdict(f"{host}/{names.of_field(name)}", Likeness.ONLY_IN_NEW) for name, _ in entry.fields)


type _Pair = tuple[Entry, Entry | None]


def _pair(live: Sequence[Entry], new: Sequence[Entry]) -> tuple[list[_Pair], list[Entry]]:
    """Return each live entry with its counterpart, if any, and the new entries that are left over.

    Equal hosts go together first; what is left is paired in spite of its spelling.
    """
    left = {entry.host: entry for entry in new}
    exact = {entry.host: left.pop(entry.host) for entry in live if entry.host in left}
    alike: dict[str, list[Entry]] = {}
    for entry in left.values():
        alike.setdefault(docker_config.bare(entry.host), []).append(entry)
    pairs: list[_Pair] = []
    for entry in live:
        others = alike.get(docker_config.bare(entry.host))
        pairs.append((entry, exact.get(entry.host) or (others.pop(0) if others else None)))
    return pairs, [entry for entries in alike.values() for entry in entries]


def _as_if_not_rotated(pairs: Iterable[_Pair], new: _Intention) -> bytes:
    """Return the bytes that a refresh would write if the registry's password were still the live one."""
    if not new.rotating:
        return new.text.reveal()
    kept = {
        mine.host: mine.with_values_of(theirs, _ROTATING_FIELDS)
        for theirs, mine in pairs
        if mine and mine.host in new.rotating
    }
    return docker_config.write(kept.get(entry.host, entry) for entry in new.entries).reveal()


def _of_text(live: bytes, new: bytes) -> Verdict:
    """Return the verdict on the text as a whole. What its entries lose, if anything, their own verdicts say."""
    if live == new:
        return Verdict(DATA_KEY, Likeness.MATCH)
    notes = differences.of_texts(live, new) or ("its entries differ",)
    return Verdict(DATA_KEY, Likeness.MISMATCH, len(live), len(new), notes)


def _of_entry(live: Entry, mine: Entry | None, new: _Intention, names: Names) -> Iterator[Verdict]:
    host = names.of_host(live.host)
    if mine is None:
        keys = [f"{host}/{names.of_field(name)}" for name, _ in (*live.fields, *live.others)] or [host]
        yield from (Verdict(key, Likeness.ONLY_IN_LIVE, loses_nothing=False) for key in keys)
        return
    if live.host != mine.host:
        notes = differences.of_hosts(live.host, mine.host)
        lengths = len(live.host.encode(errors="surrogatepass")), len(mine.host.encode())
        yield Verdict(host, Likeness.MISMATCH, *lengths, notes, loses_nothing=False)
    before, after = dict(live.fields), dict(mine.fields)
    for name, value in live.fields:
        key, other = f"{host}/{names.of_field(name)}", after.get(name)
        if other is None:
            yield Verdict(key, Likeness.ONLY_IN_LIVE, loses_nothing=False)
        elif mine.host in new.rotating and name in _ROTATING_FIELDS:
            contradictions = _contradictions(value, live, mine) if name == "auth" else ()
            yield _of_rotating(key, _bytes(value), _bytes(other), contradictions)
        else:
            yield of_value(key, _bytes(value), _bytes(other))
    others = dict(mine.others)
    for name, value in live.others:
        key = f"{host}/{names.of_field(name)}"
        if name in others:
            yield of_value(key, _bytes(value), _bytes(others[name]))
        else:
            yield Verdict(key, Likeness.ONLY_IN_LIVE, loses_nothing=False)
    only_new = [name for name in after if name not in before]
    yield from (Verdict(f"{host}/{names.of_field(name)}", Likeness.ONLY_IN_NEW) for name in only_new)


def _of_rotating(key: str, live: Sensitive[bytes], new: Sensitive[bytes], contradictions: tuple[str, ...]) -> Verdict:
    """Return the verdict on a value that is meant to differ, unless it contradicts its own entry."""
    a, b = live.reveal(), new.reveal()
    if a == b:
        return Verdict(key, Likeness.MATCH)
    if contradictions:
        return Verdict(key, Likeness.MISMATCH, len(a), len(b), contradictions, loses_nothing=False)
    return Verdict(key, Likeness.ROTATES, len(a), len(b), differences.of_values(a, a.strip()))


def _contradictions(auth: Sensitive[str], live: Entry, mine: Entry) -> tuple[str, ...]:
    """Return why the live ``auth`` is not username:password, with what it differs by, or nothing if it is."""
    username, password = live.get("username") or mine.get("username"), live.get("password")
    start = (username.reveal() if username else "").encode(errors="surrogatepass") + b":"
    # A kubelet's decoder (Go's encoding/base64) passes over line breaks; base64(1) puts one after every 76 characters.
    # It takes one without padding, too.
    unbroken = auth.reveal().replace("\r", "").replace("\n", "").rstrip("=")
    try:
        decoded = base64.b64decode(unbroken + "=" * (-len(unbroken) % 4), validate=True)
    except ValueError:
        return ("auth is not base64",)
    if password is None:
        return () if decoded.startswith(start) else ("auth is not for this username",)
    expected = start + _bytes(password).reveal()
    return () if decoded == expected else ("auth is not username:password", *differences.of_values(decoded, expected))


def _bytes(value: Sensitive[str]) -> Sensitive[bytes]:
    return Sensitive(value.reveal().encode(errors="surrogatepass"))
