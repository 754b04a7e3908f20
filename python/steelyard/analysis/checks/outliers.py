"""Finds values that lie far out: single rows, and epochs far out on one side of the others.

Rows: more than 3.5 robust standard deviations from the median (Iglewicz & Hoaglin, How to Detect
and Handle Outliers, ASQC 1993). Nothing is dropped for it: a stall is a part of what is judged.

Epochs: sign changes assume symmetry, which randomised slots give, but an arm whose own restarts are
now and then slow is not symmetric: the error rate is 6–10 % at 8 epochs and falls with their
number. Two epochs far out on one side are the mark (one is an accident): the second largest
|d − median| beyond 4 MAD (unscaled) on one side. Of 4,000 Gaussian weighings of 8 … 30 epochs 5–8 %
raise it; of those with an arm that is 4 sd slow in 15 % of its restarts 10 % at 8 epochs, 25 at 12,
71 at 30. A threat, never a verdict: at 8 epochs such an arm shows no slow restart in 27 % of
weighings, and no method can detect that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.sign_flip import Floats

ROW_LIMIT_SDS = 3.5
EPOCH_LIMIT_MADS = 4.0
FEWEST_ROWS = 8
_CONSISTENT = 0.6745


def outlying(series: Floats) -> NDArray[np.int64]:
    """The rows that lie far out, counted from 0, shape (k,); none with fewer than 8 rows."""
    if len(series) < FEWEST_ROWS:
        return np.array([], dtype=np.int64)
    distance = np.abs(series - np.median(series))
    spread = float(np.median(distance)) / _CONSISTENT
    if spread == 0:
        return np.array([], dtype=np.int64)
    return np.flatnonzero(distance > ROW_LIMIT_SDS * spread)


def skewed_side(d: Floats) -> int:
    """−1 or +1: the side on which two epochs lie further than 4 MAD from the median; 0: none, or
    both sides alike, or a spread of 0. d: shape (n,), ±∞ count as far out."""
    if len(d) < 3:
        return 0
    median = float(np.median(d))
    if not np.isfinite(median):
        return 0
    distance = d - median
    mad = float(np.median(np.abs(distance)))
    if not 0 < mad < np.inf:
        return 0
    far = [int((side * distance > EPOCH_LIMIT_MADS * mad).sum()) >= 2 for side in (-1, +1)]
    if far[0] == far[1]:
        return 0
    return -1 if far[0] else +1
