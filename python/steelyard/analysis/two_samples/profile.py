"""Describes one series of rows: level, spread, level steps, drift and outliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.checks.outliers import outlying
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.change_points import Segment, segments_of
from steelyard.analysis.two_samples.trend import Trend, trend_of


@dataclass(frozen=True, eq=False)
class Profile:
    """A series of logs seen in its order."""

    level: float
    """The mean of the logs."""
    sd: float
    """Of a row, log; NaN with fewer than two."""
    segments: tuple[Segment, ...]
    trend: Trend
    outliers: tuple[int, ...]
    """Rows counted from 0."""

    @property
    def steps(self) -> bool:
        """Whether the level changed."""
        return len(self.segments) > 1

    @property
    def usual(self) -> Segment:
        """The longest segment: what the others are compared with."""
        return max(self.segments, key=lambda segment: segment.rows)


def profile_of(logs: Floats, in_time: bool = True) -> Profile:
    """The profile of a series of logs, shape (n,), finite, n ≥ 1.

    `in_time`: whether the rows are in the order of measuring; else steps and drift are not
    looked for.
    """
    level = float(np.mean(logs))
    whole = (Segment(0, len(logs) - 1, level),)
    return Profile(
        level=level,
        sd=float(np.std(logs, ddof=1)) if len(logs) > 1 else float("nan"),
        segments=segments_of(logs) if in_time else whole,
        trend=trend_of(logs) if in_time else Trend(float("nan"), -np.inf, np.inf),
        outliers=tuple(int(row) for row in outlying(logs)),
    )
