"""Formats a trend for a terminal: a row a weighing on one scale, and every step in words."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.cli.views.history.list_view import reading_words
from steelyard.cli.views.text_layout import broken
from steelyard.history.trend import QuestionTrend
from steelyard.model.units import counted
from steelyard.report.charts.scale import known_ends

_FEWEST_COLUMNS = 16
_MOST_NAMES = 3
_MOST_PERCENT = 400.0
"""What lies further out is drawn at the end of the scale, where it takes the others no room."""


def trend_lines(trend: QuestionTrend, width: int) -> Iterator[str]:
    """The printed lines of a trend."""
    yield from broken(f"{trend.question.label} on {trend.machine}", width)
    yield from _rows(trend, width)
    yield ""
    yield from broken(trend.sentence, width)
    for step in trend.steps:
        yield f"a step is no verdict; this settles it: {step.settled_by}"
    for record, why in trend.left_out:
        yield from broken(f"left out: {record}: {why}", width, others="  ")
    if others := trend.other_machines:
        weighings = counted(sum(others.values()), "weighings")
        names = "; ".join([*others][:_MOST_NAMES]) + ("; …" if len(others) > _MOST_NAMES else "")
        text = f"on {counted(len(others), 'other machines')}, not here: {weighings}"
        yield from broken(f"{text} (--machine names one: {names})", width, others="  ")


def _rows(trend: QuestionTrend, width: int) -> Iterator[str]:
    readings = [(point.place, point.point.reading) for point in trend.points]
    if not readings:
        return
    ends = known_ends(reading for _, reading in readings)
    margins = [reading.margin_percent for _, reading in readings]
    reach = min(max([*(abs(end) for end in ends), *margins, 0.1]), _MOST_PERCENT)
    texts = [reading_words(reading) for _, reading in readings]
    place_width = max(len(place) for place, _ in readings)
    columns = max(width - place_width - max(map(len, texts)) - 4, _FEWEST_COLUMNS)
    starts = [step.after for step in trend.steps]
    for row, (place, reading), text in zip(trend.points, readings, texts, strict=True):
        if row in starts:
            yield "-" * min(width, place_width + columns + 4)
        drawn = _drawn(
            (reading.low_percent, reading.estimate_percent, reading.high_percent), reach, columns
        )
        yield f"{place:<{place_width}}  {drawn}  {text}"


def _drawn(ends: tuple[float | None, float | None, float | None], reach: float, wide: int) -> str:
    """One interval as characters, zero in the middle: `   ├──●──┤ │    `."""
    low, middle, high = ends

    def at(value: float) -> int:
        return round((min(max(value / reach, -1), 1) + 1) / 2 * (wide - 1))

    row = [" "] * wide
    row[at(0)] = "│"
    if middle is not None:
        left, right = at(-reach if low is None else low), at(reach if high is None else high)
        row[left : right + 1] = "─" * (right - left + 1)
        row[left], row[right] = (
            ("├" if low is not None else "─"),
            ("┤" if high is not None else "─"),
        )
        row[at(middle)] = "●"
    return "".join(row)
