"""Refuses a load for which the disk of the cache, or that of a given server, has no space."""

from __future__ import annotations

from steelyard.engines.cache import Cache, free_bytes
from steelyard.engines.loading import WorkloadDatabase
from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes
from steelyard.workloads.loading.progress import Report
from steelyard.workloads.reading.workload import Workload

_CLUSTER_BYTES = 120_000_000
"""An empty cluster with its write-ahead log."""


def require_space(cache: Cache, workload: Workload, scale: int, copies: int) -> None:
    """EngineError unless the cache's disk has space for a template and `copies` clones of it."""
    # The log of rows that SQL makes takes space until the load ends, the clones afterwards.
    times = 1 + max(copies, int(workload.inserts))
    needed = (workload.bytes_at(scale) + _CLUSTER_BYTES) * times
    free = free_bytes(cache.templates)
    if free < needed:
        raise _refused(
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
    if free < needed:
        room = max(free - disk.log_limit_bytes, free // 2)
        raise _refused(
            workload,
            scale,
            needed,
            free,
            f'Needed under "{disk.directory}" for the database and its log.',
            workload.largest_scale(room),
            "Free some room, or choose a smaller scale.",
        )


def _refused(
    workload: Workload, scale: int, needed: int, free: int, where: str, fits: int, advice: str
) -> EngineError:
    return EngineError(
        f'could not load workload "{workload.name}" at scale {scale}: '
        f"{format_bytes(needed)} are needed, {format_bytes(free)} are free",
        detail=where,
        hint=(f"Scale {fits} would fit. " if fits else "") + advice,
    )
