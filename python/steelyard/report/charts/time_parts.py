"""Draws where a transaction's time goes: a bar an arm, split into parts, and their differences."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from steelyard.model.units import NS_PER_US, format_duration
from steelyard.record.verdict import TimePart, TimeParts
from steelyard.report.charts.drawing import CHARACTER, Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.time_parts import PART_NAMES, cause_sentence, difference_text, signed_us

_BAR = 26
_ROW = 50
_SIDE = 16
_DIFFERENCE = 40
_LINE = 15
_PHONE = 500
_KEY = 20
_SWATCH = 11


def draw_time_parts(told: TimeParts, width: float) -> Markup:
    """Two bars, their key, and a row of difference for each part."""
    key = _key_rows(told.parts, width)
    bars = 2 * _ROW
    top = bars + len(key) * _KEY + 30
    height = top + len(told.parts) * _difference_height(width) + 6
    title = f"Where a transaction's time goes: {told.arm} against {told.control}"
    drawing = Drawing(width, height, title, cause_sentence(told))
    longest = max(_drawn(told.parts, "control_us"), _drawn(told.parts, "arm_us")) or 1.0
    x = Linear(0.0, longest, _SIDE, width - _SIDE)
    control = [(part, part.control_us) for part in told.parts]
    _draw_bar(drawing, f"{told.control}  {_time(told.control_us)}", control, x, 0)
    arm = [(part, part.arm_us) for part in told.parts]
    _draw_bar(drawing, f"{told.arm}  {_time(told.arm_us)}", arm, x, _ROW)
    _draw_key(drawing, key, bars + 14)
    _draw_differences(drawing, told, top)
    return drawing.svg()


def _drawn(parts: Sequence[TimePart], arm: str) -> float:
    """The length of a bar: a rest below zero has none."""
    return sum(max(0.0, float(getattr(part, arm))) for part in parts)


def _draw_bar(
    drawing: Drawing, label: str, values: Sequence[tuple[TimePart, float]], x: Linear, top: float
) -> None:
    drawing.text(x.start, top + 14, label, "strong")
    at = 0.0
    for part, value in values:
        if value <= 0:
            continue
        left, right = x(at), x(at + value)
        drawing.rect(left, top + 19, max(0.8, right - left - 1), _BAR, f"part {part.part}")
        share = f"{_time(value)}"
        if right - left > CHARACTER * len(share) + 8:
            drawing.text((left + right) / 2, top + 19 + _BAR / 2 + 4, share, "inside", "middle")
        at += value


def _time(value_us: float) -> str:
    return format_duration(value_us * NS_PER_US)


def _key_rows(parts: Sequence[TimePart], width: float) -> list[list[tuple[float, TimePart]]]:
    """The parts in lines that fit, each with its place."""
    rows: list[list[tuple[float, TimePart]]] = [[]]
    at = float(_SIDE)
    for part in parts:
        needed = _SWATCH + 5 + CHARACTER * len(PART_NAMES[part.part]) + 14
        if rows[-1] and at + needed > width - _SIDE:
            rows.append([])
            at = float(_SIDE)
        rows[-1].append((at, part))
        at += needed
    return rows


def _draw_key(
    drawing: Drawing, rows: Sequence[Sequence[tuple[float, TimePart]]], top: float
) -> None:
    for number, row in enumerate(rows):
        y = top + number * _KEY
        for at, part in row:
            drawing.rect(at, y - 10, _SWATCH, _SWATCH, f"part {part.part}")
            drawing.text(at + _SWATCH + 5, y, PART_NAMES[part.part], "quiet")


def _difference_height(width: float) -> float:
    """Of a row; where it is narrow, name and figures have a line each."""
    return _DIFFERENCE + (_LINE if width < _PHONE else 0)


def _draw_differences(drawing: Drawing, told: TimeParts, top: float) -> None:
    """Each part's difference as a bar from zero, with its interval."""
    ends = [
        abs(end)
        for part in told.parts
        for end in (part.low_us, part.high_us, part.difference_us)
        if end is not None
    ]
    reach = max(ends, default=0.0) * 1.05 or 1.0
    x = Linear(-reach, reach, _SIDE, drawing.width - _SIDE)
    whole = signed_us(told.arm_us - told.control_us)
    drawing.text(x.start, top - 8, f"difference: {whole} a transaction", "strong")
    step, narrow = _difference_height(drawing.width), drawing.width < _PHONE
    bottom = top + step * len(told.parts)
    drawing.line(x(0), top, x(0), bottom, "zero")
    for number, part in enumerate(told.parts):
        y = top + number * step
        named = "  ◂ the cause" if told.cause and part.part == told.cause.part else ""
        drawing.text(x.start, y + 14, f"{PART_NAMES[part.part]}{named}", "halo")
        if narrow:
            y += _LINE
            drawing.text(x.start, y + 14, difference_text(part), "halo strong")
        else:
            drawing.text(x.end, y + 14, difference_text(part), "halo strong", "end")
        left, right = sorted((x(0), x(part.difference_us)))
        drawing.rect(left, y + 20, right - left, 12, f"part {part.part}")
        low = x.start if part.low_us is None else x(part.low_us)
        high = x.end if part.high_us is None else x(part.high_us)
        drawing.line(low, y + 26, high, y + 26, "whole")
