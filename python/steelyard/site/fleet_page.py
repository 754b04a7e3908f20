"""Chooses what the page of hosts shows: every question that several machines answered, by kind.

A question has a table: its hosts by build and kind, each with its newest verdict that stands, its
interval on one scale with those of the others, or why it has none. Above all tables stands the
matrix: questions by kinds, a sign a host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.fleet.hosts import Across, HostResult
from steelyard.history.question import QuestionHistory
from steelyard.site import address
from steelyard.site.address import short_reading, utc
from steelyard.site.pictures import draw_beam, reach
from steelyard.wording.contrast_text import MARKS

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
