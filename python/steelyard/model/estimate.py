"""Holds an estimate: a value that travels with its interval, count, unit and confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.model.units import percent_of_log

LOG_RATIO = "ln"
"""The unit of an estimate that is a natural log ratio."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval; an infinite end means that the data cannot bound that side."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """high − low; infinite where a side is unbounded."""
        return self.high - self.low if self.high != self.low else 0.0

    def inside(self, low: float, high: float) -> bool:
        """Whether the whole interval lies strictly between `low` and `high`."""
        return low < self.low and self.high < high

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


UNBOUNDED = Interval(-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval [low, high], the number of replicates behind it, its unit
    and the nominal confidence (a fraction). Never a bare number."""

    value: float
    low: float
    high: float
    count: int
    unit: str
    confidence: float

    @property
    def interval(self) -> Interval:
        """The interval alone."""
        return Interval(self.low, self.high)

    def in_percent(self) -> Estimate:
        """(arm ÷ control − 1) × 100 of a log ratio; ValueError for any other unit."""
        if self.unit != LOG_RATIO:
            raise ValueError(f'cannot turn an estimate in "{self.unit}" into percent of a ratio')
        return Estimate(
            value=percent_of_log(self.value),
            low=percent_of_log(self.low),
            high=percent_of_log(self.high),
            count=self.count,
            unit="%",
            confidence=self.confidence,
        )
