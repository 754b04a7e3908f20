"""Weighs PostgreSQL 18 against 16, same builder, once on each workload.

    python -m validation.versions [--records DIR] [--only NAME]

Every weighing is the command that its page shows, with a fixed seed; its result is a line of
results/versions.jsonl, and what has a line of this very command is not weighed again. What writes
in many pages is weighed in turns, over whole checkpoint cycles. At the end docs/18-against-16.md is
written of the lines. Wants an otherwise idle machine: half an hour or so for each that takes turns.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.record.record import Record
from validation.pages.versions import page
from validation.results import FOLDER, Results
from validation.weighed import machine_of, revision, weighed

RESULTS = Results(FOLDER / "versions.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "18-against-16.md"
SEED = 1
_BY_TIME = ("--budget", "60s")
_IN_TURNS = ("--budget", "30m")
_IN_LONG_TURNS = ("--budget", "40m")
"""Where checkpoints are further apart: eight epochs take more than half an hour."""
_BOTH = ("--set", "control.version=16", "--set", "arm.version=18")
_TOUCHES = "budget.counted={each = 100, blocks = 12, warmup = 2}"
WEIGHINGS: Mapping[str, Sequence[str]] = {
    "tproc-c": ("versions", "--set", "workload=tproc-c", *_IN_TURNS),
    "tproc-c-client": ("versions", "--set", "workload=tproc-c-client", *_IN_TURNS),
    "reserva": ("versions", "--set", "workload=reserva", *_IN_LONG_TURNS),
    "select-insert": ("versions", "--set", "workload=select-insert", *_IN_LONG_TURNS),
    "tproc-h": ("queries", *_BOTH, *_BY_TIME),
    "insert-read": (
        *("versions", "--set", "workload=insert-read", "--set", "workload.scale=1000"),
        *("--set", "workload.clients=1", "--set", "cost=foreground"),
        *("--set", _TOUCHES, "--set", "budget.epochs=12"),
    ),
}
_OF_A_CONTRAST = (
    "metric",
    "estimate_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "epochs",
    "blocks",
)
_OF_A_MEASURE = (
    "metric",
    "unit",
    "control_value",
    "arm_value",
    "estimate_percent",
    "low_percent",
    "high_percent",
)
_OF_A_VERDICT = ("layout", "time_scale", "distance_seconds", "measured_seconds", "seconds")
_OF_AN_ARM = ("version", "builder")
_OF_THE_WORKLOAD = ("name", "scale", "options", "clients", "threads")


def command(name: str) -> list[str]:
    """What is said after `weigh`."""
    return [*WEIGHINGS[name], "--seed", str(SEED)]


def weigh(name: str, records: Path) -> dict[str, Any]:
    """Weigh one; what is kept of it."""
    words = command(name)
    record = records / name / "record"  # alone: not an attempt at another
    load = os.getloadavg()[0]
    started = datetime.now(UTC).isoformat(timespec="seconds")
    verdict, contrast, environment = weighed(name, words, record)
    return {
        "words": words,
        "started": started,
        "load_before": round(load, 2),
        **{one: contrast[one] for one in _OF_A_CONTRAST},
        "epoch_sd_percent": contrast["details"]["epoch_sd_percent"],
        "d": contrast["details"]["d"],
        "threats": [threat["name"] for threat in contrast["threats"]],
        **{
            part: [{one: row.get(one) for one in _OF_A_MEASURE} for row in verdict[part]]
            for part in ("work", "causes")
        },
        "loads": verdict["loads"],
        "loads_of_epochs": loads_of_epochs(record),
        "sentence": verdict["sentence"],
        **{one: verdict[one] for one in _OF_A_VERDICT},
        "arms": {
            arm: {one: found["build"][one] for one in _OF_AN_ARM}
            for arm, found in environment["arms"].items()
        },
        "workload": {one: environment["workload"][one] for one in _OF_THE_WORKLOAD},
        "revision": revision(),
        "machine": machine_of(environment),
    }


def loads_of_epochs(record: Path) -> list[dict[str, int]]:
    """Arm → the number of its load, from 0, of every complete epoch; empty where data is shared."""
    lines = Record(record).lines("telemetry.jsonl")
    epochs = [x for x in lines if x["type"] == "epoch" and x["outcome"] == "complete"]
    return [x["loads"] for x in epochs if x.get("loads")]


def main() -> int:
    """Weigh what has no result yet, and write the page."""
    parser = argparse.ArgumentParser(description="18 against 16 on each workload; resumable")
    parser.add_argument("--records", type=Path, default=Path("records/versions"))
    parser.add_argument("--only", choices=list(WEIGHINGS), default=None)
    asked = parser.parse_args()
    done = {one["key"]: one["words"] for one in RESULTS}
    for name in WEIGHINGS:
        if done.get(name) != command(name) and asked.only in (None, name):
            result = weigh(name, asked.records)
            RESULTS.replace(name, result)
            print(f"{name}: {result['sentence']}; {result['seconds']:.0f} s", flush=True)
    PAGE.write_text(page(list(RESULTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
