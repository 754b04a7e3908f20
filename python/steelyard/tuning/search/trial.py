"""Holds what a search is begun with, its candidates, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.model.units import percent_of_log
from steelyard.record.frozen import Frozen
from steelyard.record.verdict import Verdict
from steelyard.study.arm import Arm
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.search.space import Point

_FAILED = "failed: "


SEARCH_FILE, BEST_FILE = "search.json", "found.json"


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

    def as_arm(self, control: Arm) -> Arm:
        """The control with its settings above the control's own."""
        settings = {**control.settings, **self.settings}
        return control.model_copy(update={"name": self.name, "settings": settings})

    def to_json(self) -> dict[str, Any]:
        """As `tune --search --json` gives it. No interval: a search claims nothing of it."""
        ratio = self.log_ratio
        return {
            "number": self.number,
            "settings": dict(self.settings),
            "epochs": len(self.log_ratios),
            "search_percent": None if ratio is None else percent_of_log(ratio),
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

    def to_json(self) -> dict[str, Any]:
        """As `tune --search --json` gives it."""
        return {
            "seed": self.seed,
            "record": self.record,
            "attempts": len(self.trials),
            "weighings": self.weighings,
            "trials": [trial.to_json() for trial in self.trials],
            "winner": None if self.winner is None else self.winner.to_json(),
            "confirmed": None if self.confirmed is None else self.confirmed.to_json(),
        }
