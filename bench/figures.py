"""Figures, their targets, and the lines that state them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

type Comparison = Literal["<=", ">=", "=="]

_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda value, limit: value <= limit,
    ">=": lambda value, limit: value >= limit,
    "==": lambda value, limit: value == limit,
}


@dataclass(frozen=True)
class Target:
    """What a figure is to be, such as at least 0.8."""

    comparison: Comparison
    limit: float

    def __str__(self) -> str:
        return f"{self.comparison}{self.limit:g}"


@dataclass(frozen=True)
class Figure:
    """One result. Those with a target are met or missed; the others are for orientation."""

    name: str
    value: float
    unit: str
    target: Target | None = None

    @property
    def verdict(self) -> str:
        """``met``, ``missed``, or a dash without a target."""
        if self.target is None:
            return "-"
        return "met" if _HOLDS[self.target.comparison](self.value, self.target.limit) else "missed"

    def line(self) -> str:
        """Return ``name value unit target verdict``."""
        return f"{self.name:42} {_shown(self.value):>10} {self.unit:16} {self.target or '-'!s:8} {self.verdict}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "target": str(self.target) if self.target else None, "verdict": self.verdict}


def closing_line(figures: list[Figure]) -> str:
    """Return ``bench: N met, N missed``."""
    verdicts = [figure.verdict for figure in figures]
    return f"bench: {verdicts.count('met')} met, {verdicts.count('missed')} missed"


def _shown(value: float) -> str:
    if value == int(value):
        return str(int(value))
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"
