"""Weighs equal arms for 40 epochs under several conditions: where an epoch's scatter comes from.

    python -m validation.scatter [--records DIR] [--only CONDITION] [--page]

Each condition is one weighing (`steelyard weigh aa`), its result a line of results/scatter.jsonl
with the readings of every epoch, whole and in nested parts: blocks in odd and even places, and the
first and the second half. A condition that has its line is not weighed again. At the end
docs/results/scatter.md is written of the lines. Wants an otherwise idle machine: seven minutes
each.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.record.reader import finished_epochs
from steelyard.record.record import Record
from validation.pages import folded
from validation.pages.scatter import page
from validation.results import FOLDER, Results
from validation.traces import Row, rows_of
from validation.weigh_command import environment_of, machine_of, revision, run_weigh

RESULTS = Results(FOLDER / "scatter.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "scatter.md"
FORM = folded.Form(most_cells=24)
EPOCHS = 40
WORDS = (
    *("aa", "--seed", "40", "--budget", "5m"),
    *("--set", f"budget.epochs={EPOCHS}", "--set", "decision.margin=0.01%"),
)
"""The margin is one that equal arms are never found within, so that all epochs are weighed."""
HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")
HUGE_PAGES_NEEDED = 256
"""Of 2 MB: two servers with pools of 128 MB and what else they share."""


@dataclass(frozen=True)
class Condition:
    """One way to weigh equal arms."""

    words: Sequence[str] = ()
    before: Sequence[str] = ()
    """Words of the shell in front of the command."""
    huge_pages: int = 0
    """That the kernel must have set aside."""


CONDITIONS: Mapping[str, Condition] = {
    "as it is": Condition(),
    "the same again": Condition(("--seed", "41")),
    "addresses not drawn": Condition(before=("setarch", "-R")),
    "huge pages": Condition(("--set", "settings.huge_pages=on"), huge_pages=HUGE_PAGES_NEEDED),
    "a client a processor": Condition(("--set", "workload.clients=2")),
    "placement free": Condition(("--set", "placement=free")),
}


@contextmanager
def reserved(pages: int) -> Iterator[None]:
    """The kernel has set aside so many huge pages more; as before at the end. Needs root."""
    before = int(HUGE_PAGES.read_text())
    HUGE_PAGES.write_text(str(before + pages))
    try:
        yield
    finally:
        HUGE_PAGES.write_text(str(before))


def log_ratio(rows: Iterable[Row], arm: str, control: str) -> float:
    """ln of the arm's work a second over the control's, from totals of slices."""
    done, busy = {arm: 0, control: 0}, {arm: 0, control: 0}
    for _, _, _, name, _, transactions, busy_us, _ in rows:
        done[name] += transactions
        busy[name] += busy_us
    return math.log(done[arm] / busy[arm]) - math.log(done[control] / busy[control])


def nested(rows: Sequence[Row], arm: str, control: str) -> dict[str, float]:
    """The reading of one epoch, whole and in parts of whole blocks, which have both arms."""
    blocks = sorted({block for _, block, *_ in rows})
    middle = blocks[len(blocks) // 2]
    parts = {
        "whole": rows,
        "odd": [row for row in rows if row[1] % 2],
        "even": [row for row in rows if not row[1] % 2],
        "first": [row for row in rows if row[1] < middle],
        "second": [row for row in rows if row[1] >= middle],
    }
    done, busy = sum(row[5] for row in rows), sum(row[6] for row in rows)
    together = {"together": math.log(done / busy)}
    return {name: log_ratio(part, arm, control) for name, part in parts.items()} | together


def epochs_of(record: Record, arm: str, control: str) -> list[dict[str, float]]:
    """Every complete epoch: its readings, the slot of the arm, and whether it was started first."""
    by_epoch: dict[int, list[Row]] = {}
    for row in rows_of(record):
        by_epoch.setdefault(row[0], []).append(row)
    lines = {epoch.line.epoch: epoch.line for epoch in finished_epochs(record)}
    return [
        {
            **nested(rows, arm, control),
            "slot": lines[number].slots[arm],
            "started_first": float(lines[number].start_order[0] == arm),
        }
        for number, rows in sorted(by_epoch.items())
    ]


def weigh(name: str, records: Path) -> dict[str, Any]:
    """Run one condition and return its result."""
    condition, record = CONDITIONS[name], records / name.replace(" ", "-") / "record"
    arguments = [*WORDS, *condition.words]
    with reserved(condition.huge_pages) if condition.huge_pages else nullcontext():
        verdict = run_weigh(name, arguments, record, condition.before)
    [contrast] = verdict["contrasts"]
    plan = Record(record).read("plan.json")
    return {
        "words": arguments,
        "before": list(condition.before),
        "arm": contrast["arm"],
        "control": contrast["control"],
        "estimate_percent": contrast["estimate_percent"],
        "low_percent": contrast["low_percent"],
        "high_percent": contrast["high_percent"],
        "threats": [threat["name"] for threat in contrast["threats"]],
        "placement": verdict["placement"],
        "epoch_ns": plan["epoch_ns"],
        "slice_ns": plan["slice_ns"],
        "seconds": verdict["seconds"],
        "loaded_seconds": verdict["spent"]["loaded_seconds"],
        "epochs": epochs_of(Record(record), contrast["arm"], contrast["control"]),
        "machine": machine_of(environment_of(record)),
        "revision": revision(),
    }


def main() -> int:
    """Weigh the conditions that have no result yet, and write the page."""
    parser = argparse.ArgumentParser(description="where an epoch's scatter is from; resumable")
    parser.add_argument("--records", type=Path, default=Path("records/scatter"))
    parser.add_argument("--only", choices=CONDITIONS, default=None)
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    for name in CONDITIONS:
        if options.page or name in RESULTS.answered_keys():
            continue
        if options.only in (None, name):
            RESULTS.add(name, weigh(name, options.records))
            print(f"{name}: weighed", flush=True)
    folded.write(files())
    return 0


def files() -> dict[Path, str]:
    """The page and its tables, as the results have them."""
    return folded.files_of(PAGE, page(list(RESULTS), list(CONDITIONS)), FORM)


if __name__ == "__main__":
    sys.exit(main())
