"""Tests whether the log ratios of a weighing move with the order of its epochs: ageing.

Where arms share data, both arms grow and fragment the same files, so the level ages for both alike;
a contrast that moves with age is an effect of its own. Spearman's ρ between epoch and log ratio,
which one wild epoch does not decide, against 9,999 seeded orders and the one that was seen (Phipson
& Smyth, SAGMB 9 (2010) 39): exact where the epochs are exchangeable, as without ageing they are. At
.01, so that false alarms are rare. `two_samples.trend` would serve, but its rank interval is
cautious with so few epochs: it reports 0.2–0.6 % of 8 to 12 equal epochs for 1 %, and detects a
drift of four sd in 33, 44 and 62 % of 8, 10 and 12 epochs where this detects 45, 61 and 78 %.

The size is the slope of Theil (1950), the median over pairs of epochs, times the span.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.sign_flip import Floats

ALPHA = 0.01
PERMUTATIONS = 9_999
_SEED = 0xA6E1


@dataclass(frozen=True, slots=True)
class Ageing:
    """How far the log ratio moved from the first epoch to the last, and how surprising that is."""

    change: float
    p_value: float

    @property
    def alarms(self) -> bool:
        """Whether the test rejects "no trend" at its level."""
        return self.p_value <= ALPHA


UNKNOWN = Ageing(math.nan, 1.0)


def ageing(d: Floats) -> Ageing:
    """The trend of the log ratios over their epochs, in order, shape (n,).

    Epochs without a finite one keep their place and are left out; UNKNOWN below 8 others.
    """
    from scipy.stats import rankdata

    at = np.nonzero(np.isfinite(d))[0].astype(np.float64)
    values = d[np.isfinite(d)]
    n = len(values)
    if n < FEWEST_FOR_VERDICT:
        return UNKNOWN
    ranks = rankdata(values) - (n + 1) / 2
    order = np.arange(n) - (n - 1) / 2
    observed = abs(float(ranks @ order))
    others = np.abs(ranks[_orders(n)] @ order)
    p_value = (1 + int((others >= observed - 1e-9).sum())) / (1 + PERMUTATIONS)
    return Ageing(_slope(values, at) * (len(d) - 1), p_value)


@lru_cache(maxsize=32)
def _orders(n: int) -> NDArray[np.int64]:
    """Seeded orders of n epochs, shape (PERMUTATIONS, n)."""
    rng = np.random.default_rng([_SEED, n])
    rows: NDArray[np.int64] = rng.permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1)
    rows.setflags(write=False)
    return rows


def _slope(values: Floats, at: Floats) -> float:
    earlier, later = np.triu_indices(len(values), 1)
    return float(np.median((values[later] - values[earlier]) / (at[later] - at[earlier])))
