"""Chooses what the page of a question shows: its newest verdict, a chart and a table a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from markupsafe import Markup

from steelyard.history.entry import Entry
from steelyard.history.question import Point, QuestionHistory, asked_keys, machines_of
from steelyard.history.trend import LevelStep, trend_of
from steelyard.report.charts.drawing import WIDE, both_widths
from steelyard.report.charts.interval import draw_interval
from steelyard.site import address
from steelyard.site.address import margin_text, short_reading, utc
from steelyard.site.over_time import draw_over_time, most_points
from steelyard.wording.contrast_text import MARKS


@dataclass(frozen=True)
class ShownWeighing:
    """A row of the table."""

    name: str
    """Its place in the page's address."""
    at: str
    by_file: bool
    """Whether the time is that of a file."""
    mark: str
    verdict: str
    reading: str
    margin: str
    epochs: int
    version: str
    doubts: str
    report: str
    """Its address; empty: there is none."""
    path: str
    compare: str
    """Address of its comparison with the one before; empty: it is the first."""


@dataclass(frozen=True)
class ShownMachine:
    """A question on one machine."""

    machine: str
    chart: Markup | None
    """None: no valid verdict."""
    drawn: int
    """How many of the weighings the widest chart has room for."""
    sentence: str
    steps: tuple[LevelStep, ...]
    left_out: tuple[tuple[str, str], ...]
    rows: tuple[ShownWeighing, ...]
    """The newest first."""


@dataclass(frozen=True)
class QuestionShown:
    """The page."""

    label: str
    title: str
    asked: str
    name: str
    newest: Point
    mark: str
    interval: Markup
    at: str
    report: str
    machines: tuple[ShownMachine, ...]
    keys: tuple[tuple[str, str], ...]
    """Of the study, that make the question."""
    doubts: tuple[str, ...]


def show_question(question: QuestionHistory, reports: Mapping[str, str]) -> QuestionShown:
    """The page of a question; `reports`: path of a record → its report's address, or empty."""
    newest = question.newest
    reading = newest.reading
    return QuestionShown(
        label=question.label,
        title=newest.entry.title,
        asked=newest.entry.question,
        name=address.question_file(question.name),
        newest=newest,
        mark=MARKS.get(reading.verdict, "?"),
        interval=both_widths(
            lambda width: draw_interval(
                reading,
                reading.margin_percent,
                f"tone {reading.verdict}",
                width,
                reading.true_percent,
            ),
            WIDE - 60,
        ),
        at=utc(newest.entry.at),
        report=_above(reports.get(newest.entry.path, "")),
        machines=tuple(_machine(question, machine, reports) for machine in machines_of(question)),
        keys=tuple(sorted(asked_keys(newest.entry.keys, reading.arm).items())),
        doubts=reading.doubts,
    )


def _machine(question: QuestionHistory, machine: str, reports: Mapping[str, str]) -> ShownMachine:
    trend = trend_of(question, machine)

    def address_of(entry: Entry) -> str:
        return _above(reports.get(entry.path, ""))

    draw = partial(draw_over_time, trend, address_of)
    here = [point for point in question.points if point.entry.machine_words == machine]
    before = [None, *here[:-1]]
    rows = [_weighing(point, old, reports) for point, old in zip(here, before, strict=True)]
    return ShownMachine(
        machine=machine,
        chart=both_widths(draw, WIDE) if trend.points else None,
        drawn=min(len(trend.points), most_points(WIDE)),
        sentence=trend.sentence,
        steps=trend.steps,
        left_out=trend.left_out,
        rows=tuple(reversed(rows)),
    )


def _weighing(point: Point, before: Point | None, reports: Mapping[str, str]) -> ShownWeighing:
    entry, reading = point.entry, point.reading
    pair = {"a": before.entry.path, "b": entry.path} if before else {}
    build = entry.builds.get(reading.arm)
    return ShownWeighing(
        name=address.record_name(entry),
        at=utc(entry.at),
        by_file=entry.at_from == "file",
        mark=MARKS.get(reading.verdict, "?"),
        verdict=reading.verdict,
        reading=short_reading(reading),
        margin=margin_text(reading),
        epochs=reading.epochs,
        version=build.version if build else "",
        doubts=", ".join(reading.doubts) or "none",
        report=_above(reports.get(entry.path, "")),
        path=entry.path,
        compare=f"../{address.COMPARE}#{urlencode(pair)}" if pair else "",
    )


def _above(name: str) -> str:
    """An address as pages in a folder of the site have it."""
    return f"../{name}" if name else ""
