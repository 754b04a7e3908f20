"""Draws the small pictures of the site: of the wall a beam with one interval, and a strip of the
last 20; and badges, by which other pages link to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from steelyard.history.entry import KnownReading
from steelyard.history.question import QuestionHistory
from steelyard.model.files.printable import printable_xml
from steelyard.model.units import format_percent
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.interval import draw_whiskers
from steelyard.report.charts.scale import Linear, known_ends, reach_of, round_reach
from steelyard.report.charts.upright import draw_joined
from steelyard.site.address import margin_text, short_reading
from steelyard.wording.contrast_text import MARKS

BEAM_WIDTH, STRIP_WIDTH = 300.0, 300.0
_BEAM_HEIGHT, _STRIP_HEIGHT, _CURVE_HEIGHT = 58.0, 64.0, 190.0
MOST_IN_STRIP = 20
_MOST_PERCENT = 400.0


def draw_beam(reading: KnownReading, end: float | None = None) -> Markup:
    """The interval of one reading on a scale around zero, the margin drawn. `end` of the scale in
    percent, where it is that of others too."""
    end = reach([reading]) if end is None else end
    x = Linear(-end, end, 8, BEAM_WIDTH - 8)
    description = f"{short_reading(reading)}, margin {margin_text(reading)}"
    drawing = Drawing(BEAM_WIDTH, _BEAM_HEIGHT, f"{reading.pair}: the interval", description)
    margin = reading.margin_percent
    drawing.rect(x.clamped(-margin), 6, x.clamped(margin) - x.clamped(-margin), 30, "margin")
    for side in (-margin, margin):
        drawing.line(x.clamped(side), 6, x.clamped(side), 36, "margin-edge")
    drawing.line(x.start, 36, x.end, 36, "beam")
    drawing.line(x(0), 6, x(0), 42, "zero")
    _draw_across(drawing, x, reading)
    drawing.text(x.start, 52, format_percent(-end, 1), "quiet")
    drawing.text(x(0), 54, "0", "quiet", "middle")
    drawing.text(x.end, 52, format_percent(end, 1), "quiet", "end")
    return drawing.svg()


def _draw_across(drawing: Drawing, x: Linear, reading: KnownReading) -> None:
    middle, tone = reading.estimate_percent, f"tone {reading.verdict}"
    if middle is None:
        return
    if reading.low_percent is not None or reading.high_percent is not None:
        draw_whiskers(drawing, reading, x, 21, tone, cap=7)
    drawing.add("circle", cx=x.clamped(middle), cy=21, r=5, class_=f"estimate {tone}")


def draw_curve(label: str, name: str, readings: Sequence[tuple[str, KnownReading]]) -> Markup:
    """The intervals of a sweep by the swept value, joined, with the margin of the first."""
    description = "; ".join(f"{value}: {short_reading(reading)}" for value, reading in readings)
    drawing = Drawing(BEAM_WIDTH, _CURVE_HEIGHT, label, description)
    end = reach(reading for _, reading in readings)
    draw_joined(drawing, end, readings[0][1].margin_percent, readings, name)
    return drawing.svg()


def draw_strip(readings: Sequence[KnownReading]) -> Markup:
    """The last intervals, the oldest at the left, on one scale with the margin of the newest."""
    recent = list(readings[-MOST_IN_STRIP:])
    newest = recent[-1]
    y = _strip_scale(recent)
    description = "; ".join(short_reading(reading) for reading in recent)
    drawing = Drawing(
        STRIP_WIDTH, _STRIP_HEIGHT, f"{newest.pair}: the last {len(recent)} intervals", description
    )
    margin = newest.margin_percent
    drawing.rect(
        0, y.clamped(margin), STRIP_WIDTH, y.clamped(-margin) - y.clamped(margin), "margin"
    )
    drawing.line(0, y(0), STRIP_WIDTH, y(0), "zero")
    step = STRIP_WIDTH / MOST_IN_STRIP
    first = MOST_IN_STRIP - len(recent)
    for number, reading in enumerate(recent):
        x = step * (first + number + 0.5)
        if reading.low_percent is not None or reading.high_percent is not None:
            low = y.start if reading.low_percent is None else y.clamped(reading.low_percent)
            high = y.end if reading.high_percent is None else y.clamped(reading.high_percent)
            drawing.line(x, low, x, high, f"interval thin tone {reading.verdict}")
        if reading.estimate_percent is not None:
            at = y.clamped(reading.estimate_percent)
            drawing.line(x - 4.5, at, x + 4.5, at, f"cap tone {reading.verdict}")
    return drawing.svg()


def _strip_scale(readings: Sequence[KnownReading]) -> Linear:
    """As much as holds all intervals, zero and the margin: a strip has no room to be symmetric."""
    most, margin = reach(readings), readings[-1].margin_percent
    values = [
        min(max(value, -most), most)
        for reading in readings
        for value in (reading.low_percent, reading.estimate_percent, reading.high_percent)
        if value is not None
    ]
    low, high = min([*values, -margin]), max([*values, margin])
    beyond = 0.06 * (high - low)
    return Linear(low - beyond, high + beyond, _STRIP_HEIGHT - 2, 2)


def reach(readings: Iterable[KnownReading]) -> float:
    """How far a scale around zero goes to hold all intervals and margins, in percent; at most 400:
    what lies further out is drawn at the end of the scale."""
    every = list(readings)
    needed = reach_of(known_ends(every), max(reading.margin_percent for reading in every))
    return min(round_reach(needed), _MOST_PERCENT)


_CHARACTER = 6.7
_BADGE_TONES = {
    "slower": "#a3241c",
    "faster": "#1b6e3c",
    "equivalent": "#2f5d8a",
    "inconclusive": "#6b5300",
    "invalid": "#5d2a77",
}
"""Of at least 5:1 against white."""
_BADGE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
    'aria-label="{words}"><title>{words}</title>'
    '<rect width="{left}" height="20" fill="#4a4f57"/>'
    '<rect x="{left}" width="{right}" height="20" fill="{tone}"/>'
    '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
    'text-anchor="middle"><text x="{left_middle}" y="14" textLength="{left_text}" '
    'lengthAdjust="spacingAndGlyphs">{name}</text><text x="{right_middle}" y="14" '
    'textLength="{right_text}" lengthAdjust="spacingAndGlyphs">{said}</text></g></svg>\n'
)


def draw_badge(question: QuestionHistory) -> Markup:
    """`checksums │ ▲ +3.3 % [2.7, 4.0]`; the verdict is a sign and a colour."""
    newest = question.newest
    name = newest.entry.study
    message = f"{MARKS.get(newest.reading.verdict, '?')} {short_reading(newest.reading)}"
    left, right = (round(len(text) * _CHARACTER) + 14 for text in (name, message))
    picture = _BADGE.format(
        width=left + right,
        left=left,
        right=right,
        left_middle=left / 2,
        right_middle=left + right / 2,
        left_text=left - 14,
        right_text=right - 14,
        name=name,
        said=message,
        tone=_BADGE_TONES.get(newest.reading.verdict, "#4a4f57"),
        words=f"{question.label}: {newest.reading.verdict}, {short_reading(newest.reading)}",
    )
    return Markup(printable_xml(picture))
