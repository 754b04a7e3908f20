"""Makes replicates of rows in their order, and widens intervals where rows may be dependent.

A row that resembles the one before it carries less information than an independent row. More than
40 rows become the means of 30 batches of consecutive rows (Conway, Management Science 10 (1963) 47;
more batches buy next to nothing: Schmeiser, Operations Research 30 (1982) 556).

That a few rows show no dependence does not mean that there is none: of 10 rows the lag-1
correlation is known within ±.3. So unless chance drew the order of measuring, rows are counted by
the largest correlation that they leave likely: the bias-corrected estimate (Marriott & Pope,
Biometrika 41 (1954) 390) at its upper 80 % limit, with the error 1/√n of independent rows. An AR(1)
series of that correlation carries as much information as so many *effective* rows (Bayley &
Hammersley, Suppl. J. Roy. Statist. Soc. 8 (1946) 184). The deviations from the mean are stretched
by what such a series needs, and by Student's t of the effective instead of the counted rows, so
that every interval made of them widens by that factor. Few effective rows carry no verdict
(`FEWEST_EFFECTIVE`). For the limit the rows of two arms that are not paired are pooled, since the
arms share one machine.

This helps against what lasts a few rows; what lasts as long as all of them cannot be told from an
effect by any method. METHODOLOGY, section 10, has the error rates, before and after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.checks.autocorrelation import lag_one
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.student_t import t_quantile

MOST_ROWS = 40
"""Up to so many rows each row is a replicate."""
BATCHES = 30
FEWEST_EFFECTIVE = 5.0
"""Effective rows, by the upper limit of their correlation: the t of fewer has less than 4 degrees
of freedom, and such an interval is for display only."""
FEWEST_FOR_INTERVAL = 3.0
"""By the correlation that is seen: with fewer there is no interval either."""
_UPPER = 0.84
"""Standard errors to the upper limit: one-sided 80 %."""
_FOUR_OF_FIVE = 0.84
"""Neighbours more alike than in four of five independent series are said to depend."""
_LARGEST = 0.99


@dataclass(frozen=True, slots=True)
class Replicates:
    """Replicates of one series, stretched by the dependence that they leave likely."""

    values: Floats
    """Shape (count,), in order; their mean is that of the batches."""
    rows: int
    lag_one: float
    """Correlation of a replicate with the next; NaN with fewer than 8."""
    lag_one_limit: float
    """Its bias-corrected upper 80 % limit; 0 where chance drew the order; NaN with fewer than 8."""
    stretch: float
    """By how much deviations were stretched: 1 where nothing needs to be."""
    effective: float
    """Number of independent replicates with the same information, at that limit."""
    dependent: bool = False
    """Whether neighbours are seen to resemble each other."""
    enough: bool = True
    """Whether there is a valid interval: dependence that is seen may leave none."""

    @property
    def count(self) -> int:
        """Number of replicates."""
        return len(self.values)

    @property
    def batched(self) -> bool:
        """Whether a replicate is a batch of several rows."""
        return self.rows > self.count


def replicates_of(series: Floats, randomised: bool = False, alpha: float = 0.05) -> Replicates:
    """The replicates of rows in their order, shape (n,), n ≥ 1, finite.

    `randomised`: the order of the arms was drawn at random for every row, which makes the rows of
    a paired difference independent by design: nothing is stretched. `alpha`: of the two-sided
    interval that will be made of them.
    """
    return stretched(batch_means(series), len(series), randomised, alpha)


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


def stretched(
    values: Floats,
    rows: int,
    randomised: bool = False,
    alpha: float = 0.05,
    limit: float | None = None,
) -> Replicates:
    """Replicates of these readings of `rows` rows, in order, stretched unless `randomised`.

    `limit`: the upper limit of their correlation, where more than these readings is known of it.
    """
    count, correlation = len(values), lag_one(values.tolist())
    if randomised or math.isnan(correlation):
        return Replicates(
            values, rows, correlation, 0.0 if randomised else correlation, 1.0, float(count)
        )
    likely = likely_correlation(values)
    limit = max(correlation_limit([values]) if limit is None else limit, likely)
    effective = count / _variance_inflation(count, limit)
    enough = count / _variance_inflation(count, likely) >= FEWEST_FOR_INTERVAL
    if enough:  # what is merely possible does not take the interval away
        effective = max(effective, FEWEST_FOR_INTERVAL)
    stretch = _stretch(count, effective) * _t_ratio(count, effective, alpha)
    mean = float(np.mean(values))
    return Replicates(
        values=mean + stretch * (values - mean),
        rows=rows,
        lag_one=correlation,
        lag_one_limit=limit,
        stretch=stretch,
        effective=effective,
        dependent=likely > 0,
        enough=enough,
    )


def correlation_limit(series: Sequence[Floats]) -> float:
    """The upper 80 % limit of the bias-corrected lag-1 correlation of one series, or the one that
    several of one machine have in common; in [0, .99], NaN where none has 8 readings that vary."""
    estimates = [
        (len(values), correlation)
        for values in series
        if not math.isnan(correlation := lag_one(values.tolist()))
    ]
    if not estimates:
        return math.nan
    shares = [n / sum(count for count, _ in estimates) for n, _ in estimates]
    centre = sum(
        w * (correlation + 1 / n) / _kept(n)
        for w, (n, correlation) in zip(shares, estimates, strict=True)
    )
    variance = sum(w**2 / n / _kept(n) ** 2 for w, (n, _) in zip(shares, estimates, strict=True))
    return min(max(centre + _UPPER * math.sqrt(variance), 0.0), _LARGEST)


def likely_correlation(values: Floats) -> float:
    """The bias-corrected lag-1 correlation of a series; 0 where neighbours are no more alike than
    in four of five independent series, or there are fewer than 8."""
    count, correlation = len(values), lag_one(values.tolist())
    limit = (-1 + _FOUR_OF_FIVE * math.sqrt(max(count - 2, 0))) / max(count - 1, 1)
    if math.isnan(correlation) or correlation <= limit:
        return 0.0
    return min(max((correlation + 1 / count) / _kept(count), 0.0), _LARGEST)


def likely_stretch(values: Floats) -> float:
    """What an AR(1) series with that correlation needs: for what is looked at, not judged by."""
    count = len(values)
    return _stretch(count, count / _variance_inflation(count, likely_correlation(values)))


def _kept(count: int) -> float:
    """What the bias leaves of a correlation, less 1/count: 1 − 4/count."""
    return 1 - 4 / count


def _stretch(count: int, effective: float) -> float:
    """Of deviations from the mean. Dependence also makes their spread look too small: it hides in
    the mean."""
    inflation = count / effective
    remaining = max(1 - (inflation - 1) / max(count - 1, 1), 1e-3)
    return math.sqrt(max(inflation / remaining, 1.0))


def _t_ratio(count: int, effective: float, alpha: float) -> float:
    if not 2 < effective < count:
        return 1.0
    wide, narrow = (t_quantile(1 - alpha / 2, n - 1) for n in (effective, count))
    return wide / narrow


def _variance_inflation(n: int, phi: float) -> float:
    """Variance of the mean of n values of an AR(1) series against that of independent ones."""
    lags = np.arange(1, n)
    return float(1 + 2 * ((1 - lags / n) * phi**lags).sum())
