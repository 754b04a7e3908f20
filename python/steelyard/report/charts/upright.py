"""Draws upright scales, of percent and of rates, and estimates with their intervals on one."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.units import format_percent
from steelyard.record.contrast import PercentInterval
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear, decimals_of

LEFT, RIGHT = 58, 16
"""Beside the points: the scale's numbers, and the edge."""
UPPER, LOWER = 18, 44
"""Above and below them: the edge, and their names with that of all."""


def draw_percent_grid(drawing: Drawing, y: Linear, left: float, right: float) -> None:
    """Round values of an upright scale from `left` to `right`, zero among them, with their
    numbers."""
    ticks = y.ticks(6)
    for tick in ticks:
        zero = abs(tick) < 1e-9
        drawing.line(left, y(tick), right, y(tick), "zero" if zero else "grid")
        label = "0" if zero else format_percent(tick, decimals_of(ticks))
        drawing.text(left - 6, y(tick) + 4, label, "", "end")


def draw_rate_grid(drawing: Drawing, y: Linear, left: float, right: float, most: int) -> None:
    """About `most` round values of an upright scale of rates from `left` to `right`, with their
    numbers: in thousands ("12 k") where the largest has five digits."""
    ticks = y.ticks(most)
    thousands = bool(ticks) and max(ticks) >= 10_000
    scaled = [tick / 1000 if thousands else tick for tick in ticks]
    digits = decimals_of(scaled)
    for tick, value in zip(ticks, scaled, strict=True):
        drawing.line(left, y(tick), right, y(tick), "grid")
        label = f"{value:.{digits}f}" + (" k" if thousands and value else "")
        drawing.text(left - 6, y(tick) + 4, label, "", "end")


def draw_joined(
    drawing: Drawing,
    reach: float,
    margin_percent: float,
    points: Sequence[tuple[str, PercentInterval]],
    name: str,
) -> None:
    """Points at equal distances from left to right, each with its name, its interval and the line
    to the next, over the margin, on a scale that ends at ±`reach`; an end that is not known is at
    the scale's. `name`: of all, below them."""
    width, height = drawing.width, drawing.height
    y = Linear(-reach, reach, height - LOWER, UPPER)
    band = y(margin_percent), y(-margin_percent)
    drawing.rect(LEFT, band[0], width - RIGHT - LEFT, band[1] - band[0], "margin")
    draw_percent_grid(drawing, y, LEFT, width - RIGHT)
    step = (width - LEFT - RIGHT) / max(1, len(points))
    places = [LEFT + step * (number + 0.5) for number in range(len(points))]
    estimates = [
        (x, y.clamped(interval.estimate_percent))
        for x, (_, interval) in zip(places, points, strict=True)
        if interval.estimate_percent is not None
    ]
    drawing.polyline(estimates, "series arm1 thin")
    for x, (label, interval) in zip(places, points, strict=True):
        _draw_point(drawing, x, y, interval)
        drawing.text(x, height - LOWER + 18, label, "", "middle")
    drawing.text((LEFT + width - RIGHT) / 2, height - 6, name, "side", "middle")


def _draw_point(drawing: Drawing, x: float, y: Linear, interval: PercentInterval) -> None:
    low = y.start if interval.low_percent is None else y.clamped(interval.low_percent)
    high = y.end if interval.high_percent is None else y.clamped(interval.high_percent)
    drawing.line(x, low, x, high, "interval thin arm1")
    for end, at in ((interval.low_percent, low), (interval.high_percent, high)):
        if end is not None:
            drawing.line(x - 6, at, x + 6, at, "cap arm1")
    if interval.estimate_percent is not None:
        cy = y.clamped(interval.estimate_percent)
        drawing.add("circle", cx=x, cy=cy, r=5, class_="estimate arm1")
