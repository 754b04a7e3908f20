"""Maps values to places on paper, and chooses round numbers to write beside the axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.record.contrast import PercentInterval


@dataclass(frozen=True)
class Linear:
    """A linear axis: values `low` … `high` fall on coordinates `start` … `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def clamped(self, value: float) -> float:
        """The place of `value`, or of the nearer end of the axis when it lies outside."""
        return self(min(max(value, self.low), self.high))

    def ticks(self, count: int) -> list[float]:
        """Round values inside the axis, about `count` of them."""
        step = round_step((self.high - self.low) / max(count, 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]


@dataclass(frozen=True)
class Log:
    """A logarithmic axis over positive values."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = math.log(self.high / self.low) or 1.0
        return self.start + math.log(value / self.low) / span * (self.end - self.start)

    def clamped(self, value: float) -> float:
        """The place of `value`, or of the nearer end of the axis when it lies outside."""
        return self(min(max(value, self.low), self.high))

    def ticks(self, count: int) -> list[float]:
        """Values 1, 2, 5 × 10ⁿ inside the axis; fewer of them where more than `count` fit."""
        for multiples in ((1, 2, 5), (1, 3), (1,)):
            ticks = self._multiples(multiples)
            if len(ticks) <= count:
                return ticks
        every = math.ceil(len(ticks) / max(count, 1))
        return ticks[::every]

    def _multiples(self, multiples: tuple[int, ...]) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        values = [m * 10.0**power for power in range(first, last + 1) for m in multiples]
        return [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]


def known_ends(intervals: Iterable[PercentInterval]) -> list[float]:
    """Ends and estimates of intervals, in percent, as far as they are known: what a scale holds."""
    return [
        end
        for interval in intervals
        for end in (interval.low_percent, interval.estimate_percent, interval.high_percent)
        if end is not None
    ]


def reach_of(values: Sequence[float | None], margin_percent: float) -> float:
    """How far a symmetric beam must reach to hold all values and the margin, in percent."""
    magnitudes = [abs(value) for value in values if value is not None]
    return max([*magnitudes, margin_percent * 1.5]) * 1.2


_REACHES = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


def round_reach(needed: float) -> float:
    """The next round number, so that the ends of a scale are some; above 0."""
    unit = 10.0 ** math.floor(math.log10(needed))
    return next(step * unit for step in _REACHES if step * unit >= needed * 0.999)


def round_step(rough: float) -> float:
    """The least of 1, 2, 2.5, 5 × 10ⁿ that is not below `rough`; 1 for nothing at all."""
    if rough <= 0 or not math.isfinite(rough):
        return 1.0
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)


def decimals_of(ticks: list[float]) -> int:
    """How many decimals tell these ticks apart."""
    for digits in range(6):
        if all(math.isclose(round(t, digits), t, abs_tol=1e-9) for t in ticks):
            return digits
    return 6
