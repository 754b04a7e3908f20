"""Settings that a template is loaded with, and what tells builds of one version apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from steelyard.engines.engine import Identity

LOAD_SETTINGS: Mapping[str, str] = {
    # Nothing reads this cluster before it is whole and on disk: no log of the rows, no waiting.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1d",
    "shared_buffers": "128MB",
    "maintenance_work_mem": "512MB",
    # Rows arrive in the order of their keys: workers made the keys no faster, on 28 % more CPU.
    "max_parallel_maintenance_workers": "0",
    # One log segment is enough to start from, and every clone copies what stands there: the log
    # of what SQL inserts is not kept for later use.
    "min_wal_size": "32MB",
    "wal_recycle": "off",
}


def catalogue_edition(identity: Identity) -> list[int]:
    """Of a version that is still being written, each build may have a catalogue of its own."""
    server = Path(identity.bindir) / "postgres"
    if re.fullmatch(r"[0-9.]+", identity.version) or not server.is_file():
        return []
    status = server.stat()
    return [status.st_size, status.st_mtime_ns]
