"""Draws the effect of an arm at each value of a swept key, with joint intervals."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.evaluation.sweep import reading
from steelyard.model.units import format_percent
from steelyard.record.sweep import Swept
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear, decimals_of

_HEIGHT = 300
_TOP, _FOOT, _LEFT, _RIGHT = 18, 44, 58, 16
_MOST_PERCENT = 400.0


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
    y = Linear(-reach, reach, _HEIGHT - _FOOT, _TOP)
    step = (width - _LEFT - _RIGHT) / max(1, len(known))
    said = "; ".join(f"{value}: {reading(one)}" for value, one in known)
    name = swept.key.rpartition(".")[2]
    drawing = Drawing(width, _HEIGHT, f"{arm} by {name}", said)
    band = y(swept.margin_percent), y(-swept.margin_percent)
    drawing.rect(_LEFT, band[0], width - _LEFT - _RIGHT, band[1] - band[0], "margin")
    ticks = y.ticks(6)
    for tick in ticks:
        zero = abs(tick) < 1e-9
        drawing.line(_LEFT, y(tick), width - _RIGHT, y(tick), "zero" if zero else "grid")
        label = "0" if zero else format_percent(tick, decimals_of(ticks))
        drawing.text(_LEFT - 6, y(tick) + 4, label, "", "end")
    places = [_LEFT + step * (number + 0.5) for number in range(len(known))]
    middle = [
        (x, y.clamped(one.estimate_percent))
        for x, (_, one) in zip(places, known, strict=True)
        if one.estimate_percent is not None
    ]
    drawing.polyline(middle, "series arm1 thin")
    for x, (value, one) in zip(places, known, strict=True):
        low = y(-reach) if one.low_percent is None else y.clamped(one.low_percent)
        high = y(reach) if one.high_percent is None else y.clamped(one.high_percent)
        drawing.line(x, low, x, high, "interval thin arm1")
        for end, place in ((one.low_percent, low), (one.high_percent, high)):
            if end is not None:
                drawing.line(x - 6, place, x + 6, place, "cap arm1")
        if one.estimate_percent is not None:
            cy = y.clamped(one.estimate_percent)
            drawing.add("circle", cx=x, cy=cy, r=5, class_="estimate arm1")
        drawing.text(x, _HEIGHT - _FOOT + 18, value, "", "middle")
    drawing.text((_LEFT + width - _RIGHT) / 2, _HEIGHT - 6, name, "side", "middle")
    return drawing.svg()
