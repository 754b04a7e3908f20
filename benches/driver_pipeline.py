"""Weighs `steelyard drive` against the bundled pgbench on a pipeline of ten statements: client CPU.

Side by side on one server, in alternating rounds: `-M prepared`, Unix socket, 2 threads, 8 clients;
a transaction is ten look-ups between \\startpipeline and \\endpipeline. Client CPU is user and
system time of the whole command with its children, start-up included. Required: CPU at most 0.5×,
throughput at least 1.0×. Exit status 1 when missed; what stands in the way is in
docs/decisions/2026-11-22-what-is-left-is-the-kernels.md. Its floor on this machine is the bare loop
beside it, which sends ten look-ups in one request (bare_epoll.c).

    python benches/driver_pipeline.py [--rounds 3] [--seconds 20] [--scale 20] [--clients 8]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import driver_cpu

MOST_CPU = 0.5
STATEMENTS = 10


def script(scale: int) -> str:
    """Ten look-ups, each of an account of its own."""
    keys = [f"\\set a{number} random(1, {100_000 * scale})" for number in range(STATEMENTS)]
    looks = [
        f"SELECT abalance FROM pgbench_accounts WHERE aid = :a{number};"
        for number in range(STATEMENTS)
    ]
    return "\n".join([*keys, "\\startpipeline", *looks, "\\endpipeline", ""])


def main() -> int:
    """Compare; 1 when a requirement is missed."""
    parser = argparse.ArgumentParser(description="client CPU of a pipeline against pgbench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    with (
        driver_cpu.server(options.scale) as (address, bindir),
        tempfile.TemporaryDirectory(prefix="sybench") as home,
    ):
        file = Path(home) / "pipeline.sql"
        file.write_text(script(options.scale), encoding="utf-8")
        arguments, program = ("-f", str(file)), driver_cpu.build_bare(Path(home))
        runners: dict[str, driver_cpu.Runner] = {
            "pgbench": lambda clients, seconds: driver_cpu.pgbench(
                address, bindir, clients, seconds, arguments
            ),
            "steelyard": lambda clients, seconds: driver_cpu.steelyard(
                address, clients, seconds, arguments
            ),
            driver_cpu.BARE: lambda clients, seconds: driver_cpu.bare(
                program, address, clients, seconds, options.scale, "pipeline"
            ),
        }
        passed = driver_cpu.compare(
            runners, options.clients, options.rounds, options.seconds, MOST_CPU
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
