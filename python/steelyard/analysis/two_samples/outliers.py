"""Names the rows that lie far out, and says how much of a result rests on them.

Far out: more than 3.5 robust standard deviations from the median (Iglewicz & Hoaglin, How to Detect
and Handle Outliers, ASQC 1993). Nothing is dropped for it: a stall is a part of what is judged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.sign_flip import Floats

LIMIT = 3.5
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
    return np.flatnonzero(distance > LIMIT * spread)
