"""Weighs treatments that act through checkpoints, and keeps their curves by distance.

    python -m validation.distances [--records DIR] [--only NAME] [--adopt NAME=RECORD]

Every weighing is the command that its page shows, with a fixed seed; its result is a line of
results/distances.jsonl, and what has its line is not weighed again. `--adopt` takes the result
from a record that this very command made. At the end docs/results/by-distance.md is written of the
lines. Wants an otherwise idle machine: about half an hour each.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation import by_hand
from validation.pages import folded
from validation.pages.distances import page
from validation.results import FOLDER, Results
from validation.weigh_command import Weighings, environment_of, machine_of

RESULTS = Results(FOLDER / "distances.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "by-distance.md"
FORM = folded.Form(most_cells=8, stay=("weighing", ""))
SEED = 7
NEARER = "wal-compression, tproc-c, nearer checkpoints"
_ORDER_ENTRY = ("--set", "workload=tproc-c", "--set", "workload.scale=4")
WEIGHINGS: Mapping[str, Sequence[str]] = {
    "checksums-rw, pgbench, in cycles": ("checksums-rw",),
    "checksums-rw, tproc-c, in cycles": ("checksums-rw", *_ORDER_ENTRY),
    "wal-compression, tproc-c": (
        *("settings", *_ORDER_ENTRY),
        *("--set", "arm.settings.wal_compression=pglz"),
    ),
    "wal-compression, pgbench": ("wal-compression", "--budget", "30m"),
    # The default limit of the log brings the control's checkpoints within seconds; this one leaves
    # both arms the same time between them.
    "wal-compression, pgbench, by the timeout": (
        *("wal-compression", "--set", "settings.max_wal_size=16GB"),
        *("--budget", "40m"),
    ),
    "checksums-rw, pgbench": ("checksums-rw", "--budget", "30m"),
    "checksums-rw, tproc-c": ("checksums-rw", *_ORDER_ENTRY, "--budget", "30m"),
    NEARER: (
        *("settings", *_ORDER_ENTRY),
        *("--set", "arm.settings.wal_compression=pglz"),
        # A checkpoint every 10 s or so by the log's own limit, not by a time scale.
        *("--set", "settings.max_wal_size=450MB", "--set", "turns.time_scale=1"),
        *("--budget", "30m"),
    ),
}
CHECKED = (NEARER, "wal-compression, tproc-c")
"""Weighed in turns at a short distance; and from whose curve that distance is computed."""
_OF_A_CONTRAST = (
    "arm",
    "control",
    "metric",
    "estimate_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "epochs",
)
_OF_A_VERDICT = ("layout", "sentence", "time_scale", "distance_seconds", "by_distance", "seconds")


def result_of(words: Sequence[str], verdict: Mapping[str, Any], record: Path) -> dict[str, Any]:
    """The result to write down, from a verdict and its record."""
    [contrast] = verdict["contrasts"]
    turns = verdict["turns"]
    return {
        "words": list(words),
        **{key: contrast[key] for key in _OF_A_CONTRAST},
        "epoch_sd_percent": contrast["details"]["epoch_sd_percent"],
        "d": contrast["details"]["d"],
        "threats": [threat["name"] for threat in contrast["threats"]],
        **{key: verdict[key] for key in _OF_A_VERDICT},
        "curve": turns["curve"],
        "sums": turns["sums"],
        "machine": machine_of(environment_of(record)),
    }


WORDS = {name: [*arguments, "--seed", str(SEED)] for name, arguments in WEIGHINGS.items()}
ASKED = Weighings(RESULTS, WORDS, result_of)


def main() -> int:
    """Weigh what has no result yet, and write the page."""
    ASKED.run("curves by distance")
    folded.write(files())
    return 0


def files() -> dict[Path, str]:
    """The page and its tables, as the results have them."""
    text = page(list(RESULTS), list(WEIGHINGS), CHECKED, list(by_hand.RESULTS))
    return folded.files_of(PAGE, text, FORM)


if __name__ == "__main__":
    sys.exit(main())
