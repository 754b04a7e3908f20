"""Computes the truth of a known weight, what an arm that carries it must read, and the evidence
that equal arms read unequal.

Known weights: a transaction that is done twice with probability w and counted once takes (1 + w)
times as long. One that sleeps s with probability p takes p·s longer on average, since a sum of a
random number of sleeps has the mean p·s a transaction (Wald 1945); the control's own time F a
transaction says which share that is. So a counted transaction takes A = 1 + w + p·s/F times as
long, and where a share b of the work is left to the background and charged, A·(1 + b) times.

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

Equal arms: an e-process over all of a machine's A/A. Of these only the names differ. If nothing but
the names is tied to them, then given all that was seen before, the next log ratio d is as likely as
−d, whatever the machine does. Each factor 1 ± tanh(λd/s) has then mean 1 given the past, since tanh
is odd and the scale s is computed from the past alone (the pilot's s₀, then earlier epochs of the
same weighing, `past_scale`). So the wealth of every fixed way of betting is a nonnegative
martingale that starts at 1, and so is any mean of such wealths, over epochs and over weighings,
wherever a weighing ends: Ville's inequality lets it ever reach 100 with probability at most .01. An
epoch of ±∞ (an arm did not survive) is left out: that looks at |d| alone, so the sign of what
remains is as open as before.

Three things share the capital. *The same way always*: six accounts, λ ∈ {½, 1, 2} times a side,
each carried from weighing to weighing, for an arm that is always the slower one. *Anew in each
weighing*: the six begin with equal shares in every weighing and are then added up, E₊ and E₋ alike,
and the weighings' values multiply: for a difference that each weighing draws afresh, such as the
place of files that follow their arm. And *when to begin*: of the capital 1/(k(k + 1)) is kept until
the k-th weighing and bet from there on, half of it either way, so that a bias which begins after
many sound weighings is detected as one that was always there. What is kept is 1/(n + 1) after n
weighings, below which the wealth never falls.

The draw gives each slot N/2 epochs, so where slots differ the draw of an epoch leans against the
earlier ones, and the argument above is no proof there. METHODOLOGY.md has what simulation says of
that, and of how soon which fault is found.

Sources: Vovk & Wang, arXiv 2208.08925 (bets on symmetry; means and products of e-values); Ville
1939; Shafer, J. R. Stat. Soc. A 184 (2021) 407 (wealth as the measure of evidence).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.e_process import BETS, past_scale
from steelyard.analysis.decision.forecast import MOST_EPOCHS, Need, need
from steelyard.analysis.decision.looks import CONFIDENCE
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.estimate import LOG_RATIO, Estimate, Interval

OFF_BALANCE = 100.0
"""Wealth at which a balance is off: equal arms get there with probability at most .01, ever."""
_SIDES = np.array([1.0, -1.0])
_LARGEST_LOG = 690.0
"""exp of more is no number any more; as evidence it is the same."""


@dataclass(frozen=True, slots=True)
class EqualArms:
    """One weighing of equal arms: its log ratios by epoch, and its pilot's scale s₀ > 0."""

    d: Sequence[float]
    s0: float


def evidence(weighings: Iterable[EqualArms]) -> float:
    """The wealth after these weighings of equal arms, in the order they began; 1 before the first.

    A weighing that is resumed later stays in its place: its factors are fair whenever they
    come.
    """
    accounts = [_log_accounts(weighing) for weighing in weighings]
    if not accounts:
        return 1.0
    carried, anew = np.zeros(len(_SIDES) * len(BETS)), 0.0
    logs = [-math.log(len(accounts) + 1)]  # what is still kept
    for begun in range(len(accounts), 0, -1):
        account = accounts[begun - 1]
        carried, anew = carried + account, anew + _log_mean(account)
        both = float(np.logaddexp(_log_mean(carried), anew)) - math.log(2)
        logs.append(both - math.log(begun * (begun + 1)))
    return math.exp(min(float(np.logaddexp.reduce(logs)), _LARGEST_LOG))


def _log_accounts(arms: EqualArms) -> Floats:
    """Log wealth of the six accounts after one weighing, shape (6,): every λ on either side."""
    d = np.array([x for x in arms.d if math.isfinite(x)], dtype=float)
    ratio = d / past_scale(d, arms.s0)
    bets = np.tanh(np.multiply.outer(np.multiply.outer(_SIDES, BETS), ratio))
    with np.errstate(divide="ignore"):
        wealth: Floats = np.log1p(bets).sum(axis=-1).reshape(-1)
    return wealth


def _log_mean(logs: Floats) -> float:
    """ln of the mean of exp(logs), without overflow."""
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


SIZES = (0.01, 0.02, 0.05)
FEWEST_EPOCHS = 3
"""With fewer, a scatter is no figure."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What one size takes."""

    size: float
    """A fraction."""
    need: Need
    epoch_seconds: float

    @property
    def seconds(self) -> tuple[float, float, float] | None:
        """(least, likely, most); None where no time is enough. An infinite end is "or more"."""
        if self.need.likely >= MOST_EPOCHS:
            return None
        least, likely, most = (
            math.inf if n >= MOST_EPOCHS else n * self.epoch_seconds
            for n in (self.need.fewest, self.need.likely, self.need.most)
        )
        return least, likely, most


def trust(d: Floats, epoch_seconds: float, sizes: Sequence[float] = SIZES) -> list[Trust]:
    """What every size takes, from the log ratios of equal arms, shape (n,); empty where fewer than
    3 are finite, or all are the same. `epoch_seconds`: an epoch of two arms, its restart included.
    """
    finite = d[np.isfinite(d)]
    if len(finite) < FEWEST_EPOCHS or not np.ptp(finite):
        return []
    variance = float(np.var(finite, ddof=1))
    return [
        Trust(size, need(variance, math.log1p(size), len(finite)), epoch_seconds) for size in sizes
    ]


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
