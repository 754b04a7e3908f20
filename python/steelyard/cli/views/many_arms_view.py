"""Formats verdicts of many arms for a terminal: a calibration and a factorial, all on one scale.

none                           ├──────◉──────┤
3 % done twice       ├────●──◇──┤
3 % in stalls     ├──────◇─●────────┤
                  ┴─────────┴─────────┴─────────┴
                −4 %      −2 %        0       +2 %

effect                        change, joint interval   verdict
checksums                     −0.40 % [−1.20, +0.40]   equivalent
checksums × full_page_writes  −3.10 % [−4.60, −1.60]   matters
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.cli.views.interval_chart import (
    LEAST_WIDTH,
    axis_lines,
    column,
    draw_bar,
    interval_line,
    percent_scale,
    tick_labels,
)
from steelyard.cli.views.text_layout import wrapped
from steelyard.cli.views.verdict_parts import record_lines, verdict_threats
from steelyard.record.contrast import ContrastLine
from steelyard.record.factors import FactorEffects
from steelyard.record.verdict import Verdict
from steelyard.report.calibration import (
    coverage_text,
    ledger_text,
    trust_of,
    truth_cells,
    weight_text,
)
from steelyard.report.charts.factors import effect_rows, simple_rows
from steelyard.report.charts.scale import Linear
from steelyard.report.environment_rows import default_lines, loads_line
from steelyard.report.incidents import interruption_text
from steelyard.study.study import Study
from steelyard.wording.contrast_text import full_stop, reading_text

_LEAST_CALIBRATION = 60
_ROOM = 0.08
"""Of the span of a picture, left free at either side."""
_LEAST_FACTORIAL = 50
_MOST_CHART = 70


def render_calibration(verdict: Verdict, study: Study, width: int) -> str:
    """The whole result as plain lines no wider than `width` (at least 60), colourless."""
    width = max(width, _LEAST_CALIBRATION)
    contrasts = verdict.contrasts
    names = {arm.name: weight_text(arm.weight) for arm in study.arms}
    blocks = [
        _readings(contrasts, names, width),
        picture(contrasts, names, width),
        wrapped(coverage_text(contrasts, names), width, ""),
        _trust(verdict, study, width),
        wrapped(ledger_text(verdict.ledger), width, ""),
        [*verdict_threats(contrasts, width), *wrapped(interruption_text(verdict), width, "")],
        record_lines(verdict, width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _readings(contrasts: Sequence[ContrastLine], names: Mapping[str, str], width: int) -> list[str]:
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
    x = _scale(contrasts, min(width - label, _MOST_CHART))
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


def render_factors(verdict: Verdict, factors: FactorEffects, width: int) -> str:
    """The whole summary as plain lines no wider than `width` (at least 50), colourless."""
    width = max(width, _LEAST_FACTORIAL)
    builds = [*default_lines(verdict), loads_line(verdict.loads)]
    blocks = [
        [
            line
            for sentence in factors.sentences
            for line in wrapped(full_stop(sentence), width, "")
        ],
        _table(effect_rows(factors), ("effect", "change, joint interval", "verdict"), width),
        _picture(factors, width),
        _table(simple_rows(factors), ("effect of", "with", "change, joint interval"), width),
        _cells(verdict.contrasts, width),
        [line for text in builds if text for line in wrapped(text, width, "")],
        [
            *verdict_threats(verdict.contrasts, width),
            *wrapped(interruption_text(verdict), width, ""),
        ],
        record_lines(verdict, width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _table(
    rows: Sequence[tuple[str, str, str]], head: tuple[str, str, str], width: int
) -> list[str]:
    """Nothing without rows; where it is narrow, what stands last has a line of its own."""
    if not rows:
        return []
    every = [head, *rows]
    wide = [max(len(row[column]) for row in every) for column in range(3)]
    if sum(wide) + 4 <= width:
        return [f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c}".rstrip() for a, b, c in every]
    return [line for a, b, c in every for line in wrapped(f"{a}  {b}  {c}", width, "")]


@dataclass(frozen=True)
class _Reach:
    """All ends of all intervals, as one."""

    low_percent: float | None
    estimate_percent: float | None
    high_percent: float | None


def _picture(factors: FactorEffects, width: int) -> list[str]:
    """A row an effect on one scale; nothing where there is no room for it."""
    label = max(len(effect.name) for effect in factors.effects) + 2
    if width - label < LEAST_WIDTH:
        return []
    ends = [end for effect in factors.effects for end in (effect.low_percent, effect.high_percent)]
    finite = [end for end in ends if end is not None]
    if not finite:
        return []
    reach = _Reach(min(finite), 0.0, max(finite))
    x = percent_scale(reach, factors.margin_percent, min(width - label, _MOST_CHART))
    rows = [(effect.name, interval_line(effect, x)) for effect in factors.effects]
    rows += [("", line) for line in axis_lines(x, factors.margin_percent)]
    return [f"{name:<{label}}{line}".rstrip() for name, line in rows]


def _cells(contrasts: Sequence[ContrastLine], width: int) -> list[str]:
    """Every cell against the control, each by its own interval."""
    control = contrasts[0].control
    rows = [(contrast.arm, reading_text(contrast), contrast.verdict) for contrast in contrasts]
    head = ("cell", f"against {control}", "verdict")
    return _table(rows, head, width)
