"""Chooses the slice length from a pilot: the steadiest log ratio for the same measuring time; and
decides whether slices are cut by executions in place of a time, and how many each holds.

Finer slices follow the machine's drift more closely, but each must be long against a transaction.
The variance of the means of 10 batches of consecutive blocks says how steady an epoch's reading
would be, autocorrelation included. On a noisy 2-core machine 40 s of a read-only load gave a
standard error of 2.0 % with 1 s slices and .35 % with 50 ms; durable updates were steadiest at
200 ms. Batch means: Conway, Management Science 10 (1963) 47.

A slice by time must hold 20 mean latencies and 200 transactions (`shortest_slice_ns`), since its
bell cuts somewhere into the stream of executions. A slice by count has no bell: it ends when the
last execution has ended, and one is enough for it. METHOD, "Slice": by time (50 ms ... 10 s) or by
count, for slow statements.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.model.reasoned import Reasoned
from steelyard.model.units import NS_PER_MS, NS_PER_S

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


LONGEST_TIMED_NS = (NS_PER_S, 10 * NS_PER_S)
"""A slice by time may always be as long as the first, and never longer than the second."""
SHORTEST_COUNTED_NS = {"foreground": 50 * NS_PER_MS, "whole": NS_PER_S}
"""With "whole" each slice ends with a CHECKPOINT, which must not be most of it."""
LEVEL = 1.25
"""An execution is level that takes no more than this times the later ones."""


@dataclass(frozen=True, slots=True)
class CountedCut:
    """How a weighing is cut by executions."""

    each: int  # executions of each client in a slice
    warmup: int  # blocks before the measured ones of an epoch
    blocks: int  # measured blocks of an epoch, every arm once in each
    epochs: int
    level: bool  # whether the executions that were timed became level

    @property
    def blocks_in_all(self) -> int:
        """Blocks of an epoch, those of the warm-up among them."""
        return self.warmup + self.blocks


def longest_timed_ns(budget_ns: int, epochs: int) -> int:
    """The longest slice by time where `epochs` share the budget: a twentieth of an epoch, within
    1 s and 10 s."""
    least, most = LONGEST_TIMED_NS
    return min(most, max(least, longest_slice_ns(budget_ns // epochs)))


def too_slow(mean_latency_ns: float, transactions_per_second: float, longest_ns: int) -> bool:
    """Whether 20 mean latencies or 200 transactions take longer than the longest slice by time."""
    return shortest_slice_ns(mean_latency_ns, transactions_per_second) > longest_ns


def cut_by_count(
    times_ns: Mapping[str, Sequence[float]], budget_ns: int, epochs: tuple[int, int], cost: str
) -> CountedCut:
    """Slices, warm-up and epochs for executions that took so long, arm by arm in order.

    `times_ns`: arm → time of slices of one execution of each client, at least one each, from a
    fresh start; `epochs`: the fewest and the most that there may be; `cost`: "foreground" or
    "whole". An epoch is no shorter than one block of every arm, also where the budget is; warm-ups
    are outside of the budget, but an epoch should measure no less than it warms.
    """
    later = {arm: _later(times) for arm, times in times_ns.items()}
    block_of_one_ns = sum(later.values())
    each = max(1, math.ceil(SHORTEST_COUNTED_NS[cost] / max(1.0, min(later.values()))))
    cold = {arm: _cold(times, later[arm]) for arm, times in times_ns.items()}
    level = all(2 * cold[arm] <= len(times) for arm, times in times_ns.items())
    warmup = math.ceil(max(1, *cold.values()) / each)
    block_ns = each * block_of_one_ns
    fit = 2 * int(budget_ns / (2 * block_ns * max(2, warmup)))
    number = max(epochs[0], min(epochs[1], fit))
    blocks = max(1, round(budget_ns / number / block_ns))
    return CountedCut(each, warmup, blocks, number, level)


def _later(times_ns: Sequence[float]) -> float:
    """What an execution takes in the second half of those that were timed: their median."""
    return statistics.median(times_ns[len(times_ns) // 2 :])


def _cold(times_ns: Sequence[float], later_ns: float) -> int:
    """How many of the first executions are not level."""
    level = (n for n, time_ns in enumerate(times_ns) if time_ns <= LEVEL * later_ns)
    return next(level, len(times_ns))
