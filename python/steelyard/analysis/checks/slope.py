"""Tests for a steady state: no drift over the last part of the warm-up that would matter.

A least-squares line through the means of ten batches. A drift counts only if it is both significant
at .01 and larger than what is asked about: autocorrelation alone makes small drifts "significant".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BATCHES = 10
ALPHA = 0.01
TOLERANCE = 0.05
"""Drift over the whole series, as a fraction, below which a load counts as steady."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A straight drift over a whole series."""

    change: float
    """Log change from the beginning to the end of the series."""
    p_value: float

    def matters(self, tolerance: float) -> bool:
        """Whether it is significant and larger than `tolerance` (a fraction)."""
        return self.p_value < ALPHA and abs(self.change) > math.log1p(tolerance)


def drift_of(series: Sequence[float]) -> Drift:
    """The drift of one arm's throughput over its slices, in order, shape (n,), positive numbers.

    Fewer than 10 observations, or a slice without work: no drift can be seen (p = 1).
    """
    from scipy.stats import linregress

    values = np.asarray(series, dtype=float)
    if len(values) < BATCHES or not (np.isfinite(values) & (values > 0)).all():
        return Drift(0.0, 1.0)
    means = np.array([np.log(part).mean() for part in np.array_split(values, BATCHES)])
    if np.ptp(means) == 0:
        return Drift(0.0, 1.0)
    line = linregress(np.arange(BATCHES), means)
    # Batch centres lie 1/10 apart: nine steps span nine tenths of the series.
    return Drift(float(line.slope) * BATCHES, float(line.pvalue))


def drifts(series: Sequence[float], tolerance: float = TOLERANCE) -> bool:
    """Whether an arm's throughput over its slices drifts beyond `tolerance` from end to end."""
    return drift_of(series).matters(tolerance)
