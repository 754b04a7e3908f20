"""Draws throughput of every slice over time by arm, epochs side by side, thinned to fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from markupsafe import Markup

from steelyard.model.units import format_duration
from steelyard.report.charts.drawing import Drawing, number
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.upright import draw_rate_grid
from steelyard.report.source import SliceDot

MOST_DOTS = 5_000
_KEPT_ENDS = 40
"""Slowest and fastest slices of each arm that thinning never drops."""
_HEIGHT = 340
_TOP = 22
_FOOT = 42
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
        _HEIGHT,
        "Throughput of every slice over time, by arm",
        f"{sum(map(len, dots.values()))} slices in {len(panels)} epochs.",
    )
    _draw_axes(drawing, y, panels, width)
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
        return Linear(0, 1, _HEIGHT - _FOOT, _TOP)
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 100], ordered[-1 - len(ordered) // 100]
    room = max((high - low) / 2, high * 0.02, 1e-9)
    bottom, top = max(ordered[0], low - room, 0.0), min(ordered[-1], high + room)
    pad = max((top - bottom) * 0.05, top * 0.002, 1e-9)
    return Linear(max(bottom - pad, 0.0), top + pad, _HEIGHT - _FOOT, _TOP)


def _draw_axes(
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
        (_LEFT + width) / 2, _HEIGHT - 6, f"epoch (each about {long} of load)", "quiet", "middle"
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
