"""Formats a judgement of foreign numbers: verdicts, charts of intervals and rows, threats.

The rows of every arm are drawn in characters, in their order, on one scale of ratios:

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

from steelyard.cli.views.interval_chart import interval_chart
from steelyard.cli.views.text_layout import arm_names, columns_of, padded, wrapped
from steelyard.cli.views.verdict_parts import threat_lines
from steelyard.cli.views.verdict_view import contrast_lines, time_lines
from steelyard.evaluation.threats.numbers import Step
from steelyard.foreign.judgement.judgement import Judgement
from steelyard.foreign.judgement.number_sets import RowOrder
from steelyard.foreign.tools.steelyard_output import JUDGED, SavedVerdict
from steelyard.model.threat import Threat
from steelyard.model.units import format_digits, format_percent
from steelyard.record.contrast import JudgedContrast
from steelyard.report.charts.scale import Log
from steelyard.wording.contrast_text import MARKS, full_stop

_LEAST_WIDTH = 50
_MOST_CHART = 76
_MOST_NAME = 28
"""Columns of an arm's name in a table."""
_BESIDE_NAME = 30
"""Columns of a plot's heading that are not the name of its arm: what stands left, and the unit."""
_OF_AN_ARM = ("pairing", "replicates", "centres", "visible")
_SHOWN_AS_THREATS = ("level steps", "Little's law")
_HEIGHT = 5
_MOST_WIDTH = 76
_LEAST_PLOT_WIDTH = 20
MOST_ARMS = 8
Heights = NDArray[np.int64]
"""Lines of a plot from its top, shape (rows of a column,)."""


def render_judgement(judgement: Judgement, width: int) -> str:
    """Plain lines no wider than `width` (at least 50)."""
    width = max(width, _LEAST_WIDTH)
    contrasts = [judgement.judged(contrast) for contrast in judgement.contrasts]
    if judgement.cannot:
        blocks = [_cannot(judgement, contrasts, width)]
    else:
        margins = [contrast.details.margin_percent for contrast in judgement.contrasts]
        blocks = [
            _contrast(contrast, margin, width)
            for contrast, margin in zip(contrasts, margins, strict=True)
        ]
        blocks.append(_rows(judgement, width))
    if judgement.reading is not None:
        blocks.insert(
            0, [part for line in judgement.reading.lines for part in _reading_lines(line, width)]
        )
    blocks.append(_arms(judgement, width))
    blocks.append(list(_findings(judgement, width)))
    blocks.append(list(_threats([t for contrast in contrasts for t in contrast.threats], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _reading_lines(line: str, width: int) -> list[str]:
    return wrapped(line, width, "  ")


def _contrast(contrast: JudgedContrast, margin_percent: float, width: int) -> list[str]:
    word = contrast.verdict
    text = full_stop(contrast.sentence.removeprefix(f"{word}: "))
    lines = [f"{MARKS[word]} {word.upper()}", *wrapped(text, width, "")]
    chart = interval_chart(contrast, margin_percent, min(width - 2, _MOST_CHART))
    return [*lines, "", *(f"  {line}".rstrip() for line in chart)]


def _cannot(judgement: Judgement, contrasts: Sequence[JudgedContrast], width: int) -> list[str]:
    lines = [f"? {judgement.cannot}"]
    estimates = "; ".join(
        f"{contrast.pair} {format_percent(contrast.estimate_percent or 0.0, 1)}"
        for contrast in contrasts
    )
    return lines + wrapped(
        f"As given, of {_metric(judgement)}: {estimates}. Measured again, each could be elsewhere; "
        "how far, one value cannot say.",
        width,
        "",
    )


def _metric(judgement: Judgement) -> str:
    metric = judgement.comparison.metric
    name = metric.name.replace("latency_mean", "mean latency").replace("_", " ")
    return f"{name} ({metric.unit})" if metric.unit else name


def _rows(judgement: Judgement, width: int) -> list[str]:
    arms = judgement.comparison.arms
    names = arm_names([arm.arm for arm in arms], width - _BESIDE_NAME)
    rows = {name: arm.values.tolist() for name, arm in zip(names, arms, strict=True)}
    borders, unit = level_borders(judgement.common_steps), judgement.comparison.metric.unit
    drawn = row_plot(rows, borders, unit, width - 2)
    lost = judgement.overview.row_order is RowOrder.LOST
    placed = "as given, in no order of time" if lost else "in their order"
    return [f"rows {placed}, on a scale of ratios", *(f"  {line}".rstrip() for line in drawn)]


def _arms(judgement: Judgement, width: int) -> list[str]:
    """The table of arms; names are cut, and columns that do not fit are left out from the right."""
    head = ["arm", "rows", "mean", "median", "lowest", "highest", "sd of a row"]
    names = arm_names([arm.arm for arm in judgement.arms], _MOST_NAME)
    table = [head]
    for name, arm in zip(names, judgement.arms, strict=True):
        figures = [_four(value) for value in (arm.mean, arm.median, arm.lowest, arm.highest)]
        spread = "none" if arm.sd_percent is None else f"{arm.sd_percent:.1f} %"
        table.append([name, str(arm.rows), *figures, spread])
    wide = [max(columns_of(row[column]) for row in table) for column in range(len(head))]
    count = len(head)
    while count > 2 and sum(wide[:count]) + 2 * (count - 1) > width:
        count -= 1
    return [
        "  ".join(
            [padded(row[0], wide[0]), *(f"{row[c]:>{wide[c]}}" for c in range(1, count))]
        ).rstrip()
        for row in table
    ]


def _four(value: float) -> str:
    """Four significant digits, more before the point: `1053`, `0.1131`."""
    return f"{value:.0f}" if abs(value) >= 1000 else format_digits(value, 4)


def _findings(judgement: Judgement, width: int) -> Iterator[str]:
    """Findings as a list, without those that are shown as threats."""
    several = len(judgement.contrasts) > 1
    findings = [finding for finding in judgement.findings if finding.name not in _SHOWN_AS_THREATS]
    if not findings:
        return
    yield "findings"
    for finding in findings:
        name = f"{finding.arm}: " if several and finding.name in _OF_AN_ARM else ""
        yield from wrapped(f"- {name}{finding.sentence}", width, "  ")
        if finding.command:
            yield "    all of it, restarts and random order too:"
            yield f"    {finding.command}"  # to be copied, however long


def _threats(threats: list[Threat], width: int) -> Iterator[str]:
    """Every threat by its name: all that was seen, then cause and advice once."""
    if not threats:
        yield "doubts: none of the known threats was seen"
        return
    yield "doubts"
    threats = sorted(threats, key=lambda threat: not threat.invalidates)
    for name in dict.fromkeys(threat.name for threat in threats):
        same = [threat for threat in threats if threat.name == name]
        fatal = " (makes the verdict invalid)" if same[0].invalidates else ""
        observations = list(dict.fromkeys(threat.seen for threat in same))
        yield from wrapped(f"- {name}{fatal}: {observations[0]}", width, "  ")
        for more in observations[1:]:
            yield from wrapped(f"  {more}", width, "  ")
        yield from wrapped(f"  cause: {same[0].cause}", width, "  ")
        yield from wrapped(f"  advice: {same[0].advice}", width, "  ")


def render_saved_verdict(saved: SavedVerdict, width: int) -> str:
    """A verdict of Steelyard's own, in plain lines no wider than `width` (at least 50)."""
    width = max(width, _LEAST_WIDTH)
    contrasts = saved.shown
    blocks = [
        contrast_lines(contrast.judged, contrast.truth, contrast.margin_percent, width)
        for contrast in contrasts
    ]
    blocks += [time_lines(time, width) for time in saved.times]
    threats = [threat for contrast in contrasts for threat in contrast.judged.threats]
    withdrawn = [threat for contrast in contrasts for threat in contrast.withdrawn]
    blocks.append(threat_lines(threats, withdrawn, width))
    blocks.append(wrapped(f'A weighing of the study "{saved.study}", judged {JUDGED}.', width, ""))
    return "\n\n".join("\n".join(block) for block in blocks)


def row_plot(
    arms: Mapping[str, Sequence[float]], borders: Sequence[int], unit: str, width: int
) -> list[str]:
    """A small plot an arm; `borders`: rows from 0 at which another level begins."""
    plotted = dict(list(arms.items())[:MOST_ARMS])
    values = np.concatenate([np.asarray(rows, dtype=np.float64) for rows in plotted.values()])
    positive = values[values > 0]
    low, high = float(positive.min()), float(positive.max())
    if high <= low:
        low, high = low / 1.01, high * 1.01
    labels = [_amount(high), _amount(low)]
    left = max(map(len, labels)) + 2
    longest = max(len(rows) for rows in plotted.values())
    room = max(min(width, _MOST_WIDTH) - left, _LEAST_PLOT_WIDTH)
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
