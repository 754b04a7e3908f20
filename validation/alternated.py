"""Weighs in cycles and in turns by turns: how epochs of either scatter, and whether they agree.

    python -m validation.alternated [--records DIR] [--only NAME] [--most N]

*Scatter*: equal arms on TPC-B, two epochs in cycles and two in turns in alternation until either
has eight, on a quiet machine and beside a neighbour that this program starts: loops on every
processor and writes that are flushed, in spells of random length. *pglz*: `wal_compression` off and
pglz on tproc-c in cycles and in turns, at the distance of `validation.by_hand`, whose pairs stand
beside them. Every weighing is a line of results/alternated.jsonl and is not repeated; the page is
docs/results/validation.md (`python -m validation.publish`). An hour a condition, and one for pglz.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from validation.distances import NEARER, WEIGHINGS
from validation.results import FOLDER, Results
from validation.weigh_command import machine_of, revision, run_weigh_pair

RESULTS = Results(FOLDER / "alternated.jsonl")
LAYOUTS = ("cycles", "turns")
CONDITIONS = ("quiet", "busy")
PAIRS = 4
"""Weighings in either layout, in each condition."""
EPOCHS_EACH = 2
SEED = 47
EQUAL = (
    *("aa", "--set", "cost=auto", "--set", "workload.scripts={tpcb-like=1}"),
    *("--set", "workload.scale=20", "--set", f"budget.epochs={EPOCHS_EACH}", "--budget", "6m"),
    *("--set", "decision.margin=0.01%"),
)
PGLZ = "pglz"
_NEIGHBOUR = """
import os, random, sys, tempfile, time
draw = random.Random(int(sys.argv[1]))
with tempfile.TemporaryFile() as file:
    while os.getppid() == int(sys.argv[2]):
        until = time.monotonic() + draw.uniform(1, 20)
        writes = draw.random() < 0.3
        while time.monotonic() < until:
            if writes:
                file.seek(0), file.write(os.urandom(1 << 20)), file.flush(), os.fsync(file.fileno())
            else:
                sum(range(100_000))
        time.sleep(draw.uniform(0, 10))
"""


@dataclass(frozen=True)
class ScheduledWeighing:
    """One weighing of the schedule: its condition, layout and number."""

    condition: str
    """Of the machine; `PGLZ`: nothing else on it, and the arms differ."""
    layout: str
    number: int = 1

    @property
    def key(self) -> str:
        return f"{self.condition}/{self.layout}/{self.number}"

    @property
    def words(self) -> list[str]:
        """The arguments after `steelyard weigh`."""
        seed = SEED + 10 * self.number + LAYOUTS.index(self.layout)
        arguments = WEIGHINGS[NEARER] if self.condition == PGLZ else EQUAL
        return [*arguments, "--set", f"layout={self.layout}", "--seed", str(seed)]


def scheduled_weighings() -> Iterator[ScheduledWeighing]:
    """All weighings, layouts in alternation, which begins the other way round each time."""
    for condition in CONDITIONS:
        for number in range(1, PAIRS + 1):
            for layout in LAYOUTS if number % 2 else reversed(LAYOUTS):
                yield ScheduledWeighing(condition, layout, number)
    for layout in LAYOUTS:
        yield ScheduledWeighing(PGLZ, layout)


@contextmanager
def neighbour() -> Iterator[None]:
    """Another load on the machine, on as many processors as there are; it ends with the block."""
    count = len(os.sched_getaffinity(0))
    each = [
        subprocess.Popen([sys.executable, "-c", _NEIGHBOUR, str(seed), str(os.getpid())])
        for seed in range(count)
    ]
    try:
        yield
    finally:
        for process in each:
            process.terminate()
        for process in each:
            process.wait()


def result_of(
    weighing: ScheduledWeighing,
    verdict: Mapping[str, Any],
    contrast: Mapping[str, Any],
    machine: Any,
) -> dict[str, Any]:
    """The result to write down, from a verdict and its only contrast."""
    return {
        "condition": weighing.condition,
        "layout": weighing.layout,
        "words": weighing.words,
        **{
            name: contrast[name]
            for name in ("estimate_percent", "low_percent", "high_percent", "verdict", "epochs")
        },
        "d": contrast["details"]["d"],
        "threats": [threat["name"] for threat in contrast["threats"]],
        "distance_seconds": verdict["distance_seconds"],
        "time_scale": verdict["time_scale"],
        "seconds": verdict["whole_seconds"],
        "machine": machine,
    }


def weigh(weighing: ScheduledWeighing, records: Path) -> dict[str, Any]:
    """Run one weighing and return its result."""
    record = records / weighing.key.replace("/", "-") / "record"  # alone: not an attempt at another
    load, started = os.getloadavg()[0], datetime.now(UTC).isoformat(timespec="seconds")
    with neighbour() if weighing.condition == "busy" else nullcontext():
        verdict, contrast, environment = run_weigh_pair(weighing.key, weighing.words, record)
    line = result_of(weighing, verdict, contrast, machine_of(environment))
    return {**line, "started": started, "load_before": round(load, 2), "revision": revision()}


def main(words: Sequence[str] | None = None) -> int:
    """Weigh what has no result yet."""
    parser = argparse.ArgumentParser(description="cycles and turns in alternation; resumable")
    parser.add_argument("--records", type=Path, default=Path("records/alternated"))
    parser.add_argument("--only", choices=(*CONDITIONS, PGLZ), default=None)
    parser.add_argument("--most", type=int, default=None, help="stop after so many weighings")
    options = parser.parse_args(words)
    done = RESULTS.answered_keys()
    waiting = [
        weighing
        for weighing in scheduled_weighings()
        if weighing.key not in done and options.only in (None, weighing.condition)
    ]
    for weighing in waiting[: options.most]:
        RESULTS.add(weighing.key, weigh(weighing, options.records))
        print(f"{weighing.key}: weighed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
