"""Measures the wall time of whole weighings: how much of it is load, and against another version.

A round is one weighing of each study, each by a process of its own, and its wall time is that of
the process. The share under load is pilot, warm-up and measuring by the record's own account,
divided by that wall time. With `--before DIR`, a checkout of another version with its extension
built, every round weighs with both, in turns and with the same seed; the ratio is that of the
median wall times, and the intervals' widths stand beside it, since time that is saved at their cost
is none. Data is loaded before the first round.

    python benches/wall_time.py [--before DIR] [--rounds 3] [--budget 1m] [--study NAME]... [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent.parent
LEAST_SHARE = {"checksums": 0.8, "checksums-rw": 0.65}
"""Study → the least share of the wall time that is load."""
MOST_RATIO = 0.75
"""Of the wall time before."""


@dataclass(frozen=True)
class Weighed:
    """One weighing of a round."""

    study: str
    version: str  # "here" or "before"
    seconds: float
    loaded_seconds: float | None
    """None: of a version that keeps no account."""
    width_percent: float | None
    """Of the interval of the first contrast; None: unbounded."""


def weigh(tree: Path, version: str, study: str, budget: str, seed: int) -> Weighed:
    """Weigh once by the version in `tree`; SystemExit where it fails."""
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as place:
        command = [
            *(sys.executable, "-m", "steelyard", "weigh", study, "--budget", budget),
            *("--seed", str(seed), "--record", f"{place}/record", "--json"),
        ]
        environment = {**os.environ, "PYTHONPATH": str(tree / "python")}
        began = time.monotonic()
        done = subprocess.run(command, check=False, env=environment, cwd=place, capture_output=True)
        seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)}\n{done.stderr.decode()}")
    verdict = json.loads(done.stdout)
    low, high = (verdict["contrasts"][0][f"{end}_percent"] for end in ("low", "high"))
    return Weighed(
        study=study,
        version=version,
        seconds=seconds,
        loaded_seconds=verdict.get("spent", {}).get("loaded_seconds"),
        width_percent=None if low is None or high is None else high - low,
    )


def rounds(trees: dict[str, Path], studies: list[str], budget: str, count: int) -> list[Weighed]:
    """Every study by every version in each round; which version is first changes."""
    done = []
    for study in studies:
        weigh(trees["here"], "here", study, "20s", 1)  # loads what is not loaded yet
        for number in range(count):
            for version in sorted(trees, reverse=number % 2 == 0):
                one = weigh(trees[version], version, study, budget, 1 + number)
                print(f"{study:14} {version:7} {one.seconds:6.1f} s", file=sys.stderr)
                done.append(one)
    return done


def median(values: list[float | None]) -> float | None:
    """None where one is not known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known and len(known) == len(values) else None


def summed_up(study: str, done: list[Weighed]) -> dict[str, float | None]:
    """Medians of a study: wall time, share under load, width; and their ratios to before."""
    own = {
        version: [one for one in done if (one.study, one.version) == (study, version)]
        for version in ("here", "before")
    }
    found: dict[str, float | None] = {}
    for version, each in own.items():
        shares = [one.loaded_seconds and one.loaded_seconds / one.seconds for one in each]
        found[f"{version}_seconds"] = median([one.seconds for one in each])
        found[f"{version}_share"] = median(shares)
        found[f"{version}_width_percent"] = median([one.width_percent for one in each])
    here, before = found["here_seconds"], found["before_seconds"]
    found["ratio"] = here / before if here and before else None
    return found


def missed(study: str, found: dict[str, float | None]) -> list[str]:
    """The bounds that a study misses."""
    share, ratio = found["here_share"], found["ratio"]
    least = LEAST_SHARE.get(study, 0.0)
    wrong = []
    if share is not None and share < least:
        wrong.append(f"{study}: {share:.2f} of the wall time is load, required {least}")
    if ratio is not None and ratio > MOST_RATIO:
        wrong.append(f"{study}: {ratio:.2f} of the wall time before, required {MOST_RATIO}")
    return wrong


def main() -> int:
    """Print the medians; 1 when a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default="1m")
    parser.add_argument("--study", action="append")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    studies = chosen.study or list(LEAST_SHARE)
    trees = {"here": HERE, **({"before": chosen.before} if chosen.before else {})}
    done = rounds(trees, studies, chosen.budget, chosen.rounds)
    found = {study: summed_up(study, done) for study in studies}
    wrong = [words for study in studies for words in missed(study, found[study])]
    if chosen.json:
        told = {"rounds": [asdict(one) for one in done], "studies": found, "missed": wrong}
        print(json.dumps(told))
        return 1 if wrong else 0
    for study, figures in found.items():
        known = ", ".join(f"{key} {value:.3g}" for key, value in figures.items() if value)
        print(f"{study}: {known}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
