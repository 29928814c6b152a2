"""What each kind is to the rest: a row of the table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from upsert.core.fields import Fields
from upsert.core.objects import Desired, Material, Object, Part
from upsert.core.resources import Resource
from upsert.core.sensitive import Sensitive
from upsert.core.verdicts import Verdict


class PartReader(Protocol):
    """Reads the part that an entry of the file describes, a login or a value, and notes what is wrong with it."""

    def __call__(self, place: str, at: Fields, *, login: bool) -> Part:
        """Return the part for that place in the object."""


type Data = Mapping[str, Sensitive[bytes]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    `word` is its name in the file of objects, `type` what the API server calls it, `own_fields` the fields of an object
    that it alone understands. `parts` reads these at build. `build` makes the API object of what the sources gave, or
    raises `BadMaterial`. `compare` gives a verdict for each key of live data and of what is desired.
    """

    word: str
    resource: Resource
    type: str
    own_fields: tuple[str, ...]
    parts: Callable[[Fields, PartReader], Sequence[Part]]
    build: Callable[[Object, Mapping[str, Material]], Desired]
    compare: Callable[[Data, Desired], tuple[Verdict, ...]]
