"""Draws a sweep: both arms at each value of the key, knees marked, and their difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.evaluation.sweep import reading
from steelyard.record.sweep import Swept
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.upright import LEFT, LOWER, RIGHT, UPPER, draw_joined
from steelyard.report.tables import amount

_HEIGHT, _DIFFERENCE_HEIGHT = 260, 300
_MOST_PERCENT = 400.0
_HEADROOM = 1.12


@dataclass(frozen=True)
class Curve:
    """What an arm did at each value; None where it is not known."""

    arm: str
    arm_class: str
    """That carries its colour and dashes."""
    levels: Sequence[float | None]
    knee: int | None = None
    """Number of the point to be marked."""


def draw_levels(
    title: str, name: str, values: Sequence[str], curves: Sequence[Curve], width: float
) -> Markup:
    """Points at equal distances, from zero up; `name`: of what the values are."""
    known = [level for curve in curves for level in curve.levels if level is not None]
    said = "; ".join(f"{curve.arm}: {_words(values, curve)}" for curve in curves)
    drawing = Drawing(width, _HEIGHT, title, said)
    y = Linear(0, max(known, default=1.0) * _HEADROOM or 1.0, _HEIGHT - LOWER, UPPER)
    for tick in y.ticks(5):
        drawing.line(LEFT, y(tick), width - RIGHT, y(tick), "zero" if tick == 0 else "grid")
        drawing.text(LEFT - 6, y(tick) + 4, amount(tick), "", "end")
    step = (width - LEFT - RIGHT) / max(1, len(values))
    places = [LEFT + step * (number + 0.5) for number in range(len(values))]
    for x, value in zip(places, values, strict=True):
        drawing.text(x, _HEIGHT - LOWER + 18, value, "", "middle")
    drawing.text((LEFT + width - RIGHT) / 2, _HEIGHT - 6, name, "side", "middle")
    for curve in curves:
        _draw_curve(drawing, places, y, curve)
    return drawing.svg()


def _draw_curve(drawing: Drawing, places: Sequence[float], y: Linear, curve: Curve) -> None:
    points = [
        (x, y(level))
        for x, level in zip(places, curve.levels, strict=True)
        if level is not None and math.isfinite(level)
    ]
    drawing.polyline(points, f"series {curve.arm_class}")
    for x, top in points:
        drawing.add("circle", cx=x, cy=top, r=4, class_=f"estimate {curve.arm_class}")
    level = None if curve.knee is None else curve.levels[curve.knee]
    if curve.knee is not None and level is not None:
        x, top = places[curve.knee], y(level)
        drawing.add("circle", cx=x, cy=top, r=9, class_=f"knee {curve.arm_class}")
        drawing.text(x, max(12.0, top - 13), "knee", "halo strong", "middle")


def _words(values: Sequence[str], curve: Curve) -> str:
    pairs = zip(values, curve.levels, strict=True)
    bend = "" if curve.knee is None else f", knee at {values[curve.knee]}"
    return ", ".join(f"{amount(level)} at {value}" for value, level in pairs) + bend


def draw_sweep(swept: Swept, arm: str, width: float) -> Markup:
    """The points of one arm from left to right as they are told, at equal distances."""
    known = [
        (point.value, one) for point in swept.points for one in point.contrasts if one.arm == arm
    ]
    ends = [
        end
        for _, one in known
        for end in (one.low_percent, one.high_percent, one.estimate_percent)
        if end is not None
    ]
    reach = max(swept.margin_percent * 1.6, *(abs(end) * 1.12 for end in ends), 0.1)
    reach = min(reach, _MOST_PERCENT)
    said = "; ".join(f"{value}: {reading(one)}" for value, one in known)
    name = swept.key.rpartition(".")[2]
    drawing = Drawing(width, _DIFFERENCE_HEIGHT, f"{arm} by {name}", said)
    draw_joined(drawing, reach, swept.margin_percent, known, name)
    return drawing.svg()
