"""Measures the processor time that the program needs to start: versions and help texts.

User and system seconds of `steelyard --version`, `drive --help` and `scrub --help`, each the
median of 10 calls in turn. Exit status 1 when one is above its bound. `steelyard --help` is shown
beside them, without a bound, and so is the bare interpreter, which no import can save.

    python benches/start_up.py [--rounds 10] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

MOST_S = 0.15
BOUND = ("--version", "drive --help", "scrub --help")
UNBOUND = ("--help",)


def processor_s(command: list[str]) -> float:
    """User and system seconds of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"error: {command} ended with exit status {process.returncode}")
    return used.ru_utime + used.ru_stime


def measure(rounds: int) -> dict[str, float]:
    """Median seconds by arguments; every round calls all of them once."""
    program = str(Path(sys.executable).parent / "steelyard")
    commands = {arguments: [program, *arguments.split()] for arguments in (*BOUND, *UNBOUND)}
    commands["bare interpreter"] = [sys.executable, "-c", "pass"]
    for command in commands.values():
        processor_s(command)  # compiles what is not compiled yet
    times: dict[str, list[float]] = {arguments: [] for arguments in commands}
    for _ in range(rounds):
        for arguments, command in commands.items():
            times[arguments].append(processor_s(command))
    return {arguments: statistics.median(seconds) for arguments, seconds in times.items()}


def main() -> int:
    """Print the medians; 1 when one is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    seconds = measure(options.rounds)
    missed = [arguments for arguments in BOUND if seconds[arguments] > MOST_S]
    if options.json:
        print(json.dumps({"seconds": seconds, "bound": MOST_S, "missed": missed}))
        return 1 if missed else 0
    for arguments, each in seconds.items():
        bound = f", required: at most {MOST_S} s" if arguments in BOUND else ""
        mark = " (missed)" if arguments in missed else ""
        print(f"{arguments:<18} {each:.3f} s of processor{bound}{mark}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
