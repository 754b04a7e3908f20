"""Chooses what the wall shows: a row a question with its newest verdict, and what has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.history.entry import Entry, Unread
from steelyard.history.index import History
from steelyard.history.question import Question
from steelyard.report.contrast_text import MARKS
from steelyard.site import address
from steelyard.site.address import sentence, utc
from steelyard.site.pictures import draw_beam, draw_strip


@dataclass(frozen=True)
class WallRow:
    """A question on the wall."""

    label: str
    asked: str
    """The question in words; empty: the study has none."""
    page: str
    report: str
    """Empty: there is none."""
    mark: str
    verdict: str
    sentence: str
    beam: Markup
    strip: Markup
    weighings: int
    at: str
    machine: str
    doubts: tuple[str, ...]
    known_truth: bool


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
    history: History, questions: Sequence[Question], reports: Mapping[str, str]
) -> WallShown:
    """The wall of a history; `reports`: path of a record → the address of its report, or empty."""
    newest = sorted(questions, key=lambda one: one.newest.entry.at, reverse=True)
    ordered = sorted(newest, key=lambda one: one.known_truth)
    rows = tuple(_row(one, reports) for one in ordered)
    return WallShown(
        rows=rows,
        verdicts=tuple(word for word in MARKS if word in {row.verdict for row in rows}),
        machines=tuple(sorted({row.machine for row in rows})),
        unjudged=tuple(
            _unjudged(one, reports) for one in history.entries if one.state == "no verdict"
        ),
        unread=history.unread_summary,
        records=len(history.entries),
    )


def _row(question: Question, reports: Mapping[str, str]) -> WallRow:
    entry, reading = question.newest.entry, question.newest.reading
    here = [
        point.reading
        for point in question.points
        if point.entry.machine_words == entry.machine_words
    ]
    return WallRow(
        label=question.label,
        asked=entry.question,
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


def _unjudged(entry: Entry, reports: Mapping[str, str]) -> Unjudged:
    return Unjudged(entry.path, entry.study, utc(entry.at), reports.get(entry.path, ""))
