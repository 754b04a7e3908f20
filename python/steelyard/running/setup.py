"""Gathers what stays the same from the first pilot epoch to the last epoch of a weighing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from steelyard.engines.engine import Instance
from steelyard.record.plan import Upkeep
from steelyard.record.record import Record
from steelyard.running.build_comparison import Kinship
from steelyard.running.laboratory import Laboratory
from steelyard.running.load import Load
from steelyard.running.slots import Stand
from steelyard.running.stalls import Stalls
from steelyard.study.design import Design
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script


@dataclass(frozen=True)
class Setup:
    """A weighing made ready: its question, its design, its slots, and where it is recorded."""

    laboratory: Laboratory
    study: Study
    design: Design
    cost: str  # "foreground" or "whole"
    cost_why: str
    stand: Stand
    scripts: tuple[Script, ...]
    record: Record
    kinship: Kinship
    began_ns: int  # when it was begun to make ready, on the laboratory's clock

    def connect(
        self, standing: Mapping[str, Instance], placement: str, seed: int, stalls: Stalls
    ) -> Load:
        """Load connected to every arm that stands, placed and weighted, none of it begun."""
        return Load(
            self.laboratory,
            self.study,
            standing,
            scripts=self.scripts,
            cost=self.cost,
            placement=placement,
            seed=seed,
            stalls=stalls,
        )

    def loads_of(self, epoch: int) -> dict[str, int]:
        """Arm → which of the loads of its data it stands on in an epoch."""
        loaders = self.kinship.loaders
        return {
            arm: self.design.load_of(loaders[arm], epoch, self.kinship.loads) for arm in loaders
        }

    @contextmanager
    def standing(self, epoch: int, upkeep: Upkeep) -> Iterator[dict[str, Instance]]:
        """The arms put up in the slots of an epoch, and taken down again whatever happens."""
        slots, order = self.design.slots_of(epoch), self.design.start_order(epoch)
        try:
            standing = self.stand.put_up(slots, order, upkeep, self.loads_of(epoch))
            for instance in standing.values():
                self.laboratory.before_clients(instance, self.study)
            yield standing
        finally:
            self.stand.take_down()
