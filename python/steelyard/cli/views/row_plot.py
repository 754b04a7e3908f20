"""Draws the rows of every arm in characters, in their order, on one scale of ratios.

3 231 ┤               ●
      │             ●
      │            ┊    ┊●●     ┊
  924 ┤●●●●●●●●●●● ┊    ┊       ┊●
       1           13   17      24   30
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.evaluation.observations.numbers import Step
from steelyard.report.charts.scale import Log

_HEIGHT = 5
_MOST_WIDTH = 76
_LEAST_WIDTH = 20
MOST_ARMS = 8
Heights = NDArray[np.int64]
"""Lines of a plot from its top, shape (rows of a column,)."""


def row_plot(
    arms: Mapping[str, Sequence[float]], borders: Sequence[int], unit: str, width: int
) -> list[str]:
    """A small plot an arm; `borders`: rows from 0 at which another level begins."""
    plotted = dict(list(arms.items())[:MOST_ARMS])
    values = [value for rows in plotted.values() for value in rows if value > 0]
    low, high = min(values), max(values)
    if high <= low:
        low, high = low / 1.01, high * 1.01
    labels = [_amount(high), _amount(low)]
    left = max(map(len, labels)) + 2
    longest = max(len(rows) for rows in plotted.values())
    room = max(min(width, _MOST_WIDTH) - left, _LEAST_WIDTH)
    step = max(1, min(4, room // longest))
    columns = min(room, longest * step)
    y = Log(low, high, _HEIGHT - 1, 0)
    x = _Columns(longest, columns)
    marks = [border for border in borders if 0 < border < longest]
    lines = []
    for name, rows in plotted.items():
        lines.append(f"{' ' * left}{name}{f', {unit}' if unit else ''}"[:width].rstrip())
        for number, row in enumerate(_plot(rows, marks, x, y)):
            label = labels[0] if number == 0 else labels[1] if number == _HEIGHT - 1 else ""
            lines.append(f"{label:>{left - 2}} {'┤' if label else '│'}{row}".rstrip())
    if len(arms) > len(plotted):
        lines.append(f"{' ' * left}and {len(arms) - len(plotted)} more arms")
    return [*lines, " " * left + _axis(marks, x)]


class _Columns:
    """Which column a row falls into."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns

    def __call__(self, row: int) -> int:
        return min(row * self.columns // self.rows, self.columns - 1)


def _plot(values: Sequence[float], marks: Sequence[int], x: _Columns, y: Log) -> list[str]:
    """Dots; where several rows share a column, a bar from the lowest to the highest."""
    grid = [[" "] * x.columns for _ in range(_HEIGHT)]
    for mark in marks:
        between = max(x(mark - 1) + 1, x(mark) - 1)  # before the row, where there is room
        for line in grid:
            line[min(between, x.columns - 1)] = "┊"
    for column, places in _places(values, x, y):
        for height in range(int(places[0]), int(places[-1]) + 1):
            grid[height][column] = "│"
        grid[int(places[len(places) // 2])][column] = "●"
    return ["".join(line) for line in grid]


def _places(values: Sequence[float], x: _Columns, y: Log) -> Iterator[tuple[int, Heights]]:
    """(column, heights of its rows in order) of every column that rows fall into: all rows at
    once, for there may be a million."""
    numbers = np.asarray(values, dtype=np.float64)
    share = np.log(np.clip(numbers, y.low, y.high) / y.low) / (math.log(y.high / y.low) or 1.0)
    heights = np.rint(y.start + share * (y.end - y.start)).astype(np.int64)
    heights[numbers <= 0] = _HEIGHT - 1
    columns = np.minimum(np.arange(len(numbers)) * x.columns // x.rows, x.columns - 1)
    borders = np.searchsorted(columns, np.arange(x.columns + 1))
    for column, (first, last) in enumerate(itertools.pairwise(borders.tolist())):
        if last > first:
            yield column, np.sort(heights[first:last])


def _axis(marks: Sequence[int], x: _Columns) -> str:
    """Row numbers: the first, the last, and where levels change, where there is room."""
    last = str(x.rows)
    row = [" "] * (x.columns + len(last) + 2)
    end = max(min(x(x.rows - 1), x.columns - len(last)), 0)
    free = 0
    for column, text in [(0, "1"), *((x(mark), str(mark + 1)) for mark in marks)]:
        if column >= free and column + len(text) < end:
            row[column : column + len(text)] = text
            free = column + len(text) + 1
    end = max(end, free)
    row[end : end + len(last)] = last
    return "".join(row).rstrip()


def _amount(value: float) -> str:
    """Three significant digits or more, thousands apart: `3 231`, `0.0113`."""
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(digits, 9)}f}".replace(",", " ")


def level_borders(steps: Sequence[Step]) -> list[int]:
    """Rows from 0 at which all arms went over to another level."""
    return sorted({row for step in steps for row in (step.first - 1, step.last)})
