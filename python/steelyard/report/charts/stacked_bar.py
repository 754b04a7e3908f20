"""Draws a bar split into parts, and the key to the parts' colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.report.charts.drawing import CHARACTER, Drawing
from steelyard.report.charts.scale import Linear

SIDE = 16
"""Free at either end of a bar, in pixels."""
ROW = 50
"""Height of a bar with its label."""
KEY_ROW = 20
_BAR = 26
_SWATCH = 11


@dataclass(frozen=True)
class BarPart:
    """A part of a bar: its name in the key, its style classes, its length, and what it says."""

    name: str
    class_: str
    value: float
    text: str


def draw_bar(
    drawing: Drawing, label: str, parts: Sequence[BarPart], x: Linear, top: float = 0
) -> None:
    """Parts side by side in their order; those of zero or less are drawn as nothing."""
    drawing.text(x.start, top + 14, label, "strong")
    at = 0.0
    for part in parts:
        if part.value <= 0:
            continue
        left, right = x(at), x(at + part.value)
        drawing.rect(left, top + 19, max(0.8, right - left - 1), _BAR, part.class_)
        if right - left > CHARACTER * len(part.text) + 8:
            middle = (left + right) / 2
            drawing.text(middle, top + 19 + _BAR / 2 + 4, part.text, "inside", "middle")
        at += part.value


def key_rows(parts: Sequence[BarPart], width: float) -> list[list[tuple[float, BarPart]]]:
    """The parts in lines that fit, each with its place."""
    rows: list[list[tuple[float, BarPart]]] = [[]]
    at = float(SIDE)
    for part in parts:
        needed = _SWATCH + 5 + CHARACTER * len(part.name) + 14
        if rows[-1] and at + needed > width - SIDE:
            rows.append([])
            at = float(SIDE)
        rows[-1].append((at, part))
        at += needed
    return rows


def draw_key(drawing: Drawing, rows: Sequence[Sequence[tuple[float, BarPart]]], top: float) -> None:
    """A swatch and the name of every part; `top`: base line of the first row."""
    for number, row in enumerate(rows):
        y = top + number * KEY_ROW
        for at, part in row:
            drawing.rect(at, y - 10, _SWATCH, _SWATCH, part.class_)
            drawing.text(at + _SWATCH + 5, y, part.name, "quiet")
