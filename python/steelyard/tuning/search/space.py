"""Defines what a search may set: the range of each setting, and what memory leaves of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.model.errors import UsageError
from steelyard.model.setting_value import GB, MB, Allowed, size_bytes, size_text
from steelyard.model.units import format_bytes
from steelyard.tuning.profile.advice import ProfileMemoryNeed
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.profile.profile import memory_need, work_times
from steelyard.tuning.profile.shares import work_processes

Point = Mapping[str, float | str]
"""Setting → where in its range: a number in the unit of its range, or a word."""
DURABILITY: Mapping[str, tuple[str, ...]] = {
    "synchronous_commit": ("on", "off"),
    "full_page_writes": ("on", "off"),
    "fsync": ("on", "off"),
}
"""What can lose committed rows or the database in a crash: searched only where it is named."""
LEAST_BUFFERS = 0.05
"""Of the memory, that shared_buffers has at the least."""


@dataclass(frozen=True)
class Range:
    """Values of one setting that a search tries."""

    name: str
    kind: Literal["bytes", "seconds", "number", "count", "word"]
    low: float = 0.0
    high: float = 0.0
    words: tuple[str, ...] = ()
    log: bool = True  # spaced by ratio

    def text(self, value: float | str) -> str:
        """As a configuration file has it."""
        if isinstance(value, str):
            return value
        if self.kind == "bytes":
            return size_text(value)
        if self.kind == "seconds":
            return f"{round(value)}s"
        return f"{round(value)}" if self.kind == "count" else f"{value:.3g}"


def ranges(
    basis: Basis, allowed: Mapping[str, Allowed], durability: Collection[str] = ()
) -> tuple[Range, ...]:
    """What is searched on this machine, of settings that the build has.

    UsageError: a name in `durability` is none of those that trade it.
    """
    for name in durability:
        if name not in DURABILITY:
            raise UsageError(
                f'setting "{name}" trades no durability', hint=f"Those are {', '.join(DURABILITY)}."
            )
    return tuple(
        dimension for dimension in _every(basis, allowed, durability) if dimension.name in allowed
    )


@dataclass(frozen=True)
class Room:
    """The memory of a candidate's server, which has the control's settings below its own."""

    basis: Basis
    allowed: Mapping[str, Allowed]
    control: Mapping[str, str]

    def fit(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Settings that take no more than there is: less work_mem, then smaller buffers.

        UsageError: not even the least of them fit.
        """
        fitting, memory = dict(settings), self.basis.memory_bytes
        together = {**self.control, **settings}
        sessions = work_processes(self.basis, together) * work_times(together)
        for name, least, times in (
            ("work_mem", MB, sessions),
            ("shared_buffers", memory * LEAST_BUFFERS, 1),
            ("wal_buffers", MB, 1),
        ):
            over, now = self.need(fitting).total_bytes - memory, self._bytes(name, fitting)
            if over > 0 and now > least:
                fitting[name] = size_text(max(least, now - over / times))
        need = self.need(fitting)
        if need.total_bytes > memory:
            raise UsageError(
                f"cannot search settings for {format_bytes(memory)} of memory and "
                f"{self.basis.clients} clients: they could take {format_bytes(need.total_bytes)} "
                "at the least",
                detail=f"{format_bytes(need.shared_bytes)} are shared, {self.basis.clients} "
                f"clients may take {format_bytes(need.sessions_bytes)}, upkeep "
                f"{format_bytes(need.upkeep_bytes)}; the control's own settings count.",
                hint="Give it more --memory, or fewer --clients.",
            )
        return fitting

    def need(self, settings: Mapping[str, str]) -> ProfileMemoryNeed:
        """What a server may take at most with these settings above the control's."""
        return memory_need({**self.control, **settings}, self.basis, self.allowed)

    def _bytes(self, name: str, settings: Mapping[str, str]) -> float:
        setting = self.allowed.get(name)
        if setting is None:
            return 0.0
        value = settings.get(name) or self.control.get(name) or setting.default or "0"
        return size_bytes(value, setting.unit) or 0.0


def settings_of(point: Point, space: Collection[Range], room: Room) -> dict[str, str]:
    """The settings of a point, as far as there is memory for them."""
    return room.fit(
        {
            dimension.name: dimension.text(point[dimension.name])
            for dimension in space
            if dimension.name in point
        }
    )


def _every(
    basis: Basis, allowed: Mapping[str, Allowed], durability: Collection[str]
) -> Iterator[Range]:
    memory, processors = basis.memory_bytes, basis.processors
    disk = basis.free_disk_bytes or 100 * GB
    yield Range("shared_buffers", "bytes", memory * LEAST_BUFFERS, memory * 0.6)
    yield Range("work_mem", "bytes", MB, max(2 * MB, memory / basis.clients))
    yield Range("wal_buffers", "bytes", MB, min(256 * MB, memory * 0.05))
    yield Range("max_wal_size", "bytes", GB / 2, max(GB, min(32 * GB, disk / 10)))
    yield Range("checkpoint_timeout", "seconds", 60, 3600)
    yield Range("random_page_cost", "number", 1.0, 40.0)
    yield Range("effective_io_concurrency", "count", 1, 512)
    yield Range("bgwriter_lru_maxpages", "count", 10, 1000)
    yield Range("max_parallel_workers_per_gather", "count", 0, max(1, processors), log=False)
    yield Range("jit", "word", words=("on", "off"))
    compression = allowed["wal_compression"].values if "wal_compression" in allowed else ()
    if compression:
        yield Range("wal_compression", "word", words=tuple(w for w in compression if w != "on"))
    for name in durability:
        yield Range(name, "word", words=DURABILITY[name])
