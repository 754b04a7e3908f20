"""Finds the end of a warm-up: MSER-5, the truncation that minimises the error of the mean.

White, Simulation 69 (1997) 323; the best candidate for automation in Hoad & Robinson, Winter
Simulation Conference 2011. Both arms are cut alike, at the longer of their two truncations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BATCH = 5
FEWEST_BATCHES = 4


@dataclass(frozen=True, slots=True)
class Truncation:
    """Where a series is cut, and whether the rule found an end at all."""

    observations: int
    """How many observations from the front are warm-up; a multiple of 5."""
    settled: bool
    """False: the best cut lies in the second half, or the series is too short to say."""


def mser5(series: Sequence[float]) -> Truncation:
    """The cut of one arm's series (throughput of its slices, in order), shape (n,).

    Minimises Σ_{j>c}(x_j − x̄_c)² / (m − c)² over the m means of 5 observations, c ≤ m/2.
    """
    values = np.asarray(series, dtype=float)
    count = len(values) // BATCH
    if count < FEWEST_BATCHES or not np.isfinite(values).all():
        return Truncation(0, settled=False)
    means = values[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    scores = [float(np.var(means[cut:])) / (count - cut) for cut in range(count - 1)]
    best = int(np.argmin(scores))
    half = count // 2
    if best > half:
        return Truncation(half * BATCH, settled=False)
    return Truncation(best * BATCH, settled=True)


def common_truncation(arms: Sequence[Sequence[float]]) -> Truncation:
    """The longest truncation of all arms; settled only where every arm is."""
    cuts = [mser5(series) for series in arms]
    return Truncation(
        max((cut.observations for cut in cuts), default=0), all(cut.settled for cut in cuts)
    )
