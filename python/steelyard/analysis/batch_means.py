"""Chooses the slice length from a pilot: the steadiest log ratio for the same measuring time.

Finer slices follow the machine's drift more closely, but each must be long against a transaction.
The variance of the means of 10 batches of consecutive blocks says how steady an epoch's reading
would be, autocorrelation included. On a noisy 2-core machine 40 s of a read-only load gave a
standard error of 2.0 % with 1 s slices and .35 % with 50 ms; durable updates were steadiest at
200 ms. Batch means: Conway, Management Science 10 (1963) 47.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BATCHES = 10
LATENCIES_A_SLICE = 20
TRANSACTIONS_A_SLICE = 200
SLICES_AN_EPOCH = 20


def standard_error(block_ratios: Sequence[float], batches: int = BATCHES) -> float:
    """Standard error of the mean of block log ratios in order, shape (n,), by means of batches.

    With fewer blocks than batches every block is a batch; NaN below 3.
    """
    values = np.asarray(block_ratios, dtype=float)
    values = values[np.isfinite(values)]
    count = min(batches, len(values))
    if count < 3:
        return math.nan
    means = np.array([part.mean() for part in np.array_split(values, count)])
    return float(means.std(ddof=1)) / math.sqrt(count)


@dataclass(frozen=True, slots=True)
class SliceTrial:
    """What the pilot saw at one slice length; every length had the same time under load."""

    length_ns: int
    block_ratios: Sequence[float]


@dataclass(frozen=True, slots=True)
class SliceChoice:
    """The slice length of a weighing, why, and the scale of its epochs."""

    length_ns: int
    why: str
    standard_error: float
    """Log; NaN where the pilot had too few blocks. The pilot's s₀."""


def shortest_slice_ns(mean_latency_ns: float, transactions_per_second: float) -> int:
    """At least 20 mean latencies and 200 transactions; of the slower arm, to hold for both."""
    by_count = TRANSACTIONS_A_SLICE / transactions_per_second * 1e9
    return math.ceil(max(LATENCIES_A_SLICE * mean_latency_ns, by_count))


def longest_slice_ns(epoch_ns: int) -> int:
    """At most a twentieth of the epoch: ten slices of either of two arms at the least."""
    return epoch_ns // SLICES_AN_EPOCH


def choose_slice(
    trials: Sequence[SliceTrial],
    epoch_ns: int,
    mean_latency_ns: float,
    transactions_per_second: float,
) -> SliceChoice:
    """The allowed candidate with the smallest standard error; at a tie the shorter one.

    Where the floor lies above every allowed candidate, the floor rules: a slice of too few
    transactions is no reading, while one longer than a twentieth of the epoch is only less fine.
    """
    floor = shortest_slice_ns(mean_latency_ns, transactions_per_second)
    ceiling = longest_slice_ns(epoch_ns)
    allowed = sorted(
        (trial for trial in trials if floor <= trial.length_ns <= ceiling),
        key=lambda trial: trial.length_ns,
    )
    known = [(trial, standard_error(trial.block_ratios)) for trial in allowed]
    known = [(trial, error) for trial, error in known if not math.isnan(error)]
    if known:
        best, error = min(known, key=lambda pair: pair[1])
        why = f"steadiest of {len(known)} lengths in the pilot: standard error {100 * error:.2g} %"
        return SliceChoice(best.length_ns, why, error)
    if floor > ceiling:
        why = f"{TRANSACTIONS_A_SLICE} transactions and {LATENCIES_A_SLICE} latencies need it"
        return SliceChoice(floor, why, math.nan)
    length = allowed[0].length_ns if allowed else floor
    return SliceChoice(length, "the pilot had too few blocks to compare lengths", math.nan)
