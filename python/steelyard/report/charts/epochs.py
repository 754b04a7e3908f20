"""Draws every epoch as a dot whose shape shows the slot, and the estimate with its interval."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.model.units import percent_of_log
from steelyard.record.contrast import ContrastLine, PercentInterval
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.settling import PERCENT_LEFT, draw_percent_axis, epoch_ticks
from steelyard.wording.contrast_text import reading_text, shown_epoch

_HEIGHT = 290
_FOOT = 40
_BESIDE = 46
"""Room at the right for the estimate's own column."""


def draw_epochs(
    contrast: ContrastLine,
    span: tuple[float, float],
    margin_percent: float,
    arm_class: str,
    width: float,
) -> Markup:
    """One contrast's epochs; `span` is the percent range shared with the settling chart."""
    read = [(row, row.d) for row in contrast.details.epochs if row.d is not None]
    numbers = [shown_epoch(row) for row, _ in read] or [1]
    y = Linear(*span, _HEIGHT - _FOOT, 14)
    x = Linear(min(numbers) - 0.6, max(numbers) + 0.6, PERCENT_LEFT, width - _BESIDE - 8)
    drawing = Drawing(
        width,
        _HEIGHT,
        f"{contrast.pair}, epoch by epoch",
        f"{len(read)} epochs; estimate {reading_text(contrast)}. "
        "The table below gives every value.",
    )
    draw_percent_axis(drawing, y, (x.start, width - 6), margin_percent)
    for tick in epoch_ticks(numbers, x):
        drawing.text(x(tick), _HEIGHT - _FOOT + 18, str(tick), "", "middle")
    drawing.text((x.start + x.end) / 2, _HEIGHT - 6, "epoch", "quiet", "middle")
    for row, d in read:
        cy = y.clamped(percent_of_log(d))
        slot = row.slots.get(contrast.arm, 0)
        drawing.mark(slot, x(shown_epoch(row)), cy, f"dot {arm_class}")
    _draw_estimate(drawing, contrast, y, width, arm_class)
    return drawing.svg()


def _draw_estimate(
    drawing: Drawing, interval: PercentInterval, y: Linear, width: float, arm_class: str
) -> None:
    middle = interval.estimate_percent
    if middle is None:
        return
    cx = width - _BESIDE / 2 - 2
    low, high = interval.low_percent, interval.high_percent
    drawing.text(cx, _HEIGHT - _FOOT + 18, "all", "strong", "middle")
    if low is None and high is None:
        drawing.add("circle", cx=cx, cy=y.clamped(middle), r=6, class_=f"dot {arm_class}")
        return
    bottom = y.start if low is None else y.clamped(low)
    top = y.end if high is None else y.clamped(high)
    drawing.line(cx, bottom, cx, top, f"interval {arm_class}")
    for end, at in ((low, bottom), (high, top)):
        if end is not None:
            drawing.line(cx - 7, at, cx + 7, at, f"cap {arm_class}")
    drawing.add("circle", cx=cx, cy=y.clamped(middle), r=6, class_=f"estimate {arm_class}")
