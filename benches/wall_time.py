"""Measures the wall time of whole weighings: how much of it is load, and against another version.

A round is one weighing of each study, each by a process of its own, and its wall time is that of
the process. The share under load is pilot, warm-up and measuring by the record's own account,
divided by that wall time. With `--before DIR`, a checkout of another version with its extension
built, every round weighs with both, in turns and with the same seed; the ratio is that of a round's
wall times, and the intervals' widths stand beside it, since time that is saved at their cost is
none. The floor is the time under load against the wall time before: it is what the method asks for,
and nothing that only waits is in it. Data is loaded before the first round.

    python benches/wall_time.py [--before DIR] [--rounds 3] [--budget 2m] [--study NAME]... [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from steelyard.model.units import parse_duration


@dataclass(frozen=True)
class Study:
    """A study as a user starts it, but for its budget."""

    least_share: float
    """Of the wall time, under load."""
    words: Sequence[str] = ()


WHOLE = ("--set", "decision.judged=separately")
"""Judged once, at the end: no weighing ends early, and all measure for as long."""
STUDIES: Mapping[str, Study] = {
    "checksums": Study(0.8, WHOLE),
    "checksums-rw": Study(0.65, (*WHOLE, "--set", "layout=slices")),
}
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

    @property
    def share(self) -> float | None:
        """Of the wall time that is load."""
        return None if self.loaded_seconds is None else self.loaded_seconds / self.seconds


@contextmanager
def interpreter_of(tree: Path) -> Iterator[Path]:
    """A Python that imports Steelyard from `tree`, and what it stands on from where we do.

    PYTHONPATH does not do: parts of a weighing are isolated from their surroundings.
    """
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as directory:
        venv.create(directory, symlinks=True)
        [folder] = Path(directory).glob("lib/python*/site-packages")
        paths = (tree.resolve() / "python", Path(sysconfig.get_path("purelib")))
        (folder / "steelyard.pth").write_text("".join(f"{path}\n" for path in paths))
        yield Path(directory) / "bin" / "python"


def weigh(python: Path, version: str, study: str, budget: str, seed: int) -> Weighed:
    """Weigh once; SystemExit where it fails."""
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as directory:
        command: list[str | Path] = [
            *(python, "-m", "steelyard", "weigh", study, "--budget", budget),
            *(
                "--seed",
                str(seed),
                *STUDIES[study].words,
                "--record",
                f"{directory}/record",
                "--json",
            ),
        ]
        began = time.monotonic()
        done = subprocess.run(command, check=False, cwd=directory, capture_output=True)
        seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))}\n{done.stderr.decode()}")
    verdict = json.loads(done.stdout)
    low, high = (verdict["contrasts"][0][f"{end}_percent"] for end in ("low", "high"))
    return Weighed(
        study=study,
        version=version,
        seconds=seconds,
        loaded_seconds=verdict.get("spent", {}).get("loaded_seconds"),
        width_percent=None if low is None or high is None else high - low,
    )


def rounds(
    pythons: Mapping[str, Path], studies: Iterable[str], budget: str, count: int
) -> Iterator[Weighed]:
    """Every study by every version in each round; which version is first changes."""
    for study in studies:
        for version, python in pythons.items():
            weigh(python, version, study, "20s", 1)  # loads what is not loaded yet
        for number in range(count):
            for version in sorted(pythons, reverse=number % 2 == 0):
                weighing = weigh(pythons[version], version, study, budget, 1 + number)
                print(f"{study:14} {version:7} {weighing.seconds:6.1f} s", file=sys.stderr)
                yield weighing


@dataclass(frozen=True)
class Range:
    """The median of the rounds, the least and the greatest."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.2f} [{self.least:.2f} … {self.most:.2f}]"


def range_of(values: Iterable[float | None]) -> Range | None:
    """None where one is not known."""
    every = list(values)
    measured = [value for value in every if value is not None]
    if not measured or len(measured) < len(every):
        return None
    return Range(statistics.median(measured), min(measured), max(measured))


def summed_up(study: str, done: Sequence[Weighed], asked_s: float) -> dict[str, Range | None]:
    """Ranges of a study: of each version, and of the wall times of a round as ratios."""
    by_version = {
        version: [
            weighing for weighing in done if (weighing.study, weighing.version) == (study, version)
        ]
        for version in ("here", "before")
    }
    ranges: dict[str, Range | None] = {}
    for version, each in by_version.items():
        ranges[f"{version}, s"] = range_of(weighing.seconds for weighing in each)
        ranges[f"{version}, share under load"] = range_of(weighing.share for weighing in each)
        ranges[f"{version}, asked ÷ wall time"] = range_of(
            asked_s / weighing.seconds for weighing in each
        )
        ranges[f"{version}, width of the interval, %"] = range_of(
            weighing.width_percent for weighing in each
        )
    before = by_version["before"]
    pairs = list(zip(by_version["here"], before, strict=True)) if before else []
    ranges["here ÷ before"] = range_of(a.seconds / b.seconds for a, b in pairs)
    ranges["floor: under load ÷ before"] = range_of(
        a.loaded_seconds and a.loaded_seconds / b.seconds for a, b in pairs
    )
    return ranges


def missed(study: str, ranges: Mapping[str, Range | None]) -> Iterator[str]:
    """The bounds that a study misses, by the medians."""
    share, ratio = ranges["here, share under load"], ranges["here ÷ before"]
    least = STUDIES[study].least_share
    if share is not None and share.median < least:
        yield f"{study}: {share.median:.2f} of the wall time is load, required {least}"
    if ratio is not None and ratio.median > MOST_RATIO:
        yield f"{study}: {ratio.median:.2f} of the wall time before, required {MOST_RATIO}"


def main() -> int:
    """Print the medians with their ranges; 1 when a bound is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, default=os.environ.get("BEFORE") or None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--study", action="append", choices=STUDIES)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    studies = options.study or list(STUDIES)
    asked_s = parse_duration(options.budget) / 1e9
    with interpreter_of(options.before) if options.before else nullcontext() as before:
        pythons = {"here": Path(sys.executable), **({"before": before} if before else {})}
        done = list(rounds(pythons, studies, options.budget, options.rounds))
    summaries = {study: summed_up(study, done, asked_s) for study in studies}
    wrong = [miss for study in studies for miss in missed(study, summaries[study])]
    if options.json:
        ranges = {
            study: {name: span and asdict(span) for name, span in by_name.items()}
            for study, by_name in summaries.items()
        }
        document = {
            "rounds": [asdict(weighing) for weighing in done],
            "studies": ranges,
            "missed": wrong,
        }
        print(json.dumps(document, ensure_ascii=False))
        return 1 if wrong else 0
    for study, by_name in summaries.items():
        for name, span in by_name.items():
            if span is not None:
                print(f"{study:14} {name:34} {span}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
