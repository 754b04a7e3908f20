"""Weighs `steelyard drive` against the bundled pgbench on TPC-B-like transactions: client CPU.

Side by side on one server, in alternating rounds: `-M prepared`, Unix socket, 2 threads, 8 clients.
Client CPU is user and system time of the whole command with its children, start-up included.
Required: CPU at most 0.7×, throughput at least 0.97× (the server does nearly all of the work, so
that throughput is the same but for chance). The server commits without waiting for the disk, whose
moods would be the measure otherwise. Exit status 1 when missed. Where waking another process is
dear, the kernel takes nearly all of both: docs/decisions/2026-11-22-what-is-left-is-the-kernels.md.
The floor on this machine is the bare loop beside it, which sends the same seven statements and does
nothing else (bare_epoll.c).

    python benches/driver_tpcb.py [--rounds 3] [--seconds 20] [--scale 20] [--clients 8]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import driver_cpu

MOST_CPU = 0.7
LEAST_THROUGHPUT = 0.97
SCRIPT = ("-b", "tpcb-like")


def main() -> int:
    """Compare; 1 when a requirement is missed."""
    parser = argparse.ArgumentParser(description="client CPU of TPC-B-like against pgbench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    settings = {**driver_cpu.SETTINGS, "synchronous_commit": "off"}
    with (
        driver_cpu.server(options.scale, settings) as (address, bindir),
        tempfile.TemporaryDirectory(prefix="sybench") as home,
    ):
        program = driver_cpu.build_bare(Path(home))
        runners: dict[str, driver_cpu.Runner] = {
            "pgbench": lambda clients, seconds: driver_cpu.pgbench(
                address, bindir, clients, seconds, SCRIPT
            ),
            "steelyard": lambda clients, seconds: driver_cpu.steelyard(
                address, clients, seconds, SCRIPT
            ),
            driver_cpu.BARE: lambda clients, seconds: driver_cpu.bare(
                program, address, clients, seconds, options.scale, "tpcb-like"
            ),
        }
        passed = driver_cpu.compare(
            runners, options.clients, options.rounds, options.seconds, MOST_CPU, LEAST_THROUGHPUT
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
