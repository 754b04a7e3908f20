"""Protocol of a layout: what a weighing requires, how its pilot chooses, what runs its epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from steelyard.engines.engine import Engine, Settings
from steelyard.model.reasoned import Reasoned
from steelyard.record.epoch import Epoch
from steelyard.record.plan import Choices
from steelyard.running.preparing.memory_room import Room
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

Cost = Reasoned[str]
"""What is charged to an arm, "foreground", "whole" or "cycles", and why."""


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

    def servers_at_once(self, study: Study) -> int:
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
