"""Finds the end of a warm-up by MSER-5, and tests that no drift is left after it.

MSER-5 is the truncation that minimises the error of the mean: White, Simulation 69 (1997) 323; the
best candidate for automation in Hoad & Robinson, Winter Simulation Conference 2011. Both arms are
cut alike, at the longer of their two truncations.

With as few means of 5 as the seconds of a pilot give, the variance of the last ones is small by
chance: of pairs of steady series of 37 observations a truncation in the second half was best for 40
in 100. So the pilot takes the best in the first half (`settled_after`), and whether the load has
settled is told by the drift that is left after it.

The drift is the slope of a least-squares line through the means of ten batches. It counts only if
it is both significant at .01 and larger than the tolerance: autocorrelation alone makes small
drifts "significant".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.student_t import two_sided_p_value

MSER_BATCH = 5
FEWEST_MSER_BATCHES = 4
SLOPE_BATCHES = 10
ALPHA = 0.01
SETTLED_TOLERANCE = 0.05
"""The drift that a pilot of seconds may leave; epochs are asked for the margin's."""
_TINY = 1e-20
"""Keeps a perfect line's t finite."""


def mser5(series: Sequence[float]) -> int | None:
    """Number of observations at the front that are warm-up, of one arm's throughput, shape (n,).

    Minimises Σ_{j>c}(x_j − x̄_c)² / (m − c)² over the cuts c ≤ m/2 between the m means of 5
    observations; a multiple of 5. None where no end was found: the best cut lies in the second
    half, or there are fewer than 20 observations.
    """
    count = len(series) // MSER_BATCH
    # The last few cuts leave too few values for a variance: they score well by chance.
    best = _best_cut(series, count - 2)
    return best * MSER_BATCH if best is not None and best <= count // 2 else None


def first_half_cut(series: Sequence[float]) -> int | None:
    """Number of observations at the front to leave out: MSER-5 over the cuts of the first half of
    one arm's series, shape (n,); None for fewer than 20 observations."""
    best = _best_cut(series, len(series) // MSER_BATCH // 2 + 1)
    return None if best is None else best * MSER_BATCH


def settled_after(series: Sequence[float]) -> int | None:
    """Number of observations at the front that are warm-up, of one arm's throughput, shape (n,),
    positive numbers: the cut of the first half. None where what follows it still drifts by more
    than SETTLED_TOLERANCE, or there are fewer than 20 observations."""
    cut = first_half_cut(series)
    if cut is None or drift_of(series[cut:]).matters(SETTLED_TOLERANCE):
        return None
    return cut


def _best_cut(series: Sequence[float], cuts: int) -> int | None:
    """Which of the first cuts between means of 5 leaves the smallest error of the mean."""
    values = np.asarray(series, dtype=float)
    count = len(values) // MSER_BATCH
    if count < FEWEST_MSER_BATCHES or not np.isfinite(values).all():
        return None
    means = values[: count * MSER_BATCH].reshape(count, MSER_BATCH).mean(axis=1)
    scores = [float(np.var(means[cut:])) / (count - cut) for cut in range(cuts)]
    return int(np.argmin(scores))


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through values one step apart, by least squares."""

    slope: float
    """A step."""
    p_value: float
    """Two-sided, of "the slope is 0", by Student's t."""


def line_through(values: Floats) -> Line:
    """The line through at least three values that are not all alike, shape (n,).

    As scipy.stats.linregress computes it, to the last digit.
    """
    spread_x, both, _, spread_y = np.cov(np.arange(len(values)), values, bias=True).flat
    slope = float(both / spread_x)
    if spread_y == 0:  # all alike but for less than a float holds of squares
        return Line(slope, 1.0)
    r = min(max(both / np.sqrt(spread_x * spread_y), -1.0), 1.0)
    freedom = len(values) - 2
    t = r * np.sqrt(freedom / ((1.0 - r + _TINY) * (1.0 + r + _TINY)))
    return Line(slope, two_sided_p_value(t, freedom))


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
    values = np.asarray(series, dtype=float)
    if len(values) < SLOPE_BATCHES or not (np.isfinite(values) & (values > 0)).all():
        return Drift(0.0, 1.0)
    means = np.array([np.log(part).mean() for part in np.array_split(values, SLOPE_BATCHES)])
    if np.ptp(means) == 0:
        return Drift(0.0, 1.0)
    line = line_through(means)
    # Batch centres lie 1/10 apart: nine steps span nine tenths of the series.
    return Drift(line.slope * SLOPE_BATCHES, line.p_value)
