"""Refuses a load that does not fit: into the disk of the cache, or into that of a given server."""

from __future__ import annotations

from pathlib import Path

from steelyard.engines.cache import Cache, free_bytes
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError
from steelyard.model.units import format_bytes
from steelyard.workloads.loading.database import connected, on_this_machine
from steelyard.workloads.loading.pace import Progress
from steelyard.workloads.reading.workload import DATABASE, Workload

_CLUSTER_BYTES = 120_000_000
"""An empty cluster with its write-ahead log."""


def require_room(cache: Cache, workload: Workload, scale: int, copies: int) -> None:
    """EngineError unless the cache's disk has room for a template and `copies` clones of it."""
    # The log of rows that SQL makes stands beside them until the load ends, the clones afterwards.
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


def require_room_at(address: Endpoint, workload: Workload, scale: int, told: Progress) -> None:
    """EngineError unless the disk of a server has room for the database and its log.

    What a load would replace counts as room. Of a server whose disk cannot be seen from here it is
    told how much is needed.
    """
    with connected(address) as connection:
        row = connection.execute(_SERVER.encode(), (DATABASE,)).fetchone()
        assert row is not None  # it is one row of scalars
        directory, process, log_limit, replaced = row
        # While it is connected: the process ends with the connection.
        here = on_this_machine(address.host) and directory and _seen(Path(directory), process)
    size = workload.bytes_at(scale)
    needed = size + min(size, log_limit)
    if not here:
        told(f"about {format_bytes(needed)} are needed; how much room the server has is not seen")
        return
    free = free_bytes(Path(directory)) + replaced
    if free < needed:
        room = max(free - log_limit, free // 2)
        raise _refused(
            workload,
            scale,
            needed,
            free,
            f'Needed under "{directory}" for the database and its log.',
            workload.largest_scale(room),
            "Free some room, or choose a smaller scale.",
        )


# Only who may read all settings is told the directory; max_wal_size is in megabytes.
_SERVER = """
    SELECT CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER')
                THEN current_setting('data_directory') END,
           pg_backend_pid(),
           (SELECT setting::bigint * 1024 * 1024 FROM pg_settings WHERE name = 'max_wal_size'),
           coalesce((SELECT pg_database_size(oid) FROM pg_database WHERE datname = %s), 0)"""


def _seen(directory: Path, process: int) -> bool:
    """Whether a server's directory is one of this machine's, as this process of the server is.

    A port of this machine may lead into a container or to another one.
    """
    try:
        name = Path(f"/proc/{process}/comm").read_text().strip()
        return name == "postgres" and directory.is_dir()
    except OSError:
        return False


def _refused(
    workload: Workload, scale: int, needed: int, free: int, where: str, fits: int, advice: str
) -> EngineError:
    return EngineError(
        f'could not load workload "{workload.name}" at scale {scale}: '
        f"{format_bytes(needed)} are needed, {format_bytes(free)} are free",
        detail=where,
        hint=(f"Scale {fits} would fit. " if fits else "") + advice,
    )
