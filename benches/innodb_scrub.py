"""Scrubs a cached InnoDB data directory beside MariaDB's innochecksum.

Rounds alternate the order; the ratios are those of the medians. innochecksum is timed as one
process a file, the scrub as a call. The directory is MariaDB's, with full_crc32, made here;
without `apt-get` and `npm` there is nothing to measure against.

    python benches/innodb_scrub.py [--rounds 5] [--rows 30000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CalledProcessError

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from integrity.innodb.instances import Trees, instance, make_table, unpack

BOUNDS = {"one thread": 1.0, "two threads": 1.2}
GIGABYTE = 1 << 30


def main() -> int:
    """Print rates and ratios; status 1 when one is below its bound."""
    parser = argparse.ArgumentParser(description="scrub of InnoDB against innochecksum")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=30_000, help="of 18 kB each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sybench", dir="/tmp") as home:
        directory = Path(home)
        directory.chmod(0o711)
        try:
            trees = unpack(directory)
        except (pytest.skip.Exception, FileNotFoundError, CalledProcessError) as reason:
            print(f"nothing to measure against: {reason}")
            return 0
        server = instance(trees, directory / "i", maria=True)
        with server.running() as connection:
            connection.cursor().execute("create database d")
            connection.select_db("d")
            make_table(connection, "t", "", options.rows)
        return _compare(trees, server.data, options)


def _compare(trees: Trees, data: Path, options: argparse.Namespace) -> int:
    files = [data / "ibdata1", *data.rglob("*.ibd")]
    size = sum(file.stat().st_size for file in files)
    ways: dict[str, Callable[[], float]] = {
        "innochecksum": lambda: checked(trees, files),
        "one thread": lambda: scrubbed(data, 1),
        "two threads": lambda: scrubbed(data, 2),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for name in names:
        ways[name]()  # into the page cache
    for number in range(options.rounds):
        for name in names[number % 3 :] + names[: number % 3]:
            times[name].append(ways[name]())
    seconds = {name: statistics.median(values) for name, values in times.items()}
    rates = {name: size / each / GIGABYTE for name, each in seconds.items()}
    ratios = {name: seconds["innochecksum"] / seconds[name] for name in BOUNDS}
    if options.json:
        print(json.dumps({"bytes": size, "gigabytes_per_s": rates, "ratios": ratios}))
    else:
        for name, rate in rates.items():
            print(f"{name:14} {rate:6.2f} GB/s")
        for name, ratio in ratios.items():
            print(f"{name:14} {ratio:6.2f} times, bound {BOUNDS[name]}")
    return 0 if all(ratio >= BOUNDS[name] for name, ratio in ratios.items()) else 1


def checked(trees: Trees, files: list[Path]) -> float:
    """Seconds of innochecksum over all files; it takes copies in ibdata1 for wrong pages."""
    began = time.monotonic()
    for file in files:
        command = [*trees.innochecksum, "-a", "1000000", str(file)]
        subprocess.run(command, capture_output=True, check=True)
    return time.monotonic() - began


def scrubbed(directory: Path, threads: int) -> float:
    """Seconds of a scrub."""
    from steelyard.integrity.innodb.scrub import InnodbRequest, scrub_innodb

    began = time.monotonic()
    outcome = scrub_innodb(InnodbRequest(directory, threads=threads), lambda *_: None)
    seconds = time.monotonic() - began
    if outcome.exit_status != 0:
        raise SystemExit("the data directory is damaged")
    return seconds


if __name__ == "__main__":
    raise SystemExit(main())
