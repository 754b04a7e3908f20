"""Draws a factorial: every effect with its joint interval, and an interaction that matters."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from steelyard.record.contrast import PercentInterval
from steelyard.record.factors import EffectLine, FactorsTold, SimpleEffectLine
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.percentile_effects import draw_effect_axis
from steelyard.report.charts.scale import Linear, reach_of
from steelyard.report.charts.upright import draw_joined
from steelyard.report.contrast_text import reading_text

_ROW, _TOP, _FOOT = 46, 20, 30
_PHONE = 500
_LINE = 15
_HEIGHT = 280
_MOST_PERCENT = 400.0


def draw_effects(told: FactorsTold, width: float) -> Markup:
    """A row an effect on one scale, with the margin; main effects above, interactions below."""
    row = _ROW + (_LINE if width < _PHONE else 0)
    reach = min(reach_of(_ends(told.effects), told.margin_percent), _MOST_PERCENT)
    x = Linear(-reach, reach, 16, width - 16)
    bottom = _TOP + row * len(told.effects)
    said = "; ".join(f"{one.name}: {reading_text(one)}, {one.verdict}" for one in told.effects)
    drawing = Drawing(width, bottom + _FOOT, "Effects with joint intervals", said)
    margin = x(-told.margin_percent), x(told.margin_percent)
    drawing.rect(margin[0], _TOP, margin[1] - margin[0], bottom - _TOP, "margin")
    sides = ("slower", "faster") if told.higher_is_better else ("faster", "slower")
    draw_effect_axis(drawing, x, (_TOP, bottom), sides)
    for number, one in enumerate(told.effects):
        _draw_effect(drawing, one, x, _TOP + number * row)
    return drawing.svg()


def draw_interaction(
    parts: Sequence[SimpleEffectLine], margin_percent: float, width: float
) -> Markup:
    """The effect of a factor at both levels of another, joined: a slope is their interaction."""
    factor, by = parts[0].factor, parts[0].by
    reach = min(reach_of(_ends(parts), margin_percent), _MOST_PERCENT)
    said = "; ".join(f"with {one.level}: {reading_text(one)}" for one in parts)
    drawing = Drawing(width, _HEIGHT, f"Effect of {factor} by {by}", said)
    points = [(f"with {one.level}", one) for one in parts]
    draw_joined(drawing, reach, margin_percent, points, by)
    return drawing.svg()


def _ends(rows: Sequence[PercentInterval]) -> list[float | None]:
    return [
        end for one in rows for end in (one.low_percent, one.estimate_percent, one.high_percent)
    ]


def _draw_effect(drawing: Drawing, one: EffectLine, x: Linear, top: float) -> None:
    y = top + 31
    drawing.text(x.start, top + 15, one.name, "halo strong" if one.verdict == "matters" else "halo")
    if drawing.width < _PHONE:  # name and figures have a line each
        drawing.text(x.start, top + 15 + _LINE, reading_text(one), "halo strong")
        y += _LINE
    else:
        drawing.text(x.end, top + 15, reading_text(one), "halo strong", "end")
    middle = one.estimate_percent
    if middle is None:
        return
    left = x.start if one.low_percent is None else x.clamped(one.low_percent)
    right = x.end if one.high_percent is None else x.clamped(one.high_percent)
    arm_class = "arm1" if one.is_main else "arm2"
    drawing.line(left, y, right, y, f"interval thin {arm_class}")
    for end, place in ((one.low_percent, left), (one.high_percent, right)):
        if end is not None:
            drawing.line(place, y - 6, place, y + 6, f"cap {arm_class}")
    drawing.add("circle", cx=x.clamped(middle), cy=y, r=5, class_=f"estimate {arm_class}")
