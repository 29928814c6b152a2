"""One request, whatever it is for. Every PATCH is built here."""

from collections.abc import Mapping
from functools import cache, partial
from typing import NamedTuple
from urllib.parse import urlencode

from upsert.core import parsing
from upsert.core.answers import Answer, Written
from upsert.core.identity import FIELD_MANAGER
from upsert.core.parsing import Parser
from upsert.core.resources import named_by
from upsert.core.sensitive import Sensitive

# Metadata only: the server itself leaves the values out. Plain JSON is the fallback that every server knows.
# https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
JSON = "application/json"

_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class Call[T](NamedTuple):
    """One request, and what makes its answer out of a body."""

    method: str
    path: str
    headers: Mapping[str, str]
    parse: Parser[T]
    body: Sensitive[bytes] | None = None

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> Answer[T]:
        """Return what the server answered."""
        return parsing.answer(self.parse, status, headers, body)


def get[T](path: str, query: Mapping[str, str], parse: Parser[T], *, accept: str = JSON) -> Call[T]:
    """Return a request that reads."""
    given = urlencode({name: value for name, value in query.items() if value})
    return Call("GET", f"{path}?{given}" if given else path, {"Accept": accept}, parse)


def apply(path: str, document: Sensitive[bytes], *, force: bool, dry_run: bool = False) -> Call[Written]:
    """Return a server-side apply. Unforced, it changes no field that another field manager holds.

    https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
    """
    return _patch(path, _APPLY, document, _query(force=force, dry_run=dry_run))


def merge(path: str, patch: Sensitive[bytes], *, dry_run: bool = False) -> Call[Written]:
    """Return a JSON merge patch (RFC 7386) that names the version that it is for."""
    return _patch(path, _MERGE, patch, _query(dry_run=dry_run))


def _patch(path: str, content_type: str, body: Sensitive[bytes], query: str) -> Call[Written]:
    headers = {"Accept": _METADATA, "Content-Type": content_type}
    parse = partial(parsing.parse_written_of, *named_by(path))
    return Call("PATCH", f"{path}?{query}", headers, parse, body)


@cache
def _query(*, force: bool | None = None, dry_run: bool) -> str:
    """Return the query of a PATCH, of which there are few."""
    forced = {} if force is None else {"force": "true" if force else "false"}
    return urlencode({"fieldManager": FIELD_MANAGER, **forced, **({"dryRun": "All"} if dry_run else {})})
