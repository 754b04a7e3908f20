"""Weighs `steelyard drive` against the bundled pgbench: client CPU per transaction, throughput.

Side by side on one server, in alternating rounds: `-S -M prepared`, Unix socket, 2 threads, 8 and
64 clients. Client CPU is user and system time of the whole command with its children, start-up
included. Beside them runs the least that a client can do (bare_epoll.c): what it costs against
pgbench says how much of pgbench's cost is the kernel's on this machine, which no driver can save.
Required: CPU at most that of the bare loop, and at most 0.6× pgbench's; throughput at least 1.0×.
Exit status 1 when missed.

    python benches/driver_cpu.py [--rounds 3] [--seconds 20] [--scale 20]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.engine import Slot
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.endpoint import Endpoint

MOST_CPU = 0.6
LEAST_THROUGHPUT = 1.0
THREADS = 2
CLIENTS = (8, 64)
BARE = "bare loop"
"""What runs beside to show the floor."""
SETTINGS = {"shared_buffers": "512MB", "max_connections": "200", "autovacuum": "off"}


@dataclass(frozen=True)
class Round:
    """One command's measure: transactions per second, client CPU in µs per transaction.

    What the kernel took of it is what no driver can save that sends and receives as often.
    """

    throughput: float
    cpu_us: float
    kernel_us: float


@contextmanager
def server(scale: int, settings: dict[str, str] = SETTINGS) -> Iterator[tuple[Endpoint, Path]]:
    """A PostgreSQL 18 filled by `pgbench -i`, and where its programs are."""
    engine = find_postgres("18")
    bindir = Path(engine.identity.bindir)
    with tempfile.TemporaryDirectory(prefix="sybench") as home:
        directory = Path(home)
        directory.chmod(0o711)
        instance = engine.create(directory / "data", protection="checksums")
        instance.start(Slot(0, directory, directory / "socket", 54321), settings)
        try:
            address = instance.address
            fill = ["-i", "-q", "-s", str(scale), *client_flags(address), "postgres"]
            subprocess.run([bindir / "pgbench", *fill], check=True, capture_output=True)
            yield address, bindir
        finally:
            instance.stop()


def spend(command: list[str | Path]) -> tuple[str, float, float]:
    """Standard output of a command, the CPU seconds of it and its children, and the kernel's."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"error: {command[0]} ended with exit status {process.returncode}")
    return output, used.ru_utime + used.ru_stime, used.ru_stime


def pgbench(
    address: Endpoint, bindir: Path, clients: int, seconds: int, script: tuple[str, ...] = ("-S",)
) -> Round:
    """pgbench's measure of a script, which is named by its options."""
    load = ["-n", "-M", "prepared", "-c", str(clients), "-j", str(THREADS), *script]
    command: list[str | Path] = [
        bindir / "pgbench",
        *load,
        "-T",
        str(seconds),
        *client_flags(address),
        "postgres",
    ]
    output, cpu_s, kernel_s = spend(command)
    transactions = re.search(r"actually processed: (\d+)", output)
    throughput = re.search(r"tps = ([0-9.]+)", output)
    assert transactions is not None
    assert throughput is not None
    done = int(transactions[1])
    return Round(float(throughput[1]), cpu_s * 1e6 / done, kernel_s * 1e6 / done)


def steelyard(
    address: Endpoint, clients: int, seconds: int, script: tuple[str, ...] = ("-S",)
) -> Round:
    """Our measure of the same."""
    target = f"host={address.host} port={address.port} user={address.user} dbname=postgres"
    return drive(target, clients, seconds, script)


def drive(target: str, clients: int, seconds: int, script: tuple[str, ...]) -> Round:
    """Our measure of a script on a target."""
    load = ["-M", "prepared", "-c", str(clients), "-j", str(THREADS), *script]
    program = Path(sys.executable).parent / "steelyard"
    output, cpu_s, kernel_s = spend([program, "drive", target, *load, "-T", str(seconds), "--json"])
    summary = json.loads(output)
    if summary["failed"] or summary["wrong_rows"]:
        raise SystemExit(f"error: transactions failed: {summary['errors']}")
    done = summary["transactions"]
    return Round(summary["throughput"], cpu_s * 1e6 / done, kernel_s * 1e6 / done)


def bare(
    program: Path, address: Endpoint, clients: int, seconds: int, scale: int, work: str = "select"
) -> Round:
    """The bare loop's measure of "select", "pipeline" or "tpcb-like"."""
    path = f"{address.host}/.s.PGSQL.{address.port}"
    return run_bare([program, path, str(clients), str(seconds), str(100_000 * scale), work])


def run_bare(command: list[str | Path]) -> Round:
    """The measure of a bare loop, by what it prints."""
    output, cpu_s, kernel_s = spend(command)
    throughput, cpu_us = output.split()
    return Round(float(throughput), float(cpu_us), float(cpu_us) * kernel_s / cpu_s)


def build_bare(home: Path, name: str = "bare_epoll") -> Path:
    """The bare loop, compiled."""
    program = home / name
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", "-o", program, source, "-lpthread"], check=True)
    return program


Runner = Callable[[int, int], Round]
"""Clients and seconds → what was measured."""


def compare(
    runners: dict[str, Runner],
    clients: int,
    rounds: int,
    seconds: int,
    most_cpu: float = MOST_CPU,
    least_throughput: float = LEAST_THROUGHPUT,
    other: str = "pgbench",
    as_bare: bool = False,
) -> bool:
    """Prints the ratios of one number of clients; whether the requirements are met.

    `as_bare`: the CPU must be no more than the bare loop's.
    """
    by_runner: dict[str, list[Round]] = {name: [] for name in runners}
    for number in range(rounds):
        order = list(runners) if number % 2 == 0 else list(reversed(runners))
        for name in order:
            by_runner[name].append(runners[name](clients, seconds))
    print(f"{clients} clients, {rounds} rounds of {seconds} s each (medians)")
    ratios = {}
    for name, sides in by_runner.items():
        pairs = list(zip(sides, by_runner[other], strict=True))
        cpu = sorted(our.cpu_us / their.cpu_us for our, their in pairs)
        throughput = statistics.median(our.throughput / their.throughput for our, their in pairs)
        ratios[name] = (statistics.median(cpu), throughput)
        print(
            f"  {name:<10} {statistics.median(side.cpu_us for side in sides):6.2f} µs client CPU a "
            f"transaction ({statistics.median(side.kernel_us for side in sides):.2f} in the kernel"
            f"), {statistics.median(side.throughput for side in sides):8.0f}/s: "
            f"CPU {ratios[name][0]:.3f}× [{cpu[0]:.3f} … {cpu[-1]:.3f}], "
            f"throughput {throughput:.3f}×",
            flush=True,
        )
    cpu_ratio, throughput_ratio = ratios["steelyard"]
    passed = cpu_ratio <= most_cpu and throughput_ratio >= least_throughput
    print(f"  asked of steelyard: CPU at most {most_cpu}×, throughput at least "
          f"{least_throughput}×: {'met' if passed else 'missed'}", flush=True)  # fmt: skip
    if BARE in by_runner:
        pairs = list(zip(by_runner["steelyard"], by_runner[BARE], strict=True))
        over = sorted(our.cpu_us / their.cpu_us for our, their in pairs)
        middle = statistics.median(over)
        passed = passed and (middle <= 1 or not as_bare)
        bound = f", asked at most 1×: {'met' if middle <= 1 else 'missed'}" if as_bare else ""
        print(
            f"  floor: the bare loop's CPU is {ratios[BARE][0]:.3f}× {other}'s; steelyard's is "
            f"{middle:.3f}× [{over[0]:.3f} … {over[-1]:.3f}] the bare loop's{bound}",
            flush=True,
        )
    return passed


def main() -> int:
    """Compare at each number of clients; 1 when a requirement is missed."""
    parser = argparse.ArgumentParser(description="driver CPU and throughput against pgbench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--scale", type=int, default=20)
    options = parser.parse_args()
    with server(options.scale) as (address, bindir), tempfile.TemporaryDirectory() as home:
        program = build_bare(Path(home))
        runners: dict[str, Runner] = {
            "pgbench": lambda clients, seconds: pgbench(address, bindir, clients, seconds),
            "steelyard": lambda clients, seconds: steelyard(address, clients, seconds),
            BARE: lambda clients, seconds: bare(program, address, clients, seconds, options.scale),
        }
        passed = [
            compare(runners, each, options.rounds, options.seconds, as_bare=True)
            for each in CLIENTS
        ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
