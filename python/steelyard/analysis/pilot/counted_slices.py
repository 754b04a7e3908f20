"""Decides whether slices are cut by executions in place of a time, and how many each holds.

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

from steelyard.analysis.pilot.batch_means import longest_slice_ns, shortest_slice_ns
from steelyard.model.units import NS_PER_MS, NS_PER_S

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
