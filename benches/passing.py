"""Compares what passing through `workloads capture --listen` adds to a round trip with PgBouncer.

The bundled pgbench, `-S -M MODE`, by TCP on this machine, in alternating rounds: to the server
itself, through a PgBouncer in session mode, through the proxy. Shown are the mean latency of each,
what it adds to that of the server itself, and throughput with many clients. Required: with one
client the proxy adds at most 1.5 times what PgBouncer does. Exit status 1 when missed.

    python benches/passing.py [--rounds 5] [--seconds 10] [--mode prepared]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driver_cpu import SETTINGS, server

from steelyard.engines.account import choose_account
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.loopback import set_password
from steelyard.model.endpoint import Endpoint

MOST_ADDED = 1.5
CLIENTS = (1, 16)
_START_S, _LOOK_S = 20.0, 0.05
CONFIG = """\
[databases]
* = host=127.0.0.1 port={address.port} user={address.user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 100
max_client_conn = 200
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(_LOOK_S)
    raise SystemExit(f"nothing listens on port {port}")


@contextmanager
def pooled(address: Endpoint, home: Path, password: str) -> Iterator[int]:
    """A PgBouncer in front of the server; its port."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None:
        raise SystemExit("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    port, config = free_port(), home / "pgbouncer.ini"
    config.write_text(CONFIG.format(address=address, port=port, password=password))
    config.chmod(0o644)
    account = choose_account()
    command = [program, "-q", str(config)]
    if os.geteuid() == 0:
        command = ["setpriv", f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups",
                   *command]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, process_group=0)
    try:
        wait_for(port)
        yield port
    finally:
        process.kill()
        process.wait()


@contextmanager
def passed(address: Endpoint, home: Path) -> Iterator[int]:
    """The proxy in front of the server; its port. What it says at its end is shown."""
    port = free_port()
    start = "from steelyard.cli.app import main; main()"
    to = f"host=127.0.0.1 port={address.port} sslmode=disable"
    process = subprocess.Popen(
        [sys.executable, "-c", start, "workloads", "capture", "--listen", str(port), "--to", to,
         "-o", str(home / "passed")],
        process_group=0,
    )  # fmt: skip
    try:
        wait_for(port)
        yield port
        process.send_signal(signal.SIGINT)
        process.wait(600)
    finally:
        process.kill()
        process.wait()


def measure(
    bindir: Path, port: int, user: str, clients: int, arguments: list[str]
) -> tuple[float, float]:
    """Mean latency in µs and transactions a second of one round."""
    done = subprocess.run(
        [bindir / "pgbench", "-n", "-S", "-h", "127.0.0.1", "-p", str(port), "-U", user,
         "-c", str(clients), "-j", str(min(clients, 2)), *arguments, "postgres"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    latency = re.search(r"latency average = ([\d.]+) ms", done.stdout)
    throughput = re.search(r"tps = ([\d.]+)", done.stdout)
    assert latency is not None, done.stdout
    assert throughput is not None, done.stdout
    return 1000 * float(latency[1]), float(throughput[1])


def compare(
    bindir: Path, ports: dict[str, int], user: str, clients: int, rounds: int, arguments: list[str]
) -> dict[str, float]:
    """What each way adds to the latency of the server itself, in µs; prints a line each."""
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in ports}
    for number in range(rounds):
        names = list(ports)
        for name in names[number % 3 :] + names[: number % 3]:
            measured[name].append(measure(bindir, ports[name], user, clients, arguments))
    means = {name: statistics.median(us for us, _ in each) for name, each in measured.items()}
    added = {name: us - means["server"] for name, us in means.items()}
    for name, each in measured.items():
        tps = statistics.median(tps for _, tps in each)
        latency = f"{means[name]:8.1f} µs ({added[name]:+.1f})"
        print(f"{clients:3} clients  {name:<10} {latency}  {tps:9.0f}/s")
    return added


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--mode", default="prepared", choices=("simple", "extended", "prepared"))
    options = parser.parse_args()
    settings = SETTINGS | {"listen_addresses": "127.0.0.1"}
    arguments = ["-T", str(options.seconds), "-M", options.mode]
    with (
        server(10, settings) as (address, bindir),
        tempfile.TemporaryDirectory(prefix="sybench") as directory,
    ):
        home = Path(directory)
        home.chmod(0o755)
        password = set_password(conninfo_of(address), address.user).reveal()
        os.environ["PGPASSWORD"] = password
        with pooled(address, home, password) as pooler, passed(address, home) as proxy:
            ports = {"server": address.port, "PgBouncer": pooler, "proxy": proxy}
            alone, _ = (
                compare(bindir, ports, address.user, clients, options.rounds, arguments)
                for clients in CLIENTS
            )
    ratio = alone["proxy"] / max(alone["PgBouncer"], 0.1)
    print(f"the proxy adds {ratio:.2f} times what PgBouncer does (at most {MOST_ADDED})")
    return 0 if ratio <= MOST_ADDED else 1


if __name__ == "__main__":
    raise SystemExit(main())
