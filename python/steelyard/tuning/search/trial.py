"""Holds what a search is begun with, its candidates, and what came of it.

What came of a candidate is read of its verdict: its log ratios, and how it was lost. Which
candidates of a round are clearly worse is decided by paired epochs.

A race as in Maron & Moore, NIPS 6 (1994), by t intervals as in Birattari's t-race (2009). Dropping
claims nothing, so that the intervals are not joint; how rarely the best is dropped is simulated by
`python -m validation.races`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.analysis.decision.epoch_reading import COMPLETE, blamed
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.latency_goal import higher_is_better
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import ContrastLine, EpochDetail
from steelyard.record.frozen import Frozen
from steelyard.record.verdict import Verdict
from steelyard.study.arm import Arm
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.search.space import Point

_FAILED = "failed: "
SEARCH_FILE, BEST_FILE = "search.json", "found.json"
NO_WORK = "did no work"


class SearchPlan(Frozen):
    """Everything but the study that decides which candidates are tried, as search.json has it."""

    seed: int
    trials: int
    durability: tuple[str, ...]
    basis: Basis
    first: Mapping[str, str]
    """Settings of the first candidate."""


@dataclass(frozen=True)
class Trial:
    """A candidate: its settings, and how it did against the control in the same epochs."""

    number: int  # from 1
    point: Point
    settings: Mapping[str, str]
    ratios: Mapping[str, float] = field(default_factory=dict)
    """Epoch of a record → log ratio against the control, above 0 where it is better."""
    outcome: str = "under way"
    duelled: bool = False
    """Whether the log ratios are those of a duel, which did not choose the trial."""

    @property
    def name(self) -> str:
        """As an arm."""
        return f"trial-{self.number}"

    @property
    def log_ratios(self) -> tuple[float, ...]:
        """One an epoch."""
        return tuple(self.ratios.values())

    @property
    def failed(self) -> bool:
        """Whether it could not be weighed, or did not survive every epoch: it cannot win."""
        return self.outcome.startswith(_FAILED)

    def fail(self, reason: str) -> Trial:
        """The same, failed."""
        return replace(self, outcome=f"{_FAILED}{reason}")

    @property
    def log_ratio(self) -> float | None:
        """The mean over its epochs; None: it failed, or was never measured."""
        if self.failed or not self.log_ratios:
            return None
        return sum(self.log_ratios) / len(self.log_ratios)

    def change_percent(self, metric: str) -> float | None:
        """Of the study's metric against the control, as a verdict reads it: of a time below 0 where
        it is better."""
        ratio = self.log_ratio
        if ratio is None:
            return None
        return percent_of_log(ratio if higher_is_better(metric) else -ratio)

    def as_arm(self, control: Arm) -> Arm:
        """The control with its settings above the control's own."""
        settings = {**control.settings, **self.settings}
        return control.model_copy(update={"name": self.name, "settings": settings})

    def to_json(self, metric: str) -> dict[str, Any]:
        """As `tune --search --json` gives it; `metric`: of the study. No interval: a search claims
        nothing of it."""
        return {
            "number": self.number,
            "settings": dict(self.settings),
            "epochs": len(self.log_ratios),
            "search_percent": self.change_percent(metric),
            "outcome": self.outcome,
        }


@dataclass(frozen=True)
class BestCandidate:
    """What came of a search."""

    seed: int
    record: str
    trials: tuple[Trial, ...]
    winner: Trial | None
    """None: no candidate was better than the control in the search."""
    confirmed: Verdict | None
    """Of a fresh weighing of the winner: the only figure that is a claim."""
    weighings: int
    metric: str = "throughput"
    """Of the study."""

    def to_json(self) -> dict[str, Any]:
        """As `tune --search --json` gives it."""
        return {
            "seed": self.seed,
            "record": self.record,
            "attempts": len(self.trials),
            "weighings": self.weighings,
            "trials": [trial.to_json(self.metric) for trial in self.trials],
            "winner": None if self.winner is None else self.winner.to_json(self.metric),
            "confirmed": None if self.confirmed is None else self.confirmed.to_json(),
        }


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
    """How the arm was lost in an epoch; None: it was not. The record keeps a log ratio of minus
    infinity as None, so that an arm that did no work while the control did is recognized by its
    throughput."""
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
