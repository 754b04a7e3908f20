"""Forecasts how many more epochs would settle a weighing that says "inconclusive".

The smallest n ≥ 8 with n ≥ (t_{1−α/2,n−1} + t_{.8,n−1})² (s/g)²: the count at which a set at α
detects the gap g with 80 % power, and a little more where two slots leave only balanced sign
changes (`looks.BALANCED`). g is the distance of the estimate from the value that it must be
distinguished from. s² from a dozen epochs is only known within a factor, so the answer is a range,
from 80 % chi-square limits of s² (×.61 … ×2.2 at n = 10). The estimate is taken as the true effect:
its own uncertainty is not in the range. The sentence words it as a forecast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.analysis.decision.looks import ALPHAS, FEWEST_FOR_VERDICT, smallest_visible
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.student_t import chi_square_quantile

HOPELESS_SHARE = 0.1
"""An estimate within this share of δ from ±δ: no time will settle on which side it lies."""
MOST_EPOCHS = 10_000
_SPREAD = 0.8


@dataclass(frozen=True, slots=True)
class Need:
    """Epochs needed in all, as a range; even numbers; MOST_EPOCHS stands for "or more"."""

    fewest: int
    likely: int
    most: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """What more measuring would do, from `epochs` epochs that are there."""

    epochs: int
    margin: Need | None
    """To settle on which side of ±δ the effect lies; None: near ±δ, no time will settle it."""
    sign: Need | None
    """To distinguish the effect from 0; None where the estimate is 0."""

    def more(self, need: Need) -> Need:
        """What is missing of a need: at least one pair of epochs."""
        return Need(*(max(2, n - self.epochs) for n in (need.fewest, need.likely, need.most)))


def forecast(d: Floats, margins: tuple[float, float], alpha: float = ALPHAS[1]) -> Forecast | None:
    """The forecast from the epochs' log ratios, shape (n,); margins as natural logs (−δ, δ).

    None with fewer than 3 epochs, or where an arm did no work in one (no variance then).
    """
    if len(d) < 3 or not np.isfinite(d).all():
        return None
    centre, variance = float(np.mean(d)), float(np.var(d, ddof=1))
    to_margin = min(abs(centre - margin) for margin in margins)
    delta = min(abs(margin) for margin in margins)
    hopeless = to_margin < HOPELESS_SHARE * delta
    return Forecast(
        epochs=len(d),
        margin=None if hopeless else need(variance, to_margin, len(d), alpha),
        sign=need(variance, abs(centre), len(d), alpha) if centre else None,
    )


def need(variance: float, gap: float, n: int, alpha: float = ALPHAS[1]) -> Need:
    """The epochs that detect `gap` with 80 % power, from the variance of `n` ≥ 2 epochs."""
    low, high = (variance * (n - 1) / quantile for quantile in _chi2_quantiles(n - 1))
    return Need(
        fewest=epochs_needed(math.sqrt(low), gap, alpha),
        likely=epochs_needed(math.sqrt(variance), gap, alpha),
        most=epochs_needed(math.sqrt(high), gap, alpha),
    )


def epochs_needed(sd: float, gap: float, alpha: float = ALPHAS[1], *, balanced: bool = True) -> int:
    """Smallest even n ≥ 8 that detects `gap` with 80 % power where epochs scatter by `sd`.

    Not `balanced`: rows from elsewhere, all whose sign changes count.
    """
    if gap <= 0:
        return MOST_EPOCHS

    def detects(n: int) -> bool:
        return sd * smallest_visible(n, alpha, balanced=balanced) <= gap

    low, high = FEWEST_FOR_VERDICT, MOST_EPOCHS
    if detects(low):
        return low
    if not detects(high):
        return MOST_EPOCHS
    while high - low > 2:  # monotone in n; both ends stay even
        middle = (low + high) // 4 * 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def _chi2_quantiles(degrees: int) -> tuple[float, float]:
    tails = ((1 + _SPREAD) / 2, (1 - _SPREAD) / 2)
    return chi_square_quantile(tails[0], degrees), chi_square_quantile(tails[1], degrees)
