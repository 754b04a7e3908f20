"""Runs a server that weighings find running: their arms are its sessions."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import open_run
from validation.weigh_command import STEELYARD

SETTINGS = {"shared_buffers": "512MB", "max_connections": "100"}
LOADED = ("workloads", "load", "pgbench", "--set", "scale=20")


@contextmanager
def far_server() -> Iterator[str]:
    """The connection string of a running server that `workloads load` put pgbench's tables into."""
    with open_run(open_cache(), choose_account(None)) as run:
        server = find_postgres("18").create(run.directory / "data", protection="checksums")
        server.start(run.slot(0), SETTINGS)
        try:
            at = server.address
            target = f"host={at.host} port={at.port} user={at.user} dbname={at.database}"
            load: list[str | Path] = [STEELYARD, *LOADED, target]
            subprocess.run(load, check=True, capture_output=True, text=True)
            yield target
        finally:
            server.stop()
