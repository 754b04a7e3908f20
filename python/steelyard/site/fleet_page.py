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
from steelyard.report.contrast_text import MARKS
from steelyard.site import address
from steelyard.site.address import short_reading, utc
from steelyard.site.pictures import draw_beam, reach

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

    @property
    def words(self) -> str:
        """For its sign in the matrix."""
        said = f"{self.machine}: {self.verdict}, {self.reading}"
        return f"{said}; doubts: {self.doubts}" if self.doubted else said


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
        return tuple(one for one in self.groups if one.kind == kind)


@dataclass(frozen=True)
class FleetShown:
    """The page."""

    questions: tuple[FleetQuestion, ...]
    """As they are on the wall: checks of the balance last."""
    kinds: tuple[str, ...]
    hosts: int


def show_fleet(
    questions: Sequence[QuestionHistory], found: Sequence[Across], reports: Mapping[str, str]
) -> FleetShown:
    """The page of these questions; `found`: what hosts answered to them; `reports`: path of a
    record → the address of its report, or empty."""
    machines: dict[str, set[str]] = {}
    for one in found:
        machines.setdefault(one.question, set()).update(one.machines)
    several = sorted(
        (one for one in questions if len(machines[one.name]) > 1), key=lambda one: one.known_truth
    )
    shown = tuple(_question(one, found, reports) for one in several)
    groups = [group for one in shown for group in one.groups]
    return FleetShown(
        questions=shown,
        kinds=tuple(sorted({group.kind for group in groups}, key=lambda k: (k == UNKNOWN_KIND, k))),
        hosts=len({host.machine for group in groups for host in group.hosts}),
    )


def _question(
    question: QuestionHistory, found: Sequence[Across], reports: Mapping[str, str]
) -> FleetQuestion:
    end = reach(point.reading for point in question.points)
    return FleetQuestion(
        name=question.name,
        label=question.label,
        page=address.question_page(question),
        groups=tuple(_kind(one, end, reports) for one in found if one.question == question.name),
    )


def _kind(one: Across, end: float, reports: Mapping[str, str]) -> ShownKind:
    counted = {host.machine: _host(host, end, reports) for host in one.hosts}
    others = {
        host.machine: _host(host, end, reports, why)
        for host, why in one.left_out
        if host.machine not in counted
    }
    every = {**counted, **others}
    return ShownKind(
        kind=one.kind or UNKNOWN_KIND,
        builds=one.builds,
        sentence=one.sentence if one.hosts else "",
        hosts=tuple(every[machine] for machine in sorted(every)),
    )


def _host(
    host: HostResult, end: float, reports: Mapping[str, str], left_out: str = ""
) -> ShownHost:
    entry, reading = host.point.entry, host.point.reading
    return ShownHost(
        machine=host.machine,
        page=f"q/{reading.question}.html#{address.record_name(entry)}",
        report=reports.get(entry.path, ""),
        at=utc(entry.at),
        mark=MARKS.get(reading.verdict, "?"),
        verdict=reading.verdict,
        reading=short_reading(reading),
        beam=draw_beam(reading, end),
        doubts=", ".join(reading.doubts) or "none",
        doubted=bool(reading.doubts),
        left_out=left_out,
    )
