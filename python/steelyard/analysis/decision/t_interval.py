"""Computes the t interval over epochs: printed beside the sign-flip set, and instead of it below 8.

Conservative at ≤ 5 % for Gaussian epochs of any unequal variances: Bakirov & Székely, Journal of
Mathematical Sciences 139 (2006) 6497; used for few clusters by Ibragimov & Müller, JBES 28 (2010)
453.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.model.estimate import UNBOUNDED, Interval


def t_interval(d: Floats, confidence: float = 0.95) -> Interval:
    """Mean ± t · s/√n of the finite epochs, shape (n,); unbounded with fewer than two of them or
    where any epoch is infinite on both counts (an arm did no work)."""
    from scipy.stats import t

    n = len(d)
    if n < 2 or not np.isfinite(d).all():
        return UNBOUNDED
    half = float(t.ppf((1 + confidence) / 2, n - 1)) * float(np.std(d, ddof=1)) / math.sqrt(n)
    centre = float(np.mean(d))
    return Interval(centre - half, centre + half)
