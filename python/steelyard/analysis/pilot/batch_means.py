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

from steelyard.model.reasoned import Reasoned

BATCHES = 10
LATENCIES_A_SLICE = 20
TRANSACTIONS_A_SLICE = 200
SLICES_AN_EPOCH = 20


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean of batch means, shape (batches,); NaN below 3 finite ones."""
    means = np.asarray(values, dtype=float)
    means = means[np.isfinite(means)]
    return float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) >= 3 else math.nan


Batch = tuple[int, int]
"""Transactions and busy time in ns of one arm in one batch of slices."""


@dataclass(frozen=True, slots=True)
class SliceTrial:
    """What the pilot saw at one slice length: totals of each batch, in order, of either arm.

    Every length has the same number of batches (10) and the same time under load.
    """

    length_ns: int
    control: tuple[Batch, ...]
    arm: tuple[Batch, ...]

    @property
    def log_ratios(self) -> list[float]:
        """ln(arm ÷ control) of the throughput of each batch in which both did work."""
        return [
            math.log(done / busy) - math.log(control_done / control_busy)
            for (control_done, control_busy), (done, busy) in zip(
                self.control, self.arm, strict=True
            )
            if min(control_done, control_busy, done, busy) > 0
        ]

    @property
    def standard_error(self) -> float:
        """Standard error (log) of the reading of all batches together; NaN below 3 batches."""
        return standard_error(self.log_ratios)


def shortest_slice_ns(mean_latency_ns: float, transactions_per_second: float) -> int:
    """At least 20 mean latencies and 200 transactions; of the slower arm, to hold for both."""
    by_count = TRANSACTIONS_A_SLICE / max(transactions_per_second, 1e-9) * 1e9
    return math.ceil(max(LATENCIES_A_SLICE * mean_latency_ns, by_count))


def longest_slice_ns(epoch_ns: int) -> int:
    """At most a twentieth of the epoch: ten slices of either of two arms at the least."""
    return epoch_ns // SLICES_AN_EPOCH


def allowed_lengths(
    candidates_ns: Sequence[int], epoch_ns: int, mean_latency_ns: float, per_second: float
) -> tuple[int, ...]:
    """The candidates between the shortest and the longest slice, rising.

    Where none lies there, the floor, but no less than the shortest candidate: a slice of too few
    transactions is no reading, while one longer than a twentieth of the epoch is only less fine.
    """
    floor, ceiling = shortest_slice_ns(mean_latency_ns, per_second), longest_slice_ns(epoch_ns)
    fit = tuple(sorted(n for n in candidates_ns if floor <= n <= ceiling))
    return fit or (max(floor, min(candidates_ns)),)


def choose_slice(trials: Sequence[SliceTrial]) -> tuple[SliceTrial, str]:
    """The trial with the smallest standard error (at a tie the shortest slices), and why.

    Raises ValueError without a trial.
    """
    if not trials:
        raise ValueError("no slice length was tried")
    rising = sorted(trials, key=lambda trial: trial.length_ns)
    finite = [trial for trial in rising if not math.isnan(trial.standard_error)]
    if not finite:
        return rising[0], "the pilot saw too little work to compare lengths"
    best = min(finite, key=lambda trial: trial.standard_error)
    error = f"standard error {100 * best.standard_error:.2g} %"
    if len(rising) == 1:
        return best, f"the only length that fits: {error} in the pilot"
    return best, f"steadiest of {len(rising)} lengths in the pilot: {error}"


WAL_FLUSH_LIMIT = 0.2
"""Share of backends' active samples that wait for the WAL flush from which placement is free. Work
in memory shows none and durable updates most; the exact place of the line is not measured."""


def choose_placement(wal_flush_share: float, parallel_plans: bool = False) -> Reasoned[str]:
    """What "auto" means, "symmetric" or "free", and why.

    `wal_flush_share`: share of the pilot's looks at active backends that waited for the WAL flush,
    0 … 1. `parallel_plans`: whether some plan uses parallel workers.
    """
    share = f"{100 * wal_flush_share:.0f} % of the pilot's samples waited for the WAL flush"
    if parallel_plans:
        return Reasoned("free", "a plan uses parallel workers, which cannot be pinned alike")
    return Reasoned("free" if wal_flush_share >= WAL_FLUSH_LIMIT else "symmetric", share)
