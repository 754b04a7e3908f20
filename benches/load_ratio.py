"""Time until two arms stand ready, against two `pgbench -i`, measured side by side.

Ours: initdb, load, vacuum, keys, checkpoint, clean stop, written to disk, and two clones. pgbench:
`pgbench -i` into each of two running clusters with default settings but for checksums (their initdb
and start are not counted). Two floors stand beside: *no rows*, what is left where the rows are
there already: initdb, the finished files copied once and written to disk, and two clones; and
*ready rows*, the same with COPY of rows that are ready, in files, and with the keys: what no loader
by COPY saves. Rounds take them in another order; a ratio is that of a round.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tproc_c_load

BOUND = 0.5


def main() -> int:
    """Print the times and their ratio; status 1 when it is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--version", default="18")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measures = {
        "ours": measure_ours,
        "pgbench": measure_pgbench,
        "no rows": measure_no_rows,
        "ready rows": measure_ready_rows,
    }
    times: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(options.rounds):
        for name in sorted(measures, reverse=number % 2 == 1):
            times[name].append(in_new_cache(measures[name], options.version, options.scale))
            print(f"{name:10} {times[name][-1]:6.2f} s", file=sys.stderr)
    ratios = {
        name: sorted(a / b for a, b in zip(times[name], times["pgbench"], strict=True))
        for name in ("ours", "no rows", "ready rows")
    }
    ratio = statistics.median(ratios["ours"])
    if options.json:
        facts = {"scale": options.scale, "seconds": times, "ratios": ratios}
        print(json.dumps({**facts, "ratio": ratio, "bound": BOUND}))
        return 0 if ratio <= BOUND else 1
    print(
        f"two arms ready at scale {options.scale}: {statistics.median(times['ours']):.2f} s; "
        f"two pgbench -i: {statistics.median(times['pgbench']):.2f} s; asked at most {BOUND}"
    )
    for name, spread in ratios.items():
        print(f"{name:10} {statistics.median(spread):.2f} [{spread[0]:.2f} … {spread[-1]:.2f}]")
    return 0 if ratio <= BOUND else 1


def in_new_cache(measure: Callable[[str, int], float], version: str, scale: int) -> float:
    """Seconds of one measure, in a cache of its own that is removed and written back after."""
    root = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
    root.chmod(0o711)
    os.environ["STEELYARD_CACHE"] = str(root)
    try:
        return measure(version, scale)
    finally:
        shutil.rmtree(root)
        os.sync()  # what one side left unwritten is not paid for by the other


def measure_ours(version: str, scale: int) -> float:
    """Seconds until a template and two clones of it stand."""
    from steelyard.engines.cache import open_cache
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.workloads.loading.template import template
    from steelyard.workloads.reading.folder import find_workload

    engine, workload = find_postgres(version), find_workload("pgbench")
    room = open_cache().runs
    started = time.monotonic()
    instance = engine.open(template(engine, workload, scale))
    for arm in ("control", "arm"):
        instance.clone(room / arm)
    return time.monotonic() - started


def measure_no_rows(version: str, scale: int) -> float:
    """Seconds of an initdb, of three copies of a template that is there, one of them written to
    disk: nothing is loaded."""
    from steelyard.engines.cache import open_cache
    from steelyard.engines.copying import write_back
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.workloads.loading.template import template
    from steelyard.workloads.reading.folder import find_workload

    engine, workload = find_postgres(version), find_workload("pgbench")
    room = open_cache().runs
    finished = engine.open(template(engine, workload, scale))
    started = time.monotonic()
    engine.create(room / "empty", protection="checksums")
    finished.clone(room / "template")
    write_back(room / "template")
    for arm in ("control", "arm"):
        finished.clone(room / arm)
    return time.monotonic() - started


def measure_ready_rows(version: str, scale: int) -> float:
    """Seconds of an initdb, of COPY of ready rows and keys in a server that is started and stopped,
    of writing it to disk, and of two clones."""
    from steelyard.engines.cache import open_cache
    from steelyard.engines.copying import write_back
    from steelyard.engines.engine import Slot
    from steelyard.engines.loading import serving
    from steelyard.engines.postgres.libpq.connection_string import conninfo_of
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.engines.registry import open_run
    from steelyard.workloads.reading.folder import find_workload

    engine, workload = find_postgres(version), find_workload("pgbench")
    room = open_cache().runs
    with open_run(open_cache(), engine.account) as cluster_run:
        rows = tproc_c_load.ready_rows(cluster_run.directory, workload, scale)
        slot = Slot(0, cluster_run.directory / "slot0", cluster_run.sockets, 5432)
        os.sync()  # the ready rows are not part of it
        started = time.monotonic()
        cluster = engine.create(slot.path / "data", protection="checksums")
        with serving(cluster, slot, engine.load_settings, lambda _: None):
            psql = [f"{engine.identity.bindir}/psql", "-qX", "-v", "ON_ERROR_STOP=1"]
            psql += ["-d", conninfo_of(cluster.address)]
            tproc_c_load.copy_ready(psql, workload, scale, rows)
            after = ["VACUUM (ANALYZE)", *workload.statements("keys.sql", scale)]
            arguments = [word for statement in after for word in ("-c", statement)]
            subprocess.run([*psql, *arguments], check=True)
        write_back(slot.path)
        for arm in ("control", "arm"):
            cluster.clone(room / arm)
        return time.monotonic() - started


def measure_pgbench(version: str, scale: int) -> float:
    """Seconds of two `pgbench -i`, one after the other, each into its own running cluster."""
    from steelyard.engines.cache import open_cache
    from steelyard.engines.engine import Slot
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.engines.programs import run
    from steelyard.engines.registry import open_run

    engine = find_postgres(version)
    seconds = 0.0
    with open_run(open_cache(), engine.account) as cluster_run:
        for number in range(2):
            slot = Slot(
                number, cluster_run.directory / f"slot{number}", cluster_run.sockets, 5432 + number
            )
            cluster = engine.create(slot.path / "data", protection="checksums")
            cluster.start(slot, {})
            target = [f"--host={slot.socket_directory}", f"--port={slot.port}"]
            command = [f"{engine.identity.bindir}/pgbench", "-i", "-q", f"--scale={scale}"]
            started = time.monotonic()
            status, output = run(
                engine.account, [*command, *target, "--username=postgres", "postgres"]
            )
            seconds += time.monotonic() - started
            if status != 0:
                raise SystemExit(output)
            cluster.crash()
    return seconds


if __name__ == "__main__":
    raise SystemExit(main())
