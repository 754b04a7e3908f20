"""Draws every epoch as a dot whose shape shows the slot, with the estimate and its interval, and
the interval as it settles epoch by epoch, on one axis of percent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from steelyard.evaluation.judge_epochs import counted_log_ratio
from steelyard.model.units import format_percent, percent_of_log
from steelyard.record.contrast import ContrastLine, PercentInterval, Settling
from steelyard.report.charts.drawing import Drawing, number
from steelyard.report.charts.scale import Linear, decimals_of
from steelyard.wording.contrast_text import reading_text, shown_epoch

PERCENT_LEFT = 58
"""Room for the labels of a percent axis."""
_HEIGHT = 290
_FOOT = 40
_BESIDE = 46
"""Room at the right for the estimate's own column."""


def percent_span(contrast: ContrastLine, margin_percent: float) -> tuple[float, float]:
    """The range that holds epochs, interval, zero and margin; wild early ends do not count."""
    values = [0.0, -margin_percent * 1.15, margin_percent * 1.15]
    ends = [contrast.low_percent, contrast.high_percent]
    ends += [percent_of_log(d) for d in contrast.details.d if d is not None]
    values += [value for value in ends if value is not None]
    room = (max(values) - min(values)) * 0.06
    return min(values) - room, max(values) + room


def draw_percent_axis(
    drawing: Drawing, y: Linear, across: tuple[float, float], margin_percent: float
) -> None:
    """Labels and grid of a percent axis, the line of no difference and the margin around it."""
    left, right = across
    top, bottom = y.clamped(margin_percent), y.clamped(-margin_percent)
    drawing.rect(left, top, right - left, bottom - top, "margin")
    ticks = y.ticks(6)
    digits = decimals_of(ticks)
    for tick in ticks:
        zero = abs(tick) < 1e-9
        drawing.line(left, y(tick), right, y(tick), "zero" if zero else "grid")
        label = "0" if zero else format_percent(tick, digits)
        drawing.text(left - 6, y(tick) + 4, label, "", "end")
    for side in (margin_percent, -margin_percent):
        drawing.line(left, y.clamped(side), right, y.clamped(side), "margin-edge")


def epoch_ticks(numbers: list[int], x: Linear) -> list[int]:
    """Which epochs get their number written: as many as fit, the first and the last of a stride."""
    first, last = min(numbers), max(numbers)
    room = max(int((x.end - x.start) / 26), 1)
    stride = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500) if (last - first) / s < room)
    return [n for n in range(first, last + 1) if stride == 1 or n % stride == 0 or n == first]


def draw_settling(
    contrast: ContrastLine,
    span: tuple[float, float],
    margin_percent: float,
    looks: list[tuple[int, str]],
    arm_class: str,
    width: float,
) -> Markup:
    """Estimate and interval as they stood after each epoch; planned looks are upright lines."""
    steps = contrast.details.settling
    numbers = [step.epochs for step in steps] or [1]
    y = Linear(*span, _HEIGHT - _FOOT, 14)
    x = Linear(min(numbers) - 0.6, max(numbers) + 0.6, PERCENT_LEFT, width - 12)
    drawing = Drawing(
        width,
        _HEIGHT,
        f"The interval of {contrast.pair} settling",
        "Estimate and interval after each epoch. The table below gives every value.",
    )
    draw_percent_axis(drawing, y, (x.start, x.end), margin_percent)
    for tick in epoch_ticks(numbers, x):
        drawing.text(x(tick), _HEIGHT - _FOOT + 18, str(tick), "", "middle")
    drawing.text((x.start + x.end) / 2, _HEIGHT - 6, "epochs so far", "quiet", "middle")
    for look, label in looks:
        if x.low <= look <= x.high:
            drawing.line(x(look), 20, x(look), _HEIGHT - _FOOT, "look")
            anchor = "end" if x(look) > width / 2 else "start"
            drawing.text(x(look) + (-5 if anchor == "end" else 5), 24, label, "quiet", anchor)
    _draw_band(drawing, steps, x, y, arm_class)
    return drawing.svg()


def _draw_band(
    drawing: Drawing, steps: Sequence[Settling], x: Linear, y: Linear, arm_class: str
) -> None:
    """The interval as a band; an end that is still open runs along the edge of the picture."""
    bounded = [
        (x(step.epochs), step)
        for step in steps
        if step.low_percent is not None or step.high_percent is not None
    ]
    lows = [(a, _end_y(step.low_percent, y, y.start)) for a, step in bounded]
    highs = [(a, _end_y(step.high_percent, y, y.end)) for a, step in bounded]
    if len(bounded) > 1:
        ring = lows + highs[::-1]
        drawing.path(
            "M" + "L".join(f"{number(a)} {number(b)}" for a, b in ring) + "Z", f"band {arm_class}"
        )
    for (a, low), (_, high) in zip(lows, highs, strict=True):
        drawing.line(a, low, a, high, f"whisker {arm_class}")
    drawing.polyline(lows, f"edge {arm_class}")
    drawing.polyline(highs, f"edge {arm_class}")
    middles = [
        (x(step.epochs), y.clamped(value))
        for step in steps
        if (value := step.estimate_percent) is not None
    ]
    drawing.polyline(middles, f"course {arm_class}")
    for a, b in middles:
        drawing.add("circle", cx=a, cy=b, r=3, class_=f"estimate {arm_class}")


def _end_y(value: float | None, y: Linear, open_end: float) -> float:
    return open_end if value is None else y.clamped(value)


def draw_epochs(
    contrast: ContrastLine,
    span: tuple[float, float],
    margin_percent: float,
    arm_class: str,
    width: float,
) -> Markup:
    """One contrast's epochs, at the edge those in which an arm did no work; `span` is the percent
    range shared with the settling chart."""
    every = [(row, counted_log_ratio(contrast, row)) for row in contrast.details.epochs]
    read = [(row, d) for row, d in every if not math.isnan(d)]
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
