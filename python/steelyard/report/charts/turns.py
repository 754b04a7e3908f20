"""Draws turns: throughput by the second, the contrast by time since a checkpoint, and distances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.contrast import PercentInterval
from steelyard.record.turns.turn_summary import CurveLine, DistanceLine
from steelyard.report.charts.drawing import CHARACTER, Drawing, number
from steelyard.report.charts.epochs import PERCENT_LEFT, draw_percent_axis
from steelyard.report.charts.percentile_effects import draw_effect_axis
from steelyard.report.charts.scale import Linear, decimals_of
from steelyard.report.charts.upright import draw_rate_grid
from steelyard.wording.contrast_text import reading_text

MOST_POINTS = 600
"""More seconds are drawn as the slowest and the fastest of neighbours."""
_PANEL, _GAP, _FOOT = 132, 26, 40
_CURVE, _IMAGES = 230, 90
_ROW, _ROWS_TOP = 46, 20
_STEPS_NS = tuple(
    NS_PER_S * s for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)
)


def draw_seconds(
    turns: Sequence[Turn],
    arm_classes: Mapping[str, str],
    epoch: int,
    width: float,
    first: str = "first turn",
) -> Markup:
    """Throughput by the second of the turns of one epoch, a panel each, on the same scales.

    Checkpoints are shaded from begin to end, with a line where one began; stalls bear a mark.
    `first`: of the arm that came first, empty where none did.
    """
    from steelyard.analysis.turns.evenness import throughputs  # loads numpy, as few pages need

    drawn = [turn for turn in turns if turn.seconds]
    height = len(drawn) * (_PANEL + _GAP) + _FOOT
    description = "; ".join(f"{turn.arm}: {turn.cycles} checkpoints completed" for turn in drawn)
    drawing = Drawing(width, height, f"Throughput by the second in epoch {epoch}", description)
    length_ns = max([turn.measured_ns for turn in drawn], default=NS_PER_S)
    most = max([float(throughputs(turn).max()) for turn in drawn], default=1.0)
    x = Linear(0, length_ns, PERCENT_LEFT, width - 10)
    for index, turn in enumerate(drawn):
        bottom = index * (_PANEL + _GAP) + _GAP + _PANEL - 4
        y = Linear(0, most * 1.04 or 1.0, bottom, bottom - _PANEL + 8)
        _draw_turn(drawing, turn, x, y, arm_classes.get(turn.arm, "arm1"), first)
    bottom = height - _FOOT
    for tick in _time_ticks(length_ns, x):
        label = _time(tick)
        middle = min(x(tick), width - len(label) * CHARACTER / 2)
        drawing.text(middle, bottom + 13, label, "", "middle")
    drawing.text(
        (x.start + x.end) / 2, height - 6, "time since the measured part began", "quiet", "middle"
    )
    return drawing.svg()


def _draw_turn(
    drawing: Drawing, turn: Turn, x: Linear, y: Linear, arm_class: str, first: str
) -> None:
    from steelyard.analysis.turns.evenness import throughputs
    from steelyard.analysis.turns.stalls import stalls

    zero_ns = turn.seconds[0].start_ns
    end_ns = turn.seconds[-1].end_ns
    for checkpoint in turn.checkpoints:
        left = x.clamped(checkpoint.began_ns - zero_ns)
        right = min(x.clamped((checkpoint.ended_ns or end_ns) - zero_ns), x(end_ns - zero_ns))
        drawing.rect(left, y.end, right - left, y.start - y.end, "margin")
        if zero_ns <= checkpoint.began_ns <= end_ns:
            drawing.line(left, y.end, left, y.start, "look")
    draw_rate_grid(drawing, y, x.start, x.end, 3)
    drawing.text(x.start, y.end - 8, turn.arm, "strong")
    if turn.position >= 0:
        label = ", ".join(filter(None, ("transactions/s", first if turn.position == 0 else "")))
        drawing.text(x.end, y.end - 8, label, "quiet", "end")
    speeds = throughputs(turn).tolist()
    points = [
        (x((second.start_ns + second.end_ns) / 2 - zero_ns), y.clamped(speed))
        for second, speed in zip(turn.seconds, speeds, strict=True)
    ]
    drawing.polyline(_thinned(points, min(MOST_POINTS, int(drawing.width))), f"edge {arm_class}")
    for stall in stalls(turn):
        middle = x(stall.from_ns + stall.length_ns / 2)
        drawing.mark(2, middle, y.start - 7, "dot happened", 3.6)


def _thinned(points: list[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """At most `most` of them in their order: of neighbours the highest and the lowest."""
    if len(points) <= most:
        return points
    buckets = most // 2
    edges = [len(points) * i // buckets for i in range(buckets + 1)]
    thinned = []
    for low, high in itertools.pairwise(edges):
        some = range(low, high)
        ends = {min(some, key=lambda i: points[i][1]), max(some, key=lambda i: points[i][1])}
        thinned += [points[i] for i in sorted(ends)]
    return thinned


def _time_ticks(length_ns: float, x: Linear) -> list[int]:
    """Round times as far apart as their labels are wide, from 0."""
    room = max((x.end - x.start) / (9 * CHARACTER), 1)
    step = next((s for s in _STEPS_NS if length_ns / s <= room), _STEPS_NS[-1])
    return list(range(0, int(length_ns) + 1, step))


def _time(at_ns: float) -> str:
    return format_duration(at_ns) if at_ns else "0"


def draw_by_distance(
    points: Sequence[CurveLine],
    pair: tuple[str, str],
    arm_classes: Mapping[str, str],
    margin_percent: float,
    width: float,
) -> Markup:
    """The contrast by time since a checkpoint began with joint intervals, and under it the
    full-page images per transaction of both arms; bins side by side, each as wide as the others.

    `pair`: control and arm.
    """
    control, arm = pair
    classes = [arm_classes.get(name, f"arm{index}") for index, name in enumerate(pair)]
    description = "; ".join(f"{_bin(point)}: {_reading(point)}" for point in points)
    height = 2 * _GAP + _CURVE + _IMAGES + _FOOT
    drawing = Drawing(
        width, height, f"{arm} against {control} by time since a checkpoint began", description
    )
    x = Linear(0, max(len(points), 1), PERCENT_LEFT, width - 12)
    span = _percent_span(points, margin_percent)
    y = Linear(*span, _GAP + _CURVE, _GAP)
    drawing.text(4, 12, f"throughput of {arm} against {control}", "quiet")
    draw_percent_axis(drawing, y, (x.start, x.end), margin_percent)
    for index, point in enumerate(points):
        _draw_bin(drawing, point, (x(index), x(index + 1)), y, classes[1])
    top = 2 * _GAP + _CURVE
    drawing.text(4, top - 8, "full-page images a transaction", "quiet")
    _draw_images(drawing, points, x, (top + _IMAGES, top), classes)
    _draw_edges(drawing, points, x, height)
    return drawing.svg()


def _bin(point: CurveLine) -> str:
    return f"{_time(point.from_seconds * NS_PER_S)} to {_time(point.to_seconds * NS_PER_S)}"


def _reading(interval: PercentInterval) -> str:
    return "no estimate" if interval.estimate_percent is None else reading_text(interval)


def _ends(interval: PercentInterval) -> tuple[float, float]:
    """Low and high, infinite where no data bound them."""
    low, high = interval.low_percent, interval.high_percent
    return -math.inf if low is None else low, math.inf if high is None else high


def _percent_span(lines: Sequence[PercentInterval], margin_percent: float) -> tuple[float, float]:
    """Holds the margin, every estimate, and the ends within three times the farthest estimate."""
    middles = [line.estimate_percent for line in lines if line.estimate_percent is not None]
    reach = 3 * max([abs(value) for value in middles] + [1.0])
    ends = [end for line in lines for end in _ends(line) if abs(end) <= reach]
    every = [-margin_percent, margin_percent, *middles, *ends]
    room = (max(every) - min(every)) * 0.08 or 1.0
    return min(every) - room, max(every) + room


def _draw_bin(
    drawing: Drawing, point: CurveLine, across: tuple[float, float], y: Linear, arm_class: str
) -> None:
    """The interval as a band over the bin, its estimate as a dot."""
    if point.estimate_percent is None:
        return
    low, high = _ends(point)
    left, right = across[0] + 3, across[1] - 3
    top, bottom = y.clamped(high), y.clamped(low)
    drawing.rect(left, top, right - left, bottom - top, f"band {arm_class}")
    middle = (left + right) / 2
    drawing.line(middle, bottom, middle, top, f"cap {arm_class}")
    for end, at in ((low, bottom), (high, top)):
        if y.low <= end <= y.high:
            drawing.line(middle - 6, at, middle + 6, at, f"cap {arm_class}")
    drawing.add(
        "circle",
        cx=middle,
        cy=y.clamped(point.estimate_percent),
        r=5,
        class_=f"estimate {arm_class}",
    )


def _draw_images(
    drawing: Drawing,
    points: Sequence[CurveLine],
    x: Linear,
    ends: tuple[float, float],
    classes: Sequence[str],
) -> None:
    sides: tuple[Callable[[CurveLine], float | None], ...] = (
        lambda point: point.control_images,
        lambda point: point.arm_images,
    )
    images = [value for point in points for side in sides if (value := side(point)) is not None]
    if not images:
        drawing.text(x.start, (ends[0] + ends[1]) / 2, "not counted", "quiet")
        return
    y = Linear(0, max(images) * 1.08 or 1.0, *ends)
    ticks = y.ticks(3)
    digits = decimals_of(ticks)
    for tick in ticks:
        drawing.line(x.start, y(tick), x.end, y(tick), "grid")
        drawing.text(x.start - 6, y(tick) + 4, f"{tick:.{digits}f}", "", "end")
    for side, class_ in zip(sides, classes, strict=True):
        steps = [
            f"{'M' if index == 0 or side(points[index - 1]) is None else 'L'}"
            f"{number(x(index))} {number(y(value))}H{number(x(index + 1))}"
            for index, point in enumerate(points)
            if (value := side(point)) is not None
        ]
        drawing.path("".join(steps), f"series {class_}")


def _draw_edges(drawing: Drawing, points: Sequence[CurveLine], x: Linear, height: float) -> None:
    """Times where bins meet, as many as fit."""
    edges = [*(point.from_seconds for point in points[:1]), *(point.to_seconds for point in points)]
    free = 0.0
    for index, edge in enumerate(edges):
        label = _time(edge * NS_PER_S)
        half = len(label) * CHARACTER / 2
        middle = min(x(index), drawing.width - half)
        if middle - half >= free:
            drawing.text(middle, height - _FOOT + 17, label, "", "middle")
            free = middle + half + 4
    drawing.text(
        (x.start + x.end) / 2, height - 6, "time since a checkpoint began", "quiet", "middle"
    )


def draw_distances(
    effects: Sequence[DistanceLine],
    pair: tuple[str, str],
    arm_classes: Mapping[str, str],
    margin_percent: float,
    width: float,
) -> Markup:
    """The effect as computed for each distance between checkpoints, a row with its interval."""
    control, arm = pair
    description = "; ".join(
        f"{_time(effect.seconds * NS_PER_S)}: {_reading(effect)}" for effect in effects
    )
    height = _ROWS_TOP + _ROW * len(effects) + 30
    drawing = Drawing(
        width,
        height,
        f"{arm} against {control} by distance of checkpoints, as computed",
        description,
    )
    low, high = _percent_span(effects, margin_percent)
    reach = max(-low, high)
    x = Linear(-reach, reach, 16, width - 16)
    draw_effect_axis(drawing, x, (_ROWS_TOP, height - 30), ("slower", "faster"))
    for index, effect in enumerate(effects):
        _draw_row(drawing, effect, x, _ROWS_TOP + index * _ROW, arm_classes.get(arm, "arm1"))
    return drawing.svg()


def _draw_row(
    drawing: Drawing, effect: DistanceLine, x: Linear, top: float, arm_class: str
) -> None:
    y = top + 31
    label = "a checkpoint every" if drawing.width > 500 else "every"
    drawing.text(x.start, top + 15, f"{label} {_time(effect.seconds * NS_PER_S)}", "halo")
    drawing.text(x.end, top + 15, _reading(effect), "halo strong", "end")
    if effect.estimate_percent is None:
        return
    low, high = _ends(effect)
    left, right = x.clamped(low), x.clamped(high)
    drawing.line(left, y, right, y, f"interval thin {arm_class}")
    for end, at in ((low, left), (high, right)):
        if x.low <= end <= x.high:
            drawing.line(at, y - 6, at, y + 6, f"cap {arm_class}")
    drawing.add(
        "circle", cx=x.clamped(effect.estimate_percent), cy=y, r=5, class_=f"estimate {arm_class}"
    )
