"""Starts one throw-away server of each version for the tests of telemetry."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from own_cache import own_server
from steelyard.engines.postgres.libpq.connection_string import client_flags, conninfo_of
from steelyard.model.endpoint import Endpoint

SETTINGS = {
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "shared_buffers": "16MB",
    "max_parallel_workers_per_gather": "0",
    "wal_writer_delay": "10s",  # else it syncs the log as often as a busy machine makes a change
}


@dataclass(frozen=True)
class Server:
    """A running server; `conninfo` reaches its database postgres as the superuser."""

    version_number: int
    bindir: Path
    directory: Path
    address: Endpoint

    @property
    def conninfo(self) -> str:
        return conninfo_of(self.address)

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(f"{self.conninfo} dbname={database}", autocommit=True)

    def pgbench(self, *arguments: str) -> None:
        target = [*client_flags(self.address), *arguments, self.address.database]
        subprocess.run(
            [self.bindir / "pgbench", *target],
            check=True,
            capture_output=True,
        )


@pytest.fixture(scope="session", params=["19", "18", "16"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with own_server(request.param, SETTINGS) as instance:
        identity = instance.identity
        bindir = Path(identity.bindir)
        yield Server(identity.version_number, bindir, instance.directory, instance.address)
