"""What imports share: a live object is read, and what is kept outside of the cluster moves on from a version of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from upsert import check
from upsert.adopt import planned
from upsert.adopt_request import AdoptRequest
from upsert.check import AdoptReader, AdoptWriter, Sources
from upsert.core import outcomes
from upsert.core.adoptions import Refused, Result
from upsert.core.answers import Answer
from upsert.core.live import LiveObject
from upsert.core.objects import BadMaterial, Material, NothingYet, Object
from upsert.core.outcomes import Failed
from upsert.core.remedies import Asked
from upsert.core.resources import Resource
from upsert.core.sensitive import Sensitive
from upsert.core.value_plan import Store, Version
from upsert.errors import ImportRefused
from upsert.rounds import Again, in_rounds

UNCHANGED = "nothing was imported"


class Kept(Protocol):
    """Where a value is kept outside of the cluster. Its errors are `SourceFailed`."""

    def fetch(self) -> Version | None:
        """Return what is kept there now, or None if nothing is yet."""

    def put(self, value: Sensitive[str], *, over: str) -> bool:
        """Keep the value there if the version `over` still is the current one, or none yet if empty; tell whether."""


@dataclass(frozen=True, slots=True)
class ImportParts:
    """What an import is made of. `conceal` gets what is moved.

    `resource` is what the API server calls an object, `own_fields` are the fields of the file that its kind has.
    """

    sources: Sources
    resource: Callable[[Object], Resource]
    own_fields: Callable[[Object], Sequence[str]]
    kept: Callable[[Store], Kept]
    connect: Callable[[], tuple[AdoptWriter, AdoptReader]]
    record: Callable[[Result], None]
    conceal: Callable[[Sensitive[str]], None]


type _Read = Answer[LiveObject] | Refused | Failed


def live_object(writer: AdoptWriter, reader: AdoptReader, request: AdoptRequest, resource: Resource) -> LiveObject:
    """Return the object of the request as it stands in its namespace. Raises `ImportRefused` if it is not read."""
    (one,), (namespace,) = request.objects, request.namespaces
    planned(writer, [one], request.namespaces)
    asked = Asked(one.title, namespace, writer.identity, verb="read")

    def read(path: str) -> _Read | Again[_Read]:
        answer = reader.live(path)
        return answer if answer.value or answer.is_not_found else check.not_done(asked, answer)

    found: list[_Read] = list(
        in_rounds(
            read,
            [resource.path(namespace, one.name)],
            pace=writer.pace,
            time_left=writer.time_left,
            late=lambda _: outcomes.deadline(one.title, namespace),
            broken=lambda _, fault: outcomes.broken(one.title, namespace, fault),
        )
    )
    match found[0]:
        case Answer(value=LiveObject() as live):
            return live
        case Answer():
            why = "missing"
        case Failed(remedy=remedy):
            why = remedy
        case Refused(reason=reason):
            why = reason
    raise ImportRefused(f"{namespace}: the {resource.kind} was not read: {why}; {UNCHANGED}")


def check_usable(sources: Sources, one: Object, materials: Mapping[str, Material], whose: str) -> None:
    """Raise `ImportRefused` if no object could be made of what would be kept."""
    try:
        sources.build(one, materials)
    except NothingYet:
        return
    except BadMaterial as wrong:
        raise ImportRefused(f"{whose} would be of no use to a refresh: {wrong}; {UNCHANGED}") from None
