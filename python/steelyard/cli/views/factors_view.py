"""Formats a factorial for a terminal: sentences, effects on one scale, cells, threats, the record.

effect                        change, joint interval   verdict
checksums                     −0.40 % [−1.20, +0.40]   equivalent
checksums × full_page_writes  −3.10 % [−4.60, −1.60]   matters
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.cli.views.interval_chart import (
    LEAST_WIDTH,
    axis_lines,
    interval_line,
    percent_scale,
)
from steelyard.cli.views.text_layout import wrapped
from steelyard.cli.views.verdict_view import record_lines, verdict_threats
from steelyard.record.contrast import ContrastLine
from steelyard.record.factors import FactorEffects
from steelyard.record.verdict import Verdict
from steelyard.report.charts.factors import effect_rows, simple_rows
from steelyard.report.environment_rows import default_lines, loads_line
from steelyard.report.incidents import interruption_text
from steelyard.wording.contrast_text import full_stop, reading_text

_LEAST_WIDTH = 50
_MOST_CHART = 70


def render_factors(verdict: Verdict, factors: FactorEffects, width: int) -> str:
    """The whole summary as plain lines no wider than `width` (at least 50), colourless."""
    width = max(width, _LEAST_WIDTH)
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
