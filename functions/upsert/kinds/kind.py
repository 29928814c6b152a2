"""What each kind is to the rest: a row of the table."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from upsert.core.fields import Fields
from upsert.core.objects import Desired, Material, Object, Part, Ref
from upsert.core.resources import Resource
from upsert.core.sensitive import Sensitive


class PartReader(Protocol):
    """Reads what an entry of the file says about its source, and notes what is wrong with it.

    `may_be_plain` is whether a value may stand in the file itself, or in one beside it.
    """

    def part(self, place: str, at: Fields, *, login: bool, may_be_plain: bool = False) -> Part:
        """Return the part for that place in the object: a login or a value."""

    def parts(self, at: Fields, *, may_be_plain: bool = False) -> Sequence[Part]:
        """Return a value for each of many keys, which are their places."""

    def given(self, ref: Ref) -> bytes:
        """Return the value that stands in the repository, or nothing if it is kept elsewhere."""

    def host(self, ref: Ref) -> str:
        """Return the host of a login, with words for what only a deployment knows, or nothing if there is none."""


type Data = Mapping[str, Sensitive[bytes]]


class Kind(NamedTuple):
    """One kind of object.

    `word` is its name in the file of objects, `type` what the API server calls it, `own_fields` the fields of an object
    that it alone understands. `parts` reads these at build. `build` makes the API object of what the sources gave, or
    raises `BadMaterial`.
    """

    word: str
    resource: Resource
    type: str
    own_fields: tuple[str, ...]
    parts: Callable[[Fields, PartReader], Sequence[Part]]
    build: Callable[[Object, Mapping[str, Material]], Desired]
