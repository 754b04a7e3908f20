"""Loads TPROC-C beside go-tpc, into one server by turns: tables, rows and keys of both.

Both load an empty database of the same running server, started as Steelyard starts one to be
loaded; go-tpc over loopback, with as many threads as processors, and without its checks, of which
one takes a minute by itself: ours are included. Rounds alternate the order; a ratio is that of a
round. go-tpc is taken from PATH, or built by `go install`; without either only our seconds a
warehouse are judged. The floor is COPY of rows that are ready, in files, into tables without keys:
what no loader by COPY saves.

    python benches/tproc_c_load.py [--warehouses 10] [--rounds 3] [--version 18]
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

BOUND_S = 0.8
"""Seconds a warehouse."""
LEAST_RATIO = 7.0
"""Times as fast as go-tpc."""
GO_TPC = "github.com/pingcap/go-tpc/cmd/go-tpc@v1.0.12"
"""Named, since the latest that a proxy knows may be one that loads MySQL alone."""
SETTINGS = {"listen_addresses": "127.0.0.1"}


def main() -> int:
    """Print seconds and ratios; status 1 when one is not as asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--version", default="18")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
    home.chmod(0o711)
    os.environ["STEELYARD_CACHE"] = str(home)
    try:
        times = measured(options, go_tpc(home))
    finally:
        shutil.rmtree(home)
        os.sync()
    each = [seconds / options.warehouses for seconds in times["steelyard"]]
    ratios = {
        name: sorted(a / b for a, b in zip(others, times["steelyard"], strict=True))
        for name, others in times.items()
        if name != "steelyard"
    }
    missed = statistics.median(each) > BOUND_S
    if "go-tpc" in ratios:
        missed |= statistics.median(ratios["go-tpc"]) < LEAST_RATIO
    if options.json:
        facts = {"warehouses": options.warehouses, "seconds": times, "ratios": ratios}
        print(json.dumps({**facts, "bound_s": BOUND_S, "least_ratio": LEAST_RATIO}))
        return int(missed)
    print(
        f"{options.warehouses} warehouses: {statistics.median(each):.2f} s each "
        f"[{min(each):.2f} … {max(each):.2f}], asked at most {BOUND_S}"
    )
    for name, spread in ratios.items():
        bound = f", asked at least {LEAST_RATIO:g}" if name == "go-tpc" else ""
        print(
            f"{name}: {statistics.median(spread):.2f} [{spread[0]:.2f} … {spread[-1]:.2f}] "
            f"times our time{bound}"
        )
    return int(missed)


def go_tpc(home: Path) -> Path | None:
    """Where the program is; None where it cannot be had."""
    there = shutil.which("go-tpc")
    if there is not None or shutil.which("go") is None:
        return Path(there) if there else None
    built = subprocess.run(
        ["go", "install", GO_TPC],
        env={**os.environ, "GOBIN": str(home), "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        print(f"go-tpc cannot be had: {built.stderr.strip()}", file=sys.stderr)
        return None
    return home / "go-tpc"


def measured(options: argparse.Namespace, program: Path | None) -> dict[str, list[float]]:
    """Seconds of each way by round."""
    from steelyard.engines.cache import open_cache
    from steelyard.engines.engine import Slot
    from steelyard.engines.loading import database_of, serving
    from steelyard.engines.postgres.libpq.connection_string import conninfo_of
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.engines.postgres.sql.session import connect
    from steelyard.engines.registry import open_run
    from steelyard.workloads.loading.load import load
    from steelyard.workloads.reading.folder import find_workload

    engine, workload = find_postgres(options.version), find_workload("tproc-c")
    with open_run(open_cache(), engine.account) as run:
        slot = Slot(0, run.directory / "slot0", run.sockets, 54329)
        cluster = engine.create(slot.path / "data", protection="checksums")
        with serving(cluster, slot, {**engine.load_settings, **SETTINGS}, _say):

            def executed(*statements: str, database: str = "postgres") -> None:
                conninfo = conninfo_of(replace(cluster.address, database=database))
                with connect(conninfo) as connection:
                    for statement in statements:
                        connection.execute(statement.encode())

            def ours() -> float:
                done = load(workload, database_of(cluster), options.warehouses, replacing=True)
                return done.seconds

            ways: dict[str, Callable[[], float]] = {"steelyard": ours}
            if program is not None:
                password = secrets.token_hex(8)
                executed(f"CREATE ROLE gotpc SUPERUSER LOGIN PASSWORD '{password}'")
                ways["go-tpc"] = lambda: by_go_tpc(program, executed, password, options.warehouses)
            rows = ready_rows(Path(run.directory), workload, options.warehouses)
            ready = conninfo_of(replace(cluster.address, database="ready"))
            psql = [f"{engine.identity.bindir}/psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", ready]
            ways["floor: COPY"] = lambda: copied(psql, executed, workload, options.warehouses, rows)
            return by_turns(ways, options.rounds)


def by_turns(ways: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Every way once a round, every other round in reverse."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in list(ways)[:: 1 if number % 2 == 0 else -1]:
            times[name].append(ways[name]())
            print(f"{name:12} {times[name][-1]:6.2f} s", file=sys.stderr)
    return times


def by_go_tpc(
    program: Path, executed: Callable[..., None], password: str, warehouses: int
) -> float:
    """Seconds of `go-tpc tpcc prepare` without its checks into an empty database, which is dropped
    after."""
    executed("CREATE DATABASE gotpc")
    command = [
        *(str(program), "tpcc", "prepare", "--no-check"),
        *("-d", "postgres", "--conn-params", "sslmode=disable"),
        *("-H", "127.0.0.1", "-P", "54329", "-U", "gotpc", "-p", password, "-D", "gotpc"),
        *("--warehouses", str(warehouses), "-T", str(len(os.sched_getaffinity(0)))),
    ]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    # It ends with status 0 whatever happens.
    rows = f"(SELECT count(*) FROM stock) = {100_000 * warehouses}"
    executed(f"DO $$ BEGIN ASSERT {rows}; END $$", database="gotpc")
    executed("DROP DATABASE gotpc")
    return seconds


def ready_rows(directory: Path, workload: Any, scale: int) -> dict[str, Path]:
    """A file of rows for each table, as they are sent."""
    from steelyard._core import COPY_HEADER, COPY_TRAILER
    from steelyard.workloads.loading.tables import rows_of

    files = {}
    for table in workload.tables:
        stream = rows_of(workload, table, scale)
        if stream is None:  # a table that starts empty
            continue
        files[table.name] = directory / f"{table.name}.copy"
        with files[table.name].open("wb") as out:
            out.writelines([COPY_HEADER, *stream, COPY_TRAILER])
        files[table.name].chmod(0o644)
    return files


def copied(
    psql: list[str],
    executed: Callable[..., None],
    workload: Any,
    scale: int,
    rows: dict[str, Path],
) -> float:
    """Seconds of COPY of ready rows into a database that is dropped after."""
    executed("CREATE DATABASE ready")
    seconds = copy_ready(psql, workload, scale, rows)
    executed("DROP DATABASE ready")
    return seconds


def copy_ready(psql: list[str], workload: Any, scale: int, rows: dict[str, Path]) -> float:
    """Seconds of COPY by psql of ready rows into tables that are made in the same transaction, two
    processes at once, the largest tables first."""
    from steelyard.workloads.loading.load import by_creation

    names = [table.name for table in workload.tables]
    _, groups = by_creation(workload.statements("schema.sql", scale), names)
    waiting = list(names)
    running: list[subprocess.Popen[bytes]] = []
    began = time.monotonic()
    while waiting or running:
        while waiting and len(running) < 2:
            name = waiting.pop(0)
            statements = list(groups.get(name, []))
            if name in rows:
                statements.append(f"COPY {name} FROM '{rows[name]}' (FORMAT binary, FREEZE)")
            script = ";".join(["BEGIN", *statements, "COMMIT"])
            running.append(subprocess.Popen([*psql, "-c", script]))
        running[0].wait()
        if any(process.poll() not in (None, 0) for process in running):
            raise SystemExit("error: COPY of ready rows failed")
        running = [process for process in running if process.poll() is None]
    return time.monotonic() - began


def _say(stage: str) -> None:
    print(stage, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
