"""The docker config that a kubelet reads from a pull Secret.

Format: https://kubernetes.io/docs/concepts/configuration/secret/#docker-config-secrets
"""

import base64
import json
import re
from collections.abc import Iterable
from copy import replace
from typing import Any, NamedTuple, NoReturn

from upsert.core.sensitive import Sensitive

DATA_KEY = ".dockerconfigjson"

# The fields that a kubelet reads; it passes over all others, whatever they hold.
_TEXTS = ("username", "password", "email", "auth")

# What Go's encoding/json, and so kubectl, writes as an escape though JSON does not ask for it; and what is no UTF-8.
_ESCAPED = "[<>&\u2028\u2029\ud800-\udfff]"
_SCHEME = r"(?i)^https?://"


class Login(NamedTuple):
    """A registry host with the username and password that it takes, and a mail address if there has to be one."""

    host: str
    username: str
    password: Sensitive[str]
    email: str = ""


class Entry(NamedTuple):
    """A registry host as it stands in a docker config, with its fields in their order.

    `others` are the fields that are no texts, which a kubelet passes over: each as its own JSON text.
    """

    host: str
    fields: tuple[tuple[str, Sensitive[str]], ...]
    others: tuple[tuple[str, Sensitive[str]], ...] = ()

    def get(self, name: str) -> Sensitive[str] | None:
        """Return the value of a field, or None if the entry lacks it."""
        return dict(self.fields).get(name)

    def with_values_of(self, other: "Entry", names: Iterable[str]) -> "Entry":
        """Return this entry with the values that `other` holds for the named fields; no field is added."""
        theirs = {name: value for name, value in other.fields if name in names}
        return replace(self, fields=tuple((name, theirs.get(name, value)) for name, value in self.fields))


class DockerConfig(NamedTuple):
    """A docker config that was read: its entries, and the names of the members beside ``auths``."""

    entries: tuple[Entry, ...]
    others: tuple[str, ...]


class NotADockerConfig(Exception):
    """A text is no docker config; the message says why without quoting it."""


def entry(login: Login) -> Entry:
    """Return the entry for a login, with the fields that `kubectl create secret docker-registry` writes."""
    auth = Sensitive(basic_auth(login.username, login.password.reveal()))
    email = (("email", Sensitive(login.email)),) if login.email else ()
    return Entry(
        login.host, (("username", Sensitive(login.username)), ("password", login.password), *email, ("auth", auth))
    )


def merge(logins: Iterable[Login], extra: Iterable[Entry] = ()) -> tuple[Entry, ...]:
    """Return the entries for the logins and the extra ones, sorted by host.

    A login wins over an extra entry for the same host, in whatever spelling: a kubelet may try either.
    """
    own = [entry(login) for login in logins]
    taken = {bare(mine.host) for mine in own}
    return tuple(sorted([*own, *(one for one in extra if bare(one.host) not in taken)], key=lambda one: one.host))


def write(entries: Iterable[Entry]) -> Sensitive[bytes]:
    """Return the bytes of a ``.dockerconfigjson``, as kubectl writes them for the same entries."""
    auths = {
        one.host: {name: value.reveal() for name, value in one.fields}
        | {name: json.loads(value.reveal()) for name, value in one.others}
        for one in entries
    }
    text = json.dumps({"auths": auths}, ensure_ascii=False, separators=(",", ":"))
    return Sensitive(re.sub(_ESCAPED, lambda found: f"\\u{ord(found[0]):04x}", text).encode())


def entries_of(value: Sensitive[bytes]) -> tuple[Entry, ...]:
    """Return the entries of a docker config that holds nothing else, none for a blank text.

    Raises `NotADockerConfig`.
    """
    text = value.reveal()
    if not text.strip():
        return ()
    config = parse(text)
    if config.others:
        raise NotADockerConfig("holds more than auths")
    if any(not one.host or not one.fields for one in config.entries):
        raise NotADockerConfig("has an entry without host or fields")
    if any(_repeats_a_text(one) for one in config.entries):
        raise NotADockerConfig("repeated key")
    return config.entries


def parse(text: bytes) -> DockerConfig:
    """Return what a docker config holds. Raises `NotADockerConfig` if a kubelet, or we, could not read it whole."""
    document = parse_object(text)
    auths = {} if document.get("auths", {}) is None else document.get("auths", {})
    if not isinstance(auths, dict):
        raise NotADockerConfig("auths is no object")
    return DockerConfig(
        tuple(_entry(host, fields) for host, fields in auths.items()),
        tuple(name for name in document if name != "auths"),
    )


def parse_object(text: bytes) -> dict[str, Any]:
    """Return the JSON object that `text` is, under the rules of a kubelet's parser, and without a repeated key.

    Raises `NotADockerConfig`.
    """
    try:
        document = json.loads(text.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except NotADockerConfig:
        raise
    except UnicodeDecodeError:
        raise NotADockerConfig("no UTF-8") from None
    except (ValueError, RecursionError):
        raise NotADockerConfig("byte order mark" if text.startswith(b"\xef\xbb\xbf") else "no JSON") from None
    if not isinstance(document, dict):
        raise NotADockerConfig("no JSON object")
    return document


def bare(host: str) -> str:
    """Return the host that a login is for, in one spelling: without scheme, port 443, API version and case.

    To a kubelet, hosts that differ in scheme, or in /v1/ or /v2/, are one: which of their logins it tries first is a
    matter of chance. Port 443 is what a registry is spoken to at if there is none.
    """
    return undecorated(host).lower()


def undecorated(host: str) -> str:
    """Return the host without scheme, port 443, version of the API and trailing slash."""
    authority, _, path = re.sub(_SCHEME, "", host, count=1).partition("/")
    path = path[3:] if path.startswith(("v1/", "v2/")) else path
    return f"{authority.removesuffix(':443')}/{path}".rstrip("/")


def basic_auth(username: str, password: str) -> str:
    """Return the ``auth`` field for a username and password."""
    return base64.b64encode(f"{username}:{password}".encode(errors="surrogatepass")).decode()


def _entry(host: str, fields: object) -> Entry:
    if fields is None:
        return Entry(host, ())
    if not isinstance(fields, dict):
        raise NotADockerConfig("an entry of auths is no object")
    if not all(isinstance(fields.get(name, ""), str | None) for name in _TEXTS):
        raise NotADockerConfig("a field of an entry is no text")
    return Entry(
        host,
        tuple((name, Sensitive(value)) for name, value in fields.items() if isinstance(value, str)),
        tuple((name, Sensitive(json.dumps(value))) for name, value in fields.items() if not isinstance(value, str)),
    )


def _repeats_a_text(one: Entry) -> bool:
    """Return whether a field is there in two cases: a kubelet passes over the case, and takes the last one."""
    read = [name.casefold() for name, _ in (*one.fields, *one.others) if name.casefold() in _TEXTS]
    return len(set(read)) != len(read)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotADockerConfig("repeated key")
    return members


def _no_constant(_: str) -> NoReturn:
    raise NotADockerConfig("no JSON")
