"""The adopter's log records and answer: the one place that names their fields."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from upsert.adopt import AdoptReport
from upsert.adopt_report import markdown
from upsert.core.adoptions import Adopted, Imported, Refused, Released, Result, ending, lines_of
from upsert.core.checks import Check, place
from upsert.core.objects import Object
from upsert.core.outcomes import Failed
from upsert.core.verdicts import Verdict
from upsert.errors import SourceFailed
from upsert.telemetry import Telemetry

_MOST_BYTES_OF_LINES = 5 * 1024 * 1024
_UNPLACED = "no namespace of the cluster is in its scope; check include, exclude and selector"
_LEFT_OUT = "the answer would be too long; the log has every line, as the records adopt.verdict and adopt.checked"


class AdoptRecords:
    """Writes what a run of the adopter comes to, as it comes."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def result(self, result: Result) -> None:
        """Write the records of one object in one namespace: one per verdict, and one for what became of it."""
        where = {"object": result.title, "namespace": result.namespace}
        match result:
            case Check():
                self._verdicts(where, result.verdicts)
                self._telemetry.info("adopt.checked", **where, **_checked(result))
            case Adopted():
                self._verdicts(where, result.verdicts)
                self._telemetry.info(
                    "adopt.adopted",
                    **where,
                    uid=result.uid,
                    resource_version=result.resource_version,
                    written=result.written,
                    removed_last_applied=result.removed_last_applied,
                    took_over_from=list(result.took_over_from),
                )
            case Released():
                self._telemetry.info(
                    "adopt.released",
                    **where,
                    uid=result.uid,
                    resource_version=result.resource_version,
                    written=result.written,
                    is_there=result.is_there,
                    is_same=result.is_same,
                    claimed_by=list(result.others),
                )
            case Refused():
                if result.check:
                    self.result(result.check)
                self._telemetry.error("adopt.refused", **where, reason=result.reason)
            case Imported():
                self._telemetry.info(
                    "adopt.imported",
                    **where,
                    imported=list(result.added),
                    imported_already=list(result.present),
                    left_out=list(result.left_out),
                )
            case Failed():
                self._telemetry.error(
                    "adopt.failed", **where, reason=result.reason, status=result.status, remedy=result.remedy
                )

    def source_failed(self, one: Object, why: SourceFailed) -> None:
        """Write the record of an object of which nothing can be said, since its source failed."""
        self._telemetry.error("source.failed", object=one.title, remedy=str(why))

    def unplaced(self, one: Object) -> None:
        """Write the record of an object that selects no namespace."""
        self._telemetry.warning("object.unplaced", object=one.title, remedy=_UNPLACED)

    def completed(self, report: AdoptReport, *, as_markdown: bool = False) -> None:
        """Write the summary of a run that went to its end, and the report if an error stands in the answer's place."""
        self._telemetry.info("adopt.completed", **adopt_summary(report))
        if as_markdown and report.error():
            self._telemetry.info("adopt.report", report=markdown(report))

    def _verdicts(self, where: dict[str, str], verdicts: Sequence[Verdict]) -> None:
        here = place(where["object"], where["namespace"])
        for verdict in verdicts:
            self._telemetry.info(
                "adopt.verdict",
                **where,
                key=verdict.key,
                verdict=verdict.likeness.value,
                live_bytes=verdict.live_bytes,
                new_bytes=verdict.new_bytes,
                differences=list(verdict.differences),
                line=f"{here}/{verdict}" if verdict.key else f"{here}{verdict}",
            )


def adopt_summary(report: AdoptReport) -> dict[str, Any]:
    """Return the fields of the summary."""
    return {
        "action": report.action.value,
        "objects": len({result.title for result in report.results}),
        "objects_not_made": [title for title, _ in report.not_made],
        "namespaces": len({result.namespace for result in report.results}),
        **report.counts,
        "verdicts": dict(Counter(verdict.likeness.value for verdict in _verdicts_of(report))),
        "causes": dict(Counter(cause for verdict in _verdicts_of(report) for cause in verdict.causes)),
        "api_requests": report.api_requests,
        "saw_external_secrets": report.saw_external_secrets,
    }


def adopt_answer(report: AdoptReport, *, as_markdown: bool = False) -> dict[str, Any]:
    """Return what the adopter answers: the summary, every line that fits, and the report if it was asked for.

    Lambda answers 6 MB at most. The lines that do not fit are those of objects with no trouble, and are in the log.
    """
    troubled = [
        result for result in report.results if ending(result) in ("not_adoptable", "refused", "failed", "missing")
    ]
    kept: set[tuple[str, str]] = set()
    size = 0
    for result in (*troubled, *report.results):
        where = (result.namespace, result.title)
        if where in kept:
            continue
        size += sum(len(json.dumps(line)) + len(", ") for line in lines_of(result))
        if size > _MOST_BYTES_OF_LINES:
            break
        kept.add(where)
    lines = [
        *(f"{title.partition('/')[2]}: not checked: {why}" for title, why in report.not_made),
        *(f"{title.partition('/')[2]}: not checked: {_UNPLACED}" for title in report.unplaced),
        *(line for result in report.results if (result.namespace, result.title) in kept for line in lines_of(result)),
    ]
    left_out = len(report.results) - len(kept)
    answer = adopt_summary(report) | {"lines": lines}
    if left_out:
        answer |= {"left_out": left_out, "remedy": _LEFT_OUT}
    return answer | ({"report": markdown(report)} if as_markdown else {})


def _verdicts_of(report: AdoptReport) -> Iterator[Verdict]:
    for result in report.results:
        found = result.check if isinstance(result, Refused) else result
        if isinstance(found, (Check, Adopted)):
            yield from found.verdicts


def _checked(check: Check) -> dict[str, Any]:
    said = {"adoptable": check.adoptable, "reasons": list(check.reasons), "notes": list(check.notes)}
    live = check.live
    if live is None:
        return said
    found = {
        "uid": live.uid,
        "resource_version": live.resource_version,
        "immutable": live.immutable,
        "being_deleted": live.is_being_deleted,
        "last_applied": live.marks.last_applied,
    }
    if check.withholds:
        return said | found
    names = {
        "type": live.type,
        "owners": list(live.owners),
        "finalizers": list(live.finalizers),
        "helm_release": live.marks.helm_release,
        "argo_cd": live.marks.argo_cd,
        "tools": [tool.called for tool in live.marks.tools],
        "copies": [annotation for annotation, _ in live.marks.copies],
        "managers": list(live.managers),
    }
    return said | found | names
