"""Weighs sweeps and a factorial whole, keeps the readings: docs/results/sweeps-and-factors.md.

    python -m validation.sweeps [--records DIR] [--only NAME] [--adopt NAME=RECORD] [--page]

Every weighing is the command that its page shows, with a fixed seed; its result is a line of
results/sweeps.jsonl, and what has its line is not weighed again. `--adopt` takes the result from a
record that this very command made. Wants an otherwise idle machine: a quarter of an hour, and
half an hour for each of the others. 5,000 clients take memory for as many backends: 9 GB.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.pages import folded
from validation.pages.sweeps import page
from validation.results import FOLDER, Results
from validation.weigh_command import Weighings, environment_of, machine_of

RESULTS = Results(FOLDER / "sweeps.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "sweeps-and-factors.md"
FORM = folded.Form(leave=("factor", "disk.read_iops", "workload.clients"))
"""What a factor does at each level of the others is a file, and so is what sentences say of a
sweep."""
SEED = ("--seed", "16")
WEIGHINGS: Mapping[str, Sequence[str]] = {
    "checksums by clients": ("checksums", "--sweep", "workload.clients=8,32,256", *SEED),
    "factorial": ("factorial", *SEED),
    "pooler by clients": (
        *("pooler", "--sweep", "workload.clients=64,256,1000,5000"),
        *("--set", "settings.max_connections=5100", *SEED),
    ),
    "methods of reading by the disk's rate": (
        *("io-method", "--set", "memory=256MB", "--sweep", "disk.read_iops=3000,16000", *SEED),
    ),
}
_OF_A_VERDICT = ("whole_seconds", "layout")


def result_of(words: Sequence[str], document: Mapping[str, Any], record: Path) -> dict[str, Any]:
    """The result to write down, of a sweep or of a factorial."""
    facts = {"words": list(words), "machine": machine_of(environment_of(record))}
    if "sweep" in document:
        return {**facts, "sweep": document["sweep"]}
    threats = sorted({t["name"] for contrast in document["contrasts"] for t in contrast["threats"]})
    of_verdict = {name: document[name] for name in _OF_A_VERDICT}
    return {**facts, **of_verdict, "threats": threats, "factors": document["factors"]}


def main() -> int:
    """Weigh what has no result yet, and write the page."""
    Weighings(RESULTS, WEIGHINGS, result_of).run("sweeps and a factorial, whole")
    folded.write(files())
    return 0


def files() -> dict[Path, str]:
    """The page and its tables, as the results have them."""
    return folded.files_of(PAGE, page(list(RESULTS), list(WEIGHINGS)), FORM)


if __name__ == "__main__":
    sys.exit(main())
