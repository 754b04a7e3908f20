"""Computes the lag-1 autocorrelation of blocks: why blocks are not replicates.

On A/A traces of two identical servers the blocks of one epoch correlate at lag 1 by about .3 (up to
.85: backends move between processors), and block-level tests gave 33–36 % false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

FEWEST_BLOCKS = 8


def lag_one(series: Sequence[float]) -> float:
    """Lag-1 autocorrelation of one epoch's block log ratios, in [−1, 1]; NaN below 8 blocks or
    without variation."""
    values = np.asarray(series, dtype=float)
    if len(values) < FEWEST_BLOCKS or not np.isfinite(values).all():
        return math.nan
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / total if total > 0 else math.nan


def mean_lag_one(per_epoch: Sequence[float]) -> float:
    """Mean over the epochs that have one; NaN where none has."""
    finite = [value for value in per_epoch if not math.isnan(value)]
    return float(np.mean(finite)) if finite else math.nan
