"""For how long there will be what expires: registry tokens, and certificates."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from upsert.core.objects import Object
from upsert.core.reports import RefreshReport

# People replace a certificate, and need days for it; a token is there anew with each run.
_CERTIFICATE_LEAD = timedelta(days=7)


class Lifetime(NamedTuple):
    """When an object's content ends, in how many seconds, and by how many seconds that is late enough."""

    title: str
    is_token: bool
    expires_at: datetime
    seconds: int
    spare: int


def is_token(one: Object) -> bool:
    """Return whether the object is worthless hours after it was last refreshed."""
    return any(part.ref.source == "ecr" for part in one.parts)


def not_refreshed(report: RefreshReport) -> list[str]:
    """Return the objects that stay as they are: their source failed, or they failed in most of their namespaces.

    How many these are, a run over a part does not know.
    """
    failed = [title for title, counts in report.by_object.items() if counts.failed and counts.failed >= counts.applied]
    return sorted({*(failed if report.is_whole else ()), *(title for title, _ in report.not_made)})


def lifetimes(
    report: RefreshReport, objects: Sequence[Object], *, schedule: timedelta, now: datetime
) -> list[Lifetime]:
    """Return the lifetime of each object that ends, as the report of a run over these objects has it.

    Late enough is after the next run but one, and of a certificate after a week. An object that was not refreshed has
    nothing to spare.
    """
    tokens = {one.title for one in objects if is_token(one)}
    missed = set(not_refreshed(report))
    found = []
    for title, counts in report.by_object.items():
        if counts.expires_at is None:
            continue
        needed = schedule * 2 if title in tokens else max(schedule * 2, _CERTIFICATE_LEAD)
        left = counts.expires_at - now
        spare = 0 if title in missed else round((left - needed).total_seconds())
        found.append(Lifetime(title, title in tokens, counts.expires_at, round(left.total_seconds()), spare))
    return found
