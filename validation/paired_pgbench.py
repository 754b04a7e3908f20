"""Measures what the checksums study asks by alternating pgbench runs, beside a weighing.

Two servers, one with data checksums and one without, loaded alike and left running; pgbench for 10
s on one, 10 s on the other, and so on; a paired t over the log ratios. Before the pairs Steelyard
weighs the same question. Every pair and every weighing is a line of results/paired_pgbench.jsonl;
docs/results/validation.md says how long the pairs would take to an interval as narrow as the
weighing's. Wants an otherwise idle machine.

    python -m validation.paired_pgbench [--pairs 30] [--seconds 10] [--scale 50] [--budget 2m]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.engines.engine import Slot
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.endpoint import Endpoint
from validation.results import FOLDER, Results
from validation.weigh_command import machine_of, run_weigh_pair

RESULTS = Results(FOLDER / "paired_pgbench.jsonl")
CLIENTS, THREADS = 8, 2
SETTINGS = {"shared_buffers": "128MB", "max_connections": "100"}
ARMS = ("on", "off")
"""The control first, as in the study."""
PORT = 54321


@contextmanager
def server(place: Path, bindir: Path, slot: int, scale: int) -> Iterator[Endpoint]:
    """A running server with the tables of pgbench; checksums on in slot 0, off in slot 1."""
    instance = find_postgres("18").create(
        place / "data", protection="none" if slot else "checksums"
    )
    instance.start(Slot(slot, place, place / "socket", PORT + slot), SETTINGS)
    try:
        fill: list[str | Path] = [bindir / "pgbench", "-i", "-q", "-s", str(scale)]
        fill += [*client_flags(instance.address), "postgres"]
        subprocess.run(fill, check=True, capture_output=True)
        yield instance.address
    finally:
        instance.stop()


def throughput(bindir: Path, address: Endpoint, seconds: int) -> float:
    """Transactions per second of one pgbench process."""
    command: list[str | Path] = [bindir / "pgbench", "-S", "-n", "-M", "prepared"]
    command += ["-c", str(CLIENTS), "-j", str(THREADS), "-T", str(seconds)]
    command += [*client_flags(address), "postgres"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return throughput_of(done.stdout)


def throughput_of(output: str) -> float:
    """Transactions per second as pgbench prints them; ValueError where it did not."""
    match = re.search(r"^tps = ([0-9.]+)", output, flags=re.MULTILINE)
    if match is None:
        raise ValueError(f"pgbench printed no throughput: {output[-200:]}")
    return float(match[1])


def weighing(words: Sequence[str]) -> dict[str, Any]:
    """Steelyard's reading of the same question; `words`: the arguments of `steelyard weigh`."""
    with tempfile.TemporaryDirectory(prefix="sypaired") as home:
        record = Path(home) / "record"
        verdict, contrast, environment = run_weigh_pair("the weighing", words, record)
    keys = ("estimate_percent", "low_percent", "high_percent", "verdict", "epochs")
    return {
        **{name: contrast[name] for name in keys},
        "measured_seconds": verdict["measured_seconds"],
        "seconds": verdict["seconds"],
        "version": environment["steelyard"]["version"],
        "machine": machine_of(environment),
    }


def measure(pairs: int, seconds: int, scale: int, budget: str, seed: int) -> None:
    """One session: a weighing, then pairs; every line is kept as it comes."""
    session = datetime.now(UTC).isoformat(timespec="seconds")
    common = {"session": session, "scale": scale, "pair_seconds": 2 * seconds}
    load = round(os.getloadavg()[0], 2)
    arguments = [
        "checksums",
        "--budget",
        budget,
        "--seed",
        str(seed),
        f"--set=workload.scale={scale}",
    ]
    verdict = weighing(arguments)
    RESULTS.add(
        f"{session}/weighing", {"kind": "weighing", **common, "load_before": load, **verdict}
    )
    print(f"weighing: {verdict['low_percent']} … {verdict['high_percent']} %", flush=True)
    bindir = Path(find_postgres("18").identity.bindir)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sypaired")))
        home.chmod(0o711)
        addresses = []
        for slot, arm in enumerate(ARMS):
            directory = home / arm
            directory.mkdir(mode=0o711)
            addresses.append(stack.enter_context(server(directory, bindir, slot, scale)))
        for address in addresses:  # into the cache of the system, and unread
            throughput(bindir, address, seconds)
        for number in range(1, pairs + 1):
            on, off = (throughput(bindir, address, seconds) for address in addresses)
            pair = {"kind": "pair", **common, "on": on, "off": off}
            RESULTS.add(f"{session}/pair/{number}", pair)
            print(f"pair {number} of {pairs}: off ÷ on {100 * (off / on - 1):+.2f} %", flush=True)


def main() -> int:
    """Measure one session."""
    parser = argparse.ArgumentParser(description="the same question by alternating pgbench runs")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--scale", type=int, default=50)
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    measure(options.pairs, options.seconds, options.scale, options.budget, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
