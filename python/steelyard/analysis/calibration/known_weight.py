"""Computes the truth of a known weight: what an arm that carries it must read.

A transaction that is done twice with probability w and counted once takes (1 + w) times as long.
One that sleeps s with probability p takes p·s longer on average, since a sum of a random number of
sleeps has the mean p·s a transaction (Wald 1945); the control's own time F a transaction says which
share that is. So a counted transaction takes A = 1 + w + p·s/F times as long, and where a share b
of the work is left to the background and charged, A·(1 + b) times.

Where arms pay a debt after each slice, the control's own is a share c of its time under load. A
part of it that every slice costs alike (a CHECKPOINT with nothing to write) goes with the slices, a
part that the work makes goes with the work: the arm takes A·(1 + b + c) / (1 + c) in the first
case, (1 + b)·(A + c·(1 + w)) / (1 + c) in the second. Work that only reads makes no debt: the first
holds. Work that writes lies between, and so does its truth.

All that needs clients which do not help each other. A client that sleeps leaves its processor and
its locks to the others, also where each has a processor of its own: of 2 clients on 2 processors of
a virtual machine, one alone took 19.2 µs a transaction and beside the other 24.6 µs, so that a
stall of one would be made up for by a quarter. The truth of stalls is known of one client only.

Within a slice the identity is exact. What began before the bell counts with its whole time, so that
the number of a slice's transactions is a stopping time, which is what Wald's identity asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.looks import CONFIDENCE
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.estimate import LOG_RATIO, Estimate, Interval

FEWEST_STALLS = 10
"""Below, the mean length of the stalls that were seen says less than the length asked for."""


@dataclass(frozen=True, slots=True)
class KnownWeight:
    """What is put on every transaction of an arm."""

    double_work: float = 0.0
    """Share of the transactions that are done twice."""
    stall_ns: float = 0.0
    """Mean sleep of a transaction: probability times length."""
    background: float = 0.0
    """Share of the work that is left behind and charged; what is not charged weighs nothing."""
    writes: bool = False
    """The work makes a debt of its own."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the arm must read, as a log ratio."""

    estimate: Estimate
    """With the interval that the control's own time, measured, leaves open."""
    bounds: Interval
    """Between these it lies even if that time were known: a point but for work that writes."""


def truth(weight: KnownWeight, times_ns: Floats, debts: Floats, metric: str) -> Truth:
    """The truth from the control's epochs, n ≥ 1 of them.

    `times_ns`: mean time of a transaction under load, without debt, shape (n,), above 0. `debts`:
    debt as a share of that time, shape (n,). For "latency_mean" latencies, which hold no debt.
    """
    sleeps = weight.stall_ns / times_ns
    slower = 1 + weight.double_work + sleeps
    if metric == "throughput":
        rest = 1 + debts
        by_slice = -np.log(slower * (rest + weight.background) / rest)
        work = (1 + weight.background) * (slower + debts * (1 + weight.double_work)) / rest
        by_work = -np.log(work) if weight.writes else by_slice
    else:
        by_slice = by_work = np.log(slower)
    ends = float(np.mean(by_slice)), float(np.mean(by_work))
    bounds = Interval(min(ends), max(ends))
    open_by = 0.0
    if weight.stall_ns and len(times_ns) > 1:
        open_by = t_interval((by_slice + by_work) / 2, CONFIDENCE).width / 2
    value = math.fsum(ends) / 2
    low, high = bounds.low - open_by, bounds.high + open_by
    return Truth(Estimate(value, low, high, len(times_ns), LOG_RATIO, CONFIDENCE), bounds)


def stall_edges(length_ns: int) -> list[int]:
    """Edges of the bins in which stalls are counted: from a fiftieth below their length to twice
    it, a five-hundredth each."""
    step = max(1, length_ns // 500)
    return [*range(length_ns - 10 * step, 2 * length_ns, step)]


def stall_length(
    edges: Sequence[int], arm: Sequence[int], control: Sequence[int], share: float, busy_ns: float
) -> tuple[float, float]:
    """(number, mean length in ns) of an arm's stalls: what it has in the bins beyond the control.

    `arm`, `control`: transactions by bin of `edges`; `share`: transactions of the arm ÷ control;
    `busy_ns`: the mean time of a transaction that did not stall, which is no part of the stall. A
    sleep is longer than asked: the kernel's timer, the way back to an idle processor. The length is
    NaN below 10 stalls.
    """
    middles = (np.asarray(edges[:-1], dtype=float) + np.asarray(edges[1:], dtype=float)) / 2
    beyond = np.asarray(arm, dtype=float) - share * np.asarray(control, dtype=float)
    number = float(beyond.sum())
    if number < FEWEST_STALLS:
        return max(number, 0.0), math.nan
    return number, float((beyond * middles).sum()) / number - busy_ns
