"""The use case behind check: an object is read where it is live, and compared with what a refresh would write."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from upsert.core import checks, outcomes
from upsert.core.adoptions import Refused
from upsert.core.answers import Answer, Written
from upsert.core.checks import Check
from upsert.core.claims import Held
from upsert.core.identity import Identity
from upsert.core.live import ExternalSecret, LiveObject
from upsert.core.objects import BadMaterial, Desired, Material, NothingYet, Object, OnConflict, Ref
from upsert.core.outcomes import Failed, Skipped
from upsert.core.remedies import Asked
from upsert.core.resources import SECRETS
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Verdict
from upsert.errors import SourceEmpty, SourceFailed
from upsert.rounds import Again, Pacing

type NotDone = Refused | Failed | Again[Failed]


class AdoptWriter(Protocol):
    """What the adopter, like the refresher, may ask of the API server."""

    @property
    def identity(self) -> Identity: ...
    @property
    def pace(self) -> Pacing: ...
    @property
    def requests(self) -> int: ...
    def namespaces(self, selector: str, names: Sequence[str] = ()) -> Sequence[str]: ...
    def claim(self, path: str, configuration: Sensitive[bytes]) -> Answer[Written]: ...
    def remove_last_applied(self, path: str, written: Written) -> Answer[Written]: ...
    def disclaim(self, path: str, patch: Sensitive[bytes]) -> Answer[Written]: ...
    def time_left(self) -> float: ...


class AdoptReader(Protocol):
    """What the adopter alone may ask of the API server."""

    @property
    def may_see_external_secrets(self) -> bool: ...
    def live(self, path: str) -> Answer[LiveObject]: ...
    def held(self, path: str) -> Answer[Held]: ...
    def external_secrets(self, namespace: str, name: str) -> tuple[ExternalSecret, ...]: ...


@dataclass(frozen=True, slots=True)
class Sources:
    """What is to be compared: `read`, `build` and `compare` are of the objects' sources and kinds."""

    read: Callable[[Collection[Ref]], Mapping[Ref, Material | SourceFailed]]
    build: Callable[[Object, Mapping[str, Material]], Desired]
    compare: Callable[[Object, Mapping[str, Sensitive[bytes]], Desired], tuple[Verdict, ...]]


def desired(objects: Sequence[Object], sources: Sources, *, may_be_empty: bool) -> dict[Object, Desired | SourceFailed]:
    """Return what a refresh would write of each object, or why nothing.

    `may_be_empty` leaves out a part whose source holds nothing yet: before the first import that is as it should be,
    and a check is what tells how to go on.
    """
    readings = sources.read(dict.fromkeys(part.ref for one in objects for part in one.parts))
    return {one: _desired(one, readings, sources.build, may_be_empty=may_be_empty) for one in objects}


def _desired(
    one: Object,
    readings: Mapping[Ref, Material | SourceFailed],
    build: Callable[[Object, Mapping[str, Material]], Desired],
    *,
    may_be_empty: bool,
) -> Desired | SourceFailed:
    materials: dict[str, Material] = {}
    for part in one.parts:
        reading = readings[part.ref]
        if isinstance(reading, Material):
            materials[part.place] = reading
        elif not (may_be_empty and isinstance(reading, SourceEmpty)):
            return reading.at(part.place)
    while True:
        try:
            return build(one, materials)
        except NothingYet as wrong:
            if not may_be_empty:
                return SourceFailed(f"{one.title}: {wrong}")
            del materials[wrong.place]
        except BadMaterial as wrong:
            return SourceFailed(f"{one.title}: {wrong}")


def check(
    writer: AdoptWriter, reader: AdoptReader, sources: Sources, one: Object, new: Desired, namespace: str
) -> Check | NotDone:
    """Return all that is to be said about one object in one namespace; nothing is written."""
    answer = reader.live(new.resource.path(namespace, one.name))
    if answer.status == 404 and not answer.trouble:
        return checks.missing(one.title, namespace)
    if answer.value is None:
        return not_done(Asked(one.title, namespace, writer.identity, verb="read"), answer)
    return checks.check(
        one.title,
        namespace,
        answer.value,
        new,
        lambda live, made: sources.compare(one, live, made),
        external_secrets=reader.external_secrets(namespace, one.name) if new.resource == SECRETS else (),
        refuses_conflicts=one.on_conflict is OnConflict.REFUSE,
    )


def not_done[T](asked: Asked, answer: Answer[T]) -> NotDone:
    """Return what an answer comes to that is not what was asked for, and whether another try is worth it."""
    outcome = outcomes.not_done(asked, answer)
    if isinstance(outcome, Skipped):
        return Refused(asked.title, asked.namespace, f"the namespace is {outcome.reason}")
    if not answer.is_worth_retrying:
        return outcome
    return Again(outcome, answer.retry_after, answer.is_outage, answer.is_throttled)
