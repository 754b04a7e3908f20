"""Engines in memory that run in the slots of their world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.capabilities.memory import DiskLimits, HeldBy, MemoryCap
from steelyard.engines.engine import Engine, Instance, Slot
from steelyard.engines.page_cache import Evicted
from steelyard.study.study import Study

if TYPE_CHECKING:
    from story.scripted import ScriptedWorld


@dataclass(frozen=True)
class ScriptedEngines:
    """Engines that run in memory."""

    world: ScriptedWorld

    def of_arms(self, study: Study) -> Mapping[str, Engine]:
        return self.world.engines(study)

    def reach(self, study: Study, database: str | None) -> Mapping[str, Instance]:
        return self.world.reached(study, database)

    def slot(self, number: int) -> Slot:
        return replace(self.world.slot(number), memory=self.world.cap)

    def place(self, name: str) -> Path:
        return Path(name)

    def devices(self) -> Mapping[str, str]:
        return self.world.devices

    def cap_memory(self, size_bytes: int, disk: DiskLimits | None = None) -> HeldBy:
        self.world.cap = MemoryCap(size_bytes, self.world.held_by, disk=disk)
        return self.world.held_by

    def write_back(self) -> None:
        self.world.written_back += 1

    def evict(self, directories: Sequence[Path]) -> Evicted:
        self.world.evicted.append(tuple(directories))
        return Evicted(self.world.file_bytes, self.world.resident_bytes)

    def server_logs(self) -> Mapping[str, str]:
        return {"slot0": "LOG:  scripted"}
