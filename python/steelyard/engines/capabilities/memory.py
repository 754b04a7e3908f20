"""Holds a cap on the memory of a server: what it is, what is used of it, and what it must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

HUGE_PAGE_BYTES = 2 << 20
"""On x86-64 and most of arm64."""
_BESIDE_POOL_BYTES = 80 << 20
HeldBy = Literal["v1", "v2", "systemd-run"]
"""Control groups of version 1 or 2, made by ourselves, or a scope that systemd makes."""


@dataclass(frozen=True)
class DiskLimits:
    """Rates that a server's disk is held to."""

    devices: Mapping[str, str]
    """Name in /sys/class/block → its number, "254:0"."""
    rates: Mapping[str, int]
    """"read_iops", "write_iops", "read_rate", "write_rate" (bytes) → so many a second."""


@dataclass(frozen=True)
class MemoryCap:
    """A cap on what a slot's server may have in memory, its page cache included."""

    size_bytes: int
    by: HeldBy
    parent: Path | None = None
    """The group beneath which ours are made; None: systemd chooses."""
    disk: DiskLimits | None = None
    """Rates of its disk beside it; None: as fast as it is."""
    oom_policy: bool = False
    """Whether systemd takes OOMPolicy= for a scope (systemd.scope(5): 253, late releases of 252).
    Such a systemd stops a scope where the kernel kills a process of it, unless the policy forbids
    that."""


@dataclass(frozen=True)
class MemoryUse:
    """Readings of a capped server's group; counts since the server was started."""

    used_bytes: int
    """Shared buffers, backends and page cache."""
    cache_bytes: int
    """Of it, page cache of files."""
    refaulted_pages: int | None
    """Pages of files that had been dropped and were read again: workingset_refault_file; None: this
    kernel does not count them (version 1 before about 6.0)."""
    limit_hits: int | None
    """Allocations that met the cap and had to free something first: failcnt, or `max`; None: this
    kernel does not count them."""
    oom_kills: int
    """Processes that the kernel killed because nothing could be freed."""
    peak_bytes: int | None = None
    """None: this kernel does not keep it (before 5.19, v2)."""


@dataclass(frozen=True)
class MemorySettings:
    """The settings by which an engine's servers take memory, as its users write them."""

    pool: str = "shared_buffers"
    huge_pages: str = "huge_pages"
    megabytes: str = "MB"
    """What stands behind a size in megabytes."""

    def pool_of(self, megabytes: int) -> str:
        """What is typed for a pool of this size: `"shared_buffers=60MB"`."""
        return f"{self.pool}={megabytes}{self.megabytes}"


@dataclass(frozen=True)
class MemoryNeed:
    """What a server takes of its memory that cannot be dropped, by its settings."""

    pool_bytes: int
    huge_pages: Literal["off", "try", "on"]
    """Whether the pool may stand in huge pages, which no cap counts."""
    settings: MemorySettings = MemorySettings()


def shared_memory_bytes(pool_bytes: int) -> int:
    """What a server with such a buffer pool has of shared memory, at most.

    As PostgreSQL 16 and 18 say (shared_memory_size_in_huge_pages) for pools of 64 MB to 64 GB and
    up to 300 connections: 2.4 % of the pool for what is kept of each buffer; the buffers of the
    log, of transaction states and of processes beside it.
    """
    return pool_bytes + pool_bytes * 24 // 1000 + _BESIDE_POOL_BYTES


@runtime_checkable
class NeedsMemory(Protocol):
    """An engine whose servers can be capped, and that knows what they need at least."""

    def memory_need(self, settings: Mapping[str, str]) -> MemoryNeed:
        """Of a server with these settings."""


@runtime_checkable
class Capped(Protocol):
    """Runs under the memory cap of its slot, where that has one."""

    @property
    def memory_cap(self) -> MemoryCap | None:
        """The cap of this life or the last one."""

    def memory_use(self) -> MemoryUse | None:
        """Readings of its group; None where it has no cap, or is stopped."""
