"""The use case behind import: a live object's values go to where the file has them kept, and are not seen."""

from upsert.adopt import AdoptReport
from upsert.adopt_request import AdoptRequest
from upsert.errors import ImportRefused
from upsert.import_entries import import_entries
from upsert.import_values import import_values
from upsert.importing import ImportParts
from upsert.kinds import keyed


def import_object(request: AdoptRequest, parts: ImportParts) -> AdoptReport:
    """Copy the values of the request's object to where they are kept, and return the report.

    Raises an `UpsertError` if that would change what is kept, or lose anything; then nothing has been written, unless
    it says so.
    """
    (one,) = request.objects
    if any(part.place.startswith("registries[") for part in one.parts):
        return import_entries(request, parts)
    if parts.own_fields(one) != keyed.FIELDS:
        raise ImportRefused(f"{one.title}: has no values of its own; what is written of it stands in the repository")
    return import_values(request, parts)
