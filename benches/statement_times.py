"""Weighs what timing every statement costs the driver: `steelyard drive -r` against none of it.

What a weighing of scripts of several statements pays for a verdict on each of them. Side by side on
one server, in alternating rounds: TPC-B-like, seven statements a transaction, `-M prepared`, Unix
socket, 2 threads, 8 clients. Client CPU is user and system time of the whole command with its
children. Required: CPU at most 1.1×, throughput at least 0.97×. Exit status 1 when missed.

    python benches/statement_times.py [--rounds 3] [--seconds 20] [--scale 20] [--clients 8]
"""

from __future__ import annotations

import argparse
import sys

import driver_cpu

MOST_CPU = 1.1
LEAST_THROUGHPUT = 0.97
SCRIPT = ("-b", "tpcb-like")
UNTIMED = "without -r"


def main() -> int:
    """Compare; 1 when a requirement is missed."""
    parser = argparse.ArgumentParser(description="client CPU of timing every statement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    settings = {**driver_cpu.SETTINGS, "synchronous_commit": "off"}
    with driver_cpu.server(options.scale, settings) as (address, _):
        runners: dict[str, driver_cpu.Runner] = {
            UNTIMED: lambda clients, seconds: driver_cpu.steelyard(
                address, clients, seconds, SCRIPT
            ),
            "steelyard": lambda clients, seconds: driver_cpu.steelyard(
                address, clients, seconds, ("-r", *SCRIPT)
            ),
        }
        passed = driver_cpu.compare(
            runners,
            options.clients,
            options.rounds,
            options.seconds,
            MOST_CPU,
            LEAST_THROUGHPUT,
            other=UNTIMED,
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
