"""What a server accepts, as far as the tests of profiles need it, written down from 18."""

from __future__ import annotations

from steelyard.model.readings import WorkKind
from steelyard.model.setting_value import Allowed
from steelyard.tuning.profile.basis import Basis, Storage

GB = 1 << 30
_PAGES, _KB = 1073741823, 2147483647


def _size(default: str, unit: str, low: float, high: float, context: str = "user") -> Allowed:
    return Allowed("integer", default, unit, low, high, (), context)


ALLOWED = {
    "shared_buffers": _size("16384", "8kB", 16, _PAGES, "postmaster"),
    "wal_buffers": _size("-1", "8kB", -1, 262143, "postmaster"),
    "work_mem": _size("4096", "kB", 64, _KB),
    "maintenance_work_mem": _size("65536", "kB", 64, _KB),
    "autovacuum_work_mem": _size("-1", "kB", -1, _KB, "sighup"),
    "autovacuum_max_workers": _size("3", "", 1, 262143, "sighup"),
    "effective_cache_size": _size("524288", "8kB", 1, 2147483647),
    "max_wal_size": _size("1024", "MB", 2, 2147483647, "sighup"),
    "min_wal_size": _size("80", "MB", 2, 2147483647, "sighup"),
    "checkpoint_timeout": _size("300", "s", 30, 86400, "sighup"),
    "wal_compression": Allowed("enum", "off", "", None, None, ("pglz", "on", "off"), "superuser"),
    "random_page_cost": Allowed("real", "4", "", 0, 1.79769e308, (), "user"),
    "jit": Allowed("bool", "on", "", None, None, (), "user"),
    "effective_io_concurrency": _size("16", "", 0, 1000),
    "maintenance_io_concurrency": _size("16", "", 0, 1000),
    "io_workers": _size("3", "", 1, 32, "sighup"),
    "max_connections": _size("100", "", 1, 262143, "postmaster"),
    "superuser_reserved_connections": _size("3", "", 0, 262143, "postmaster"),
    "reserved_connections": _size("0", "", 0, 262143, "postmaster"),
    "max_worker_processes": _size("8", "", 0, 262143, "postmaster"),
    "max_parallel_workers": _size("8", "", 0, 1024),
    "max_parallel_workers_per_gather": _size("2", "", 0, 1024),
    "max_parallel_maintenance_workers": _size("2", "", 0, 1024),
    "huge_pages": Allowed("enum", "try", "", None, None, ("off", "on", "try"), "postmaster"),
    "checkpoint_completion_target": Allowed("real", "0.9", "", 0, 1, (), "sighup"),
}
PROBED = Storage("nvme0n1", "2026-11-23T06:12:49+00:00", random_page_cost=10.0, useful_depth=71.0)


def basis(
    memory_bytes: int = 16 * GB,
    clients: int = 16,
    kind: WorkKind = "oltp",
    processors: int = 16,
    storage: Storage | None = PROBED,
    data_bytes: int | None = None,
    free_disk_bytes: int | None = 1000 * GB,
) -> Basis:
    """A machine of sixteen processors, or another."""
    return Basis(
        kind=kind,
        memory_bytes=memory_bytes,
        memory_from="as given",
        processors=processors,
        clients=clients,
        version_number=180004,
        free_disk_bytes=free_disk_bytes,
        disk_from="free there",
        data_bytes=data_bytes,
        storage=storage,
    )
