"""Chooses what the wall shows: a row a question with its newest verdict, and what has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.history.entry import Entry, Unread
from steelyard.history.index import History
from steelyard.history.question import QuestionHistory
from steelyard.history.sweeps import SweepOfQuestions, sweeps_of
from steelyard.site import address
from steelyard.site.address import sentence, short_reading, utc
from steelyard.site.pictures import draw_beam, draw_curve, draw_strip
from steelyard.wording.contrast_text import MARKS


@dataclass(frozen=True)
class WallValue:
    """A point of a sweep."""

    value: str
    page: str
    """Of its question."""
    mark: str
    reading: str


@dataclass(frozen=True)
class WallRow:
    """A question on the wall."""

    label: str
    question: str
    """The question in words; empty: the study has none."""
    page: str
    report: str
    """Empty: there is none."""
    mark: str
    verdict: str
    sentence: str
    beam: Markup
    strip: Markup | None
    """The last weighings; None: of a sweep, whose curve is the beam."""
    weighings: int
    at: str
    machine: str
    doubts: tuple[str, ...]
    known_truth: bool
    values: tuple[WallValue, ...] = ()
    """Of a sweep: its points."""


@dataclass(frozen=True)
class Unjudged:
    """A weighing without a verdict."""

    path: str
    study: str
    at: str
    report: str


@dataclass(frozen=True)
class WallShown:
    """The wall."""

    rows: tuple[WallRow, ...]
    """Questions whose answer is not known beforehand first, then checks of the balance; in both
    the newest first."""
    verdicts: tuple[str, ...]
    machines: tuple[str, ...]
    unjudged: tuple[Unjudged, ...]
    unread: tuple[Unread, ...]
    records: int


def show_wall(
    history: History, questions: Sequence[QuestionHistory], reports: Mapping[str, str]
) -> WallShown:
    """The wall of a history; `reports`: path of a record → the address of its report, or empty."""
    sweeps, others = sweeps_of(questions)
    every = [*map(_sweep_row, sweeps), *(_row(question, reports) for question in others)]
    newest = sorted(every, key=lambda row: row.at, reverse=True)
    rows = tuple(sorted(newest, key=lambda row: row.known_truth))
    return WallShown(
        rows=rows,
        verdicts=tuple(word for word in MARKS if word in {row.verdict for row in rows}),
        machines=tuple(sorted({row.machine for row in rows})),
        unjudged=tuple(
            _unjudged(entry, reports) for entry in history.entries if entry.state == "no verdict"
        ),
        unread=history.unread_summary,
        records=len(history.entries),
    )


def _row(question: QuestionHistory, reports: Mapping[str, str]) -> WallRow:
    entry, reading = question.newest.entry, question.newest.reading
    here = [
        point.reading
        for point in question.points
        if point.entry.machine_words == entry.machine_words
    ]
    return WallRow(
        label=question.label,
        question=entry.question,
        page=address.question_page(question),
        report=reports.get(entry.path, ""),
        mark=MARKS.get(reading.verdict, "?"),
        verdict=reading.verdict,
        sentence=sentence(reading),
        beam=draw_beam(reading),
        strip=draw_strip(here),
        weighings=len(question.points),
        at=utc(entry.at),
        machine=entry.machine_words,
        doubts=reading.doubts,
        known_truth=question.known_truth,
    )


def _sweep_row(sweep: SweepOfQuestions) -> WallRow:
    """One row for all values, with the verdict of those that differ most."""
    readings = [(value, question.newest.reading) for value, question in sweep.points]
    newest = max((question.newest for _, question in sweep.points), key=lambda p: p.entry.at)
    by_verdict: dict[str, list[str]] = {}
    for value, reading in readings:
        by_verdict.setdefault(reading.verdict, []).append(value)
    verdict = next(word for word in MARKS if word in by_verdict)
    summary = "; ".join(
        f"{word} at {', '.join(by_verdict[word])}" for word in MARKS if word in by_verdict
    )
    doubts = [doubt for _, reading in readings for doubt in reading.doubts]
    return WallRow(
        label=sweep.label,
        question=newest.entry.question,
        page=address.question_page(sweep.points[-1][1]),
        report="",
        mark=MARKS[verdict],
        verdict=verdict,
        sentence=f"{summary[0].upper()}{summary[1:]}, each by itself.",
        beam=draw_curve(sweep.label, sweep.key, readings),
        strip=None,
        weighings=sum(len(question.points) for _, question in sweep.points),
        at=utc(newest.entry.at),
        machine=newest.entry.machine_words,
        doubts=tuple(dict.fromkeys(doubts)),
        known_truth=all(question.known_truth for _, question in sweep.points),
        values=tuple(
            WallValue(
                value=value,
                page=address.question_page(question),
                mark=MARKS.get(question.newest.reading.verdict, "?"),
                reading=short_reading(question.newest.reading),
            )
            for value, question in sweep.points
        ),
    )


def _unjudged(entry: Entry, reports: Mapping[str, str]) -> Unjudged:
    return Unjudged(entry.path, entry.study, utc(entry.at), reports.get(entry.path, ""))
