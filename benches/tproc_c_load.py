"""Time of loading TPROC-C, a warehouse: tables, keys, statistics and checks, against its bound."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

BOUND_S = 0.8


def main() -> int:
    """Print seconds a warehouse of each round; status 1 when their median is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--version", default="18")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    rounds = [load_in_new_cache(chosen.version, chosen.warehouses) for _ in range(chosen.rounds)]
    each = [seconds / chosen.warehouses for seconds, _ in rounds]
    middle = statistics.median(each)
    facts = {
        "warehouses": chosen.warehouses,
        "seconds_a_warehouse": [round(value, 3) for value in each],
        "rows_a_second": [round(rows / seconds) for seconds, rows in rounds],
        "median": round(middle, 3),
        "bound": BOUND_S,
    }
    if chosen.json:
        print(json.dumps(facts))
    else:
        print(
            f"{chosen.warehouses} warehouses: {middle:.2f} s each (bound {BOUND_S} s), "
            f"{max(facts['rows_a_second']):,} rows/s at best"
        )
    return 0 if middle <= BOUND_S else 1


def load_in_new_cache(version: str, warehouses: int) -> tuple[float, int]:
    """Seconds and rows of one load, as `workloads load` tells them, in a cache of its own."""
    from steelyard.engines.postgres.builds.find import find_postgres
    from steelyard.workloads.loading.template import description, template
    from steelyard.workloads.reading.folder import find_workload

    root = Path(tempfile.mkdtemp(prefix="steelyard-bench-"))
    root.chmod(0o711)
    os.environ["STEELYARD_CACHE"] = str(root)
    try:
        engine, workload = find_postgres(version), find_workload("tproc-c")
        made = template(engine, workload, warehouses, _say, copies=0)
        described = description(made)
        assert described is not None
        return described.load_seconds, described.rows
    finally:
        shutil.rmtree(root)
        os.sync()


def _say(stage: str) -> None:
    print(stage, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
