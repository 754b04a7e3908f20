"""Chooses what the pages of all questions show: the wall, a row a question with its newest verdict,
and what has none; and that of hosts, every question that several machines answered, by kind.

There a question has a table: its hosts by build and kind, each with its newest verdict that stands,
its interval on one scale with those of the others, or why it has none. Above all tables stands the
matrix: questions by kinds, a sign a host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.fleet.hosts import Across, HostResult
from steelyard.history.entry import Entry, Unread
from steelyard.history.index import History
from steelyard.history.question import QuestionHistory
from steelyard.history.sweeps import SweepOfQuestions, sweeps_of
from steelyard.site import address
from steelyard.site.address import sentence, short_reading, utc
from steelyard.site.pictures import draw_beam, draw_curve, draw_strip, reach
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


UNKNOWN_KIND = "kind not known"


@dataclass(frozen=True)
class ShownHost:
    """A machine's answer."""

    machine: str
    page: str
    """Its place on the page of the question."""
    report: str
    """Empty: there is none."""
    at: str
    mark: str
    verdict: str
    reading: str
    beam: Markup
    doubts: str
    doubted: bool
    left_out: str
    """Why it does not count among the hosts of its kind; empty: it does."""
    newer_left_out: str
    """Why a newer weighing of the machine does not count; empty: there is none."""

    @property
    def words(self) -> str:
        """For its sign in the matrix."""
        doubts = f"doubts: {self.doubts}" if self.doubted else ""
        why = self.newer_left_out
        newer = f"a newer weighing does not count: {why}" if why else ""
        text = f"{self.machine}: {self.verdict}, {self.reading}"
        return "; ".join(filter(None, (text, doubts, newer)))


@dataclass(frozen=True)
class ShownKind:
    """Hosts of one kind that weighed the same builds."""

    kind: str
    builds: str
    sentence: str
    """Of those that count, without a full stop; empty: there is none."""
    hosts: tuple[ShownHost, ...]


@dataclass(frozen=True)
class FleetQuestion:
    """A question that several machines answered."""

    name: str
    label: str
    page: str
    groups: tuple[ShownKind, ...]

    def of(self, kind: str) -> tuple[ShownKind, ...]:
        """The groups of a kind: one for each pair of builds."""
        return tuple(group for group in self.groups if group.kind == kind)


@dataclass(frozen=True)
class FleetShown:
    """The page."""

    questions: tuple[FleetQuestion, ...]
    """As they are on the wall: checks of the balance last."""
    kinds: tuple[str, ...]
    hosts: int


def show_fleet(
    questions: Sequence[QuestionHistory], answers: Sequence[Across], reports: Mapping[str, str]
) -> FleetShown:
    """The page of these questions; `answers`: what hosts answered to them; `reports`: path of a
    record → the address of its report, or empty."""
    machines: dict[str, set[str]] = {}
    for answer in answers:
        machines.setdefault(answer.question, set()).update(answer.machines)
    several = sorted(
        (question for question in questions if len(machines[question.name]) > 1),
        key=lambda question: question.known_truth,
    )
    tables = tuple(_question(question, answers, reports) for question in several)
    groups = [group for table in tables for group in table.groups]
    return FleetShown(
        questions=tables,
        kinds=tuple(sorted({group.kind for group in groups}, key=lambda k: (k == UNKNOWN_KIND, k))),
        hosts=len({host.machine for group in groups for host in group.hosts}),
    )


def _question(
    question: QuestionHistory, answers: Sequence[Across], reports: Mapping[str, str]
) -> FleetQuestion:
    end = reach(point.reading for point in question.points)
    return FleetQuestion(
        name=question.name,
        label=question.label,
        page=address.question_page(question),
        groups=tuple(
            _kind(answer, end, reports) for answer in answers if answer.question == question.name
        ),
    )


def _kind(answer: Across, end: float, reports: Mapping[str, str]) -> ShownKind:
    newest = {host.machine: _time(host) for host in answer.hosts}
    newer = {
        host.machine: why
        for host, why in answer.left_out
        if host.machine in newest and _time(host) > newest[host.machine]
    }
    counted = {
        host.machine: _host(host, end, reports, newer_left_out=newer.get(host.machine, ""))
        for host in answer.hosts
    }
    others = {
        host.machine: _host(host, end, reports, why)
        for host, why in answer.left_out
        if host.machine not in counted
    }
    every = {**counted, **others}
    return ShownKind(
        kind=answer.kind or UNKNOWN_KIND,
        builds=answer.builds,
        sentence=answer.sentence if answer.hosts else "",
        hosts=tuple(every[machine] for machine in sorted(every)),
    )


def _time(host: HostResult) -> tuple[str, str]:
    return host.point.entry.at, host.point.entry.path


def _host(
    host: HostResult,
    end: float,
    reports: Mapping[str, str],
    left_out: str = "",
    newer_left_out: str = "",
) -> ShownHost:
    entry, reading = host.point.entry, host.point.reading
    return ShownHost(
        machine=host.machine,
        page=f"q/{address.question_file(reading.question)}.html#{address.record_name(entry)}",
        report=reports.get(entry.path, ""),
        at=utc(entry.at),
        mark=MARKS.get(reading.verdict, "?"),
        verdict=reading.verdict,
        reading=short_reading(reading),
        beam=draw_beam(reading, end),
        doubts=", ".join(reading.doubts) or "none",
        doubted=bool(reading.doubts),
        left_out=left_out,
        newer_left_out=newer_left_out,
    )
