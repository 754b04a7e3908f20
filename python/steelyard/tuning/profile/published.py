"""Holds the tuning table of a published study, as printed and scaled to another machine.

Kingston, March 2026: PostgreSQL 18.2 on 378 GB of memory and 96 hardware threads, TPROC-C and
TPROC-H on NVMe, default against tuned, once each.
"""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.model.profiles import Group
from steelyard.tuning.profile.advice import Advice
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.profile.value import GB, MB, size_text

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
