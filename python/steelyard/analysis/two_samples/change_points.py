"""Finds level steps in a series: where it changes to another level, and back.

Segments of constant mean that minimise Σ(x − level)² + penalty × steps, found exactly by optimal
partitioning (Jackson et al., IEEE Signal Processing Letters 12 (2005) 105). The tests compare it
with PELT (Killick, Fearnhead & Eckley, JASA 107 (2012) 1590) in the library `ruptures` (Truong,
Oudre & Vayatis, Signal Processing 167 (2020) 107299), which takes seconds to import.

The noise is taken from the differences of neighbours, which steps and storms do not swell. Whether
there is a step at all is tested on the series with its peaks cut to 3 sd, or rare spikes would
count as steps; where the steps are is then read from the series itself, and a segment must differ
from its neighbours in its median too.

Long series are thinned to the means of 2,000 batches, so that 10⁶ rows take a second. A segment has
at least 4 rows: what is shorter is an outlier. The penalty is set by simulation: of independent
rows 1–3 % show a step that is not there. Rows that depend on each other do wander, and from 200
rows on the noise is raised accordingly; with fewer, dependence cannot be distinguished from steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.analysis.decision.sign_flip import Floats

MOST_POINTS = 2_000
SHORTEST = 4
FEWEST_ROWS = 3 * SHORTEST
PENALTY = 4.0
"""In units of noise variance × ln(number of points)."""
CUT = 3.0
LEAST_STRENGTH = 2.0
LONG = 200


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows first … last, counted from 0, on one level."""

    first: int
    last: int
    level: float
    """Mean of the series there (a natural log where the series is one)."""

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.last - self.first + 1


def segments_of(series: Floats) -> tuple[Segment, ...]:
    """The segments of a series in its order, shape (n,), finite; one segment where there is no
    step, or with fewer than 12 rows."""
    rows = len(series)
    edges = _edges(rows, MOST_POINTS)
    borders = _borders(thinned(series)) if rows >= FEWEST_ROWS else []
    rims = [0, *(int(edges[border]) for border in borders), rows]
    return tuple(
        Segment(low, high - 1, float(np.mean(series[low:high]))) for low, high in pairwise(rims)
    )


def thinned(series: Floats, most: int = MOST_POINTS) -> Floats:
    """The series, or the means of `most` batches of consecutive rows where it is longer."""
    edges = _edges(len(series), most)
    means: Floats = np.add.reduceat(series, edges[:-1]) / np.diff(edges)
    return means


def _edges(rows: int, most: int) -> NDArray[np.int64]:
    count = min(rows, most)
    return np.array([rows * i // count for i in range(count + 1)], dtype=np.int64)


def _borders(points: Floats) -> list[int]:
    """The points at which another level begins; empty where there is no step."""
    noise = _noise(points)
    if noise == 0:
        return []
    middle = float(np.median(points))
    cut = np.clip(points, middle - CUT * noise, middle + CUT * noise)
    penalty = PENALTY * math.log(len(points))
    sturdy = optimal_borders(cut / noise, penalty)
    if not sturdy:
        return []
    return _confirmed(points, optimal_borders(points / noise, penalty), noise) or sturdy


def optimal_borders(points: Floats, penalty: float) -> list[int]:
    """Where segments begin, but the first, that minimise Σ(x − mean)² + penalty × steps, by optimal
    partitioning: O(n²), 2,000 points take some hundredths of a second. Points of shape (n,), 4 or
    more; a segment has at least 4."""
    count = len(points)
    sums = np.concatenate([[0.0], np.cumsum(points)])
    squares = np.concatenate([[0.0], np.cumsum(points**2)])
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    begins = np.zeros(count + 1, dtype=np.int64)
    for end in range(SHORTEST, count + 1):
        starts = np.arange(0, end - SHORTEST + 1)
        within = sums[end] - sums[starts]
        cost = squares[end] - squares[starts] - within**2 / (end - starts)
        total = best[starts] + cost + penalty
        begins[end] = int(np.argmin(total))
        best[end] = total[begins[end]]
    borders = []
    end = count
    while (end := int(begins[end])) > 0:
        borders.append(end)
    return borders[::-1]


def _confirmed(points: Floats, borders: list[int], noise: float) -> list[int]:
    """The borders without those, weakest first, across which the medians hardly differ."""
    left = list(borders)
    while left:
        rims = [0, *left, len(points)]
        parts = [points[low:high] for low, high in pairwise(rims)]
        strengths = [_strength(before, after) / noise for before, after in pairwise(parts)]
        weakest = int(np.argmin(strengths))
        if strengths[weakest] >= LEAST_STRENGTH:
            break
        del left[weakest]
    return left


def _strength(one: Floats, other: Floats) -> float:
    """Difference of two medians in units of its standard error for noise of 1 (Gaussian)."""
    error = math.sqrt(math.pi / 2 * (1 / len(one) + 1 / len(other)))
    return abs(float(np.median(one)) - float(np.median(other))) / error


def _noise(points: Floats) -> float:
    """Standard deviation between steps; in long series raised where neighbours are alike."""
    noise = _spread(points[1:] - points[:-1])
    if len(points) < LONG or noise == 0:
        return noise
    # AR(1): var(x_t − x_{t−2}) ÷ var(x_t − x_{t−1}) = 1 + φ; white noise has 1.
    phi = min(max((_spread(points[2:] - points[:-2]) / noise) ** 2 - 1, 0.0), 0.9)
    return noise / math.sqrt(1 - phi) * math.sqrt((1 + phi) / (1 - phi))


def _spread(differences: Floats) -> float:
    """Standard deviation of the values whose differences these are, from their median size."""
    return float(np.median(np.abs(differences))) / 0.6745 / math.sqrt(2)
