"""Tells the truth of a known weight: what an arm that carries it must read against its control.

A transaction that is done twice with probability w and counted once takes (1 + w) times as long.
One that sleeps s with probability p takes p·s longer on average, since a sum of a random number of
sleeps has the mean p·s a transaction (Wald 1945); the control's own time a transaction says which
share that is. Work left to the background, a share b of all of it, takes b times as long again
where its time is charged. So the arm's throughput is 1 / ((1 + w + p·s/L)(1 + b)) of the control's.

That needs clients which do not help each other. A client that sleeps leaves its processor and its
locks to the others: with 2 clients on 2 processors that share a core, one alone was 28 % faster
than beside the other, and a stall cost that much less than its length. So for stalls the truth is
known of one client only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.estimate import LOG_RATIO, Estimate
from steelyard.analysis.looks import CONFIDENCE
from steelyard.analysis.sign_flip import Floats
from steelyard.analysis.t_interval import t_interval

FEWEST_STALLS = 10
"""Below, the mean length of the stalls that were seen says less than the length asked for."""


@dataclass(frozen=True, slots=True)
class KnownWeight:
    """What is put on every transaction of an arm."""

    twice: float = 0.0
    """Share of the transactions that are done twice."""
    stall_ns: float = 0.0
    """Mean sleep of a transaction: probability times length."""
    background: float = 0.0
    """Share of the work that is left behind and charged; what is not charged weighs nothing."""


def truth(weight: KnownWeight, times_ns: Floats, metric: str) -> Estimate:
    """The log ratio that the arm must read; the interval is what the control's time leaves open.

    `times_ns`: the control's mean time of a transaction by epoch, shape (n,), n ≥ 1, above 0.
    Latencies hold no debt, so `background` weighs nothing for "latency_mean".
    """
    slower = np.log1p(weight.twice + weight.stall_ns / times_ns)
    logs = -slower - math.log1p(weight.background) if metric == "throughput" else slower
    value = float(np.mean(logs))
    open_ends = t_interval(logs, CONFIDENCE) if weight.stall_ns and len(logs) > 1 else None
    low, high = (open_ends.low, open_ends.high) if open_ends else (value, value)
    return Estimate(value, low, high, len(logs), LOG_RATIO, CONFIDENCE)


def stall_edges(length_ns: int) -> list[int]:
    """Edges of the bins in which the stalls of an arm are counted: a length's twiceth and a bit."""
    step = max(1, length_ns // 500)
    return [*range(length_ns - 10 * step, 2 * length_ns, step)]


def stall_length(
    edges: Sequence[int], arm: Sequence[int], control: Sequence[int], share: float, busy_ns: float
) -> tuple[float, float]:
    """(number, mean length in ns) of an arm's stalls: what it has in the bins beyond the control.

    `arm`, `control`: transactions by bin of `edges`; `share`: transactions of the arm ÷ control;
    `busy_ns`: the mean time of a transaction that did not stall, which is no part of the stall. A
    sleep is longer than asked: the kernel's timer, the way back to an idle processor.
    """
    middles = (np.asarray(edges[:-1], dtype=float) + np.asarray(edges[1:], dtype=float)) / 2
    beyond = np.asarray(arm, dtype=float) - share * np.asarray(control, dtype=float)
    number = float(beyond.sum())
    if number < FEWEST_STALLS:
        return max(number, 0.0), math.nan
    return number, float((beyond * middles).sum()) / number - busy_ns
