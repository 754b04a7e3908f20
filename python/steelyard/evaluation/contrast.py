"""Holds a contrast: an arm against the control on one metric, with its verdict and threats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from steelyard.analysis.decision.forecast import MOST_EPOCHS, Forecast, Need
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.rule import Decision, VerdictKind
from steelyard.model.estimate import Estimate
from steelyard.model.threat import Observation
from steelyard.record.contrast import ContrastDetails, Ends
from steelyard.record.plan import Residency, TurnChoices


class Details(Protocol):
    """What the sentence of a contrast reads of its details."""

    @property
    def look(self) -> str:
        """How far in its plan it was judged: a `Stage`."""

    @property
    def equivalence_interval_percent(self) -> Ends:
        """The interval of the equivalence test."""

    @property
    def equivalence_level_one_sided(self) -> float:
        """Its level at either side."""


@dataclass(frozen=True, slots=True)
class ServersBasis:
    """What an interval rests on where the servers are not ours."""

    epochs: int
    residency: Residency
    """Where the arms are."""


@dataclass(frozen=True, slots=True)
class CyclesBasis:
    """What an interval rests on where whole checkpoint cycles were measured."""

    epochs: int
    layout: str
    unit: str
    """What an arm is measured in, in an epoch."""
    turns: TurnChoices
    arms: tuple[str, str]
    """The control, and the arm."""
    cycle_seconds: tuple[float | None, float | None]
    """Of both: between the begins of two checkpoints; None: no whole cycle was seen."""


@dataclass(frozen=True, slots=True)
class ReplicateFacts:
    """The replicates of a contrast."""

    noun: str = "epochs"
    """In the plural."""
    basis: ServersBasis | CyclesBasis | str = ""
    """What the interval rests on, of numbers from elsewhere in words; empty: so many of the
    noun."""
    instead: str = ""
    """Printed in place of the forecast where more replicates would not narrow the interval."""
    column: str = ""
    """The heading of the numbers that were judged; empty: they are called by their metric."""


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """How a contrast answers what was asked: with what is weighed as its subject."""

    subject: str
    """What costs or gains, with names filled in."""
    plural: bool = False
    lacks: bool = False
    """Whether it is the arm that is without the subject: the sizes are then the control's against
    the arm."""
    against: bool = False
    reads: bool = False
    """Whether the subject is what is read: equal arms, known weights."""


Details_co = TypeVar("Details_co", bound=Details, covariant=True)


@dataclass(frozen=True, slots=True)
class Contrast(Generic[Details_co]):
    """An arm against the control, judged."""

    arm: str
    control: str
    terms: Terms
    estimate: Estimate
    """Log ratio arm ÷ control of the metric, with the printed set."""
    verdict: Decision
    epochs: int
    """Usable epochs: those with a log ratio, infinite ones included."""
    blocks: int
    forecast: Forecast | None
    threats: tuple[Observation, ...]
    details: Details_co
    """What is kept beside the command line's contract."""
    replicates: ReplicateFacts = ReplicateFacts()
    answer: AnswerWords | None = None
    """None: its sentence says that the arm is faster or slower."""

    @property
    def needed(self) -> Need | None:
        """Further epochs until an inconclusive weighing would settle: ±δ, else the sign; None when
        it is settled, there is no forecast, or no time will settle it."""
        if self.forecast is None or self.verdict.kind is not VerdictKind.INCONCLUSIVE:
            return None
        needs = [n for n in (self.forecast.margin, self.forecast.sign) if n is not None]
        possible = [need for need in needs if need.likely < MOST_EPOCHS]
        return self.forecast.more(min(possible, key=lambda n: n.likely)) if possible else None

    @property
    def forecast_seconds(self) -> float | None:
        """Time of the needed epochs; None where there is no need or an epoch's time is unknown."""
        if self.needed is None or not self.terms.epoch_seconds:
            return None
        return self.needed.likely * self.terms.epoch_seconds


WeighedContrast = Contrast[ContrastDetails]
"""A contrast of a weighing."""
