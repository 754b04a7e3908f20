"""Compares two arms by mean, median and geometric mean, with bootstrap intervals.

They ask different questions. The mean is what the work takes in all, and rare stalls are in it; the
median is a typical row; the geometric mean lies between. Where they disagree, the effect sits in a
few rows or the rows are skewed, and the reader has to decide which answer is
wanted. Intervals: percentiles of 2,000 resamples of rows (of pairs where rows are paired), Efron &
Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13 and 14; for display, the verdict
does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.sign_flip import Floats

RESAMPLES = 2_000
MOST_ROWS = 2_000
"""Longer arms are resampled as so many batches of consecutive rows."""
_SEED = 0xCE27
Centre = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Centred:
    """The log ratio of one kind of centre, arm ÷ control, with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float


def centres_of(control: Floats, arm: Floats, paired: bool) -> tuple[Centred, ...]:
    """The three log ratios of positive numbers, shapes (m,) and (n,); paired: m = n, row by row.

    Empty with fewer than 3 rows a side: a resample of so few is not informative.
    """
    if min(len(control), len(arm)) < 3 or min(control.min(), arm.min()) <= 0:
        return ()
    rng = np.random.default_rng([_SEED, len(control), len(arm)])
    sides = [_batched(side) for side in (control, arm)]
    draws = [rng.integers(0, len(side[0]), (RESAMPLES, len(side[0]))) for side in sides]
    if paired:
        draws[1] = draws[0]
    centres = []
    for index, (name, centre) in enumerate(_CENTRES.items()):
        value = float(np.log(centre(arm)) - np.log(centre(control)))
        below, above = (
            np.log(centre(side[index][pick].T)) for side, pick in zip(sides, draws, strict=True)
        )
        low, high = np.quantile(above - below, [0.025, 0.975])
        centres.append(Centred(name, value, float(low), float(high)))
    return tuple(centres)


def _batched(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows for the resampling of mean, median and geometric mean; centres of batches of many."""
    if len(values) <= MOST_ROWS:
        return values, values, values
    parts = np.array_split(values, MOST_ROWS // 10)
    mean, median, geometric = (
        np.array([float(centre(part)) for part in parts]) for centre in _CENTRES.values()
    )
    return mean, median, geometric


def _geometric(values: NDArray[np.float64]) -> NDArray[np.float64]:
    centre: NDArray[np.float64] = np.exp(np.log(values).mean(axis=0))
    return centre


_CENTRES: dict[str, Centre] = {
    "mean": lambda values: np.asarray(values.mean(axis=0)),
    "median": lambda values: np.asarray(np.median(values, axis=0)),
    "geometric mean": _geometric,
}
