"""Makes replicates of rows in their order, and widens what rests on rows that depend on each other.

A row that resembles the one before it tells less than a row of its own. More than 40 rows become
the means of 30 batches of consecutive rows (Conway, Management Science 10 (1963) 47; more batches
buy next to nothing: Schmeiser, Operations Research 30 (1982) 556). Where neighbouring replicates
are still more alike than in four of five independent series, the deviations from their mean are
stretched by what an AR(1) series with the bias-corrected lag-1 correlation needs (Marriott & Pope,
Biometrika 41 (1954) 390), so that every interval made of them widens by that factor. If fewer than
three independent ones would tell as much, there is no honest interval.

This helps against what lasts a few rows; what lasts as long as all of them cannot be told from an
effect by any method. METHODOLOGY has the error rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.autocorrelation import lag_one
from steelyard.analysis.sign_flip import Floats

MOST_ROWS = 40
"""Up to so many rows each row is a replicate."""
BATCHES = 30
FEWEST_EFFECTIVE = 3.0
_FOUR_OF_FIVE = 0.84
_LARGEST = 0.99


@dataclass(frozen=True, slots=True)
class Replicates:
    """Replicates of one series, stretched where neighbours resemble each other."""

    values: Floats
    """Shape (count,), in order; their mean is that of the batches."""
    rows: int
    lag_one: float
    """Correlation of a replicate with the next; NaN with fewer than 8."""
    stretch: float
    """By how much deviations were stretched: 1 where neighbours do not resemble each other."""
    effective: float
    """So many independent replicates would tell as much."""

    @property
    def count(self) -> int:
        """Number of replicates."""
        return len(self.values)

    @property
    def batched(self) -> bool:
        """Whether a replicate is a batch of several rows."""
        return self.rows > self.count

    @property
    def dependent(self) -> bool:
        """Whether neighbours resemble each other, so that intervals were widened."""
        return self.stretch > 1

    @property
    def enough(self) -> bool:
        """Whether there is an honest interval: too much dependence leaves none."""
        return not self.dependent or self.effective >= FEWEST_EFFECTIVE


def replicates_of(series: Floats, randomised: bool = False) -> Replicates:
    """The replicates of rows in their order, shape (n,), n ≥ 1, finite.

    `randomised`: the order of the arms was drawn at random for every row, which makes the rows of
    a paired difference independent by design: nothing is stretched.
    """
    return stretched(batch_means(series), len(series), randomised)


def batch_means(series: Floats) -> Floats:
    """The rows themselves, or the means of 30 batches of them."""
    return batch_totals(series) / np.diff(borders(len(series)))


def batch_totals(series: Floats) -> Floats:
    """The rows themselves, or the sums of 30 batches of them."""
    totals: Floats = np.add.reduceat(series, borders(len(series))[:-1])
    return totals


def borders(rows: int) -> list[int]:
    """Where replicates begin, and the end: row numbers from 0."""
    count = rows if rows <= MOST_ROWS else BATCHES
    return [round(rows * i / count) for i in range(count + 1)]


def stretched(values: Floats, rows: int, randomised: bool = False) -> Replicates:
    """Replicates of these readings of `rows` rows, in order, stretched where it is needed."""
    count, own = len(values), lag_one(values.tolist())
    limit = (-1 + _FOUR_OF_FIVE * math.sqrt(max(count - 2, 0))) / max(count - 1, 1)
    if randomised or math.isnan(own) or own <= limit:
        return Replicates(values, rows, own, 1.0, float(count))
    phi = min(max((own + 1 / count) / (1 - 4 / count), 0.0), _LARGEST)
    inflation = _variance_inflation(count, phi)
    # Dependence also makes the spread look too small: it hides in the mean.
    seen = max(1 - (inflation - 1) / (count - 1), 1e-3)
    stretch = math.sqrt(max(inflation / seen, 1.0))
    mean = float(np.mean(values))
    return Replicates(mean + stretch * (values - mean), rows, own, stretch, count / inflation)


def _variance_inflation(n: int, phi: float) -> float:
    """Variance of the mean of n values of an AR(1) series against that of independent ones."""
    lags = np.arange(1, n)
    return float(1 + 2 * ((1 - lags / n) * phi**lags).sum())
