"""Shares out a server's memory: buffer pool, work of sessions, upkeep; never below the defaults.

Holds the tuning table of a published study, as printed and scaled to another machine.

Kingston, March 2026: PostgreSQL 18.2 on 378 GB of memory and 96 hardware threads, TPROC-C and
TPROC-H on NVMe, default against tuned, once each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.model.readings import Group, WorkKind
from steelyard.model.setting_value import GB, MB, Allowed, number_in, size_bytes, size_text
from steelyard.tuning.profile.advice import Advice
from steelyard.tuning.profile.basis import Basis

SESSION_BYTES = 10 * MB
"""Of a session beside its work_mem: caches of its catalogue, its stack, its page tables."""
HASH_TIMES = 2.0 * 1.5
"""hash_mem_multiplier's default, and half an operation more than one."""
SESSIONS_SHARE: Mapping[WorkKind, float] = {"oltp": 0.20, "mixed": 0.25, "olap": 0.40}
_DEFAULTS = {"shared_buffers": 128 * MB, "work_mem": 4 * MB, "maintenance_work_mem": 64 * MB}
"""Of PostgreSQL, where a build does not name its own."""
_WORKERS = {"max_parallel_workers_per_gather": "2", "max_parallel_workers": "8"}
"""Their defaults."""
_AUTOVACUUM_WORKERS = 3


@dataclass(frozen=True)
class Shares:
    """How a server's memory is shared out, in bytes."""

    shared: int
    work: int  # work_mem: of one operation
    maintenance: int
    autovacuum: int  # of each worker
    work_share: int  # what the sessions' share alone would make of work_mem; may be below 0

    @staticmethod
    def of(basis: Basis, allowed: Mapping[str, Allowed], workers: Mapping[str, str]) -> Shares:
        """A quarter is the buffer pool; sessions get a share by the kind of work; upkeep an eighth;
        the rest is the page cache. What a share makes less than the build's default stays there.

        `workers`: the settings of parallel workers.
        """
        memory = basis.memory_bytes
        least = {name: _default_bytes(allowed, name) for name in _DEFAULTS}
        upkeep = min(2 * GB - MB, memory // 16)
        shared = max(least["shared_buffers"], memory // 4)
        maintenance = max(least["maintenance_work_mem"], upkeep)
        autovacuum = max(least["maintenance_work_mem"], min(GB, upkeep // 3))
        left = memory - shared - maintenance - _AUTOVACUUM_WORKERS * autovacuum
        sessions = min(SESSIONS_SHARE[basis.kind] * memory, left) - basis.clients * SESSION_BYTES
        work = sessions / (work_processes(basis, workers) * HASH_TIMES)
        return Shares(
            shared=shared,
            work=int(min(2 * GB - MB, max(least["work_mem"], work))),
            maintenance=maintenance,
            autovacuum=autovacuum,
            work_share=int(work),
        )


def work_processes(basis: Basis, settings: Mapping[str, str]) -> int:
    """That may take work_mem for an operation at once: of long queries parallel workers too."""
    if basis.kind != "olap":
        return basis.clients
    counts = (number_in(settings.get(name, usual), "") for name, usual in _WORKERS.items())
    a_query, in_all = (int(count or 0) for count in counts)
    return basis.clients + min(basis.clients * a_query, in_all)


def _default_bytes(allowed: Mapping[str, Allowed], name: str) -> int:
    """What a build assumes of a size that is not counted as -1."""
    setting = allowed.get(name)
    size = size_bytes(setting.default or "", setting.unit) if setting is not None else None
    return int(size) if size is not None and size > 0 else _DEFAULTS[name]


SOURCE = "the NVMe study (Kingston 2026)"
MEMORY_BYTES, PROCESSORS = 378 * GB, 96
"""Of their machine."""
_SIZES: tuple[tuple[Group, str, int, int], ...] = (
    ("memory", "shared_buffers", 94 * GB, 128 * MB),
    ("planner", "effective_cache_size", 283 * GB, 8 * 1024),
    ("memory", "work_mem", 256 * MB, 4 * MB),
    ("memory", "maintenance_work_mem", 2048 * MB, 64 * MB),
    ("log", "wal_buffers", 64 * MB, 4 * MB),
)
"""Group, name, bytes as printed, least bytes when scaled: where they raised a setting, no less than
PostgreSQL has by itself (wal_buffers: from 128 MB of shared_buffers on)."""
_COUNTS: tuple[tuple[Group, str, int, int], ...] = (
    ("workers", "max_worker_processes", 96, 8),
    ("workers", "max_parallel_workers", 96, 8),
    ("workers", "max_parallel_workers_per_gather", 48, 2),
    ("workers", "max_parallel_maintenance_workers", 24, 2),
)
"""Group, name, count as printed, least count when scaled: likewise."""
_OTHERS: tuple[tuple[Group, str, str], ...] = (
    ("memory", "huge_pages", "try"),
    ("log", "max_wal_size", "8GB"),
    ("log", "checkpoint_timeout", "15min"),
    ("log", "checkpoint_completion_target", "0.9"),
    ("storage", "effective_io_concurrency", "200"),
    ("planner", "random_page_cost", "1.1"),
)


def as_printed() -> Iterator[Advice]:
    """The table, word for word."""
    for group, name, size, _ in _SIZES:
        yield Advice(group, name, size_text(size), "as printed", SOURCE)
    for group, name, count, _ in _COUNTS:
        yield Advice(group, name, str(count), "as printed", SOURCE)
    yield from _others()


def scaled(basis: Basis) -> Iterator[Advice]:
    """The table with sizes by memory and numbers of processes by processors.

    max_wal_size is left as printed: how fast the log fills does not go by memory. Scaled to a cap
    of 1 GB it became 64 MB, beside the defaults' 1 GB, and a checkpoint began every half second:
    42 % fewer new orders than with the defaults [29.7, 55.0].
    """
    memory, processors = basis.memory_bytes / MEMORY_BYTES, basis.processors / PROCESSORS
    for group, name, size, least in _SIZES:
        value = size_text(max(least, size * memory))
        why = f"{size_text(size)} of 378 GB, by memory"
        default_why = f"{why}: it takes none of it" if name == "effective_cache_size" else ""
        yield Advice(group, name, value, why, SOURCE, default_why=default_why)
    for group, name, count, least in _COUNTS:
        value = str(max(least, round(count * processors)))
        yield Advice(group, name, value, f"{count} of 96 threads, by processors", SOURCE)
    yield from _others()


def _others() -> Iterator[Advice]:
    for group, name, value in _OTHERS:
        yield Advice(group, name, value, "as printed", SOURCE, default_why="as printed")
