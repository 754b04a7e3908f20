"""Draws the effect at each percentile of latency with its interval, one row a percentile."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from steelyard.model.units import NS_PER_US, format_digits, format_duration, format_percent
from steelyard.record.verdict import Latency
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.interval import draw_whiskers
from steelyard.report.charts.scale import Linear, decimals_of
from steelyard.wording.contrast_text import reading_text

_ROW = 46
_TOP = 20
_FOOT = 30


def quantile_name(quantile: float) -> str:
    """`"p50"`, `"p99.9"`."""
    return f"p{format_digits(quantile * 100, 6)}"


def draw_percentile_effects(
    rows: Sequence[Latency], control: str, arm: str, arm_class: str, width: float
) -> Markup:
    """The rows of one arm against the control, a percentile each."""
    values = [
        value
        for row in rows
        for value in (row.estimate_percent, row.low_percent, row.high_percent)
        if value is not None
    ]
    reach = min(max([abs(value) for value in values] or [1.0]) * 1.1, 400.0)
    x = Linear(-reach, reach, 16, width - 16)
    height = _TOP + _ROW * len(rows) + _FOOT
    description = "; ".join(f"{quantile_name(r.quantile)}: {reading_text(r)}" for r in rows)
    drawing = Drawing(
        width, height, f"Latency of {arm} against {control} by percentile", description
    )
    bottom = height - _FOOT
    draw_effect_axis(drawing, x, (_TOP, bottom), ("shorter", "longer"))
    for index, row in enumerate(rows):
        _draw_row(drawing, row, x, _TOP + index * _ROW, arm_class)
    return drawing.svg()


def draw_effect_axis(
    drawing: Drawing, x: Linear, rows: tuple[float, float], sides: tuple[str, str]
) -> None:
    """The axis of percents below rows of effects, their top and bottom given, and which side means
    what."""
    top, bottom = rows
    ticks = x.ticks(8 if drawing.width > 500 else 4)
    for tick in ticks:
        zero = abs(tick) < 1e-9
        drawing.line(x(tick), top, x(tick), bottom, "zero" if zero else "grid")
        label = "0" if zero else format_percent(tick, decimals_of(ticks))
        drawing.text(x(tick), bottom + 17, label, "", "middle")
    drawing.text(x.start, 12, f"◂ {sides[0]}", "side")
    drawing.text(x.end, 12, f"{sides[1]} ▸", "side", "end")


def _draw_row(drawing: Drawing, row: Latency, x: Linear, top: float, arm_class: str) -> None:
    y = top + 31
    drawing.text(x.start, top + 15, _name(row), "halo")
    drawing.text(x.end, top + 15, reading_text(row), "halo strong", "end")
    middle = row.estimate_percent
    if middle is None:
        return
    draw_whiskers(drawing, row, x, y, arm_class)
    drawing.add("circle", cx=x.clamped(middle), cy=y, r=5, class_=f"estimate {arm_class}")


def _name(row: Latency) -> str:
    control, arm = (format_duration(value * NS_PER_US) for value in (row.control_us, row.arm_us))
    return f"{quantile_name(row.quantile)}  {control} → {arm}"
