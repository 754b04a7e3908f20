"""Slices: all arms run, and the load moves from arm to arm every 50 ms and up."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.engines.engine import Engine, Settings
from steelyard.model.errors import StudyError
from steelyard.model.reasoned import Reasoned
from steelyard.record.plan import Choices
from steelyard.running.layouts.layout import Cost
from steelyard.running.measuring.counted import pilot_counted
from steelyard.running.measuring.epoch import EpochRunner
from steelyard.running.measuring.pilot import Pilot
from steelyard.running.preparing.memory_room import Room
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.rate_search import SearchRunner, pilot_search, require_visits
from steelyard.running.stopwatch import Progress
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

LOADS_IN_ALL = 2
"""A weighing in slices takes about twice its time under load."""


class Slices:
    """Slices by time, or by executions where the study says so."""

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

    def servers_at_once(self, study: Study) -> int:
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
