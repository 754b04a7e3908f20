"""Scrubs a cached cluster beside `pg_checksums --check`, and cold beside fio's sequential read.

Both are timed as whole processes, their start included, over files in the page cache; rounds
alternate the order, a ratio is the median of those of the rounds, with the least and the greatest.
Beside them stand the scrub as a call, without the start of an interpreter, two threads that read
into buffers as an allocator places them, and three floors: two threads that only read the same
files, as a scrub must, into buffers that begin on a page, two that copy memory to memory, and an
interpreter that imports what reads a command line, and ends. Cold, the files are dropped from the
page cache before each reading; where fio is missing, a plain sequential read stands in.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

BOUNDS = {"one thread": 2.0, "two threads": 4.0, "cold": 0.9}
"""Way → how many times as fast as pg_checksums, cold as reading, it must be."""
THREADS = 2
GIGABYTE = 1 << 30
COPIED_BYTES = 256 << 20
CHUNK_BYTES = 256 << 10
"""What scrub reads at a time (crates/pages/src/reading.rs)."""
COLD_ROUNDS = 8
"""The disk of a virtual machine has read the same files in 1.5 s and in 6: three are too few."""


def main() -> int:
    """Print rates and ratios; status 1 when one is below its bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=150, help="of pgbench; 15 MB each")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-cold", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    directory, checker, account = cluster(options.scale)
    files = [path for path in (directory / "base").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{size / GIGABYTE:.2f} GB in {directory}", file=sys.stderr)
    ways: dict[str, Callable[[], float]] = {
        "pg_checksums": lambda: checked(checker, directory, account),
        "one thread": lambda: process_scrubbed(directory, 1),
        "two threads": lambda: process_scrubbed(directory, THREADS),
        "as a call": lambda: scrubbed(directory, THREADS),
        "floor: reading": lambda: read_by_threads(files),
        "reading, 16 bytes into a page": lambda: read_by_threads(files, into_page=16),
        "floor: memory": lambda: copied() * size / COPIED_BYTES,
        "floor: start": started,
    }
    seconds = alternated(ways, options.rounds, lambda: read_all(files))
    both = zip(seconds["floor: start"], seconds["floor: reading"], strict=True)
    seconds["floor: start and reading"] = [sum(pair) for pair in both]
    pairs = {name: ("pg_checksums", name) for name in seconds if name != "pg_checksums"}
    if not options.no_cold:
        cold = {
            "cold reading": lambda: plain_read(files),
            "cold": lambda: scrubbed(directory, THREADS),
        }
        seconds |= alternated(cold, COLD_ROUNDS, lambda: drop(files))
        pairs["cold"] = ("cold reading", "cold")
    ratios = {
        name: sorted(a / b for a, b in zip(seconds[theirs], seconds[ours], strict=True))
        for name, (theirs, ours) in pairs.items()
    }
    rates = {name: size / statistics.median(times) / GIGABYTE for name, times in seconds.items()}
    missed = [name for name, least in BOUNDS.items() if _middle(ratios.get(name)) < least]
    if options.json:
        facts = {"bytes": size, "gigabytes_per_s": rates, "ratios": ratios, "missed": missed}
        print(json.dumps(facts))
        return 1 if missed else 0
    for name, rate in rates.items():
        print(f"{name:30} {rate:6.2f} GB/s")
    for name, spread in ratios.items():
        bound = f", asked {BOUNDS[name]:g}" if name in BOUNDS else ""
        bound += ": missed" if name in missed else ""
        against = "reading" if name == "cold" else "pg_checksums"
        print(
            f"{name:30} {_middle(spread):6.2f} [{spread[0]:.2f} … {spread[-1]:.2f}] times as fast "
            f"as {against}{bound}"
        )
    return 1 if missed else 0


def _middle(ratios: list[float] | None) -> float:
    """Infinite for what was not measured."""
    return statistics.median(ratios) if ratios else float("inf")


def cluster(scale: int) -> tuple[Path, str, Any]:
    """A loaded, stopped cluster, kept in the cache; pg_checksums; the servers' account."""
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.workloads.loading.template import template
    from steelyard.workloads.reading.folder import find_workload

    engine = find_postgres("18")
    directory = template(engine, find_workload("pgbench"), scale)
    return directory, f"{engine.identity.bindir}/pg_checksums", engine.account


def alternated(
    ways: dict[str, Callable[[], float]], rounds: int, before: Callable[[], None]
) -> dict[str, list[float]]:
    """The seconds of each way by round; every round takes them in another order."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before()
            seconds[name].append(ways[name]())
            print(f"{name:14} {seconds[name][-1]:7.3f} s", file=sys.stderr)
    return seconds


def checked(program: str, directory: Path, account: Any) -> float:
    """Seconds of pg_checksums --check."""
    from steelyard.engines.programs import run

    began = time.monotonic()
    status, output = run(account, [program, "--check", "-D", str(directory)])
    seconds = time.monotonic() - began
    if status != 0:
        raise SystemExit(output)
    return seconds


def process_scrubbed(directory: Path, threads: int) -> float:
    """Seconds of `steelyard scrub` from its start to its end."""
    program = Path(sys.executable).with_name("steelyard")
    began = time.monotonic()
    done = subprocess.run(
        [program, "scrub", directory, "--threads", str(threads)], check=False, capture_output=True
    )
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    return seconds


def started() -> float:
    """Seconds of an interpreter with the libraries that every command of ours starts with."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import typer, pydantic"], check=True)
    return time.monotonic() - began


def read_by_threads(files: list[Path], into_page: int = 0) -> float:
    """Seconds of reading the files by as many threads as scrub, each into a buffer of its own that
    begins so many bytes into a page: 16 are where large ones of an allocator begin."""
    waiting = sorted(files, key=lambda path: path.stat().st_size)
    pieces = [
        (path, start)
        for path in waiting
        for start in range(0, max(1, path.stat().st_size), 64 << 20)
    ]

    def read() -> None:
        memory = mmap.mmap(-1, CHUNK_BYTES + mmap.PAGESIZE)
        buffer = memoryview(memory)[into_page : into_page + CHUNK_BYTES]
        while pieces:
            try:
                path, start = pieces.pop()
            except IndexError:  # the other thread had the last
                return
            with path.open("rb", buffering=0) as file:
                for offset in range(start, start + (64 << 20), len(buffer)):
                    if os.preadv(file.fileno(), [buffer], offset) < len(buffer):
                        break

    return _by_threads(read)


def copied() -> float:
    """Seconds of copying COPIED_BYTES from memory to memory, a part by each thread."""
    halves = [np.ones(COPIED_BYTES // THREADS, np.uint8) for _ in range(THREADS)]
    places = [np.zeros_like(half) for half in halves]
    pairs = list(zip(places, halves, strict=True))
    return _by_threads(lambda: np.copyto(*pairs.pop()))


def _by_threads(work: Callable[[], None]) -> float:
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work) for _ in range(THREADS)]:
            done.result()
    return time.monotonic() - began


def scrubbed(directory: Path, threads: int) -> float:
    """Seconds of a scrub as a call."""
    from steelyard.integrity.scrub.outcome import ScrubRequest
    from steelyard.integrity.scrub.scrub import scrub

    began = time.monotonic()
    outcome = scrub(ScrubRequest(directory, threads=threads), lambda *_: None)
    seconds = time.monotonic() - began
    if outcome.exit_status != 0:
        raise SystemExit("the cluster is damaged")
    return seconds


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
    done = subprocess.run([*command, "--output-format=json"], capture_output=True, check=True)
    # fio's own clock, without its preparations, which small files would be all of: they are read
    # here.
    seconds = float(json.loads(done.stdout)["jobs"][0]["read"]["runtime"]) / 1000
    began = time.monotonic()
    read_all(small)
    return seconds + time.monotonic() - began


if __name__ == "__main__":
    raise SystemExit(main())
