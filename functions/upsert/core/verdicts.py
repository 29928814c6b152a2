"""Verdicts on keys: what a refresh would change, never a value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from upsert.core import differences
from upsert.core.names import Names
from upsert.core.objects import Desired
from upsert.core.sensitive import Sensitive


class Likeness(StrEnum):
    """How one key of the live object relates to what a refresh would write."""

    MATCH = "MATCH"
    MISMATCH = "MISMATCH"
    ROTATES = "ROTATES"
    ONLY_IN_LIVE = "ONLY IN LIVE"
    ONLY_IN_NEW = "ONLY IN NEW"
    MISSING = "MISSING"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one key. Lengths are in bytes, where both sides have a value; `differences` say what differs.

    `loses_nothing` is whether a refresh may go ahead for all that this key says.
    """

    key: str
    likeness: Likeness
    live_bytes: int | None = None
    new_bytes: int | None = None
    differences: tuple[str, ...] = ()
    loses_nothing: bool = True

    @property
    def causes(self) -> tuple[str, ...]:
        """Return the differences without saying in which of the two values they are."""
        return tuple(one.removesuffix(" in live").removesuffix(" in new") for one in self.differences)

    def __str__(self) -> str:
        if self.likeness not in (Likeness.MISMATCH, Likeness.ROTATES):
            return f"{self.key}: {self.likeness}"
        lengths = f"{self.live_bytes} vs {self.new_bytes} bytes"
        return f"{self.key}: {self.likeness} ({'; '.join((lengths, *self.differences))})"


def of_value(key: str, live: Sensitive[bytes], new: Sensitive[bytes]) -> Verdict:
    """Return the verdict on a value that is meant to stay."""
    a, b = live.reveal(), new.reveal()
    if a == b:
        return _match(key)
    return Verdict(key, Likeness.MISMATCH, len(a), len(b), differences.of_values(a, b), loses_nothing=False)


@lru_cache(maxsize=1024)
def _match(key: str) -> Verdict:
    """Return a match, one and the same for all namespaces."""
    return Verdict(key, Likeness.MATCH)


def of_keys(live: Mapping[str, Sensitive[bytes]], desired: Desired) -> tuple[Verdict, ...]:
    """Return a verdict for each key of an object whose keys stand for themselves."""
    return tuple(_of_keys(live, desired))


def _of_keys(live: Mapping[str, Sensitive[bytes]], desired: Desired) -> Iterator[Verdict]:
    names = Names()
    for key in live:
        if key not in desired.data:
            yield Verdict(names.of_key(key), Likeness.ONLY_IN_LIVE, loses_nothing=False)
        else:
            yield of_value(names.of_key(key), live[key], desired.data[key])
    yield from (Verdict(names.of_key(key), Likeness.ONLY_IN_NEW) for key in desired.data if key not in live)
