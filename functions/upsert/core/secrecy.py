"""Which texts in a value are secret, and which only say whom and what it is for.

A guard that masks project names, hosts and mail addresses would empty the log, so these are not learned as secrets.
"""

import base64
import json
import re
from collections.abc import Iterator

from upsert.core.sensitive import Sensitive

# What a structured credential says about whom and what it is for: docker configs, and the key files of cloud accounts.
# https://cloud.google.com/iam/docs/keys-create-delete#creating
_PUBLIC = frozenset(
    {
        "username", "email", "serveraddress", "server", "provider", "type", "project_id", "client_email", "client_id",
        "universe_domain", "host", "hostname", "port", "user", "region", "account", "dbname", "engine", "tenant",
    }
)  # fmt: skip
_PUBLIC_ENDS = ("_uri", "_url", "_id", "_email", "_domain")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+")


def secrets_in(value: Sensitive[str]) -> tuple[Sensitive[str], ...]:
    """Return the texts in a value that nobody may see: of a JSON text its secret members, else the value itself."""
    try:
        found = dict.fromkeys(_secrets(value.reveal()))
    except RecursionError:
        # Nested more deeply than anything that somebody wrote: what is in it is not told apart.
        found = dict.fromkeys((value.reveal(),))
    return tuple(Sensitive(text) for text in found if text)


def secrets_in_bytes(value: Sensitive[bytes]) -> tuple[Sensitive[str], ...]:
    """Return the texts that nobody may see of a value that need not be text: else its base64, as a Secret holds it."""
    plain = value.reveal()
    try:
        return secrets_in(Sensitive(plain.decode()))
    except UnicodeDecodeError:
        return (Sensitive(base64.b64encode(plain).decode()),)


def _secrets(text: str) -> Iterator[str]:
    document = _document(text)
    if document is None:
        yield text
        yield from _of_basic_auth(text)
    else:
        yield from _members(document)


def _document(text: str) -> dict[str, object] | list[object] | None:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, (dict, list)) and document else None


def _members(document: object, name: str = "") -> Iterator[str]:
    match document:
        case dict():
            for key, value in document.items():
                yield from _members(value, str(key))
        case list():
            for value in document:
                yield from _members(value, name)
        case str() if not _is_public(name):
            yield from _secrets(document)


def _is_public(name: str) -> bool:
    return name.lower() in _PUBLIC or name.lower().endswith(_PUBLIC_ENDS)


def _of_basic_auth(text: str) -> Iterator[str]:
    """Give what is secret in base64 of ``user:password``, or of a JSON text: it may be nowhere else in the value.

    The first is how `docker login` writes it, the second a key file under the user ``_json_key_base64``. What decoders
    pass over is passed over: line breaks, and padding that is missing.
    """
    bare = "".join(text.split()).rstrip("=")
    if not _BASE64.fullmatch(bare):
        return
    try:
        decoded = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_" if set(bare) & set("-_") else None)
        plain = decoded.decode()
    except ValueError:
        return
    user, colon, password = plain.partition(":")
    if _document(plain) is not None:
        yield from _secrets(plain)
    elif user and colon:
        yield from _secrets(password)
