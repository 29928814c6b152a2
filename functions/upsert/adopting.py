"""One object in one namespace: its check, and then, if that is clean, its adoption."""

from collections.abc import Mapping
from copy import replace
from dataclasses import dataclass
from typing import Any

from upsert import check
from upsert.check import AdoptReader, AdoptWriter, NotDone, Sources
from upsert.core import checks, document, manifests
from upsert.core.adoptions import Adopted, Refused, Result
from upsert.core.answers import Answer, Written
from upsert.core.checks import Check
from upsert.core.document import LAST_APPLIED
from upsert.core.live import LiveObject
from upsert.core.objects import Desired, Object, OnConflict
from upsert.core.remedies import Asked
from upsert.rounds import Again


@dataclass(slots=True)
class Work:
    """An object in a namespace, with what its check found: a later try adopts what was checked, and nothing else."""

    one: Object
    namespace: str
    found: Check | None = None
    rivals: tuple[str, ...] = ()


class _NotWritten(Exception):
    """The API server did not do what it was asked."""

    def __init__(self, answer: Answer[Any]) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Adopter:
    """Checks and adopts. Threads may share it; each call is one try."""

    writer: AdoptWriter
    reader: AdoptReader
    sources: Sources
    desired: Mapping[Object, Desired]

    def check(self, work: Work) -> Check | NotDone:
        """Return what there is to say about an object."""
        found = check.check(self.writer, self.reader, self.sources, work.one, self.desired[work.one], work.namespace)
        work.found = found if isinstance(found, Check) else None
        return found

    def adopt(self, work: Work) -> Result | Again[Result]:
        """Return what became of an object: its check if it is missing, a refusal unless that is clean, or its adoption.

        A try that follows one whose end is not known goes on with the same check, from what stands there now.
        """
        path = self.desired[work.one].resource.path(work.namespace, work.one.name)
        if work.found is None:
            found = self.check(work)
            if not isinstance(found, Check) or found.live is None:
                return found
            if not found.adoptable:
                return Refused(work.one.title, work.namespace, found.conclusion, found)
            return self._adopt(work, path, found.live, found.live)
        answer = self.reader.live(path)
        if answer.value is None or work.found.live is None:
            return self._not_there(work, answer)
        return self._adopt(work, path, work.found.live, answer.value)

    def _adopt(self, work: Work, path: str, live: LiveObject, now: LiveObject) -> Result | Again[Result]:
        """Return what became of an object that was checked as `live` and stands there as `now`.

        Whether it is ours then is read back and not concluded from the answers to the writes: the answer to a write
        that did happen may be lost.
        """
        new, trouble = self.desired[work.one], None
        if now.resource_version == live.resource_version or (now.is_ours(new) and now.same_content(live)):
            try:
                self._write(work, path, now)
            except _NotWritten as refused:
                trouble = refused.answer
        answer = self.reader.live(path)
        now = answer.value or now
        if answer.value and self._is_done(work, live, now):
            if reason := _changed(live, now):
                return Refused(work.one.title, work.namespace, f"{reason} while it was adopted; check again")
            return self._adopted(work, live, now)
        if trouble and not (trouble.is_precondition_failed or trouble.is_conflict_of_managers or trouble.is_not_found):
            return check.not_done(self._asked(work, "adopt"), trouble)
        if answer.value is None:
            return self._not_there(work, answer)
        return Refused(work.one.title, work.namespace, _SINCE)

    def _write(self, work: Work, path: str, now: LiveObject) -> None:
        """Claim the live values, alone if conflicts are refused, and remove kubectl's copy. Raises `_NotWritten`."""
        new, written = self.desired[work.one], Written(now.uid, now.resource_version)
        if not now.is_ours(new):
            configuration = document.claim(
                _as_it_stands(new, now),
                now.data,
                binary_keys=now.binary_keys,
                uid=now.uid,
                resource_version=now.resource_version,
            )
            written = _done(self.writer.claim(path, configuration))
        if work.one.on_conflict is OnConflict.REFUSE and not self._is_alone(work, now):
            # Else the first rotation would be in conflict with whoever once wrote the same bytes.
            self._alone(work, path, written, has_copy=bool(now.marks.last_applied))
        elif now.marks.last_applied:
            _done(self.writer.remove_last_applied(path, written))

    def _alone(self, work: Work, path: str, written: Written, *, has_copy: bool) -> None:
        """Drop what others claim of that version of what is ours. Raises `_NotWritten`."""
        answer = self.reader.held(path)
        held = answer.value
        if held is None:
            raise _NotWritten(answer)
        work.rivals = work.rivals or held.rivals()
        patch = document.claims(
            held.ours_alone(),
            uid=written.uid,
            resource_version=written.resource_version,
            annotations_off=[LAST_APPLIED] if has_copy else (),
        )
        _done(self.writer.disclaim(path, patch))

    def _is_alone(self, work: Work, now: LiveObject) -> bool:
        return not (now.rivals(self.desired[work.one]) or now.blind_managers)

    def _is_done(self, work: Work, live: LiveObject, now: LiveObject) -> bool:
        is_ours = now.is_ours(self.desired[work.one]) and not now.marks.last_applied and now.same_content(live)
        return is_ours and (work.one.on_conflict is not OnConflict.REFUSE or self._is_alone(work, now))

    def _adopted(self, work: Work, live: LiveObject, now: LiveObject) -> Adopted:
        new = self.desired[work.one]
        as_live = replace(_as_it_stands(new, live), data=live.data, rotating=frozenset())
        return Adopted(
            work.one.title,
            work.namespace,
            uid=now.uid,
            resource_version=now.resource_version,
            verdicts=checks.masked(self.sources.compare(work.one, now.contents, as_live), now.data),
            written=now.resource_version != live.resource_version,
            removed_last_applied=bool(live.marks.last_applied),
            took_over_from=work.rivals,
        )

    def _not_there(self, work: Work, answer: Answer[LiveObject]) -> NotDone:
        if answer.is_not_found:
            return Refused(work.one.title, work.namespace, _SINCE)
        return check.not_done(self._asked(work, "read"), answer)

    def _asked(self, work: Work, verb: str) -> Asked:
        return Asked(work.one.title, work.namespace, self.writer.identity, verb=verb)


_SINCE = "changed since the check; check again"


def _as_it_stands(new: Desired, live: LiveObject) -> Desired:
    """Return what is desired with what a live object says of it, if it is a manifest's."""
    return replace(new, rest=manifests.shared(live.rest, new.rest))


def _done(answer: Answer[Written]) -> Written:
    if answer.value is None:
        raise _NotWritten(answer)
    return answer.value


def _changed(live: LiveObject, now: LiveObject) -> str:
    """Return what changed about an object whose content is the same, if anything that matters."""
    if now.is_being_deleted:
        return "being-deleted: somebody deleted it"
    return "ownerReferences or finalizers changed" if now.ownership != live.ownership else ""
