"""Compares two records: what was the same, what differed, both verdicts, and their ratio if any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steelyard.history.entry import Entry
from steelyard.history.question import Point
from steelyard.history.ratio import RatioOfRatios, Refusal, ratio_of_ratios
from steelyard.history.reading import hashes_of, own_place, read_entry
from steelyard.record.reader import read_environment
from steelyard.record.record import Record, damage_named

_SAID_APART = ("name", "title", "question")
"""Keys of a study that have a row of their own, or say nothing about what was done."""


@dataclass(frozen=True)
class FactDifference:
    """One fact in which two records differ; empty: one of them has none."""

    what: str
    first: str
    second: str


@dataclass(frozen=True)
class ComparedPair:
    """A contrast of each record, and the ratio of their effects or why there is none."""

    first: Point
    second: Point
    ratio: RatioOfRatios | Refusal

    @property
    def same_question(self) -> bool:
        """Whether both answer one question."""
        return self.first.reading.question == self.second.reading.question

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it: `ratio`, or `refused` with the reasons."""
        document = {
            "first": self.first.reading.to_json(),
            "second": self.second.reading.to_json(),
            "same_question": self.same_question,
            "ratio": None,
            "refused": [],
        }
        if isinstance(self.ratio, Refusal):
            return {**document, "refused": list(self.ratio.reasons)}
        return {**document, "ratio": {**asdict(self.ratio), "sentence": self.ratio.sentence}}


@dataclass(frozen=True)
class RecordComparison:
    """Two records side by side."""

    first: Entry
    second: Entry
    same: tuple[str, ...]
    """Names of facts in which they are alike."""
    different: tuple[FactDifference, ...]
    settings: tuple[FactDifference, ...]
    """Settings as the servers reported them, by arm of that name, where both have it."""
    pairs: tuple[ComparedPair, ...]
    """Of contrasts that answer one question; where there are none, every contrast with each."""

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "first": self.first.path,
            "second": self.second.path,
            "same": list(self.same),
            "different": [asdict(difference) for difference in self.different],
            "settings": [asdict(setting) for setting in self.settings],
            "contrasts": [pair.to_json() for pair in self.pairs],
        }


def compare_records(first: Path, second: Path) -> RecordComparison:
    """Two record folders. RecordError, StudyError: one cannot be read."""
    first_entry, second_entry = _entry(first), _entry(second)
    same, different = _facts_compared(first_entry, second_entry)
    return RecordComparison(
        first_entry,
        second_entry,
        same,
        different,
        settings=tuple(_settings_compared(first, second)),
        pairs=_pairs(first_entry, second_entry),
    )


def facts_of(entry: Entry) -> Mapping[str, str]:
    """Everything that is the same in two records of one question, one build and one machine."""
    facts = {
        "study": entry.study,
        "machine": entry.machine_words,
        "kernel": entry.kernel,
        "steelyard": entry.steelyard,
        "layout": entry.layout,
        "seed": str(entry.seed),
    }
    for arm, build in entry.builds.items():
        facts[f"build of {arm}"] = build.version
        facts[f"compiler of {arm}"] = f"{build.builder} {build.cflags}".strip()
        facts[f"configure of {arm}"] = build.configure
        facts[f"programs of {arm}"] = build.bindir
    facts |= {key: value for key, value in entry.keys.items() if key not in _SAID_APART}
    return {**facts, **{f"SHA-256 of {what}": digest for what, digest in entry.files.items()}}


def find_record(root: Path, path: str) -> Path:
    """The folder of a record: its path below the folder of the history, or any other path."""
    below = root / path
    return below if below.is_dir() else Path(path)


def _entry(directory: Path) -> Entry:
    Record.open(directory)  # its own words for a folder that is no record
    with damage_named():
        return read_entry(directory, directory.as_posix(), hashes_of(directory))


def _facts_compared(
    first: Entry, second: Entry
) -> tuple[tuple[str, ...], tuple[FactDifference, ...]]:
    ours, theirs = facts_of(first), facts_of(second)
    every = [name for name in {**ours, **theirs} if ours.get(name) or theirs.get(name)]
    differ = [name for name in every if ours.get(name) != theirs.get(name)]
    return (
        tuple(name for name in every if name not in differ),
        tuple(FactDifference(n, ours.get(n, ""), theirs.get(n, "")) for n in differ),
    )


def _settings_compared(first: Path, second: Path) -> Iterator[FactDifference]:
    ours, theirs = (read_environment(Record.open(folder)) for folder in (first, second))
    if ours is None or theirs is None:
        return
    for arm in ours.arms:
        mine, yours = ours.settings(arm), theirs.settings(arm)
        for name in sorted({*mine, *yours} if yours else ()):
            if mine.get(name) != yours.get(name) and not own_place(name):
                yield FactDifference(f"{arm}: {name}", mine.get(name, ""), yours.get(name, ""))


def _pairs(first: Entry, second: Entry) -> tuple[ComparedPair, ...]:
    every = [
        (Point(first, reading), Point(second, other))
        for reading in first.readings
        for other in second.readings
    ]
    alike = [(a, b) for a, b in every if a.reading.question == b.reading.question]
    return tuple(ComparedPair(a, b, ratio_of_ratios(a, b)) for a, b in alike or every)
