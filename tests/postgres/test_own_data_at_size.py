"""Data of a size that people have, from each place that it comes from: hundreds of megabytes of
pgbench's tables and of `reserva`, whose balances add up in the copy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from underway import Underway

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import OWNER, PORT, Original

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
DATABASE = "steelyard"  # where `workloads load` puts them
BRIEF = (
    *("--budget", "20s", "--set", "budget.slice=50ms", "--set", "layout=slices"),
    *("--set", "arm.settings.work_mem=8MB"),
)
SIZES = {"pgbench": (50, 700e6), "reserva": (1000, 150e6)}
"""Workload → its scale, and the fewest bytes of its database."""
PLACES = {"directory": "data directory", "backup": "base backup", "dump": "dump"}


@pytest.fixture(scope="module", params=SIZES)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Original]]:
    """A stopped server that holds a workload's data, with a backup and a dump of it beside."""
    workload = request.param
    home = Path("/tmp") / f"syt-{workload}-{tmp_path_factory.getbasetemp().name}"
    home.mkdir(mode=0o711)
    try:
        original = original_at(home, "18")
        original.make()
        at = ("-h", str(original.sockets), "-p", str(PORT), "-U", OWNER)
        with original.running("max_wal_senders=4", "wal_level=replica", "max_wal_size=4GB"):
            load(workload, original)
            [(size,)] = original.ask(f"SELECT pg_database_size('{DATABASE}')")
            assert isinstance(size, int)
            assert size > SIZES[workload][1]
            backup = str(original.sockets / "backup")
            original.program("pg_basebackup", "-X", "stream", "-c", "fast", *at, "-D", backup)
            dump = original.sockets / "dump"
            original.program("pg_dump", "-Fc", "-Z1", *at, "-f", str(dump), DATABASE)
        original.sockets.chmod(0o711)
        dump.chmod(0o644)
        yield workload, original
    finally:
        shutil.rmtree(home, ignore_errors=True)


def load(workload: str, original: Original) -> None:
    """Fill the database: pgbench's tables by pgbench itself, others by `workloads load`."""
    scale = SIZES[workload][0]
    if workload == "pgbench":
        original.ask(f"CREATE DATABASE {DATABASE}")
        at = ("-h", str(original.sockets), "-p", str(PORT), "-U", OWNER)
        original.program("pgbench", "-i", "-q", "-s", str(scale), *at, DATABASE, timeout_s=600)
        return
    words = ("workloads", "load", workload, original.target, "--set", f"scale={scale}")
    loading = subprocess.run(
        [sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, check=False
    )
    assert loading.returncode == 0, loading.stderr


@pytest.mark.parametrize("place", PLACES)
def test_data_of_hundreds_of_megabytes_are_weighed_from(
    start: Start, filled: tuple[str, Original], place: str
) -> None:
    workload, original = filled
    at = original.directory if place == "directory" else original.sockets / place
    weighing = start(
        "record", "settings", "--from", str(at), "--database", DATABASE,
        "--set", f"workload={workload}", "--set", f"workload.scale={SIZES[workload][0]}", *BRIEF,
    )  # fmt: skip
    assert weighing.end() == 0, weighing.said
    environment = json.loads((weighing.record / "environment.json").read_text())
    assert environment["source"]["kind"] == PLACES[place]
    [contrast] = weighing.verdict["contrasts"]
    assert contrast["epochs"] >= 8
    assert "work not done" not in {threat["name"] for threat in contrast["threats"]}
