"""Computes the evidence that equal arms read unequal: an e-process over all of a machine's A/A.

Of equal arms only the names differ. If nothing but the names is tied to them, then given all that
was seen before, the next log ratio d is as likely as −d, whatever the machine does. Each factor
1 ± tanh(λd/s) has then mean 1 given the past, since tanh is odd and the scale s is computed from
the past alone (the pilot's s₀, then earlier epochs of the same weighing, `past_scale`). So the
wealth of every fixed way of betting is a nonnegative martingale that starts at 1, and so is any
mean of such wealths, over epochs and over weighings, wherever a weighing ends: Ville's inequality
lets it ever reach 100 with probability at most .01. An epoch of ±∞ (an arm did not survive) is left
out: that looks at |d| alone, so the sign of what remains is as open as before.

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
from steelyard.analysis.decision.sign_flip import Floats

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
