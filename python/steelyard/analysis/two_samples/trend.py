"""Computes the linear drift over the order of the rows, robust to storms.

The median of the slopes between all pairs of replicates (Theil 1950), with its rank interval (Sen,
JASA 63 (1968) 1379), widened where what is left after the line still depends on its neighbours. A
drift counts where the 99 % interval does not hold zero and it is larger than the margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.replicates import batch_means, likely_stretch

CONFIDENCE = 0.99
FEWEST_ROWS = 8


@dataclass(frozen=True, slots=True)
class Trend:
    """The change over all rows on the straight line, from first to last, with its interval."""

    change: float
    low: float
    high: float

    def beyond(self, margin: float) -> bool:
        """Whether it differs significantly from zero and is larger than `margin` (same unit)."""
        return not self.low <= 0 <= self.high and abs(self.change) > margin


def median_slope(values: Floats) -> tuple[float, float, float]:
    """The median of the slopes between all pairs of values a step apart, shape (n,), n at least 2,
    and the ends of its interval by ranks (Sen 1968, ties counted as there)."""
    from scipy.special import ndtri

    n = len(values)
    later, earlier = np.tril_indices(n, -1)
    slopes = np.sort((values[later] - values[earlier]) / (later - earlier))
    _, repeats = np.unique(values, return_counts=True)
    ties = float((repeats * (repeats - 1) * (2 * repeats + 5)).sum())
    spread = math.sqrt(max(n * (n - 1) * (2 * n + 5) - ties, 0.0) / 18)
    reach = -float(ndtri((1 - CONFIDENCE) / 2)) * spread
    below = max(round((len(slopes) - reach) / 2) - 1, 0)
    above = min(round((len(slopes) + reach) / 2), len(slopes) - 1)
    return float(np.median(slopes)), float(slopes[below]), float(slopes[above])


def trend_of(series: Floats) -> Trend:
    """The drift of a series in its order, shape (n,), finite; NaN with fewer than 8 rows."""
    if len(series) < FEWEST_ROWS:
        return Trend(math.nan, -math.inf, math.inf)
    means = batch_means(series)
    at = np.arange(len(means), dtype=np.float64)
    slope, low, high = median_slope(means)
    intercept = float(np.median(means)) - slope * float(np.median(at))
    stretch = likely_stretch(means - intercept - slope * at)
    reach = len(means) - 1
    ends = (slope - stretch * (slope - low), slope + stretch * (high - slope))
    return Trend(slope * reach, ends[0] * reach, ends[1] * reach)
