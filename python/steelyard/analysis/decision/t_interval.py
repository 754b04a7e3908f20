"""Computes t intervals: of one mean over epochs, and of the difference of two means (Welch).

Of one mean: beside the sign-flip set, and instead of it below 8 epochs. Conservative at ≤ 5 % for
Gaussian epochs of any unequal variances: Bakirov & Székely, Journal of Mathematical Sciences 139
(2006) 6497; used for few clusters by Ibragimov & Müller, JBES 28 (2010) 453.

Of two means: beside the permutation set, and instead of it where an arm has too few replicates for
a verdict. Welch, Biometrika 34 (1947) 28; why not Student's, and why not a pre-test of the
variances: Delacre, Lakens & Leys, International Review of Social Psychology 30 (2017) 92.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.student_t import t_quantile
from steelyard.model.estimate import UNBOUNDED, Interval


def t_interval(d: Floats, confidence: float = 0.95) -> Interval:
    """Mean ± t · s/√n of the finite epochs, shape (n,); unbounded with fewer than two of them or
    where any epoch is infinite on both counts (an arm did no work)."""
    n = len(d)
    if n < 2 or not np.isfinite(d).all():
        return UNBOUNDED
    half = t_quantile((1 + confidence) / 2, n - 1) * float(np.std(d, ddof=1)) / math.sqrt(n)
    centre = float(np.mean(d))
    return Interval(centre - half, centre + half)


@dataclass(frozen=True, slots=True)
class Welch:
    """A difference of two means with its standard error and Satterthwaite's degrees of freedom."""

    difference: float
    error: float
    freedom: float

    def interval(self, confidence: float = 0.95) -> Interval:
        """The two-sided t interval; unbounded where there is no spread to be had."""
        if not math.isfinite(self.error):
            return UNBOUNDED
        if self.error == 0:
            return Interval(self.difference, self.difference)
        half = t_quantile((1 + confidence) / 2, self.freedom) * self.error
        return Interval(self.difference - half, self.difference + half)


def welch(control: Floats, arm: Floats) -> Welch:
    """Mean of `arm` − mean of `control`, shapes (m,) and (n,), of finite logs.

    With fewer than two values on a side there is no spread: the error is infinite.
    """
    difference = float(np.mean(arm)) - float(np.mean(control))
    if min(len(control), len(arm)) < 2:
        return Welch(difference, math.inf, math.nan)
    parts = [float(np.var(side, ddof=1)) / len(side) for side in (control, arm)]
    total = sum(parts)
    if total == 0:
        return Welch(difference, 0.0, math.inf)
    # Shares first: squares of tiny variances would vanish.
    shares = [part / total for part in parts]
    freedom = 1 / sum(
        share**2 / (len(side) - 1) for share, side in zip(shares, (control, arm), strict=True)
    )
    return Welch(difference, math.sqrt(total), freedom)
