"""Draws a judgement as one self-contained SVG file: the intervals, then every arm's rows in order,
on a logarithmic scale, with levels and outliers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup, escape

from steelyard.analysis.two_samples.change_points import Segment
from steelyard.foreign.judgement.judgement import Judgement
from steelyard.foreign.judgement.overview import steps_of
from steelyard.report.charts.drawing import CHARACTER, Drawing, save
from steelyard.report.charts.interval import draw_interval
from steelyard.report.charts.scale import Linear, Log
from steelyard.wording.threats.numbers import as_published

WIDTH = 920
INTERVAL_HEIGHT = 150
MOST_ARMS = 6
_MARGIN = 20
_STYLE = """
svg { --card: #fff; --ink: #1b1f24; --quiet: #5b6470; --grid: #ebe8e1; --paper: #fff;
  --margin: #e9e6dd; --margin-edge: #8a8577; }
.arm0 { --arm: #0b66ad } .arm1 { --arm: #c2500a } .arm2 { --arm: #0a7d5c }
.arm3 { --arm: #8243b5 } .arm4 { --arm: #8a6d00 } .arm5 { --arm: #b0336f }
text { font: 12px system-ui, "Segoe UI", Roboto, Arial, "Liberation Sans", sans-serif;
  fill: var(--ink) }
text.quiet, text.side { fill: var(--quiet) } text.strong { font-weight: 650 }
text.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px }
.margin { fill: var(--margin) }
.margin-edge { stroke: var(--margin-edge); stroke-dasharray: 4 3 }
.beam { stroke: var(--ink); stroke-width: 2 } .fulcrum { fill: var(--ink) }
.grid { stroke: var(--grid) } .interval { stroke: var(--arm); stroke-width: 6 }
.cap { stroke: var(--arm); stroke-width: 2.5 }
.estimate { fill: var(--arm); stroke: var(--card); stroke-width: 1.5 }
.dot { fill: var(--card); stroke: var(--arm); stroke-width: 1.8 } .dot.solid { fill: var(--arm) }
.whisker { stroke: var(--arm); opacity: .35 }
.level { stroke: var(--arm); stroke-width: 2; opacity: .6 }
.look { stroke: var(--quiet); stroke-dasharray: 2 3 }
"""

HEIGHT = 190
_FOOT = 26
_LEFT = 62
FEW_TIMES = 6.0
MOST_DOTS = 400
"""More rows are drawn as the range and the median of neighbours."""
Level = tuple[int, int, float]
"""First and last row, counted from 0, and the level between them in the metric's unit."""


def write_picture(judgement: Judgement, path: Path) -> None:
    """Write the picture; RecordError where the file cannot be written."""
    save(picture_of(judgement), path)


def picture_of(judgement: Judgement) -> str:
    """The SVG text: an interval a contrast, then rows on one scale, at most six arms."""
    parts: list[tuple[Markup, float]] = []
    for number, contrast in enumerate(judgement.contrasts[: MOST_ARMS - 1], start=1):
        judged = judgement.judged(contrast)
        if judged.estimate_percent is not None:
            margin = 100 * contrast.terms.margin
            drawn = draw_interval(judged, margin, f"arm{number}", WIDTH)
            title = Markup('<text x="14" y="14" class="strong">{}</text>').format(
                f"{contrast.arm} against {contrast.control}: {contrast.verdict.kind.value}"
            )
            parts.append((title + _at(drawn, 18), INTERVAL_HEIGHT + 18))
    parts += [(rows, HEIGHT + 10) for rows in _rows(judgement)]
    key = "rows in their order; open diamonds lie far out, lines are levels between steps"
    parts.append((Markup('<text x="62" y="10" class="quiet">{}</text>').format(key), 20))
    return _document(parts, judgement)


def _rows(judgement: Judgement) -> list[Markup]:
    arms = judgement.comparison.arms[:MOST_ARMS]
    positive = np.concatenate([arm.values[arm.values > 0] for arm in arms])
    low, high = float(positive.min()), float(positive.max())
    span = (low / 1.05, high * 1.05)
    unit = judgement.comparison.metric.unit
    drawn = []
    for number, arm in enumerate(arms):
        profile = judgement.overview.profiles[arm.arm]
        title = f"{arm.arm}{f', {unit}' if unit else ''}"
        levels = _levels(_segments(judgement, arm.arm), arm.arm, judgement)
        drawn.append(
            draw_rows(
                title,
                np.maximum(arm.values, low).tolist(),
                span,
                levels,
                profile.outliers,
                f"arm{number}",
                WIDTH,
            )
        )
    return drawn


def _segments(judgement: Judgement, arm: str) -> Sequence[Segment]:
    """The segments between level steps, of all arms together where their rows are paired; none
    where no step is reported."""
    overview = judgement.overview
    if overview.common is not None and overview.common_logs is not None:
        return overview.common.segments if steps_of(overview.common, overview.common_logs) else ()
    profile = overview.profiles[arm]
    return profile.segments if steps_of(profile, overview.logs[arm]) else ()


def _levels(segments: Sequence[Segment], arm: str, judgement: Judgement) -> list[Level]:
    """An arm's own level in each of the segments."""
    logs = judgement.overview.logs[arm]
    return [
        (
            segment.first,
            segment.last,
            math.exp(float(logs[segment.first : segment.last + 1].mean())),
        )
        for segment in segments
    ]


def _at(drawing: Markup, y: float) -> Markup:
    return Markup('<g transform="translate(0 {})">{}</g>').format(f"{y:g}", drawing)


def _document(parts: list[tuple[Markup, float]], judgement: Judgement) -> str:
    y, placed = float(_MARGIN), []
    for drawing, height in parts:
        placed.append(_at(drawing, y))
        y += height
    title = escape(", ".join(judgement.comparison.sources))
    width, height = WIDTH + 2 * _MARGIN, y + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" '
        f'viewBox="{-_MARGIN} 0 {width} {height:g}" role="img">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n"
        f'<rect x="{-_MARGIN}" width="{width}" height="{height:g}" fill="#fff"/>\n'
        + "\n".join(map(str, placed))
        + "\n</svg>\n"
    )


def draw_rows(
    title: str,
    values: Sequence[float],
    span: tuple[float, float],
    levels: Sequence[Level],
    far: Sequence[int],
    arm_class: str,
    width: float,
) -> Markup:
    """One arm; `span`: the scale that all arms share; `far`: rows that lie far out."""
    drawing = Drawing(width, HEIGHT, title, f"{len(values)} rows in their order")
    y = Log(*span, HEIGHT - _FOOT, 26)
    x = Linear(0.5, len(values) + 0.5, _LEFT, width - 10)
    drawing.text(_LEFT, 14, title, "strong")
    for tick in value_ticks(y):
        drawing.line(x.start, y(tick), x.end, y(tick), "grid")
        drawing.text(_LEFT - 8, y(tick) + 4, as_published(tick, 6), "quiet", "end")
    _draw_levels(drawing, levels, x, y, arm_class)
    if len(values) <= MOST_DOTS:
        lone = set(far)
        for row, value in enumerate(values):
            shape = 1 if row in lone else 0
            drawing.mark(shape, x(row + 1), y.clamped(value), f"dot {arm_class}", size=3.2)
    else:
        _draw_ranges(drawing, values, x, y, arm_class)
    _draw_numbers(drawing, levels, len(values), x)
    return drawing.svg()


def value_ticks(y: Log) -> list[float]:
    """Round values to write beside the axis: 1, 2, 5 × 10ⁿ over decades, even steps within one."""
    if y.high / y.low > FEW_TIMES:
        return y.ticks(5)
    return Linear(y.low, y.high, 0, 1).ticks(4)


def _draw_levels(
    drawing: Drawing, levels: Sequence[Level], x: Linear, y: Log, arm_class: str
) -> None:
    if len(levels) < 2:
        return
    for first, last, level in levels:
        drawing.line(x(first + 0.5), y(level), x(last + 1.5), y(level), f"level {arm_class}")
        if first:
            drawing.line(x(first + 0.5), 22, x(first + 0.5), y.start, "look")


def _draw_ranges(
    drawing: Drawing, values: Sequence[float], x: Linear, y: Log, arm_class: str
) -> None:
    """Neighbouring rows as one line from the lowest to the highest, a dot at the median."""
    edges = [len(values) * i // MOST_DOTS for i in range(MOST_DOTS + 1)]
    for low, high in itertools.pairwise(edges):
        some = sorted(values[low:high])
        at = x((low + high + 1) / 2)
        drawing.line(at, y.clamped(some[0]), at, y.clamped(some[-1]), f"whisker {arm_class}")
        middle = y.clamped(some[len(some) // 2])
        drawing.add("circle", cx=at, cy=middle, r=1.2, class_=f"dot solid {arm_class}")


def _draw_numbers(drawing: Drawing, levels: Sequence[Level], rows: int, x: Linear) -> None:
    """Row numbers: where levels begin, the first and the last, where there is room."""
    numbers = [first + 1 for first, _, _ in levels] or [1]
    free = 0.0
    for number in [*numbers, rows]:
        at = x(number)
        if at < free:
            continue
        anchor = "end" if number == rows > 1 else "middle"
        edge = at + 4 if anchor == "end" else at
        drawing.text(edge, HEIGHT - 8, str(number), "quiet", anchor)
        free = at + (len(str(number)) + 2) * CHARACTER
