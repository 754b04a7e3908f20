"""Shares out a server's memory: buffer pool, work of sessions, upkeep; never below the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.model.allowed import Allowed
from steelyard.model.profiles import WorkKind
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.profile.value import GB, MB, counted, size_bytes

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
    known = (counted(settings.get(name, usual), "") for name, usual in _WORKERS.items())
    a_query, in_all = (int(one or 0) for one in known)
    return basis.clients + min(basis.clients * a_query, in_all)


def _default_bytes(allowed: Mapping[str, Allowed], name: str) -> int:
    """What a build assumes of a size that is not counted as -1."""
    known = allowed.get(name)
    size = size_bytes(known.default or "", known.unit) if known is not None else None
    return int(size) if size is not None and size > 0 else _DEFAULTS[name]
