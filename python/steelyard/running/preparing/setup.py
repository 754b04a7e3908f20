"""Holds what stays the same from the first pilot epoch to the last epoch of a weighing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.analysis.pilot.slice_length import choose_placement
from steelyard.engines.capabilities.checkpoints import PoolFill
from steelyard.engines.defer_signals import stopping
from steelyard.engines.engine import Instance
from steelyard.model.errors import StudyError
from steelyard.model.reasoned import Reasoned, plan_keys
from steelyard.model.units import format_duration
from steelyard.record.machine import ArmPlace, MemoryPlan
from steelyard.record.plan import Choices, CountedChoice, LayoutChoice, LeftOutScript, Upkeep, Warm
from steelyard.record.reader import as_weighed
from steelyard.record.record import Record
from steelyard.record.spent import Phase
from steelyard.running.external_slots import Sessions
from steelyard.running.laboratory import Laboratory, WorkloadData
from steelyard.running.measuring.background_work import Stalls
from steelyard.running.measuring.load import Load
from steelyard.running.measuring.observation import fill_pool
from steelyard.running.measuring.slots import Slots
from steelyard.running.preparing.build_comparison import BuildComparison
from steelyard.running.preparing.server_settings import LaidSettings
from steelyard.running.stopwatch import SpentTime
from steelyard.study.design import Design, draw_design
from steelyard.study.study import Placement, Study
from steelyard.workloads.reading.scripts import Script


@dataclass(frozen=True)
class Setup:
    """A weighing made ready: its question, its design, its slots, and where it is recorded."""

    laboratory: Laboratory
    study: Study
    design: Design
    layout: LayoutChoice
    cost: Reasoned[str]
    """"foreground", "whole", or "cycles"."""
    slots: Slots | Sessions
    data: WorkloadData
    record: Record
    builds: BuildComparison
    memory: MemoryPlan | None
    places: Mapping[str, ArmPlace]
    places_drawn: bool
    laid: LaidSettings | None
    """Beneath the settings of the study; None: the data is Steelyard's own."""
    spent: SpentTime
    left_out: tuple[LeftOutScript, ...]
    """Scripts that failed when they were tried; `data` is without them."""

    def phase(self, name: Phase) -> AbstractContextManager[None]:
        """A stretch of the weighing whose wall time is that of a phase."""
        return self.spent.stopwatch(name)

    @property
    def scripts(self) -> tuple[Script, ...]:
        """The scripts of the workload."""
        return self.data.scripts

    @property
    def writes(self) -> bool:
        """Whether the work writes."""
        return any(script.writes for script in self.scripts)

    @property
    def own_slots(self) -> Slots:
        """The slots, of servers that we start. StudyError: the arms are sessions of others."""
        if isinstance(self.slots, Slots):
            return self.slots
        raise StudyError("whole checkpoint cycles need servers that we start and stop")

    @property
    def templates(self) -> Mapping[str, Sequence[Path]]:
        """Arm → the loads of its data; none of servers that are not ours."""
        arms = self.slots.arms if isinstance(self.slots, Slots) else {}
        return {name: prepared.templates for name, prepared in arms.items()}

    @property
    def placement(self) -> Reasoned[Placement]:
        """ "symmetric", "partition", "free", or "auto" for the pilot to choose; and why."""
        if self.study.is_external:
            return Reasoned("free", "the servers' processes are not ours to place")
        return Reasoned(self.study.placement, "the study says so")

    @property
    def first_placement(self) -> str:
        """That of the pilot."""
        requested = self.placement.value
        return "symmetric" if requested == "auto" else requested

    def place(self, wal_flush_share: float) -> Reasoned[str]:
        """The placement of the weighing; `wal_flush_share`: of the pilot's looks at active backends
        those that waited for the log to reach the disk, 0 … 1."""
        requested, why = self.placement
        return (
            choose_placement(wal_flush_share) if requested == "auto" else Reasoned(requested, why)
        )

    def file_upkeep(self, took_ns: float, most_ns: float, span: str) -> Reasoned[Upkeep]:
        """How the files are kept equal from epoch to epoch, by what putting them back took: no more
        than `most_ns`, which is "a fifth of a turn" and the like."""
        took = format_duration(took_ns)
        if took_ns <= most_ns:
            return Reasoned("restore", f"putting the files back takes {took} an epoch")
        if self.own_slots.exchangeable():
            why = f"putting the files back takes {took}; any arm may use any copy"
            return Reasoned("exchange", why)
        return Reasoned("carry", f"putting the files back takes {took}, more than {span}")

    def choices(
        self,
        *,
        slice_ns: Reasoned[int],
        placement: Reasoned[str],
        upkeep: Reasoned[Upkeep],
        **rest: Any,
    ) -> Choices:
        """What a pilot chose, with what was chosen before it; `rest`: other fields of `Choices`."""
        layout = Reasoned(self.layout.name, self.layout.why)
        reasoned = plan_keys(
            layout=layout, cost=self.cost, slice_ns=slice_ns, placement=placement, upkeep=upkeep
        )
        return Choices(**reasoned, **rest)

    def watched(self, arms: Mapping[str, Instance]) -> dict[str, Instance]:
        """Those of the arms whose sessions are looked at in their measured slices."""
        names = {arm.name for arm in self.study.every_arm if arm.telemetry}
        return {name: instance for name, instance in arms.items() if name in names}

    @contextmanager
    def connect(
        self, arms: Mapping[str, Instance], placement: str, seed: int, stalls: Stalls
    ) -> Iterator[Load]:
        """Load connected to every arm, placed and weighted, none of it begun; disconnected at the
        end."""
        with self.phase("connect"):
            load = Load(
                self.laboratory,
                self.study,
                arms,
                data=self.data,
                cost=self.cost.value,
                placement=placement,
                seed=seed,
                stalls=stalls,
            )
        try:
            yield load
        finally:
            with self.phase("connect"):
                load.close()

    def fill_pools(self, arms: Mapping[str, Instance]) -> dict[str, PoolFill]:
        """Read the data into the buffer pool of each arm; EngineError: an engine cannot."""
        with self.phase("fill pools"):
            return {arm: fill_pool(instance) for arm, instance in arms.items()}

    def loads_of(self, epoch: int) -> dict[str, int]:
        """Arm → which of the loads of its data it uses in an epoch."""
        loaders = self.builds.loaders
        return {arm: self.design.load_of(loaders[arm], epoch, self.builds.loads) for arm in loaders}

    def in_epochs(self, epochs: int) -> Setup:
        """The same in another number of epochs, the design drawn anew from its seed."""
        if epochs == self.design.epochs:
            return self
        design = draw_design(self.study, self.design.seed, self.cost.value, epochs)
        return replace(self, design=design)

    def laid_out(self, layout: LayoutChoice) -> Setup:
        """The same in another layout."""
        return replace(self, layout=layout)

    def with_choices(self, choices: Choices) -> Setup:
        """The same in the layout and the epochs that were chosen, and by executions where that
        was."""
        laid = self.laid_out(choices.layout_choice).in_epochs(choices.epochs)
        setup, counted = laid, choices.counted
        return setup if counted is None else setup.by_count(counted)

    def by_count(self, counted: CountedChoice) -> Setup:
        """The same with slices by executions."""
        return replace(self, study=as_weighed(self.study, counted))

    @contextmanager
    def laid_arms(self, epoch: int, upkeep: Upkeep) -> Iterator[Slots]:
        """The slots of an epoch with the arms' files in them, none started; whatever was started
        meanwhile is stopped at the end, as `upkeep` allows. An error inside, or Ctrl-C, is not
        replaced by that of a server that would not stop."""
        slots, order = self.design.slots_of(epoch), self.design.start_order(epoch)
        with stopping(lambda: self.slots.end_arms(upkeep)):
            self.own_slots.lay_arms(slots, order, upkeep, self.loads_of(epoch))
            yield self.own_slots

    @contextmanager
    def started_arms(
        self,
        epoch: int,
        upkeep: Upkeep,
        warm: Warm = "by load",
        settings: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Iterator[dict[str, Instance]]:
        """The arms, started in the slots of an epoch and stopped at the end whatever happens, as
        `upkeep` allows; with `warm` "by reading" the data is in their buffer pools. `settings`: arm
        → settings in place of some of its own. An error inside, or Ctrl-C, is not replaced by that
        of a server that would not stop: the weighing would go on as if none had been."""
        slots, order = self.design.slots_of(epoch), self.design.start_order(epoch)
        with stopping(lambda: self.slots.end_arms(upkeep)), self.slots.naming_kills():
            loads = self.loads_of(epoch)
            arms = (
                self.slots.start_arms(slots, order, upkeep, loads)
                if settings is None
                else self.own_slots.start_arms(slots, order, upkeep, loads, settings)
            )
            with self.phase("start"):
                for instance in arms.values():
                    self.data.before_clients(instance)
            if warm == "by reading":
                self.fill_pools(arms)
            yield arms
