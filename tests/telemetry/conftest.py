"""Starts one throw-away server of each bundled version for the tests of telemetry."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from steelyard.engines.engine import Address, Slot
from steelyard.engines.find import find_engine

SETTINGS = {
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "shared_buffers": "16MB",
    "max_parallel_workers_per_gather": "0",
}


@dataclass(frozen=True)
class Server:
    """A running server; `conninfo` reaches its database postgres as the superuser."""

    version_number: int
    bindir: Path
    directory: Path
    address: Address

    @property
    def conninfo(self) -> str:
        return self.address.conninfo()

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(f"{self.conninfo} dbname={database}", autocommit=True)

    def pgbench(self, *arguments: str) -> None:
        target = ["-h", self.address.host, "-p", str(self.address.port), "-U", self.address.user]
        subprocess.run(
            [self.bindir / "pgbench", *target, *arguments, self.address.database],
            check=True,
            capture_output=True,
        )


@pytest.fixture(scope="session", params=["18", "16"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="sy-"))
    home.chmod(0o711)  # the server's account passes through, and sees nothing else
    engine = find_engine("postgres", request.param)
    try:
        instance = engine.create(home / "data", checksums=True)
        try:
            instance.start(Slot(0, home, home / "socket", 5432), SETTINGS)
            identity = engine.identity
            bindir = Path(identity.bindir)
            yield Server(identity.version_number, bindir, instance.directory, instance.address)
        finally:
            instance.stop()
    finally:
        shutil.rmtree(home)
