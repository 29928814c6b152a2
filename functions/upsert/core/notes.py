"""What may go wrong after an adoption: who else writes the object, would delete it, or holds an old value of it."""

from collections.abc import Iterator, Sequence

from upsert.core.live import ExternalSecret, LiveObject
from upsert.core.marks import Marks
from upsert.core.objects import Desired


def on(
    live: LiveObject, desired: Desired, external_secrets: Sequence[ExternalSecret], *, refuses_conflicts: bool
) -> Iterator[str]:
    """Give the notes on a live object. None of them stands in the way of an adoption."""
    kind = desired.resource.kind
    yield from _of_owners(live, kind)
    for finalizer in live.finalizers:
        yield f"finalizer {finalizer}: adopt leaves it alone"
    yield from _of_marks(live.marks, kind)
    yield from _of_writers(live, desired, refuses_conflicts=refuses_conflicts)
    for one in external_secrets:
        yield f"ExternalSecret {one.name} writes it (creationPolicy {one.creation_policy}): stop that first"


def _of_owners(live: LiveObject, kind: str) -> Iterator[str]:
    """Give what goes when an owner goes: an object with several goes with the last of them.

    https://kubernetes.io/docs/concepts/architecture/garbage-collection/
    """
    if len(live.owners) == 1:
        yield f"owned by {live.owners[0]}: deleting that deletes this {kind}; adopt leaves it so"
    elif live.owners:
        yield f"owned by {', '.join(live.owners)}: deleting all of them deletes this {kind}; adopt leaves it so"


def _of_marks(marks: Marks, kind: str) -> Iterator[str]:
    for tool in marks.tools:
        keep = f", and delete this {kind} once its source leaves it out; to keep it, {tool.keep}" if tool.keep else ""
        yield f"{tool.called}: {tool.run} may write its own value back{keep}"
    if marks.managed_by:
        yield f"labelled as managed by {marks.managed_by}, which may write its own value back, or delete this {kind}"
    if marks.last_applied:
        yield f"last-applied-configuration holds {_copy(marks.last_applied)}; adopt removes the annotation"
    for annotation, likeness in marks.copies:
        yield f"annotation {annotation} holds {_copy(likeness)}; adopt leaves it, so remove it with whoever writes it"


def _copy(likeness: str) -> str:
    return f"{'an' if likeness == 'unreadable' else 'a'} {likeness} copy of the data"


def _of_writers(live: LiveObject, desired: Desired, *, refuses_conflicts: bool) -> Iterator[str]:
    """Give who writes what is to be written. An apply of the same bytes is in conflict with nobody."""
    if rivals := live.rivals(desired):
        then = "the next refresh takes it over"
        if refuses_conflicts:
            then = "a refresh refuses to write another value (on_conflict is refuse) until it is adopted"
        yield f"{'content' if live.rest else 'data'} is managed by {', '.join(rivals)}; {then}"
    if live.blind_managers:
        yield (
            f"{', '.join(live.blind_managers)} applies it as stringData, for which no conflict is ever reported: each "
            "apply writes its own value back; stop that first"
        )
