"""Weighs `steelyard drive` on MySQL against sysbench: client CPU per transaction, throughput.

Side by side on one MySQL 5.7 (npm's), in alternating rounds: one row by its key, prepared, by Unix
socket, 2 threads or one a client as sysbench has them, 8 and 64 clients. Client CPU is user and
system time of the whole command with its children, start-up included. Required: CPU at most 0.6×,
throughput at least 1.0×. The threads of the server stand beside the driver's, as they do in a
weighing. The least that a client can do (bare_mysql.c) runs beside them: what it costs against
sysbench is what no driver can save that sends and receives as often. Exit status 1 when missed.
sysbench is Debian's, unpacked and never installed; without `apt-get` and `npm` there is nothing to
measure against.

    python benches/mysql_cpu.py [--rounds 3] [--seconds 20] [--rows 100000]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from driver_cpu import BARE, CLIENTS, Round, Runner, build_bare, compare, drive, run_bare, spend

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from driver.mysqld import Mysqld, running

PACKAGES = ("sysbench", "libluajit-5.1-2", "libluajit-5.1-common", "libmariadb3", "mariadb-common",
            "libpq5", "libaio1")  # fmt: skip
TABLE = "sbtest1"


class Sysbench:
    """Debian's sysbench in a folder of its own."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        subprocess.run(
            ["apt-get", "download", "-q", *PACKAGES], cwd=directory, check=True, capture_output=True
        )
        for package in directory.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, directory / "tree"], check=True)
        self._tree = directory / "tree" / "usr"
        [library] = self._tree.glob("lib/*/libmariadb.so.3")
        os.environ["LD_LIBRARY_PATH"] = str(library.parent)  # steelyard needs no library of its own
        os.environ["LUA_PATH"] = f"{self._tree}/share/sysbench/?.lua"

    def command(self, server: Mysqld, rows: int, *arguments: str) -> list[str | Path]:
        """sysbench's point selects on a server."""
        script = self._tree / "share" / "sysbench" / "oltp_point_select.lua"
        where = [f"--mysql-socket={server.socket}", "--mysql-user=root", "--mysql-db=d"]
        size = ["--tables=1", f"--table-size={rows}", "--rand-type=uniform"]
        return [self._tree / "bin" / "sysbench", script, *where, *size, *arguments]

    def measured(self, server: Mysqld, rows: int, clients: int, seconds: int) -> Round:
        """Its point selects, prepared, a thread a client."""
        arguments = (f"--threads={clients}", f"--time={seconds}", "--db-ps-mode=auto", "run")
        output, cpu_s, kernel_s = spend(self.command(server, rows, *arguments))
        match = re.search(r"transactions:\s+(\d+)\s+\(([0-9.]+) per sec", output)
        assert match is not None, output
        done = int(match[1])
        return Round(float(match[2]), cpu_s * 1e6 / done, kernel_s * 1e6 / done)


def main() -> int:
    """Compare at each number of clients; 1 when a requirement is missed."""
    parser = argparse.ArgumentParser(description="driver CPU and throughput against sysbench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sybench", dir="/tmp") as home:
        directory = Path(home)
        directory.chmod(0o711)
        with ExitStack() as stack:
            try:
                sysbench = Sysbench(directory / "sysbench")
                server = stack.enter_context(running(directory))
            except (pytest.skip.Exception, FileNotFoundError, CalledProcessError) as reason:
                print(f"nothing to measure against: {reason}")
                return 0
            return _compare(sysbench, server, directory, options)


def _compare(
    sysbench: Sysbench, server: Mysqld, directory: Path, options: argparse.Namespace
) -> int:
    script = directory / "point_select.sql"
    program = Path(sys.executable).parent / "steelyard"
    bare = build_bare(directory, "bare_mysql")
    script.write_text("CREATE DATABASE d;\n")
    subprocess.run([program, "drive", server.uri(), "-f", script, "-t", "1"], check=True,
                   capture_output=True)  # fmt: skip
    subprocess.run(
        sysbench.command(server, options.rows, "prepare"), check=True, capture_output=True
    )
    script.write_text(
        f"\\set id random(1, {options.rows})\nSELECT c FROM {TABLE} WHERE id = :id;\n"
    )
    runners: dict[str, Runner] = {
        "sysbench": lambda clients, seconds: sysbench.measured(
            server, options.rows, clients, seconds
        ),
        "steelyard": lambda clients, seconds: drive(
            server.uri(database="d"),
            clients,
            seconds,
            ("-f", str(script), "--placement", "symmetric"),
        ),
        BARE: lambda clients, seconds: run_bare(
            [bare, server.socket, str(clients), str(seconds), str(options.rows)]
        ),
    }
    passed = [
        compare(runners, clients, options.rounds, options.seconds, other="sysbench")
        for clients in CLIENTS
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
