"""Draws the rows of one arm in order, on a logarithmic scale, with levels and outliers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from markupsafe import Markup

from steelyard.report.charts.drawing import CHARACTER, Drawing
from steelyard.report.charts.scale import Linear, Log

HEIGHT = 190
_FOOT = 26
_LEFT = 62
FEW_TIMES = 6.0
MOST_DOTS = 400
"""More rows are drawn as the range and the median of neighbours."""
Level = tuple[int, int, float]
"""First and last row, counted from 0, and the level between them in the metric's unit."""


def draw_rows(
    title: str,
    values: Sequence[float],
    span: tuple[float, float],
    levels: Sequence[Level],
    far: Sequence[int],
    arm_class: str,
    width: float,
) -> Markup:
    """One arm; `span`: the scale that all arms share; `far`: rows that lie far out."""
    drawing = Drawing(width, HEIGHT, title, f"{len(values)} rows in their order")
    y = Log(*span, HEIGHT - _FOOT, 26)
    x = Linear(0.5, len(values) + 0.5, _LEFT, width - 10)
    drawing.text(_LEFT, 14, title, "strong")
    for tick in value_ticks(y):
        drawing.line(x.start, y(tick), x.end, y(tick), "grid")
        drawing.text(_LEFT - 8, y(tick) + 4, f"{tick:g}", "quiet", "end")
    _draw_levels(drawing, levels, x, y, arm_class)
    if len(values) <= MOST_DOTS:
        lone = set(far)
        for row, value in enumerate(values):
            shape = 1 if row in lone else 0
            drawing.mark(shape, x(row + 1), y.clamped(value), f"dot {arm_class}", size=3.2)
    else:
        _draw_ranges(drawing, values, x, y, arm_class)
    _draw_numbers(drawing, levels, len(values), x)
    return drawing.svg()


def value_ticks(y: Log) -> list[float]:
    """Round values to write beside the axis: 1, 2, 5 × 10ⁿ over decades, even steps within one."""
    if y.high / y.low > FEW_TIMES:
        return y.ticks(5)
    return Linear(y.low, y.high, 0, 1).ticks(4)


def _draw_levels(
    drawing: Drawing, levels: Sequence[Level], x: Linear, y: Log, arm_class: str
) -> None:
    if len(levels) < 2:
        return
    for first, last, level in levels:
        drawing.line(x(first + 0.5), y(level), x(last + 1.5), y(level), f"level {arm_class}")
        if first:
            drawing.line(x(first + 0.5), 22, x(first + 0.5), y.start, "look")


def _draw_ranges(
    drawing: Drawing, values: Sequence[float], x: Linear, y: Log, arm_class: str
) -> None:
    """Neighbouring rows as one line from the lowest to the highest, a dot at the median."""
    edges = [len(values) * i // MOST_DOTS for i in range(MOST_DOTS + 1)]
    for low, high in itertools.pairwise(edges):
        some = sorted(values[low:high])
        at = x((low + high + 1) / 2)
        drawing.line(at, y.clamped(some[0]), at, y.clamped(some[-1]), f"whisker {arm_class}")
        middle = y.clamped(some[len(some) // 2])
        drawing.add("circle", cx=at, cy=middle, r=1.2, class_=f"dot solid {arm_class}")


def _draw_numbers(drawing: Drawing, levels: Sequence[Level], rows: int, x: Linear) -> None:
    """Row numbers: where levels begin, the first and the last, where there is room."""
    numbers = [first + 1 for first, _, _ in levels] or [1]
    free = 0.0
    for number in [*numbers, rows]:
        at = x(number)
        if at < free:
            continue
        anchor = "end" if number == rows > 1 else "middle"
        edge = at + 4 if anchor == "end" else at
        drawing.text(edge, HEIGHT - 8, str(number), "quiet", anchor)
        free = at + (len(str(number)) + 2) * CHARACTER
