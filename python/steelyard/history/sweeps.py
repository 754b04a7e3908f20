"""Puts the points of a sweep together again, which the history knows as a question each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from steelyard.history.entry import Entry
from steelyard.history.question import QuestionHistory
from steelyard.study.change import short_key


@dataclass(frozen=True)
class SweepOfQuestions:
    """The newest answers of one arm at every value of a swept key."""

    sweep: str
    """Its folder, as the history names it."""
    key: str
    """`"clients"`: in what its points differ; empty: in nothing that makes a question."""
    points: tuple[tuple[str, QuestionHistory], ...]
    """(value, its question), in the order of the sweep."""

    @property
    def label(self) -> str:
        """`"addresses: new against old by clients"`."""
        newest = self.points[0][1].newest
        by = f" by {self.key}" if self.key else ""
        return f"{newest.entry.study}: {newest.reading.pair}{by}"


def value_of(entry: Entry) -> str:
    """The value of the swept key at which a point was weighed, as its folder is named."""
    return PurePosixPath(entry.path).name


def in_order(points: Mapping[str, Entry]) -> list[str]:
    """The values of a sweep's points in the order in which the sweep itself has them, numbers and
    sizes as `64kB` by size: a point's seed is that of its sweep and its place (record/sweep.py)."""
    return sorted(points, key=lambda value: (points[value].seed, value))


def sweeps_of(
    questions: Sequence[QuestionHistory],
) -> tuple[tuple[SweepOfQuestions, ...], tuple[QuestionHistory, ...]]:
    """Sweeps of at least two points, and the questions that are in none. A question belongs to the
    sweep that its newest answer is of."""
    groups: dict[tuple[str, str, str], list[QuestionHistory]] = {}
    for question in questions:
        newest = question.newest
        key = (newest.entry.sweep, newest.reading.pair, newest.reading.metric)
        groups.setdefault(key, []).append(question)
    sweeps = [
        _sweep(sweep, group) for (sweep, _, _), group in groups.items() if sweep and len(group) > 1
    ]
    members = {question.name for sweep in sweeps for _, question in sweep.points}
    return tuple(sweeps), tuple(each for each in questions if each.name not in members)


def _sweep(sweep: str, questions: Sequence[QuestionHistory]) -> SweepOfQuestions:
    by_value = {value_of(question.newest.entry): question for question in questions}
    records = {value: question.newest.entry for value, question in by_value.items()}
    question_keys = [question.newest.question_keys for question in by_value.values()]
    names = sorted({key for keys in question_keys for key in keys})
    apart = [name for name in names if len({keys.get(name) for keys in question_keys}) > 1]
    return SweepOfQuestions(
        sweep=sweep,
        key=" and ".join(map(short_key, apart)),
        points=tuple((value, by_value[value]) for value in in_order(records)),
    )
