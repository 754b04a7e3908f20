"""Draws an interval in characters on a scale of percent, with the margin marked around zero.

                                 ├─────●─────┤
─────┴─────────┴─────────[━━━━━┷━━━━━]─────────┴─────────┴─────
   −3 %      −2 %      −1 %    ▲    +1 %     +2 %      +3 %
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.units import format_digits, format_percent
from steelyard.record.contrast import JudgedContrast, PercentInterval
from steelyard.report.charts.scale import Linear, decimals_of, reach_of, round_reach
from steelyard.wording.contrast_text import better_side

LEAST_WIDTH = 30
"""Narrower than this, a chart shows nothing."""


def percent_scale(interval: PercentInterval, margin_percent: float, width: int) -> Linear:
    """Percent → column (a fraction of one is rounded away), reaching a round number either side.

    Round reaches keep the scale still while an interval settles.
    """
    ends = [interval.low_percent, interval.estimate_percent, interval.high_percent]
    reach = round_reach(reach_of(ends, margin_percent))
    # An even last column puts zero in the very middle.
    return Linear(-reach, reach, 0, (max(width, LEAST_WIDTH) - 1) // 2 * 2)


def interval_chart(contrast: JudgedContrast, margin_percent: float, width: int) -> list[str]:
    """Four lines: the interval, the axis, its labels, and what lies on either side."""
    x = percent_scale(contrast, margin_percent, width)
    left, right = better_side(contrast)
    return [
        interval_line(contrast, x),
        *axis_lines(x, margin_percent),
        _sides(
            f"◂ {left}",
            f"margin ±{format_digits(margin_percent, 3)} %",
            f"{right} ▸",
            int(x.end) + 1,
        ),
    ]


def interval_line(interval: PercentInterval, x: Linear) -> str:
    """`├──●──┤` over the axis; `◂` and `▸` are open ends, `○` an estimate without interval."""
    middle = interval.estimate_percent
    if middle is None:
        return ""
    low, high = interval.low_percent, interval.high_percent
    row = [" "] * (int(x.end) + 1)
    if low is None and high is None:
        row[column(middle, x)] = "○"
        return "".join(row).rstrip()
    draw_bar(row, low, high, x)
    row[column(middle, x)] = "●"
    return "".join(row).rstrip()


def draw_bar(row: list[str], low: float | None, high: float | None, x: Linear) -> None:
    """Draw `├─────┤` into a row of characters; an end that is None is open, at the row's edge."""
    first = 0 if low is None else column(low, x)
    last = len(row) - 1 if high is None else column(high, x)
    row[first : last + 1] = "─" * (last - first + 1)
    row[first] = "◂" if low is None else "├"
    row[last] = "▸" if high is None else "┤"


def axis_lines(x: Linear, margin_percent: float) -> list[str]:
    """The axis with the margin around zero, and its labels."""
    return [_axis(x, margin_percent), tick_labels(_ticks(x), x, "▲")]


def column(value: float, x: Linear) -> int:
    """The column of a value, at the edge when it lies outside."""
    return round(x.clamped(value))


def _axis(x: Linear, margin_percent: float) -> str:
    row = ["─"] * (int(x.end) + 1)
    for tick in _ticks(x):
        row[column(tick, x)] = "┴"
    first, last = column(-margin_percent, x), column(margin_percent, x)
    row[first : last + 1] = "━" * (last - first + 1)
    row[first], row[last] = "[", "]"
    row[column(0, x)] = "┷"
    return "".join(row)


def tick_labels(ticks: Sequence[float], x: Linear, zero: str) -> str:
    """Those of the ticks that have room beside each other, that of zero and of the ends first."""
    row = [" "] * (int(x.end) + 1)
    digits = decimals_of([*ticks])
    for tick in sorted(ticks, key=lambda tick: (abs(tick) > 1e-9, -abs(tick))):
        label = zero if abs(tick) < 1e-9 else format_percent(tick, digits)
        start = min(max(column(tick, x) - len(label) // 2, 0), len(row) - len(label))
        around = row[max(start - 1, 0) : start + len(label) + 1]
        if start >= 0 and not "".join(around).strip():
            row[start : start + len(label)] = label
    return "".join(row).rstrip()


def _ticks(x: Linear) -> list[float]:
    return x.ticks(max(int((x.end + 1) / 11), 2))


def _sides(left: str, middle: str, right: str, width: int) -> str:
    row = f"{middle:^{width}}"
    return left + row[len(left) : width - len(right)] + right
