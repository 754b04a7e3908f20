"""Scrubs a cached cluster beside `pg_checksums --check`, and cold beside fio's sequential read.

Rounds alternate the order; the ratios are those of the medians. pg_checksums is timed as a
process, the scrub as a call: the start of an interpreter is not what is compared. Cold, the files
are dropped from the page cache before each reading; where fio is missing, a plain sequential read
stands in.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BOUNDS = {"one thread": 1.5, "two threads": 2.5, "cold": 0.9}
GIGABYTE = 1 << 30
COLD_ROUNDS = 8
"""The disk of a virtual machine has read the same files in 1.5 s and in 6: three are too few."""


def main() -> int:
    """Print rates and ratios; status 1 when one is below its bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=150, help="of pgbench; 15 MB each")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-cold", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    directory, checker, account = cluster(chosen.scale)
    files = [path for path in (directory / "base").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{size / GIGABYTE:.2f} GB in {directory}", file=sys.stderr)
    ways: dict[str, Callable[[], float]] = {
        "pg_checksums": lambda: checked(checker, directory, account),
        "one thread": lambda: scrubbed(directory, 1),
        "two threads": lambda: scrubbed(directory, 2),
    }
    seconds = alternated(ways, chosen.rounds, lambda: read_all(files))
    ratios = {
        name: seconds["pg_checksums"] / seconds[name] for name in ("one thread", "two threads")
    }
    if not chosen.no_cold:
        cold = {"reading": lambda: plain_read(files), "scrub": lambda: scrubbed(directory, 2)}
        seconds |= {
            f"cold {name}": taken
            for name, taken in alternated(cold, COLD_ROUNDS, lambda: drop(files)).items()
        }
        ratios["cold"] = seconds["cold reading"] / seconds["cold scrub"]
    rates = {name: size / taken / GIGABYTE for name, taken in seconds.items()}
    if chosen.json:
        print(json.dumps({"bytes": size, "gigabytes_per_s": rates, "ratios": ratios}))
    else:
        for name, rate in rates.items():
            print(f"{name:14} {rate:6.2f} GB/s")
        for name, ratio in ratios.items():
            print(f"{name:14} {ratio:6.2f} times, bound {BOUNDS[name]}")
    return 0 if all(ratio >= BOUNDS[name] for name, ratio in ratios.items()) else 1


def cluster(scale: int) -> tuple[Path, str, Any]:
    """A loaded, stopped cluster, kept in the cache; pg_checksums; the servers' account."""
    from steelyard.engines.postgres.builds.find import find_postgres
    from steelyard.workloads.loading.template import template
    from steelyard.workloads.reading.folder import find_workload

    engine = find_postgres("18")
    directory = template(engine, find_workload("pgbench"), scale)
    return directory, f"{engine.identity.bindir}/pg_checksums", engine.account


def alternated(
    ways: dict[str, Callable[[], float]], rounds: int, before: Callable[[], None]
) -> dict[str, float]:
    """The median seconds of each way; every round takes them in another order."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before()
            taken[name].append(ways[name]())
            print(f"{name:14} {taken[name][-1]:7.3f} s", file=sys.stderr)
    return {name: statistics.median(values) for name, values in taken.items()}


def checked(program: str, directory: Path, account: Any) -> float:
    """Seconds of pg_checksums --check."""
    from steelyard.engines.programs import run

    began = time.monotonic()
    status, words = run(account, [program, "--check", "-D", str(directory)])
    taken = time.monotonic() - began
    if status != 0:
        raise SystemExit(words)
    return taken


def scrubbed(directory: Path, threads: int) -> float:
    """Seconds of a scrub."""
    from steelyard.integrity.scrub.request import ScrubRequest
    from steelyard.integrity.scrub.scrub import scrub

    began = time.monotonic()
    outcome = scrub(ScrubRequest(directory, threads=threads), lambda *_: None)
    taken = time.monotonic() - began
    if outcome.exit_status != 0:
        raise SystemExit("the cluster is damaged")
    return taken


def read_all(files: list[Path]) -> None:
    """Bring every file into the page cache."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 20):
                pass


def drop(files: list[Path]) -> None:
    """Drop every file from the page cache."""
    os.sync()
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def plain_read(files: list[Path]) -> float:
    """Seconds of reading the files in sequence: by fio where it is installed, else by read(2)."""
    big = [str(path) for path in files if path.stat().st_size > 1 << 20]
    small = [path for path in files if path.stat().st_size <= 1 << 20]
    fio = shutil.which("fio")
    began = time.monotonic()
    if fio is None:
        read_all(files)
        return time.monotonic() - began
    command = [fio, "--name=read", "--rw=read", "--bs=1M", "--readonly", "--ioengine=psync"]
    command += [f"--filename={':'.join(big)}", "--file_service_type=sequential"]
    said = subprocess.run([*command, "--output-format=json"], capture_output=True, check=True)
    # fio's own clock, without its preparations, which small files would be all of: they are read
    # here.
    taken = float(json.loads(said.stdout)["jobs"][0]["read"]["runtime"]) / 1000
    began = time.monotonic()
    read_all(small)
    return taken + time.monotonic() - began


if __name__ == "__main__":
    raise SystemExit(main())
