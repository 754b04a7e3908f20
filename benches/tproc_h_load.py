"""Load of TPROC-H with rows made on the way, against the same load from files of rows.

The files hold what is sent, so the second is COPY of ready rows with the same keys and checks: the
floor of the first. Rounds alternate the order; a ratio is that of a round.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

BOUND = 1.2


class ReadyRows:
    """The rows of a table from a file, as a stream of them would give them."""

    def __init__(self, file: Path, stream: Any) -> None:
        self._file, self.rows = file, stream.sent
        self.sent, self.control_sum, self.digest = stream.sent, stream.control_sum, stream.digest

    def __iter__(self) -> Iterator[bytes]:
        with self._file.open("rb") as file:
            while chunk := file.read(1 << 20):
                yield chunk


def main() -> int:
    """Print the times and their ratio; status 1 when it is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hundredths", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--version", default="18")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    files = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
    try:
        ready = make_files(files, options.hundredths)
        times: dict[str, list[float]] = {"made": [], "ready": []}
        for number in range(options.rounds):
            for name in sorted(times, reverse=number % 2 == 1):
                rows = ready if name == "ready" else None
                times[name].append(load(options.version, options.hundredths, rows))
                print(f"{name:6} {times[name][-1]:6.2f} s", file=sys.stderr)
    finally:
        shutil.rmtree(files)
    ratios = sorted(a / b for a, b in zip(times["made"], times["ready"], strict=True))
    ratio = statistics.median(ratios)
    if options.json:
        facts = {"hundredths": options.hundredths, "seconds": times, "ratios": ratios}
        print(json.dumps({**facts, "ratio": ratio, "bound": BOUND}))
    else:
        print(
            f"rows made on the way against ready ones: ratio {ratio:.2f} "
            f"[{ratios[0]:.2f} … {ratios[-1]:.2f}], asked at most {BOUND}"
        )
    return 0 if ratio <= BOUND else 1


def make_files(directory: Path, scale: int) -> dict[str, ReadyRows]:
    """A file of rows for each table, as PostgreSQL is sent them."""
    from steelyard.workloads.loading.tables import rows_of
    from steelyard.workloads.reading.folder import find_workload

    workload = find_workload("tproc-h")
    ready = {}
    for table in workload.tables:
        stream = rows_of(workload, table, scale)
        assert stream is not None
        file = directory / table.name
        with file.open("wb") as out:
            for chunk in stream:
                out.write(chunk)
        ready[table.name] = ReadyRows(file, stream)
    return ready


def ready_ones(ready: dict[str, ReadyRows]) -> Callable[..., ReadyRows]:
    """What stands in for the maker of rows."""
    return lambda workload, table, scale, encoding: ready[table.name]


def load(version: str, scale: int, ready: dict[str, ReadyRows] | None) -> float:
    """Seconds of one load, keys and checks included, in a cache of its own."""
    import steelyard.workloads.loading.load as loading
    from steelyard.engines.postgres.selection import find_postgres
    from steelyard.workloads.loading.template import description, template
    from steelyard.workloads.reading.folder import find_workload

    root = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
    root.chmod(0o711)
    os.environ["STEELYARD_CACHE"] = str(root)
    rows = nullcontext() if ready is None else patch.object(loading, "rows_of", ready_ones(ready))
    try:
        with rows:
            path = template(find_postgres(version), find_workload("tproc-h"), scale, copies=0)
        described = description(path)
        assert described is not None
        return described.load_seconds
    finally:
        shutil.rmtree(root)
        os.sync()


if __name__ == "__main__":
    sys.exit(main())
