"""Puts the seeded faults into a copy of the checkout, one at a time, and records what noticed them.

`python -m tests.faults [WORD…]`: those whose room, file or name has one of the words; all without.
The answers are written to outcomes.csv beside the faults. Exit status 1 where a fault survives.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.faults.checkout import Checkout
from tests.faults.fault import HERE, Fault, read_faults

ROOT = HERE.parents[1]
OUTCOMES = HERE / "outcomes.csv"
SURVIVED = "survived"


def main(words: Sequence[str]) -> int:
    faults = [fault for fault in read_faults() if not words or _names(fault, words)]
    checkout = Checkout(ROOT, ROOT / "target" / "faults")
    checkout.refresh()
    tests = sorted({test for fault in faults for test in fault.tests})
    print(f"{len(tests)} test files without a fault", flush=True)
    if (failed := checkout.run(tests, all_of_them=True)) is not None:
        print(f"error: could not judge faults: {failed} fails without one", file=sys.stderr)
        return 2
    outcomes = read_outcomes()
    for fault in faults:
        with checkout.mutated(fault):
            outcomes[fault.name] = checkout.run(fault.tests) or SURVIVED
        print(f"{fault.room}: {fault.name}: {outcomes[fault.name]}", flush=True)
        write_outcomes(outcomes)
    survivors = [fault.name for fault in faults if outcomes[fault.name] == SURVIVED]
    print(f"{len(faults) - len(survivors)} of {len(faults)} noticed")
    return 1 if survivors else 0


def _names(fault: Fault, words: Sequence[str]) -> bool:
    return any(word in text for word in words for text in (fault.room, fault.file, fault.name))


def read_outcomes(path: Path = OUTCOMES) -> dict[str, str]:
    """What noticed each fault that was tried, by its name; SURVIVED where nothing did."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["fault"]: row["noticed_by"] for row in csv.DictReader(file)}


def write_outcomes(outcomes: dict[str, str]) -> None:
    """Write those of faults that there are, in the order of the faults."""
    with OUTCOMES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("room", "fault", "noticed_by"))
        for fault in read_faults():
            if fault.name in outcomes:
                writer.writerow((fault.room, fault.name, outcomes[fault.name]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
