"""Draws the effect of an arm at each value of a swept key, with joint intervals."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.evaluation.sweep import reading
from steelyard.record.sweep import Swept
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.upright import draw_joined

_HEIGHT = 300
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
    said = "; ".join(f"{value}: {reading(one)}" for value, one in known)
    name = swept.key.rpartition(".")[2]
    drawing = Drawing(width, _HEIGHT, f"{arm} by {name}", said)
    draw_joined(drawing, reach, swept.margin_percent, known, name)
    return drawing.svg()
