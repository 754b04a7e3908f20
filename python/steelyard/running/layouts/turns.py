"""Turns: one arm at a time, alone on the machine over whole checkpoint cycles."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.analysis.pilot.turn_lengths import least_budget_s
from steelyard.engines.engine import Engine, Settings
from steelyard.model.reasoned import Reasoned
from steelyard.model.units import NS_PER_S
from steelyard.record.plan import Choices
from steelyard.running.layouts.layout import Cost
from steelyard.running.preparing.memory_room import Room
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.epochs import TurnsRunner
from steelyard.running.turns.pilot import cost_words, pilot_turns, require_scale, too_short
from steelyard.running.turns.solo_run import cycle_engine, require_cycles
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

WHOLE_CYCLES: Cost = Reasoned(
    "cycles",
    "whole checkpoint cycles are measured: what an arm leaves is in them",
)


class Turns:
    """Each arm has one turn an epoch."""

    name = "turns"

    def require(self, study: Study) -> None:
        """StudyError where the budget cannot hold turns, however short they are."""
        least_s = least_budget_s(len(study.every_arm), study.budget.epochs)
        if study.budget.turns < least_s * NS_PER_S:
            raise too_short(study, least_s, least=True)

    def require_engine(self, engine: Engine) -> None:
        """EngineError: it does not know what spaces its checkpoints."""
        require_cycles(engine)

    def require_room(self, room: Room) -> None:
        """One server runs at a time."""

    def require_time_scale(self, setup: Setup, settings: Mapping[str, Settings]) -> None:
        """StudyError: an arm's checkpoints cannot be brought as near."""
        cycles = {
            arm: cycle_engine(setup, arm).cycle(reported) for arm, reported in settings.items()
        }
        require_scale(setup.study, {arm: cycle.largest_scale for arm, cycle in cycles.items()})

    def cost(self, study: Study, scripts: tuple[Script, ...]) -> Cost:
        """All of it falls into the turn."""
        return WHOLE_CYCLES

    def servers_at_once(self, study: Study) -> int:
        """One."""
        return 1

    def takes_ns(self, study: Study) -> int:
        """All turns, with what comes before and after each."""
        return study.budget.turns

    def announcement(self, study: Study) -> str:
        """Half an hour and more."""
        return cost_words(study)

    def pilot(self, setup: Setup, progress: Progress) -> Choices:
        """Every arm alone for some time."""
        return pilot_turns(setup, progress)

    def runner(
        self, setup: Setup, choices: Choices, opened: OpenRecord, progress: Progress
    ) -> TurnsRunner:
        """A turn of every arm an epoch, those that are finished already left out."""
        return TurnsRunner(setup, choices, opened.turns, opened.lost_turns, progress)
