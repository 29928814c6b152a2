"""The use case behind release: our claims on objects are dropped, and their bytes stay."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from upsert import check
from upsert.adopt import AdoptReport, planned, rounds
from upsert.adopt_request import AdoptRequest
from upsert.adopting import Work
from upsert.check import AdoptReader, AdoptWriter
from upsert.core import document, outcomes
from upsert.core.adoptions import Refused, Released, Result
from upsert.core.answers import Answer, Written
from upsert.core.claims import Held
from upsert.core.document import EXPIRES_AT
from upsert.core.objects import Object
from upsert.core.remedies import Asked
from upsert.core.resources import Resource
from upsert.core.sensitive import Sensitive
from upsert.rounds import Again


@dataclass(frozen=True, slots=True)
class ReleaseParts:
    """What a release is made of. `resource` is what the API server calls an object, `record` gets each result."""

    resource: Callable[[Object], Resource]
    connect: Callable[[], tuple[AdoptWriter, AdoptReader]]
    record: Callable[[Result], None]


def release(request: AdoptRequest, parts: ReleaseParts) -> AdoptReport:
    """Drop our claims on the objects of the request in their namespaces, and return the report."""
    writer, reader = parts.connect()
    plan = planned(writer, request.objects, request.namespaces)
    releaser = _Releaser(writer, reader, parts.resource, {})
    results: list[Result] = [outcomes.overlap(title, namespace) for title, namespace in plan.overlaps]
    for result in results:
        parts.record(result)
    for _, result in rounds(writer, releaser.release, [Work(one, namespace) for one, namespace in plan.writes]):
        parts.record(result)
        results.append(result)
    return AdoptReport(
        request.action, _sorted(results), writer.requests, saw_external_secrets=reader.may_see_external_secrets
    )


def _sorted(results: Sequence[Result]) -> tuple[Result, ...]:
    return tuple(sorted(results, key=lambda result: (result.namespace, result.title)))


@dataclass(frozen=True, slots=True)
class _Releaser:
    """Releases objects; each call is one try. `before` has how each stood when it was first looked at."""

    writer: AdoptWriter
    reader: AdoptReader
    resource: Callable[[Object], Resource]
    before: dict[tuple[str, str], Held]

    def release(self, work: Work) -> Result | Again[Result]:
        """Return what became of an object. Each try begins with how it stands, since an answer may have been lost."""
        path = self.resource(work.one).path(work.namespace, work.one.name)
        answer = self.reader.held(path)
        held = answer.value
        if held is None:
            if answer.is_not_found:
                return Released(work.one.title, work.namespace, is_there=False)
            return check.not_done(self._asked(work, "read"), answer)
        before = self.before.setdefault((work.one.title, work.namespace), held)
        if not held.is_claimed:
            return _released(work, before, held)
        if held.is_being_deleted:
            return Refused(work.one.title, work.namespace, "being-deleted: it is gone once its finalizers are")
        written = self.writer.disclaim(path, _disclaimer(held))
        return self._read_back(work, path, before, written)

    def _read_back(self, work: Work, path: str, before: Held, written: Answer[Written]) -> Result | Again[Result]:
        answer = self.reader.held(path)
        now = answer.value
        if now and now.uid == before.uid and not now.is_claimed:
            return _released(work, before, now)
        if written.value is None and not written.is_precondition_failed:
            return check.not_done(self._asked(work, "adopt"), written)
        if now is None and not answer.is_not_found:
            return check.not_done(self._asked(work, "read"), answer)
        return Refused(work.one.title, work.namespace, "changed meanwhile; release again")

    def _asked(self, work: Work, verb: str) -> Asked:
        return Asked(work.one.title, work.namespace, self.writer.identity, verb=verb)


def _disclaimer(held: Held) -> Sensitive[bytes]:
    return document.claims(
        held.without_ours(),
        uid=held.uid,
        resource_version=held.resource_version,
        annotations_off=[EXPIRES_AT] if held.expires else (),
    )


def _released(work: Work, before: Held, now: Held) -> Released:
    return Released(
        work.one.title,
        work.namespace,
        uid=now.uid,
        resource_version=now.resource_version,
        others=now.others,
        written=before.is_claimed,
        is_same=before.content == now.content,
    )
