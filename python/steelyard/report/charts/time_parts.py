"""Draws where a transaction's time goes: a bar an arm, split into parts, and their differences."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from steelyard.record.verdict import TimePart, TimeParts
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.stacked_bar import (
    KEY_ROW,
    ROW,
    SIDE,
    BarPart,
    draw_bar,
    draw_key,
    key_rows,
)
from steelyard.report.time_parts import (
    PART_NAMES,
    cause_sentence,
    shown_difference,
    signed_us,
    time_text,
)

_DIFFERENCE = 40
_LINE = 15
_PHONE = 500


def draw_time_parts(breakdown: TimeParts, width: float) -> Markup:
    """Two bars, their key, and a row of difference for each part."""
    control = _bar(breakdown.parts, [part.control_us for part in breakdown.parts])
    arm = _bar(breakdown.parts, [part.arm_us for part in breakdown.parts])
    key = key_rows(control, width)
    bars = 2 * ROW
    top = bars + len(key) * KEY_ROW + 30
    height = top + len(breakdown.parts) * _difference_height(width) + 6
    title = f"Where a transaction's time goes: {breakdown.arm} against {breakdown.control}"
    drawing = Drawing(width, height, title, cause_sentence(breakdown))
    longest = max(_drawn(control), _drawn(arm)) or 1.0
    x = Linear(0.0, longest, SIDE, width - SIDE)
    draw_bar(drawing, f"{breakdown.control}  {time_text(breakdown.control_us)}", control, x)
    draw_bar(drawing, f"{breakdown.arm}  {time_text(breakdown.arm_us)}", arm, x, ROW)
    draw_key(drawing, key, bars + 14)
    _draw_differences(drawing, breakdown, top)
    return drawing.svg()


def _drawn(parts: Sequence[BarPart]) -> float:
    """The length of a bar: a rest below zero has none."""
    return sum(max(0.0, part.value) for part in parts)


def _bar(parts: Sequence[TimePart], values_us: Sequence[float]) -> list[BarPart]:
    """The parts of an arm's bar, with its times."""
    return [
        BarPart(PART_NAMES[part.part], f"part {part.part}", value_us, time_text(value_us))
        for part, value_us in zip(parts, values_us, strict=True)
    ]


def _difference_height(width: float) -> float:
    """Of a row; where it is narrow, name and figures have a line each."""
    return _DIFFERENCE + (_LINE if width < _PHONE else 0)


def _draw_differences(drawing: Drawing, breakdown: TimeParts, top: float) -> None:
    """Each part's difference as a bar from zero, with its interval."""
    ends = [
        abs(end)
        for part in breakdown.parts
        if not part.is_below_noise
        for end in (part.low_us, part.high_us, part.difference_us)
        if end is not None
    ]
    reach = max(ends, default=0.0) * 1.05 or 1.0
    x = Linear(-reach, reach, SIDE, drawing.width - SIDE)
    whole = signed_us(breakdown.arm_us - breakdown.control_us)
    drawing.text(x.start, top - 8, f"difference: {whole} a transaction", "strong")
    step, narrow = _difference_height(drawing.width), drawing.width < _PHONE
    cause = breakdown.named_cause
    for number, part in enumerate(breakdown.parts):
        y = top + number * step
        marker = "  ◂ the cause" if cause and part.part == cause.part else ""
        drawing.text(x.start, y + 14, f"{PART_NAMES[part.part]}{marker}", "halo")
        if narrow:
            y += _LINE
            drawing.text(x.start, y + 14, shown_difference(part), "halo strong")
        else:
            drawing.text(x.end, y + 14, shown_difference(part), "halo strong", "end")
        if part.is_below_noise:
            continue
        drawing.line(x(0), y + 17, x(0), y + 35, "zero")  # not through the words above
        left, right = sorted((x(0), x(part.difference_us)))
        drawing.rect(left, y + 20, right - left, 12, f"part {part.part}")
        low = x.start if part.low_us is None else x(part.low_us)
        high = x.end if part.high_us is None else x(part.high_us)
        drawing.line(low, y + 26, high, y + 26, "whole")
