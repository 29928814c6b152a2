"""By what two values differ, if only by something that people overlook."""

import json
import re

from upsert.core import docker_config
from upsert.core.docker_config import NotADockerConfig

_STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


def of_values(live: bytes, new: bytes) -> tuple[str, ...]:
    """Return the names of the differences that make `live` and `new` unequal, or none if there is more to it."""
    notes = []
    if live.count(b"\r\n") != new.count(b"\r\n"):
        notes.append("CRLF")
        live, new = live.replace(b"\r\n", b"\n"), new.replace(b"\r\n", b"\n")
    for name, strip in _ENDS:
        if live == new:
            break
        if strip(live) == strip(new):
            notes.append(name)
            live = new
    return tuple(notes) if live == new else ()


_ENDS = (
    ("trailing newline", lambda value: value.rstrip(b"\n")),
    ("trailing white space", bytes.rstrip),
    ("leading white space", bytes.lstrip),
    ("leading and trailing white space", bytes.strip),
)


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
    notes = list(of_values(live, new))
    if notes:
        return tuple(notes)
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
