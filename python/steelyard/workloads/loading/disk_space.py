"""Refuses a load for which the disk of the cache, or that of a given server, has no space."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from steelyard.engines.cache import Cache, free_bytes, require_room
from steelyard.engines.loading import WorkloadDatabase
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.workloads.reading.workload import Workload

_CLUSTER_BYTES = 120_000_000
"""An empty cluster with its write-ahead log."""


def require_space(cache: Cache, workload: Workload, scale: int, copies: int) -> None:
    """EngineError unless the cache's disk has space for a template and `copies` clones of it."""
    # The log of rows that SQL makes takes space until the load ends, the clones afterwards.
    times = 1 + max(copies, int(workload.inserts))
    needed = (workload.bytes_at(scale) + _CLUSTER_BYTES) * times
    free = free_bytes(cache.templates)
    _require(
        workload,
        scale,
        needed,
        free,
        f'Needed under "{cache.root}" for the loaded data and {copies} copies of it.',
        workload.largest_scale(free // times - _CLUSTER_BYTES),
        "Free some room, choose a smaller scale, or move the cache: STEELYARD_CACHE.",
    )


def require_space_at(
    database: WorkloadDatabase, workload: Workload, scale: int, report: Report
) -> None:
    """EngineError unless the disk of a server has space for the database and its log.

    What a load would replace counts as free. Where the disk cannot be seen from here, it is
    reported how much is needed.
    """
    disk = database.disk()
    size = workload.bytes_at(scale)
    needed = size + min(size, disk.log_limit_bytes)
    if disk.directory is None:
        report(f"about {format_bytes(needed)} are needed; how much room the server has is not seen")
        return
    free = free_bytes(disk.directory) + disk.replaced_bytes
    _require(
        workload,
        scale,
        needed,
        free,
        f'Needed under "{disk.directory}" for the database and its log.',
        workload.largest_scale(max(free - disk.log_limit_bytes, free // 2)),
        "Free some room, or choose a smaller scale.",
    )


def _require(
    workload: Workload, scale: int, needed: int, free: int, where: str, fits: int, advice: str
) -> None:
    require_room(
        f'could not load workload "{workload.name}" at scale {scale}',
        needed,
        free,
        detail=where,
        hint=(f"Scale {fits} would fit. " if fits else "") + advice,
    )


Report = Callable[[str], None]
"""Gets one line on what a load is doing."""

_EVERY_S = 0.5


class LoadProgress:
    """Rows of all tables together; threads may add to it at the same time."""

    def __init__(self, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._report, self._clock = report, clock
        self._lock = threading.Lock()
        self._started = self._reported = clock()
        self._rows = self._of = 0

    def expect(self, rows: int) -> None:
        """So many more rows are to come."""
        with self._lock:
            self._of += rows

    def add(self, rows: int) -> None:
        """So many more rows have come; half a second after the last line there is another."""
        with self._lock:
            self._rows += rows
            now = self._clock()
            if now - self._reported >= _EVERY_S:
                self._reported = now
                self._report(self._line(now - self._started))

    def _line(self, seconds: float) -> str:
        rate = self._rows / seconds
        left_s = max(0, self._of - self._rows) / rate if rate else 0.0
        left_ns = round(left_s * 10) * NS_PER_S // 10
        return (
            f"load: {self._rows:,} of {self._of:,} rows, {rate:,.0f} rows/s, "
            f"{format_duration(left_ns)} left"
        )
