"""Chooses what the page of a question shows: its newest verdict, a table a machine, and a chart
over its weighings: intervals with the margin band, steps, links to reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from markupsafe import Markup

from steelyard.history.entry import Entry
from steelyard.history.question import Point, QuestionHistory, machines_of
from steelyard.history.trend import LevelStep, QuestionTrend, TrendPoint, trend_of
from steelyard.model.units import percent_of_log
from steelyard.report.charts.drawing import WIDE, Drawing, both_widths
from steelyard.report.charts.interval import draw_interval
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.upright import draw_percent_grid
from steelyard.site import address
from steelyard.site.address import margin_text, short_reading, utc
from steelyard.site.pictures import reach
from steelyard.wording.contrast_text import MARKS

_HEIGHT, _TOP, _FOOT, _LEFT, _RIGHT = 320.0, 26.0, 44.0, 58.0, 14.0
_NARROWEST, _FINGER = 13.0, 24.0
"""Room that a dot takes, in pixels: for a mouse, and on a phone (WCAG 2.5.8 asks for 24)."""
_PHONE = 500.0
_DATE = 78.0
AddressOf = Callable[[Entry], str]
"""Record → the address of its report; empty: it has none."""


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
    question: str
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
        question=newest.entry.question,
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
        keys=tuple(sorted(newest.question_keys.items())),
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


def most_points(width: float) -> int:
    """How many weighings have room side by side."""
    return int((width - _LEFT - _RIGHT) / (_FINGER if width < _PHONE else _NARROWEST))


def draw_over_time(trend: QuestionTrend, address_of: AddressOf, width: float) -> Markup:
    """The last weighings that have room, the oldest at the left, at equal distances; a dot leads
    to its report. Levels are drawn as lines where there are steps."""
    first = max(0, len(trend.points) - most_points(width))
    points = trend.points[first:]
    readings = [point.point.reading for point in points]
    high = reach(readings)
    y = Linear(-high, high, _HEIGHT - _FOOT, _TOP)
    step = (width - _LEFT - _RIGHT) / max(len(points), 1)
    places = [_LEFT + step * (number + 0.5) for number in range(len(points))]
    drawing = Drawing(
        width, _HEIGHT, f"{trend.question.label}, weighing by weighing", f"{trend.sentence}."
    )
    _draw_axis(drawing, y, readings[-1].margin_percent, width)
    _draw_levels(drawing, trend, first, y, (places, step))
    for x, point in zip(places, points, strict=True):
        _draw_point(drawing, point, (x, step), y, address_of(point.point.entry))
    _draw_dates(drawing, points, places, step)
    return drawing.svg("group")


def _draw_axis(drawing: Drawing, y: Linear, margin: float, width: float) -> None:
    end = width - _RIGHT
    top, foot = y.clamped(margin), y.clamped(-margin)
    drawing.rect(_LEFT, top, end - _LEFT, foot - top, "margin")
    for edge in (top, foot):
        drawing.line(_LEFT, edge, end, edge, "margin-edge")
    draw_percent_grid(drawing, y, _LEFT, end)


def _draw_levels(
    drawing: Drawing,
    trend: QuestionTrend,
    first: int,
    y: Linear,
    across: tuple[Sequence[float], float],
) -> None:
    places, step = across
    if len(trend.levels) < 2 or not places:
        return
    for level in trend.levels:
        if level.last < first:
            continue
        left = places[max(level.first - first, 0)] - step / 2
        right = places[level.last - first] + step / 2
        at = y.clamped(percent_of_log(level.level))
        drawing.line(left, at, right, at, "level-line")
        if level.first > first:
            drawing.line(left, _TOP - 8, left, y.start, "step-line")
            drawing.text(left, _TOP - 12, "step", "quiet", "middle")


def _draw_point(
    drawing: Drawing, point: TrendPoint, across: tuple[float, float], y: Linear, address: str
) -> None:
    """`across`: its place, and the room that it has."""
    x, step = across
    reading, entry = point.point.reading, point.point.entry
    low = y.start if reading.low_percent is None else y.clamped(reading.low_percent)
    high = y.end if reading.high_percent is None else y.clamped(reading.high_percent)
    tone = f"tone {reading.verdict}"
    if reading.low_percent is not None or reading.high_percent is not None:
        drawing.line(x, low, x, high, f"interval thin {tone}")
    for end, at in ((reading.low_percent, low), (reading.high_percent, high)):
        if end is not None:
            drawing.line(x - 4, at, x + 4, at, f"cap {tone}")
    middle = y.clamped(reading.estimate_percent or 0.0)
    if not address:
        drawing.add("circle", cx=x, cy=middle, r=5, class_=f"dot {tone}")
        return
    title = f"{utc(entry.at)}: {reading.verdict}, {short_reading(reading)}; its report"
    with drawing.link(address, title):
        drawing.add("title", title)
        drawing.add("circle", cx=x, cy=middle, r=min(_FINGER / 2, step / 2), class_="touch")
        drawing.add("circle", cx=x, cy=middle, r=5.5, class_=f"estimate {tone}")


def _draw_dates(
    drawing: Drawing, points: Sequence[TrendPoint], places: Sequence[float], step: float
) -> None:
    """Below as many points as have room; always below the last."""
    every = max(1, round(_DATE / step + 0.5))
    for number in range(len(points) - 1, -1, -every):
        date = points[number].place[:10]
        x = min(max(places[number], _DATE / 2), drawing.width - _DATE / 2)
        drawing.text(x, _HEIGHT - _FOOT + 18, date, "", "middle")
