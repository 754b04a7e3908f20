"""Finds the end of a warm-up: MSER-5, the truncation that minimises the error of the mean.

White, Simulation 69 (1997) 323; the best candidate for automation in Hoad & Robinson, Winter
Simulation Conference 2011. Both arms are cut alike, at the longer of their two truncations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BATCH = 5
FEWEST_BATCHES = 4


def mser5(series: Sequence[float]) -> int | None:
    """Number of observations at the front that are warm-up, of one arm's throughput, shape (n,).

    Minimises Σ_{j>c}(x_j − x̄_c)² / (m − c)² over the cuts c ≤ m/2 between the m means of 5
    observations; a multiple of 5. None where no end was found: the best cut lies in the second
    half, or there are fewer than 20 observations.
    """
    values = np.asarray(series, dtype=float)
    count = len(values) // BATCH
    if count < FEWEST_BATCHES or not np.isfinite(values).all():
        return None
    means = values[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    # The last few cuts leave too little to have a variance worth the name: they score well by luck.
    scores = [float(np.var(means[cut:])) / (count - cut) for cut in range(count - 2)]
    best = int(np.argmin(scores))
    return best * BATCH if best <= count // 2 else None
