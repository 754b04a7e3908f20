"""Measures by hand what a larger buffer pool gains, beside a weighing of study `shared-buffers`.

    python -m validation.pools_by_hand [--pairs 10] [--warm-up 30] [--seconds 20]

One server on one data directory, started with one size of the pool: pgbench select-only until it
is warm, then again for what counts; stopped, and started with the other size. Pairs alternate in
order (128MB, 1GB, 1GB, 128MB, ...). Before them Steelyard weighs the same question. Every pair and
every weighing is a line of results/pools_by_hand.jsonl, of which docs/results/validation.md tells.
Wants an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from steelyard.engines.account import choose_account
from steelyard.engines.cache import open_cache
from steelyard.engines.engine import LocalInstance, Slot
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import open_run
from validation.paired_pgbench import throughput, weighing
from validation.results import FOLDER, Results
from validation.weigh_command import revision

RESULTS = Results(FOLDER / "pools_by_hand.jsonl")
SIZES = ("128MB", "1GB")
"""The control first, as in the study."""
SCALE = 50
"""750 MB: more than one pool, and less than the other."""


def filled(directory: Path, slot: Slot, bindir: Path) -> LocalInstance:
    """A stopped server with the tables of pgbench."""
    server = find_postgres("18").create(directory, protection="checksums")
    server.start(slot, {"shared_buffers": "1GB"})
    try:
        fill: list[str | Path] = [bindir / "pgbench", "-i", "-q", "-s", str(SCALE)]
        fill += [*client_flags(server.address), "postgres"]
        subprocess.run(fill, check=True, capture_output=True)
    finally:
        server.stop()
    return server


def warm(
    server: LocalInstance, slot: Slot, bindir: Path, size: str, warm_s: int, seconds: int
) -> float:
    """Transactions per second of a server with a pool of a size, once it is warm."""
    server.start(slot, {"shared_buffers": size, "max_connections": "300"})
    try:
        throughput(bindir, server.address, warm_s)
        return throughput(bindir, server.address, seconds)
    finally:
        server.stop()


def measure(pairs: int, warm_s: int, seconds: int, seed: int) -> None:
    """One session: a weighing, then pairs; every line is kept as it comes."""
    session = datetime.now(UTC).isoformat(timespec="seconds")
    load = round(os.getloadavg()[0], 2)
    verdict = weighing(["shared-buffers", "--seed", str(seed)])
    line = {"kind": "weighing", "session": session, "load_before": load, "revision": revision()}
    RESULTS.add(f"{session}/weighing", {**line, **verdict})
    print(f"weighing: {verdict['low_percent']} … {verdict['high_percent']} %", flush=True)
    bindir = Path(find_postgres("18").identity.bindir)
    with open_run(open_cache(), choose_account(None)) as run:
        slot = run.slot(0)
        server = filled(slot.path / "data", slot, bindir)
        for number in range(1, pairs + 1):
            tps = {
                size: warm(server, slot, bindir, size, warm_s, seconds)
                for size in (SIZES if number % 2 else SIZES[::-1])
            }
            RESULTS.add(f"{session}/pair/{number}", {"kind": "pair", "session": session, **tps})
            change = 100 * (tps[SIZES[1]] / tps[SIZES[0]] - 1)
            print(f"pair {number} of {pairs}: {SIZES[1]} ÷ {SIZES[0]} {change:+.1f} %", flush=True)


def main() -> int:
    """Measure one session."""
    parser = argparse.ArgumentParser(description="a buffer pool of 128MB and of 1GB, by hand")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    measure(options.pairs, options.warm_up, options.seconds, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
