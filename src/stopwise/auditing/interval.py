"""A range of values, as every part of an audit gives them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """All values from ``low`` to ``high``."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def width(self) -> float:
        """How far the ends are apart."""
        return self.high - self.low
