"""Drives wal_compression off and pglz by hand on TPROC-C, beside the weighing in turns.

    python -m validation.by_hand [--pairs 8] [--warm-up 25] [--seconds 75]

One server at a time, on a fresh copy of the same data: started with one value, `steelyard drive`
on it, and its own statistics read four times a second by an ordinary client. What counts lies
between the first checkpoint that ended after the warm-up and the last one of the run, at the
distance that the same max_wal_size gives. Pairs alternate in order (off, pglz, pglz, off, ...). A
pair is a line of results/by_hand.jsonl; docs/results/by-distance.md sets their mean beside the
weighing at that distance. Nothing of Steelyard's layout, decision or reading is in it. Wants an
otherwise idle machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg

from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.engine import LocalInstance, Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import open_run
from steelyard.model.endpoint import Endpoint
from steelyard.telemetry.environment import machine
from validation.results import FOLDER, Results
from validation.weigh_command import STEELYARD, machine_of, revision

RESULTS = Results(FOLDER / "by_hand.jsonl")
VALUES = ("off", "pglz")
"""The control first, as in the weighing."""
SETTINGS = {"shared_buffers": "128MB", "max_connections": "300", "max_wal_size": "450MB"}
"""Those of the weighing: study `settings`, and its nearer checkpoints."""
SCALE, CLIENTS = 4, 8
DATABASE = "steelyard"
POLL_S = 0.25
FEWEST_CHECKPOINTS = 2
_READ = """
    SELECT c.num_done, d.xact_commit + d.xact_rollback, w.wal_bytes, w.wal_fpi
    FROM pg_stat_checkpointer c, pg_stat_database d, pg_stat_wal w WHERE d.datname = %s
"""


@dataclass(frozen=True)
class Reading:
    """What a server had done by a moment."""

    at_s: float
    checkpoints: int
    transactions: int
    wal_bytes: int
    images: int


@dataclass(frozen=True)
class Cycles:
    """Whole checkpoint cycles of one server."""

    tps: float
    distance_s: float
    """From the end of one checkpoint to the end of the next, in the mean."""
    checkpoints: int
    wal_bytes: float
    """A transaction, as `images`."""
    images: float


def whole_cycles(readings: Sequence[Reading], since_s: float) -> Cycles:
    """From the first checkpoint that ended after a moment to the last of the readings; ValueError
    where two more did not end between them."""
    ended = [
        reading
        for before, reading in pairwise(readings)
        if reading.checkpoints > before.checkpoints and reading.at_s > since_s
    ]
    if not ended or ended[-1].checkpoints - ended[0].checkpoints < FEWEST_CHECKPOINTS:
        raise ValueError(
            f"{len(ended)} checkpoints ended in the {readings[-1].at_s - since_s:.0f} s after the "
            "warm-up: drive longer"
        )
    first, last = ended[0], ended[-1]
    done, count = last.transactions - first.transactions, last.checkpoints - first.checkpoints
    seconds = last.at_s - first.at_s
    return Cycles(
        tps=done / seconds,
        distance_s=seconds / count,
        checkpoints=count,
        wal_bytes=(last.wal_bytes - first.wal_bytes) / done,
        images=(last.images - first.images) / done,
    )


def driven(
    instance: LocalInstance, slot: Slot, value: str, warm_s: float, seconds: float
) -> Cycles:
    """One server with one value, driven for `warm_s` and then for `seconds`."""
    instance.start(slot, {**SETTINGS, "wal_compression": value})
    try:
        began_s = time.monotonic()
        with _driving(instance.address, warm_s + seconds) as process:
            readings = list(_readings(instance.address, process))
        if process.returncode != 0:
            raise SystemExit(f"error: drive ended with {process.returncode}")
        return whole_cycles(readings, began_s + warm_s)
    finally:
        instance.stop()


@contextmanager
def _driving(address: Endpoint, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    command: list[str | Path] = [STEELYARD, "drive", _target(address, DATABASE), "-w", "tproc-c"]
    command += ["-c", str(CLIENTS), "-j", "2", "-T", f"{seconds:g}", "--placement", "free"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0) as process:
        try:
            yield process
        finally:
            process.terminate()


def _readings(address: Endpoint, process: subprocess.Popen[bytes]) -> Iterator[Reading]:
    """Readings of a server until a process has ended."""
    with psycopg.connect(_target(address, "postgres"), autocommit=True) as connection:
        while process.poll() is None:
            row = connection.execute(_READ, [DATABASE]).fetchone()
            assert row is not None  # the database is there
            yield Reading(time.monotonic(), *map(int, row))
            time.sleep(POLL_S)


def _target(address: Endpoint, database: str) -> str:
    return f"host={address.host} port={address.port} user={address.user} dbname={database}"


def loaded(directory: Path, slot: Slot) -> Cluster:
    """A stopped server with the data of TPROC-C."""
    server = find_postgres("18").create(directory, protection="checksums")
    server.start(slot, SETTINGS)
    try:
        load: list[str | Path] = [STEELYARD, "workloads", "load", "tproc-c"]
        load += ["--set", f"scale={SCALE}", _target(server.address, "postgres")]
        subprocess.run(load, check=True, capture_output=True)
    finally:
        server.stop()
    return server


def measure(pairs: int, warm_s: float, seconds: float) -> None:
    """One session; every pair is kept as it comes."""
    session = datetime.now(UTC).isoformat(timespec="seconds")
    here = machine_of({"machine": machine()})
    with open_run(open_cache(), choose_account(None)) as run:
        template, slot = run.directory / "loaded", run.slot(0)
        copy = loaded(template, slot).clone(slot.path / "data")
        for number in range(1, pairs + 1):
            cycles: dict[str, Any] = {}
            for value in VALUES if number % 2 else reversed(VALUES):
                copy.restore(template)
                cycles[value] = asdict(driven(copy, slot, value, warm_s, seconds))
            pair = {**cycles, "session": session, "machine": here, "revision": revision()}
            RESULTS.add(f"{session}/{number}", pair)
            change = 100 * (cycles["pglz"]["tps"] / cycles["off"]["tps"] - 1)
            print(f"pair {number} of {pairs}: pglz ÷ off {change:+.1f} %", flush=True)


def main() -> int:
    """Measure one session."""
    parser = argparse.ArgumentParser(description="wal_compression off and pglz, by hand")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--warm-up", type=float, default=25.0)
    parser.add_argument("--seconds", type=float, default=75.0)
    options = parser.parse_args()
    measure(options.pairs, options.warm_up, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
