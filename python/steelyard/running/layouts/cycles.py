"""Cycles: fine slices of all arms inside whole checkpoint cycles, each arm in its own time."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.analysis.pilot.cycle_lengths import least_cycles_budget_s
from steelyard.engines.engine import Engine, Settings
from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_S
from steelyard.record.plan import Choices
from steelyard.running.cycles.epochs import CyclesRunner
from steelyard.running.cycles.pilot import (
    cycles_cost_words,
    largest_scales,
    pilot_cycles,
    require_own_time,
    too_short,
)
from steelyard.running.layouts.layout import Cost
from steelyard.running.layouts.turns import WHOLE_CYCLES
from steelyard.running.preparing.memory_room import Room, require_room
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.pilot import require_scale
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

MOST_ARMS = 8
"""Of more, a slice of an arm comes too long after its last one for the two to be neighbours."""


class Cycles:
    """All arms run, and each stands still while another is under load."""

    name = "cycles"

    def require(self, study: Study) -> None:
        """StudyError where the budget cannot hold cycles, however short they are, and for more arms
        than can take turns within seconds."""
        if len(study.every_arm) > MOST_ARMS:
            raise StudyError(
                f"{len(study.every_arm)} arms are too many for cycles: {MOST_ARMS} at most",
                detail="Each arm stands still while any other is under load.",
                hint="Weigh one arm at a time: --set layout=turns.",
            )
        least_s = least_cycles_budget_s(len(study.every_arm), study.budget.epochs)
        if study.budget.cycles < least_s * NS_PER_S:
            raise too_short(study, least_s, least=True)

    def require_engine(self, engine: Engine) -> None:
        """EngineError: its timers cannot be brought into its own time."""
        require_own_time(engine)

    def require_room(self, room: Room) -> None:
        """StudyError: memory does not hold all arms at once."""
        require_room(room())

    def require_time_scale(self, setup: Setup, settings: Mapping[str, Settings]) -> None:
        """StudyError: an arm's checkpoints cannot be brought as near in its own time."""
        require_scale(setup.study, largest_scales(setup, settings))

    def cost(self, study: Study, scripts: tuple[Script, ...]) -> Cost:
        """All of it falls into the arm's own time."""
        return WHOLE_CYCLES

    def servers_at_once(self, study: Study) -> int:
        """All of them."""
        return len(study.every_arm)

    def takes_ns(self, study: Study) -> int:
        """All epochs, with their starts."""
        return study.budget.cycles

    def announcement(self, study: Study) -> str:
        """Half an hour at most, as the budget says."""
        return cycles_cost_words(study)

    def pilot(self, setup: Setup, progress: Progress) -> Choices:
        """Every arm alone for some time."""
        return pilot_cycles(setup, progress)

    def runner(
        self, setup: Setup, choices: Choices, opened: OpenRecord, progress: Progress
    ) -> CyclesRunner:
        """An epoch is whole or it is none: a torn one begins anew."""
        return CyclesRunner(setup, choices, progress)
