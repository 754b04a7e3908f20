"""Holds what can be seen of numbers from elsewhere: order, dependence, steps, rows far out, load.

`foreign/judgement/number_threats.py` sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steelyard.analysis.two_samples.centres import Centred
from steelyard.analysis.two_samples.trend import Trend
from steelyard.evaluation.threats.epochs import CountsOfArms
from steelyard.model.threat import Observation, Quoted, ThreatKind


@dataclass(frozen=True, slots=True)
class DifferingCondition:
    """Something that was asked for, and not alike of both arms: its values as the files say."""

    name: str
    of_control: tuple[str, ...]
    of_arm: tuple[str, ...]
    """"": not given."""
    explains: bool
    """Whether it is of the load, and differs between the arms: it explains any difference."""


@dataclass(frozen=True, slots=True)
class ConditionsDiffer(Observation):
    """The runs of the arms were not asked to do the same."""

    kind: ClassVar[ThreatKind] = ThreatKind.CONDITIONS_DIFFER
    arm: str
    control: str
    conditions: tuple[DifferingCondition, ...]

    @property
    def invalidates(self) -> bool:
        """Whether the load differs between the arms."""
        return any(condition.explains for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class WrongRowsReturned(Observation):
    """Transactions returned other rows than they should."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    wrong: int
    tried: int


@dataclass(frozen=True, slots=True)
class UnequalOutcomes(CountsOfArms):
    """Transactions did not simply succeed more often in one arm."""

    kind: ClassVar[ThreatKind] = ThreatKind.ERRORS_DIFFER


@dataclass(frozen=True, slots=True)
class UnequalFailureCounts(CountsOfArms):
    """More failures are counted in one arm; out of how many is not known: `out_of` counts rows."""

    kind: ClassVar[ThreatKind] = ThreatKind.ERRORS_DIFFER


@dataclass(frozen=True, slots=True)
class UnequalFailureShares(Observation):
    """A column says of one arm that a larger share of its transactions failed, or succeeded."""

    kind: ClassVar[ThreatKind] = ThreatKind.ERRORS_DIFFER
    arm: str
    control: str
    column: str
    """As in the file, in quotes."""
    means: tuple[float, float]
    """Of the rows of the arm and of the control."""


@dataclass(frozen=True, slots=True)
class QuotedOfRuns(Quoted):
    """What the file of a run says of its machine, the first of so many that say such a thing."""

    runs: int


@dataclass(frozen=True, slots=True)
class ClosedLoopBroken(Observation):
    """Throughput, latency and clients of an arm are not those of one closed loop."""

    kind: ClassVar[ThreatKind] = ThreatKind.LITTLES_LAW
    arm: str
    clients: float
    throughput: float
    """Transactions per second."""
    latency_ms: float
    busy_clients: float
    """What throughput and latency keep busy."""
    implied_latency_ms: float
    """What that throughput of so many clients means."""


@dataclass(frozen=True, slots=True)
class OrderNotDrawn(Observation):
    """Nothing says that chance drew the order in which the arms were measured."""

    kind: ClassVar[ThreatKind] = ThreatKind.OBSERVATIONAL
    alternating: bool
    """Whether the arms took turns; else nothing is known of the order."""


@dataclass(frozen=True, slots=True)
class ArmsMovedMeanwhile(Observation):
    """The level of an arm moved, while it was measured, by half the difference or more."""

    kind: ClassVar[ThreatKind] = ThreatKind.DRIFT_OR_ARM
    moved: tuple[tuple[str, float], ...]
    """(arm, natural log of how far)."""


@dataclass(frozen=True, slots=True)
class OneArmAfterOther(Observation):
    """All of one arm was measured, then all of the other."""

    kind: ClassVar[ThreatKind] = ThreatKind.ONE_AFTER_OTHER
    arm: str
    control: str


@dataclass(frozen=True, slots=True)
class SingleValues(Observation):
    """Arms have a single value each."""

    kind: ClassVar[ThreatKind] = ThreatKind.NO_SPREAD
    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartsOfOneRun(Observation):
    """The rows of arms are parts of a single run each."""

    kind: ClassVar[ThreatKind] = ThreatKind.ONE_RUN
    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TooFewRows(Observation):
    """Too few rows for a verdict."""

    kind: ClassVar[ThreatKind] = ThreatKind.TOO_FEW_ROWS
    count: int
    needed: int


@dataclass(frozen=True, slots=True)
class RowsDepend(Observation):
    """Rows are seen to depend on their neighbours, or are too few to rule it out."""

    kind: ClassVar[ThreatKind] = ThreatKind.ROWS_DEPEND
    arm: str | None
    """None: the differences of rows that are paired."""
    batched: bool
    """Whether they are batches of several rows."""
    count: int
    effective: float
    """As how many independent ones they tell."""
    lag_one: float
    """Correlation of neighbours; not finite where it cannot be seen."""
    lag_one_limit: float
    """What it may likely be; not finite where it cannot be seen."""
    enough: bool
    """Whether there is an interval, which was widened; else there is none."""


@dataclass(frozen=True, slots=True)
class OrderNotStated(Observation):
    """The files do not say in which order the rows were measured."""

    kind: ClassVar[ThreatKind] = ThreatKind.ORDER_LOST
    why: str
    """As the reading of the files says it."""


@dataclass(frozen=True, slots=True)
class RowsOfDifferentThings(Observation):
    """Rows differ many times over, and alike in all arms."""

    kind: ClassVar[ThreatKind] = ThreatKind.ORDER_LOST


@dataclass(frozen=True, slots=True)
class RowsSorted(Observation):
    """The values of every arm rise or fall throughout, as no measurement comes out."""

    kind: ClassVar[ThreatKind] = ThreatKind.ORDER_LOST


@dataclass(frozen=True, slots=True)
class Step:
    """Rows first … last, counted from 1, against the usual rows of the same series."""

    first: int
    last: int
    usual_first: int
    usual_last: int
    percent: float
    low: float
    high: float
    """95 % by Welch's t, too narrow: the rows were chosen by looking at them. Plain steps (5 sd)
    are held in 93–95 %, steps of 2 sd in 74–93 %, since those are found where they look large."""

    @property
    def clear(self) -> bool:
        """Whether its interval does not hold zero."""
        return not self.low <= 0 <= self.high

    def to_json(self) -> dict[str, float | list[int]]:
        """As a finding keeps it."""
        return {
            "first_row": self.first,
            "last_row": self.last,
            "against_rows": [self.usual_first, self.usual_last],
            "estimate_percent": self.percent,
            "low_percent": self.low,
            "high_percent": self.high,
        }


@dataclass(frozen=True, slots=True)
class Movement:
    """How a level moved: by steps, or else by drift."""

    steps: tuple[Step, ...]
    """Clear ones, largest first."""
    drift: Trend | None = None
    """Natural logs; None where there are steps."""


@dataclass(frozen=True, slots=True)
class AllArmsMoved(Observation):
    """The level of all arms together moved."""

    kind: ClassVar[ThreatKind] = ThreatKind.LEVEL_MOVED
    movement: Movement


@dataclass(frozen=True, slots=True)
class ArmMoved(Observation):
    """The level of an arm moved."""

    kind: ClassVar[ThreatKind] = ThreatKind.LEVEL_MOVED
    arm: str
    movement: Movement


@dataclass(frozen=True, slots=True)
class DifferenceMoved(Observation):
    """The difference of an arm from the control moved."""

    kind: ClassVar[ThreatKind] = ThreatKind.LEVEL_MOVED
    arm: str
    movement: Movement


@dataclass(frozen=True, slots=True)
class FewRowsDecide(Observation):
    """Rows far out carry much of the estimate."""

    kind: ClassVar[ThreatKind] = ThreatKind.FEW_ROWS_DECIDE
    arm: str
    outliers: tuple[tuple[str, tuple[int, ...]], ...]
    """(arm, rows from 0); "" in place of an arm: rows that are paired."""
    estimate: float
    """Natural log of the ratio."""
    without: float
    """What it would be without these rows."""


@dataclass(frozen=True, slots=True)
class CentresDisagree(Observation):
    """The ratio of the means and that of the medians are far apart."""

    kind: ClassVar[ThreatKind] = ThreatKind.CENTRES_DISAGREE
    arm: str
    mean: Centred
    median: Centred
