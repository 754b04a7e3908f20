"""Draws the effect at each percentile of latency with its interval, one row a percentile."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from steelyard.model.units import NS_PER_US, format_duration, format_percent
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear, decimals_of
from steelyard.report.contrast import Interval, Json, finite
from steelyard.report.contrast_text import reading_text, row_reading

_ROW = 46
_TOP = 20
_FOOT = 30


def quantile_name(quantile: float) -> str:
    """`"p50"`, `"p99.9"`."""
    return f"p{quantile * 100:.6g}"


def draw_percentile_effects(
    rows: Sequence[Json], control: str, arm: str, arm_class: str, width: float
) -> Markup:
    """Rows hold `quantile`, `control_us`, `arm_us` and an estimate in percent with its ends."""
    values = [
        value
        for row in rows
        for key in ("estimate_percent", "low_percent", "high_percent")
        if (value := finite(row.get(key))) is not None
    ]
    reach = min(max([abs(value) for value in values] or [1.0]) * 1.1, 400.0)
    x = Linear(-reach, reach, 16, width - 16)
    height = _TOP + _ROW * len(rows) + _FOOT
    said = "; ".join(f"{quantile_name(r['quantile'])}: {row_reading(r)}" for r in rows)
    drawing = Drawing(width, height, f"Latency of {arm} against {control} by percentile", said)
    bottom = height - _FOOT
    ticks = x.ticks(8 if width > 500 else 4)
    for tick in ticks:
        zero = abs(tick) < 1e-9
        drawing.line(x(tick), _TOP, x(tick), bottom, "zero" if zero else "grid")
        label = "0" if zero else format_percent(tick, decimals_of(ticks))
        drawing.text(x(tick), bottom + 17, label, "", "middle")
    drawing.text(x.start, 12, "◂ shorter", "side")
    drawing.text(x.end, 12, "longer ▸", "side", "end")
    for index, row in enumerate(rows):
        _draw_row(drawing, row, x, _TOP + index * _ROW, arm_class)
    return drawing.svg()


def _draw_row(drawing: Drawing, row: Json, x: Linear, top: float, arm_class: str) -> None:
    y = top + 31
    interval = Interval.read(row)
    drawing.text(x.start, top + 15, _name(row), "halo")
    drawing.text(x.end, top + 15, reading_text(interval), "halo strong", "end")
    middle = interval.estimate_percent
    if middle is None:
        return
    low, high = interval.low_percent, interval.high_percent
    left = x.start if low is None else x.clamped(low)
    right = x.end if high is None else x.clamped(high)
    drawing.line(left, y, right, y, f"interval thin {arm_class}")
    for end, place in ((low, left), (high, right)):
        if end is not None:
            drawing.line(place, y - 6, place, y + 6, f"cap {arm_class}")
    drawing.add("circle", cx=x.clamped(middle), cy=y, r=5, class_=f"estimate {arm_class}")


def _name(row: Json) -> str:
    times = [finite(row.get(key)) for key in ("control_us", "arm_us")]
    shown = [format_duration(value * NS_PER_US) for value in times if value is not None]
    name = quantile_name(float(row["quantile"]))
    return f"{name}  {shown[0]} → {shown[1]}" if len(shown) == 2 else name
