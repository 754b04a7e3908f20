"""Formats a calibration for a terminal: readings beside true effects, and resolvable differences.

none                           ├──────◉──────┤
3 % done twice       ├────●──◇──┤
3 % in stalls     ├──────◇─●────────┤
                  ┴─────────┴─────────┴─────────┴
                −4 %      −2 %        0       +2 %
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.cli.views.interval_chart import column, draw_bar, tick_labels
from steelyard.cli.views.text_layout import wrapped
from steelyard.cli.views.verdict_view import record_lines, verdict_threats
from steelyard.record.contrast import ContrastLine
from steelyard.record.verdict import Verdict
from steelyard.report.calibration import (
    coverage_text,
    ledger_text,
    trust_of,
    truth_cells,
    weight_text,
)
from steelyard.report.charts.scale import Linear
from steelyard.report.incidents import interruption_text
from steelyard.study.study import Study

_LEAST_WIDTH = 60
_MOST_PICTURE = 70
_ROOM = 0.08
"""Of the span of a picture, left free at either side."""


def render_calibration(verdict: Verdict, study: Study, width: int) -> str:
    """The whole result as plain lines no wider than `width` (at least 60), colourless."""
    width = max(width, _LEAST_WIDTH)
    contrasts = verdict.contrasts
    names = {arm.name: weight_text(arm.weight) for arm in study.arms}
    blocks = [
        _table(contrasts, names, width),
        picture(contrasts, names, width),
        wrapped(coverage_text(contrasts, names), width, ""),
        _trust(verdict, study, width),
        wrapped(ledger_text(verdict.ledger), width, ""),
        [*verdict_threats(contrasts, width), *wrapped(interruption_text(verdict), width, "")],
        record_lines(verdict, width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _table(contrasts: Sequence[ContrastLine], names: Mapping[str, str], width: int) -> list[str]:
    """On a narrow terminal a truth goes without its own uncertainty."""
    rows = [
        ("weight", "truth", "reading", "held"),
        *(truth_cells(contrast, names, True) for contrast in contrasts),
    ]
    lines = _aligned(rows)
    if max(map(len, lines)) <= width:
        return lines
    return _aligned([rows[0], *(truth_cells(contrast, names, False) for contrast in contrasts)])


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    wide = [max(len(row[position]) for row in rows) for position in range(3)]
    return [
        f"{row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]}" for row in rows
    ]


def picture(contrasts: Sequence[ContrastLine], names: Mapping[str, str], width: int) -> list[str]:
    """One row an arm on one scale, its truth marked; then the scale, and what the signs mean."""
    label = max(len(name) for name in names.values()) + 2
    x = _scale(contrasts, min(width - label, _MOST_PICTURE))
    if x is None:
        return []
    rows = [f"{names[contrast.arm]:<{label}}{_row(contrast, x)}".rstrip() for contrast in contrasts]
    axis = [f"{'':<{label}}{line}".rstrip() for line in _axis(x)]
    return [*rows, *axis, f"{'':<{label}}● reading  ◇ truth  ◉ both"]


def _scale(contrasts: Sequence[ContrastLine], columns: int) -> Linear | None:
    values = [value for contrast in contrasts for value in _places(contrast) if value is not None]
    if not values:
        return None
    low, high = min([*values, 0.0]), max([*values, 0.0])
    room = max(high - low, 0.1) * _ROOM
    return Linear(low - room, high + room, 0, columns - 1)


def _places(contrast: ContrastLine) -> tuple[float | None, ...]:
    """Low end, estimate and high end of the reading, and the true effect."""
    ends = contrast.low_percent, contrast.estimate_percent, contrast.high_percent
    return *ends, contrast.true_percent


def _row(contrast: ContrastLine, x: Linear) -> str:
    low, middle, high, true = _places(contrast)
    row = [" "] * (int(x.end) + 1)
    if middle is not None and (low is not None or high is not None):
        draw_bar(row, low, high, x)
    if middle is not None:
        row[column(middle, x)] = "●"
    if true is not None:
        both = middle is not None and column(true, x) == column(middle, x)
        row[column(true, x)] = "◉" if both else "◇"
    return "".join(row)


def _axis(x: Linear) -> list[str]:
    ticks = x.ticks(max(int((x.end + 1) / 12), 2))
    axis = ["─"] * (int(x.end) + 1)
    for tick in ticks:
        axis[column(tick, x)] = "┴"
    return ["".join(axis), tick_labels(ticks, x, "0")]


def _trust(verdict: Verdict, study: Study, width: int) -> list[str]:
    trust = trust_of(verdict, study)
    if trust is None:
        return []
    lines = [f"  {size}  {time}" for size, time in trust.rows]
    return [*wrapped(trust.head, width, ""), *lines, *wrapped(trust.foot, width, "")]
