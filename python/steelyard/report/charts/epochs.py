"""Draws what came of the epochs: throughput of every slice over time by arm, epochs side by side,
thinned to fit; on one axis of percent every epoch as a dot whose shape shows the slot, with the
estimate and its interval, and the interval as it settles epoch by epoch.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from markupsafe import Markup

from steelyard.evaluation.judge_epochs import counted_log_ratio
from steelyard.model.units import format_duration, format_percent, percent_of_log
from steelyard.record.contrast import ContrastLine, PercentInterval, Settling
from steelyard.report.charts.drawing import Drawing, number
from steelyard.report.charts.scale import Linear, decimals_of
from steelyard.report.charts.upright import draw_rate_grid
from steelyard.report.source import SliceDot
from steelyard.wording.contrast_text import reading_text, shown_epoch

MOST_DOTS = 5_000
_KEPT_ENDS = 40
"""Slowest and fastest slices of each arm that thinning never drops."""
_SLICES_HEIGHT = 340
_TOP = 22
_SLICES_FOOT = 42
_LEFT = 58


def thin(dots: Sequence[SliceDot], most: int) -> list[SliceDot]:
    """At most `most` of the dots: evenly spread in time, with the slowest and fastest kept."""
    if len(dots) <= most:
        return list(dots)
    ends = min(_KEPT_ENDS, most // 4)
    by_speed = sorted(range(len(dots)), key=lambda index: dots[index].throughput)
    indexes = {*by_speed[:ends], *by_speed[-ends:]}
    even = most - len(indexes)
    indexes |= {index * len(dots) // even for index in range(even)}
    return [dots[index] for index in sorted(indexes)]


def draw_slices(
    dots: Mapping[str, Sequence[SliceDot]],
    levels: Mapping[str, Mapping[int, float]],
    arm_classes: Mapping[str, str],
    width: float,
    marked: Collection[int] = (),
) -> Markup:
    """Dots by arm; every epoch is a panel as wide as it was long, restarts are left out.

    `levels` is the throughput of every arm by epoch, from totals, drawn as a bar over its dots.
    `marked` epochs, in which something happened, bear a mark above.
    """
    drawn = {arm: thin(some, MOST_DOTS // max(len(dots), 1)) for arm, some in dots.items()}
    panels = _panels([dot for some in dots.values() for dot in some], width)
    y = _throughput_scale([dot.throughput for some in dots.values() for dot in some])
    drawing = Drawing(
        width,
        _SLICES_HEIGHT,
        "Throughput of every slice over time, by arm",
        f"{sum(map(len, dots.values()))} slices in {len(panels)} epochs.",
    )
    _draw_panels(drawing, y, panels, width)
    for epoch in sorted(marked):
        if epoch in panels:
            x = panels[epoch][0]
            drawing.mark(2, (x.start + x.end) / 2, _TOP - 8, "dot happened", 4)
    for arm, some in drawn.items():
        radius = "small" if len(some) > 800 or width < 500 else ""
        drawing.path(_dots_path(some, panels, y), f"slices {radius} {arm_classes[arm]}")
    for class_ in ("under", ""):
        for arm, by_epoch in levels.items():
            path = "".join(
                f"M{number(panels[epoch][0].start)} {number(y.clamped(level))}"
                f"H{number(panels[epoch][0].end)}"
                for epoch, level in by_epoch.items()
                if epoch in panels
            )
            drawing.path(path, f"level {class_ or arm_classes.get(arm, '')}")
    return drawing.svg()


def outside(dots: Mapping[str, Sequence[SliceDot]]) -> int:
    """How many slices lie below or above the picture and are drawn at its edge."""
    every = [dot.throughput for some in dots.values() for dot in some]
    y = _throughput_scale(every)
    return sum(1 for value in every if not y.low <= value <= y.high)


def _panels(dots: Sequence[SliceDot], width: float) -> dict[int, tuple[Linear, str]]:
    """For every epoch its time axis, and how long it was."""
    spans: dict[int, tuple[int, int]] = {}
    for dot in dots:
        start, end = spans.get(dot.epoch, (dot.start_ns, dot.end_ns))
        spans[dot.epoch] = (min(start, dot.start_ns), max(end, dot.end_ns))
    gap = 6.0 if len(spans) * 20 < width else 1.0
    room = width - _LEFT - 6 - gap * max(len(spans) - 1, 0)
    total = sum(end - start for start, end in spans.values()) or 1
    panels: dict[int, tuple[Linear, str]] = {}
    left = float(_LEFT)
    for epoch, (start, end) in sorted(spans.items()):
        right = left + room * (end - start) / total
        panels[epoch] = (Linear(start, end, left, right), format_duration(end - start))
        left = right + gap
    return panels


def _throughput_scale(values: Sequence[float]) -> Linear:
    """Holds all but the wildest: the middle 98 % and half as much again on either side."""
    if not values:
        return Linear(0, 1, _SLICES_HEIGHT - _SLICES_FOOT, _TOP)
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 100], ordered[-1 - len(ordered) // 100]
    room = max((high - low) / 2, high * 0.02, 1e-9)
    bottom, top = max(ordered[0], low - room, 0.0), min(ordered[-1], high + room)
    pad = max((top - bottom) * 0.05, top * 0.002, 1e-9)
    return Linear(max(bottom - pad, 0.0), top + pad, _SLICES_HEIGHT - _SLICES_FOOT, _TOP)


def _draw_panels(
    drawing: Drawing, y: Linear, panels: Mapping[int, tuple[Linear, str]], width: float
) -> None:
    for index, (x, _) in enumerate(panels.values()):
        if index % 2 == 0:
            drawing.rect(x.start, _TOP, x.end - x.start, y.start - _TOP, "panel")
    draw_rate_grid(drawing, y, _LEFT, width - 6, 6)
    free = 0.0
    for epoch, (x, _) in panels.items():
        middle = (x.start + x.end) / 2
        if middle >= free:
            drawing.text(middle, y.start + 17, str(epoch), "", "middle")
            free = middle + 24
    long = next((duration for _, duration in panels.values()), "")
    drawing.text(4, 12, "transactions/s", "quiet")
    drawing.text(
        (_LEFT + width) / 2,
        _SLICES_HEIGHT - 6,
        f"epoch (each about {long} of load)",
        "quiet",
        "middle",
    )


def _dots_path(
    dots: Sequence[SliceDot], panels: Mapping[int, tuple[Linear, str]], y: Linear
) -> str:
    """One path for all dots of an arm: round-capped strokes of no length, ten bytes a dot."""
    steps = []
    for dot in dots:
        middle = (dot.start_ns + dot.end_ns) / 2
        at = panels[dot.epoch][0](middle)
        steps.append(f"M{number(at)} {number(y.clamped(dot.throughput))}h0")
    return "".join(steps)


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
