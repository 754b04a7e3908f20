"""Compares what the servers of all arms take of memory at once with what the machine has free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from steelyard.engines.capabilities.memory import NeedsMemory
from steelyard.engines.engine import Engine, Settings
from steelyard.model.errors import ServerError, StudyError
from steelyard.model.units import format_bytes
from steelyard.running.preparing.memory_cap import CLIENT_BYTES
from steelyard.study.study import Study


@dataclass(frozen=True)
class MemoryRoom:
    """What every arm's servers take, their data in the page cache included, and what is free."""

    needed_bytes: Mapping[str, int]
    """Arm → its own."""
    free_bytes: int

    @property
    def lacks(self) -> str:
        """Why the arms do not fit at once, as a clause; empty: they do."""
        total, largest = sum(self.needed_bytes.values()), max(self.needed_bytes.values())
        if total <= self.free_bytes:
            return ""
        if largest > self.free_bytes:
            what, needed = "what an arm works on is beyond memory", largest
        else:
            what = f"memory has no room for {len(self.needed_bytes)} arms at once"
            needed = total
        sizes = f"{format_bytes(needed)} needed, {format_bytes(self.free_bytes)} free"
        return f"{what} ({sizes})"


Room = Callable[[], MemoryRoom | None]
"""Reads it where it matters; None: it is not known."""


def pool_bytes(engine: Engine, settings: Settings) -> int:
    """The buffer pool of a server with such settings; 0 where that is not known."""
    if not isinstance(engine, NeedsMemory):
        return 0
    try:
        return engine.memory_need(settings).pool_bytes
    except ServerError:
        return 0  # no size: whoever starts the server says so


def memory_room(
    study: Study, pools: Mapping[str, int], data_bytes: int, free_bytes: int
) -> MemoryRoom:
    """`pools`: arm → the buffer pool of its server, which each of its standbys has too, as it has
    the data; `data_bytes`: of one server, 0 where it is not known."""
    clients_bytes = study.workload.clients * CLIENT_BYTES
    needed = {
        arm.name: arm.servers * (pools[arm.name] + data_bytes) + clients_bytes
        for arm in study.every_arm
    }
    return MemoryRoom(needed, free_bytes)


def require_room(room: MemoryRoom | None) -> None:
    """StudyError where the arms do not fit into memory at once."""
    if room is not None and room.lacks:
        raise StudyError(
            f"cannot weigh in cycles: {room.lacks}",
            detail="All arms run, and each keeps its pool and its data in memory; what is read "
            "from the device falls into the slices of another.",
            hint="Weigh one arm at a time: --set layout=turns.",
        )
