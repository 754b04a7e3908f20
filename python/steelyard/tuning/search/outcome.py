"""Reads of a verdict what came of a candidate: its log ratios, and how it was lost.

Decides which candidates of a round are clearly worse, by paired epochs.

A race as in Maron & Moore, NIPS 6 (1994), by t intervals as in Birattari's t-race (2009). Dropping
claims nothing, so that the intervals are not joint; how rarely the best is dropped is simulated by
`python -m validation.races`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from steelyard.analysis.decision.epoch_reading import COMPLETE, blamed
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.record.contrast import ContrastLine, EpochDetail
from steelyard.record.verdict import Verdict

NO_WORK = "did no work"


@dataclass(frozen=True)
class ArmOutcome:
    """An arm against the control."""

    ratios: Mapping[int, float] = field(default_factory=dict)
    """Complete epoch → log ratio, above 0 where the arm is better."""
    lost: str | None = None
    """How the arm was lost and in how many epochs; None: it survived all of them."""
    last: str = "no epoch was complete"
    """How the last epoch ended."""


def outcome_of(verdict: Verdict, arm: str) -> ArmOutcome:
    """What came of an arm. A verdict has no log ratio of an epoch in which it was lost, nor of one
    that another arm cost."""
    for line in verdict.contrasts:
        if line.arm == arm:
            sign = 1.0 if line.higher_is_better else -1.0
            read = enumerate(line.details.d)
            ratios = {epoch: sign * ratio for epoch, ratio in read if ratio is not None}
            return ArmOutcome(ratios, _lost(line), _last(line))
    return ArmOutcome()


def _lost(line: ContrastLine) -> str | None:
    ways = [way for epoch in line.details.epochs if (way := _way(epoch, line)) is not None]
    return f"{ways[-1]} in {len(ways)} of {len(line.details.epochs)} epochs" if ways else None


def _way(epoch: EpochDetail, line: ContrastLine) -> str | None:
    """How the arm was lost in an epoch; None: it was not. Infinity is kept as None: an arm without
    work beside a control that did some is told from epochs that have no ratio by throughput."""
    if line.arm in blamed(epoch.outcome):
        return epoch.outcome.partition(":")[0]
    idle = not epoch.throughput.get(line.arm) and bool(epoch.throughput.get(line.control))
    dropped = line.details.drops.get(line.arm, 0)
    return NO_WORK if epoch.outcome == COMPLETE and idle and not dropped else None


def _last(line: ContrastLine) -> str:
    if not line.details.epochs or line.details.epochs[-1].outcome == COMPLETE:
        return ArmOutcome.last
    return f"{ArmOutcome.last}: {line.details.epochs[-1].outcome}"


CONFIDENCE = 0.95
"""Of the two-sided interval of a difference."""
Ratios = Mapping[str, float]
"""Epoch of a record → log ratio against the control in that epoch."""


def dropped(contestants: Mapping[str, Ratios], control: str) -> dict[str, str]:
    """Name of each that is clearly worse than the best → name of the best, which has the highest
    mean log ratio. The control takes part: its log ratio is 0 in every epoch."""
    zeros = {epoch: 0.0 for ratios in contestants.values() for epoch in ratios}
    every = {control: zeros, **contestants}
    best = max((name for name in every if every[name]), key=lambda name: _mean(every[name]))
    return {
        name: best
        for name, ratios in every.items()
        if name != best and _clearly_worse(ratios, every[best])
    }


def _clearly_worse(other: Ratios, best: Ratios) -> bool:
    """Whether the interval of best − other, over the epochs that have both, lies above 0."""
    differences = [best[epoch] - ratio for epoch, ratio in other.items() if epoch in best]
    return t_interval(np.array(differences), CONFIDENCE).low > 0


def _mean(ratios: Ratios) -> float:
    return sum(ratios.values()) / len(ratios)
