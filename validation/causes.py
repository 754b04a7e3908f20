"""Weighs studies whose cause is known beforehand, and keeps what was named, and by which figures.

    python -m validation.causes [--records DIR] [--only NAME] [--adopt NAME=RECORD] [--page]

Every weighing is the command that its page shows, with a fixed seed; its result is a line of
results/causes.jsonl, and what has its line is not weighed again. `--adopt` takes the result from a
record that this very command made. At the end docs/results/causes.md is written of the lines.
Wants an otherwise idle machine: three minutes each, eight with a longer budget.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.analysis.decision.t_interval import t_interval
from steelyard.evaluation.causes import complete
from steelyard.model.readings import CHECKPOINT_CPU, EpochTotals
from steelyard.record.reader import finished_epochs
from steelyard.record.record import Record
from validation.pages import folded
from validation.pages.causes import page
from validation.results import FOLDER, Results
from validation.weigh_command import Weighings, environment_of, machine_of

RESULTS = Results(FOLDER / "causes.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "causes.md"
FORM = folded.Form(most_cells=12)
SEED = 16


@dataclass(frozen=True)
class Known:
    """A weighing, and what its cause must be where the arms differ."""

    words: Sequence[str]
    causes: Sequence[str]
    """Parts of a transaction's time, any of which is right."""
    why: str


IN_SLICES = ("--set", "layout=slices")
"""Where turns at this disk's pace take half an hour and more; the cause must be the same."""
LONGER = ("--budget", "5m")
NOT_WAITING = ("--set", "settings.synchronous_commit=off")
"""Waiting for the disk of a shared machine scatters by more than what is looked for."""
SUMMED = ("wal", "processor", "debt")
WEIGHINGS: Mapping[str, Known] = {
    "checksums": Known(
        ("checksums",), ("processor", "read"), "every page that is read is summed by the backend"
    ),
    "track-io-timing": Known(
        ("track-io-timing",), ("processor", "read"), "the clock is read before and after each block"
    ),
    "shared-buffers": Known(
        ("shared-buffers",), ("read", "processor"), "blocks that are in the pool are not read"
    ),
    "synchronous-commit": Known(
        ("synchronous-commit", *IN_SLICES),
        ("wal",),
        "a commit does not wait for the log to reach the disk",
    ),
    "wal-compression": Known(
        ("wal-compression", *IN_SLICES), ("processor", "wal"), "images are compressed, and smaller"
    ),
    "full-page-writes": Known(
        ("full-page-writes", *IN_SLICES, *LONGER),
        ("wal", "processor"),
        "no images are copied, summed and written to the log",
    ),
    "wal-log-hints": Known(
        ("wal-log-hints", *IN_SLICES), ("wal",), "hint bits make images, which are logged"
    ),
    "checksums-rw": Known(
        ("checksums-rw", *IN_SLICES, *LONGER),
        SUMMED,
        "hint bits are logged; pages are summed, by the checkpointer those that it writes",
    ),
    "full-page-writes, commits do not wait": Known(
        ("full-page-writes", *IN_SLICES, *NOT_WAITING),
        ("wal", "processor"),
        "no images are copied, summed and written to the log",
    ),
    "checksums-rw, commits do not wait": Known(
        ("checksums-rw", *IN_SLICES, *NOT_WAITING),
        SUMMED,
        "hint bits are logged; pages are summed, by the checkpointer those that it writes",
    ),
    "telemetry": Known(
        ("telemetry", "--budget", "5m"), ("processor",), "sessions are looked at, blocks timed"
    ),
}
_OF_A_CONTRAST = (
    "arm",
    "control",
    "estimate_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "epochs",
    "nonzero",
)
_OF_THE_PROCESSOR = (
    "control_value", "arm_value", "estimate_percent", "low_percent", "high_percent",
)  # fmt: skip
_NO_PARTS: dict[str, Any] = {
    "cause": None,
    "control_us": None,
    "arm_us": None,
    "parts": [],
    "with_queue": [],
    "bottlenecks": [],
}
"""Where one arm is not watched, as that of `telemetry`."""


def checkpointer(
    epochs: Sequence[EpochTotals], contrast: Mapping[str, Any]
) -> dict[str, float] | None:
    """Processor time of the checkpointer in a transaction of each arm, µs, as means of the complete
    epochs, and the difference's 95 % t interval; None where fewer than two epochs have it."""
    arms = (contrast["control"], contrast["arm"])
    read = np.array(
        [[epoch.per_transaction(arm, CHECKPOINT_CPU) for arm in arms] for epoch in complete(epochs)]
    )
    if len(read) < 2 or not np.isfinite(read).all():
        return None
    interval = t_interval(read[:, 1] - read[:, 0])
    return {
        "control_us": float(read[:, 0].mean()),
        "arm_us": float(read[:, 1].mean()),
        "low_us": interval.low,
        "high_us": interval.high,
    }


def result_of(words: Sequence[str], verdict: Mapping[str, Any], record: Path) -> dict[str, Any]:
    """The result to write down, from a verdict and its record."""
    [contrast] = verdict["contrasts"]
    [time] = verdict.get("time") or [_NO_PARTS]
    epochs = [epoch.totals for epoch in finished_epochs(Record(record))]
    [processor] = [cause for cause in verdict["causes"] if cause["metric"].startswith("server_cpu")]
    return {
        "words": list(words),
        **{key: contrast[key] for key in _OF_A_CONTRAST},
        "epoch_sd_percent": contrast["details"]["epoch_sd_percent"],
        "threats": [threat["name"] for threat in contrast["threats"]],
        "layout": verdict["layout"],
        "sentence": verdict["sentence"],
        "seconds": verdict["seconds"],
        "cause": None if time["cause"] is None else time["cause"]["part"],
        "control_us": time["control_us"],
        "arm_us": time["arm_us"],
        "parts": time["parts"],
        "with_queue": time["with_queue"],
        "bottlenecks": time["bottlenecks"],
        "processor": {key: processor[key] for key in _OF_THE_PROCESSOR},
        "checkpointer": checkpointer(epochs, contrast),
        "clients": Record(record).read("plan.json")["clients"],
        "machine": machine_of(environment_of(record)),
    }


WORDS = {name: [*weighing.words, "--seed", str(SEED)] for name, weighing in WEIGHINGS.items()}


def main() -> int:
    """Weigh what has no result yet, and write the page."""
    Weighings(RESULTS, WORDS, result_of).run("known causes, named or not")
    folded.write(files())
    return 0


def files() -> dict[Path, str]:
    """The page and its tables, as the results have them."""
    expected = {name: (weighing.causes, weighing.why) for name, weighing in WEIGHINGS.items()}
    return folded.files_of(PAGE, page(list(RESULTS), expected), FORM)


if __name__ == "__main__":
    sys.exit(main())
