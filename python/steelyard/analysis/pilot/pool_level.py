"""Finds when the blocks that transactions read had become level, while a buffer pool fills.

Throughput alone does not show it: a pool that fills slowly makes a load faster by less than its
noise within the seconds of a pilot, while blocks read per transaction fall steadily. They are cut
by MSER-5, as throughput is, and their second half must not fall any more. Reads that rise are not
those of a filling pool: a small one that was read into holds what the load needs within its first
turnover, and work that writes may read more and more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.analysis.pilot.steady_state import ALPHA, MSER_BATCH, first_half_cut, line_through

FEW_BLOCKS = 0.01
"""Blocks a transaction: a fall of less is no pool that fills."""
FEWEST_SLICES = 8
FEW_FAULTS = 0.05
"""Page faults a transaction, likewise; each takes 1 to 3 µs."""
FAULTS_OF_LATENCY = 2e-7
"""Faults for each ns of a transaction's latency that are a negligible part of it: 1 µs in 5 ms."""


def few_faults(latency_ns: float) -> float:
    """Page faults a transaction of this latency whose fall does not matter."""
    return max(FEW_FAULTS, FAULTS_OF_LATENCY * latency_ns)


def level_after(series: Sequence[float], few: float = FEW_BLOCKS) -> int | None:
    """Number of slices until an arm's blocks read per transaction, shape (n,), were level; None
    where they still fell at the end. `few`: a fall that does not matter."""
    values = np.asarray(series, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < FEWEST_SLICES or _span(values) < few:
        return 0
    if _falls(values[len(values) // 2 :], few):
        return None
    cut = first_half_cut(values.tolist())
    return len(values) // 2 if cut is None else cut


def _span(values: np.ndarray) -> float:
    """How far the means of 5 slices are apart."""
    batches = np.array_split(values, max(2, len(values) // MSER_BATCH))
    return float(np.ptp([batch.mean() for batch in batches]))


def _falls(values: np.ndarray, few: float) -> bool:
    """Whether a line through the values falls, beyond chance and by no less than `few`."""
    if len(values) < 3 or np.ptp(values) == 0:
        return False
    line = line_through(values)
    return line.p_value < ALPHA and -line.slope * len(values) >= few
