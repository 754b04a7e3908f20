"""What a layout means for judging: its own threats, and what its intervals rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from steelyard.evaluation.contrast import ReplicateFacts, ServersBasis
from steelyard.evaluation.rates import search_threats
from steelyard.evaluation.threats.checkpoint_distance import checkpoint_distance
from steelyard.evaluation.threats.cycles import cycle_threats
from steelyard.evaluation.threats.turns import turn_threats
from steelyard.evaluation.turn_summary import (
    CycleSummary,
    cycle_seconds,
    cycles_basis,
    distance_lines,
    turn_summary,
)
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Observation
from steelyard.record.plan import CYCLES, SLICES, TURNS, Plan
from steelyard.record.reader import RecordContents


class LayoutJudging(Protocol):
    """Judging of weighings of one layout."""

    level: bool
    """Whether throughput is to be level within an epoch: over checkpoint cycles it has a course of
    its own."""

    def threats(self, recorded: RecordContents, arm: str) -> Iterator[Observation]:
        """What this layout alone can show of the contrast of an arm, the first of all threats."""

    def basis(
        self, epochs: Sequence[EpochTotals], plan: Plan, arm: str, count: int
    ) -> ReplicateFacts | None:
        """What the interval of an arm rests on; None: its epochs, and no more is to be said."""

    def cycles(
        self, epochs: Sequence[EpochTotals], plan: Plan, arms: Sequence[str]
    ) -> CycleSummary:
        """What a verdict says of checkpoint cycles; nothing where none was measured whole."""


class SlicesJudging:
    """The load moved from arm to arm: no slice sees whole checkpoint cycles."""

    level = True

    def threats(self, recorded: RecordContents, arm: str) -> Iterator[Observation]:
        """How near the last checkpoint was, where the work writes and the arm is a treatment."""
        study, plan = recorded.study, recorded.plan
        [treatment] = [each for each in study.arms if each.name == arm]
        if not plan.layout or not plan.writes or study.differs_only_in_weight(treatment):
            return
        inspected = recorded.inspection.arms.get(arm)
        yield from checkpoint_distance(
            [epoch.totals for epoch in recorded.epochs],
            study.control.name,
            arm,
            {name: facts.settings for name, facts in recorded.environment.arms.items()},
            inspected.may_differ if inspected else (),
            whole=plan.cost == "whole",
        )

    def basis(
        self, epochs: Sequence[EpochTotals], plan: Plan, arm: str, count: int
    ) -> ReplicateFacts | None:
        """Where the arms were, of servers that are not ours."""
        if plan.residency == "own servers":
            return None
        return ReplicateFacts(basis=ServersBasis(count, plan.residency))

    def cycles(
        self, epochs: Sequence[EpochTotals], plan: Plan, arms: Sequence[str]
    ) -> CycleSummary:
        """Nothing."""
        return CycleSummary()


class SearchJudging(SlicesJudging):
    """Slices at rates that the ones before them chose: throughput follows these."""

    level = False

    def threats(self, recorded: RecordContents, arm: str) -> Iterator[Observation]:
        """What slices show, and where a search went wrong."""
        yield from super().threats(recorded, arm)
        totals = [epoch.totals for epoch in recorded.epochs]
        yield from search_threats(totals, recorded.plan, arm)


class TurnsJudging:
    """One arm at a time, alone on the machine."""

    level = False
    unit = "turn"
    """What an arm is measured in, in an epoch."""

    def threats(self, recorded: RecordContents, arm: str) -> Iterator[Observation]:
        """What was not alike when each ran alone."""
        totals = [epoch.totals for epoch in recorded.epochs]
        yield from turn_threats(totals, recorded.plan, recorded.study.control.name, arm)

    def basis(
        self, epochs: Sequence[EpochTotals], plan: Plan, arm: str, count: int
    ) -> ReplicateFacts | None:
        """Epochs, the distance of checkpoints, and the time scale."""
        return ReplicateFacts(basis=cycles_basis(epochs, plan, arm, count, self.unit))

    def cycles(
        self, epochs: Sequence[EpochTotals], plan: Plan, arms: Sequence[str]
    ) -> CycleSummary:
        """The distance, the effect at others, and what each arm did."""
        assert plan.turns is not None  # the plan of every layout over whole cycles has them
        return CycleSummary(
            time_scale=plan.turns.time_scale,
            distance_seconds=cycle_seconds(epochs, plan.control),
            by_distance=tuple(distance_lines(epochs, plan.control, arms)),
            turns=turn_summary(epochs, plan, arms),
        )


class CyclesJudging(TurnsJudging):
    """All arms, each in its own time."""

    unit = "window"

    def threats(self, recorded: RecordContents, arm: str) -> Iterator[Observation]:
        """What ran in another's time, and what the kernel does for both."""
        control, inspected = recorded.study.control.name, recorded.inspection.arms.get(arm)
        declared = inspected.may_differ if inspected else ()
        yield from cycle_threats(recorded.epochs, recorded.plan, control, arm, declared)


_BY_NAME: Mapping[str, LayoutJudging] = {
    SLICES: SlicesJudging(),
    TURNS: TurnsJudging(),
    CYCLES: CyclesJudging(),
}


def judging_of(plan: Plan) -> LayoutJudging:
    """The judging of a plan's layout; where the plan is older than the word, of what it holds."""
    return SearchJudging() if plan.search is not None else _BY_NAME[plan.layout_choice.name]
