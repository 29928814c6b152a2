"""What a refresh came to, and the error that it has to end with, if any."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from upsert.core.outcomes import Failed
from upsert.errors import ClusterNotTrusted, ObjectsFailed, SourceFailed, Unauthorized, UpsertError

_NAMED_IN_ERROR = 5


class ObjectCounts(NamedTuple):
    """What became of one object of the file, in how many namespaces; those that are `unchanged` are `applied` too.

    `changed_at` is when the oldest of its values was put into its source, `expires_at` when the first of them stops
    being useful; None if nobody knows, or nothing does.
    """

    applied: int = 0
    unchanged: int = 0
    failed: int = 0
    changed_at: datetime | None = None
    expires_at: datetime | None = None


class AccountCounts(NamedTuple):
    """What became of the ServiceAccounts; `error` says why some could not even be listed, if so."""

    patched: int = 0
    unchanged: int = 0
    missing: int = 0
    failures: tuple[Failed, ...] = ()
    error: UpsertError | None = None

    @property
    def looked_at(self) -> int:
        """Return how many ServiceAccounts there were."""
        return self.patched + self.unchanged + len(self.failures)


class RefreshReport(NamedTuple):
    """What a run came to. Counts are of objects, each in a namespace; `duration_ms` is wall clock.

    `is_whole` is false for a run that was asked for a part by name. `altered` counts what is not as it was sent.
    `expires_at` is when the first of what was written stops being useful, None if nothing does. `not_made` are the
    objects whose source failed, with why. `by_object` has counts by title.
    """

    is_whole: bool
    dry_run: bool
    applied: int = 0
    created: int = 0
    unchanged: int = 0
    took_over: int = 0
    altered: int = 0
    skipped: int = 0
    failures: tuple[Failed, ...] = ()
    not_made: tuple[tuple[str, SourceFailed], ...] = ()
    objects: int = 0
    expires_at: datetime | None = None
    api_requests: int = 0
    duration_ms: int = 0
    accounts: AccountCounts | None = None
    by_object: Mapping[str, ObjectCounts] = MappingProxyType({})

    @property
    def had_work(self) -> bool:
        """Return whether there was anything to do."""
        return self.objects > 0

    def error(self, *, is_by_hand: bool) -> UpsertError | None:
        """Return the error that the run has to end with, or None.

        Where only objects failed, a run that nobody waits for ends well: records, metrics and an alarm speak, and
        trying the whole run again would help none of them. So does a dry run, and where sources failed, too: its answer
        is what would fail, and an error would take the place of the answer.
        """
        failures = (*self.failures, *(self.accounts.failures if self.accounts else ()))
        of = self.applied + self.skipped + len(self.failures) + (self.accounts.looked_at if self.accounts else 0)
        text = _counted(failures, of)
        reasons = {failed.reason for failed in failures}
        if "untrusted" in reasons:
            return ClusterNotTrusted(
                "the endpoint began to show a certificate that the cluster's authority did not sign; look for a proxy "
                f"that opens TLS. {text}"
            )
        if "unauthorized" in reasons:
            return Unauthorized(
                f"the API server stopped accepting the function's role during the run; check its access entry. {text}"
            )
        if self.not_made and not self.dry_run:
            return sources_failed(self.not_made)
        if failures and is_by_hand and not self.dry_run:
            return ObjectsFailed(f"{text}; the log has every one with its remedy")
        return self.accounts.error if self.accounts else None


def _counted(failures: Sequence[Failed], of: int) -> str:
    # Two Secrets may each be missing from one ServiceAccount: two writes that failed, and one name.
    named = dict.fromkeys(f"{failed.title} in {failed.namespace}: {failed.reason}" for failed in failures)
    more = len(named) - _NAMED_IN_ERROR
    text = f"{len(failures)} of {of} writes failed: {', '.join(islice(named, _NAMED_IN_ERROR))}"
    return f"{text}, and {more} more" if more > 0 else text


def sources_failed(not_made: Sequence[tuple[object, SourceFailed]]) -> SourceFailed:
    """Return one error of all of them; each source is told once."""
    return SourceFailed("; ".join(dict.fromkeys(str(why) for _, why in not_made)))
