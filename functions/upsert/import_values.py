"""The import of an object whose keys stand for themselves: its values go to where they are kept, unseen."""

from collections.abc import Mapping

from upsert.adopt import AdoptReport
from upsert.adopt_request import AdoptRequest
from upsert.core import redaction, value_plan
from upsert.core.adoptions import Imported
from upsert.core.names import Names
from upsert.core.objects import Material, Object, Part
from upsert.core.secrecy import secrets_in_bytes
from upsert.core.sensitive import Sensitive
from upsert.core.value_plan import Change, NotKept, Split, Store, Version
from upsert.errors import ImportRefused, SourceFailed
from upsert.importing import UNCHANGED, ImportParts, Kept, check_usable, live_object

type _Values = Mapping[str, Sensitive[bytes]]


def import_values(request: AdoptRequest, parts: ImportParts) -> AdoptReport:
    """Copy a live object's values to where the file has them kept, and return the report.

    Raises an `UpsertError` if that would change what is kept; then nothing has been written, unless it says so.
    """
    (one,), (namespace,) = request.objects, request.namespaces
    writer, reader = parts.connect()
    live = live_object(writer, reader, request, parts.resource(one)).data
    secrets = [secret for value in live.values() for secret in secrets_in_bytes(value)]
    for secret in secrets:
        parts.conceal(secret)
    names = Names()
    unprintable = {key for key in live if names.of_key(key) != key} | redaction.revealing(live.keys(), secrets)
    try:
        found = value_plan.split(one, live, unprintable)
    except NotKept as wrong:
        raise ImportRefused(f"{namespace}: {wrong}; {UNCHANGED}") from None
    described = {part.place for part in one.parts}
    usable = {part.place: Material({"value": live[part.place]}) for part in found.parts if part.place in described}
    check_usable(parts.sources, one, usable, f"{namespace}: what is live")
    changes = _changes(found, live, parts, namespace)
    _write(changes, namespace)
    _read_back(found, live, parts, namespace)
    masked = {key: f"<withheld name {number}>" for number, key in enumerate(sorted(unprintable), 1)}
    result = Imported(
        one.title,
        namespace,
        added=tuple(key for _, _, _, change in changes for key in change.added),
        present=tuple(key for _, _, _, change in changes for key in change.present),
        left_out={masked.get(key, key): why for key, why in found.left_out.items()},
        entry=tuple(_entry(one, found)),
    )
    parts.record(result)
    return AdoptReport(request.action, (result,), writer.requests, reader.may_see_external_secrets)


type _Changes = list[tuple[Store, Kept, Version | None, Change]]


def _changes(found: Split, live: _Values, parts: ImportParts, namespace: str) -> _Changes:
    """Return what becomes of each place where values are kept; all are known before the first one is written."""
    by_store: dict[Store, list[Part]] = {}
    for part in found.parts:
        by_store.setdefault(Store.of(part.ref), []).append(part)
    changes: _Changes = []
    refused: list[str] = []
    for store, wanted in by_store.items():
        kept = parts.kept(store)
        try:
            version = kept.fetch()
        except SourceFailed as why:
            raise why.at(wanted[0].place) from None
        try:
            changes.append((store, kept, version, _change(store, wanted, live, version)))
        except NotKept as wrong:
            refused.append(f"{store.source} of {wanted[0].place}: {wrong}")
    if refused:
        raise ImportRefused(
            f"{namespace}: {'; '.join(refused)}; {UNCHANGED}. Where another value is kept, find out which is right"
        )
    return changes


def _change(store: Store, wanted: list[Part], live: _Values, version: Version | None) -> Change:
    return value_plan.change(store, wanted, live, version.value if version else None)


def _write(changes: _Changes, namespace: str) -> None:
    written: list[str] = []
    for store, kept, version, change in changes:
        if not change.added:
            continue
        so_far = f"only {', '.join(written)} were imported" if written else UNCHANGED
        try:
            is_ours = kept.put(change.text, over=version.id if version else "")
        except SourceFailed as why:
            raise SourceFailed(f"{why}; {so_far}") from None
        # Two imports at once read the same version, and only one of them moves on from it.
        if not is_ours:
            raise ImportRefused(
                f"{namespace}: the {store.source} of {change.added[0]} was changed by someone else meanwhile; "
                f"{so_far}. Import again"
            )
        written += change.added


def _read_back(found: Split, live: _Values, parts: ImportParts, namespace: str) -> None:
    """Raise `ImportRefused` unless a refresh would read of every source what is live."""
    readings = parts.sources.read({part.ref for part in found.parts})
    for part in found.parts:
        reading = readings[part.ref]
        if not isinstance(reading, Material) or reading.data.get("value") != live[part.place]:
            raise ImportRefused(
                f"{namespace}: {part.place} was imported, but is not read back as it is live; somebody may have "
                "changed its source since. Check again"
            )


def _entry(one: Object, found: Split) -> list[str]:
    """Return what the object's entry has to say of all that is kept, if the file lacks any of it."""
    if not found.added:
        return []
    kept = [part for part in one.parts if part.ref.source in value_plan.MOST_BYTES]
    has_more = " beside what it has from files" if len(kept) < len(one.parts) else ""
    head = f"# {one.name}: in the file of objects, instead of its data and data_from{has_more}"
    return [head, *value_plan.entry_lines([*kept, *found.added])]
