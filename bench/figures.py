"""Figures, their targets, and the lines that state them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

type Comparison = Literal["<=", ">=", "=="]

_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda value, limit: value <= limit,
    ">=": lambda value, limit: value >= limit,
    "==": lambda value, limit: value == limit,
}


@dataclass(frozen=True)
class Target:
    """What a figure is to be, such as at least 0.95.

    What is measured of time, memory and their ratios is more than nothing: what is not above `above` was measured wrong
    and is missed. A count is exact.
    """

    comparison: Comparison
    limit: float
    above: float = 0.0

    def is_met(self, value: float) -> bool:
        """Return whether a figure meets it; what is no number never does."""
        if not math.isfinite(value) or not _HOLDS[self.comparison](value, self.limit):
            return False
        return self.comparison == "==" or value > self.above

    def __str__(self) -> str:
        return f"{self.comparison}{self.limit:g}"


@dataclass(frozen=True)
class Figure:
    """One result. Those with a target are met or missed; the others are for orientation.

    A `value` of None was to be measured and was not.
    """

    name: str
    value: float | None
    unit: str
    target: Target | None = None

    @property
    def verdict(self) -> str:
        """``met``, ``missed``, or a dash without a target."""
        if self.target is None:
            return "-"
        return "met" if self.value is not None and self.target.is_met(self.value) else "missed"

    def line(self) -> str:
        """Return ``name value unit target verdict``."""
        return f"{self.name:42} {shown(self.value):>10} {self.unit:16} {self.target or '-'!s:8} {self.verdict}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "target": str(self.target) if self.target else None,
            "verdict": self.verdict,
        }


class Figures:
    """The figures of a run, each printed as it comes.

    `targets` are those that the run has to meet: one of which no figure comes is missed.
    """

    def __init__(self, targets: Mapping[str, Target], tell: Callable[[str], object] = print) -> None:
        self._targets = targets
        self._tell = tell
        self._found: dict[str, Figure] = {}

    def say(self, name: str, value: float, unit: str) -> None:
        """Add a figure. Raises `ValueError` if there is one of that name, or if this one is no number."""
        if name in self._found:
            raise ValueError(f"{name} is there already")
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}")
        self._found[name] = Figure(name, value, unit, self._targets.get(name))
        self._tell(self._found[name].line())

    def value(self, name: str) -> float:
        """Return the value of a figure that is there. Raises `KeyError`."""
        value = self._found[name].value
        assert value is not None, "only numbers are added"
        return value

    def all(self) -> list[Figure]:
        """Return every figure in its order, and after them those that have a target and were not measured."""
        missing = [Figure(name, None, "", target) for name, target in self._targets.items() if name not in self._found]
        return [*self._found.values(), *missing]


def closing_line(figures: list[Figure]) -> str:
    """Return ``bench: N met, N missed``."""
    verdicts = [figure.verdict for figure in figures]
    return f"bench: {verdicts.count('met')} met, {verdicts.count('missed')} missed"


def shown(value: float | None) -> str:
    """Return a value as it is printed."""
    if value is None:
        return "none"
    if value == int(value):
        return str(int(value))
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"
