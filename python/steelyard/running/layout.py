"""What a layout is: what a weighing requires, how its pilot chooses, what runs its epochs; and the
three there are, slices, turns and cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from steelyard.analysis.pilot.cycle_lengths import least_cycles_budget_s
from steelyard.analysis.pilot.turn_lengths import least_budget_s
from steelyard.engines.engine import Engine, Settings
from steelyard.model.errors import StudyError
from steelyard.model.reasoned import Reasoned
from steelyard.model.units import NS_PER_S
from steelyard.record.epoch import Epoch
from steelyard.record.plan import Choices
from steelyard.running.cycles.epochs import CyclesRunner
from steelyard.running.cycles.pilot import (
    cycles_cost_words,
    cycles_too_short,
    largest_scales,
    pilot_cycles,
    require_own_time,
)
from steelyard.running.measuring.counted import pilot_counted
from steelyard.running.measuring.epoch import EpochRunner
from steelyard.running.measuring.pilot import Pilot
from steelyard.running.preparing.memory_room import Room, require_room
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.rate_search import SearchRunner, pilot_search, require_visits
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.epochs import TurnsRunner
from steelyard.running.turns.pilot import cost_words, pilot_turns, require_scale, too_short
from steelyard.running.turns.solo_run import cycle_engine, require_cycles
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

Cost = Reasoned[str]
"""What is charged to an arm, "foreground", "whole" or "cycles", and why."""
LOADS_IN_ALL = 2
"""A weighing in slices takes about twice its time under load."""
WHOLE_CYCLES: Cost = Reasoned(
    "cycles",
    "whole checkpoint cycles are measured: what an arm leaves is in them",
)
MOST_ARMS = 8
"""Of more, a slice of an arm comes too long after its last one for the two to be neighbours."""


class EpochsRunner(Protocol):
    """Runs the epochs of one weighing."""

    def run(self, epoch: int, attempt: int = 1) -> Epoch:
        """Run one epoch and write its lines; an arm that died is an outcome, no error. `attempt`
        tells a resumed epoch from its torn first."""


class Layout(Protocol):
    """A way to lay the load out in time."""

    @property
    def name(self) -> str:
        """As a study and a plan have it."""

    def require(self, study: Study) -> None:
        """StudyError: the study cannot be weighed so, as where its budget is too short."""

    def require_engine(self, engine: Engine) -> None:
        """EngineError: an arm's engine cannot be weighed so."""

    def require_room(self, room: Room) -> None:
        """StudyError: memory does not hold the servers that run at once."""

    def require_time_scale(self, setup: Setup, settings: Mapping[str, Settings]) -> None:
        """StudyError: checkpoints cannot be brought as near as the study says. `settings`: arm →
        settings as its server reports them."""

    def cost(self, study: Study, scripts: tuple[Script, ...]) -> Cost:
        """What is charged to an arm. StudyError: what the study asks would fall on another arm."""

    def concurrent_servers(self, study: Study) -> int:
        """How many of the arms' servers run at once, and share the machine's memory."""

    def takes_ns(self, study: Study) -> int:
        """What a weighing takes about, all in all, as the budget says."""

    def announcement(self, study: Study) -> str:
        """What it takes at most, before anything is loaded; empty: nothing worth a line."""

    def pilot(self, setup: Setup, progress: Progress) -> Choices:
        """Watch the load, and choose what the seed does not decide; nothing of it enters an
        estimate."""

    def runner(
        self, setup: Setup, choices: Choices, opened: OpenRecord, progress: Progress
    ) -> EpochsRunner:
        """What runs the epochs; `opened`: what the record of a resumed weighing holds already."""


class Slices:
    """All arms run, and the load moves from arm to arm every 50 ms and up: slices by time, or by
    executions where the study says so."""

    name = "slices"

    def require(self, study: Study) -> None:
        """StudyError: the budget cannot hold a search of rates; else every study can be weighed
        so."""
        require_visits(study)

    def require_engine(self, engine: Engine) -> None:
        """So can every engine."""

    def require_room(self, room: Room) -> None:
        """Pools alone are held against memory, where servers are started."""

    def require_time_scale(self, setup: Setup, settings: Mapping[str, Settings]) -> None:
        """Checkpoints are where the arms' settings, or ends of visits, have them."""

    def cost(self, study: Study, scripts: tuple[Script, ...]) -> Cost:
        """Work that writes leaves a debt behind. StudyError where that would be paid in the slices
        of another arm."""
        if study.is_external and not study.uses_own_databases:
            why = "what a server that is not ours leaves to the background is no arm's"
            return Reasoned("foreground", why)
        writes = any(script.writes for script in scripts)
        if study.uses_own_databases and writes and study.cost == "foreground":
            raise StudyError(
                'cost = "foreground" cannot be weighed where arms are databases of one server',
                detail="It would write the pages that an arm left dirty in the slices of the "
                "others.",
                hint='Leave out "cost": a CHECKPOINT after each slice is charged to its arm.',
            )
        if study.cost != "auto":
            return Reasoned(study.cost, "the study says so")
        if writes:
            why = "the work writes: what it leaves to the background is charged to its arm"
            return Reasoned("whole", why)
        return Reasoned("foreground", "the work only reads")

    def concurrent_servers(self, study: Study) -> int:
        """All of them."""
        return len(study.every_arm)

    def takes_ns(self, study: Study) -> int:
        """Twice its time under load."""
        return LOADS_IN_ALL * study.budget.measuring

    def announcement(self, study: Study) -> str:
        """Minutes, as the budget says."""
        return ""

    def pilot(self, setup: Setup, progress: Progress) -> Choices:
        """Two discarded epochs; of slices by executions what one takes."""
        counted = setup.study.budget.counted
        if counted is not None:
            return pilot_counted(setup, counted, progress)
        if setup.study.decision.goal is not None:
            return pilot_search(setup, progress)
        return Pilot(setup, progress).run()

    def runner(
        self, setup: Setup, choices: Choices, opened: OpenRecord, progress: Progress
    ) -> EpochRunner:
        """One restart an epoch."""
        if choices.search is not None:
            return SearchRunner(setup, choices, choices.search)
        return EpochRunner(setup, choices)


class Turns:
    """One arm at a time, alone on the machine over whole checkpoint cycles: one turn of each an
    epoch."""

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

    def concurrent_servers(self, study: Study) -> int:
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


class Cycles:
    """Fine slices of all arms inside whole checkpoint cycles, each arm in its own time: all arms
    run, and each stands still while another is under load."""

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
            raise cycles_too_short(study, least_s, least=True)

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

    def concurrent_servers(self, study: Study) -> int:
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
