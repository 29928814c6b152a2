"""By what two values differ, if only by something that people overlook."""

import json
import re

from upsert.core import docker_config
from upsert.core.causes import CAUSES, JSON_LAYOUT, Cause, Pair
from upsert.core.docker_config import NotADockerConfig

_STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


def of_values(live: bytes, new: bytes) -> tuple[str, ...]:
    """Return by what `live` and `new` differ, if that is the whole difference; none if there is more to it.

    These are the fewest causes, three at most, that explain it together. Whatever a cause adds is in the longer value;
    a name says in which one where that is not so.
    """
    found = _explained(live, new) if live != new else ()
    longer = "live" if len(live) > len(new) else "new" if len(new) > len(live) else ""
    is_plain = all(carrier in ("", longer) for _, carrier in found)
    return tuple(name if is_plain or not carrier else f"{name} in {carrier}" for name, carrier in found)


# A cause with the side that carries it, ``live`` or ``new``, or neither.
type _Found = tuple[tuple[str, str], ...]

_MOST_CAUSES = 3
# Each cause alone is looked for in any value, several together in what is not too long: nobody waits for long.
_MOST_LOOKS = 64
_MOST_BYTES = 4 * 1024 * 1024


def _explained(live: bytes, new: bytes) -> _Found:
    """Return the fewest causes without which the two values are equal. None is there twice."""
    seen: set[Pair] = {(live, new)}
    size = 0
    level: list[tuple[Pair, _Found]] = [((live, new), ())]
    for _ in range(_MOST_CAUSES):
        following: list[tuple[Pair, _Found]] = []
        for pair, found in level:
            if found and (len(seen) > _MOST_LOOKS or size > _MOST_BYTES):
                return ()
            told = {name for name, _ in found}
            for cause, undone in (
                (one, undone) for one in CAUSES if one.name not in told for undone in one.undo(*pair)
            ):
                if undone in seen:
                    continue
                seen.add(undone)
                size += sum(map(len, undone))
                also = (*found, (cause.name, _carrier(cause, pair, undone)))
                if undone[0] == undone[1]:
                    return also
                following.append((undone, also))
        level = following
    return ()


def _carrier(cause: Cause, before: Pair, after: Pair) -> str:
    """Return which of the two had the cause in it: the one that is another without it, or the one that lost more."""
    if not cause.has_carrier:
        return ""
    if (before[0] == after[0]) != (before[1] == after[1]):
        return "new" if before[0] == after[0] else "live"
    lost_live, lost_new = (len(one) - len(other) for one, other in zip(before, after, strict=True))
    return "live" if lost_live > lost_new else "new" if lost_new > lost_live else ""


_SPELLINGS = (
    ("port 443 on the host", re.compile(r"(https?://)?[^/]*:443(/|$)", re.IGNORECASE)),
    ("/v1/ or /v2/ behind the host", re.compile(r"(https?://)?[^/]*/v[12]/", re.IGNORECASE)),
)


def of_hosts(live: str, new: str) -> tuple[str, ...]:
    """Return by what two spellings of one host differ."""
    notes = [
        f"{scheme} on the host"
        for scheme in ("https://", "http://")
        if live.lower().startswith(scheme) != new.lower().startswith(scheme)
    ]
    notes += [note for note, spelling in _SPELLINGS if bool(spelling.match(live)) != bool(spelling.match(new))]
    if live.endswith("/") != new.endswith("/"):
        notes.append("trailing slash")
    if docker_config.undecorated(live) != docker_config.undecorated(new):
        notes.append("case of the host")
    return tuple(notes)


def of_texts(live: bytes, new: bytes) -> tuple[str, ...]:
    """Return by what two JSON texts differ that hold the same members, or none if what they hold differs."""
    try:
        live_value, new_value = docker_config.parse_object(live), docker_config.parse_object(new)
    except NotADockerConfig:
        return ()
    if live_value != new_value:
        return ()
    found = of_values(live, new)
    if found and JSON_LAYOUT not in found:
        return found
    notes = []
    if json.dumps(live_value) != json.dumps(new_value):
        notes.append("JSON key order")
    bodies = [text.rstrip() for text in (live, new)]
    minified = [_without_spacing(body) for body in bodies]
    if minified != bodies:
        notes.append("JSON spacing")
    if b"\r\n" in live:
        notes.append("CRLF")
    if live.endswith(b"\n") != new.endswith(b"\n"):
        notes.append("trailing newline")
    if minified[0] != json.dumps(live_value, separators=(",", ":")).encode():
        notes.append("JSON escapes")
    return tuple(notes)


def _without_spacing(text: bytes) -> bytes:
    return _STRING_OR_SPACE.sub(lambda found: found[1] or "", text.decode()).encode()
