"""Says what rows of numbers show, in threats and findings: steps, drift, rows far out, ratios."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from steelyard.analysis.two_samples.centres import Centred
from steelyard.analysis.two_samples.trend import Trend
from steelyard.evaluation.threats.numbers import Step
from steelyard.model.units import format_percent, percent_of_log


def as_published(value: float, digits: int) -> str:
    """In that many significant digits, as files have figures: without an exponent and without
    groups of three, `"1000"`, `"0.0125"`."""
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def step_words(steps: Sequence[Step], most: int = 4) -> str:
    """`rows 13–16 +56 % [38, 77], rows 17–23 +20 % [12, 29], against rows 1–12 (chosen by looking:
    intervals too narrow)`."""
    largest = sorted(steps[:most], key=lambda step: step.first)
    parts = [f"{_rows(step.first, step.last)} {_size(step)}" for step in largest]
    if len(steps) > most:
        parts.append(f"and {len(steps) - most} smaller ones")
    usual = _rows(steps[0].usual_first, steps[0].usual_last)
    return f"{', '.join(parts)}, against {usual} (chosen by looking: intervals too narrow)"


def _rows(first: int, last: int) -> str:
    """`rows 13–16`, `row 13`."""
    return f"row {first}" if first == last else f"rows {first}–{last}"


def _size(step: Step) -> str:
    low, high = (format_percent(end, 0).removesuffix(" %") for end in (step.low, step.high))
    return f"{format_percent(step.percent, 0)} [{low}, {high}]"


def trend_words(trend: Trend) -> str:
    """`+12 % [4, 21] from the first row to the last`."""
    value, low, high = (percent_of_log(log) for log in (trend.change, trend.low, trend.high))
    ends = ", ".join(format_percent(end, 0).removesuffix(" %") for end in (low, high))
    return f"{format_percent(value, 0)} [{ends}] from the first row to the last"


def rows_lie(rows: Sequence[int], of: str = "", most: int = 8) -> str:
    """`rows 13 and 15 of on lie far out`, `row 3 lies far out`; rows counted from 0."""
    of_arm = f" of {of}" if of else ""
    return f"{_listed(rows, most)}{of_arm} {'lies' if len(rows) == 1 else 'lie'} far out"


def _listed(rows: Sequence[int], most: int) -> str:
    """`rows 13, 15 and 28`, of rows counted from 0; long lists are cut."""
    numbers = [str(row + 1) for row in rows[:most]]
    if len(rows) > most:
        return f"rows {', '.join(numbers)} and {len(rows) - most} more"
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    return f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"


def ratio_words(centre: Centred) -> str:
    """`+5.4 % [−1.2, 12.3]`."""
    low, high = (
        format_percent(percent_of_log(end), 1).removesuffix(" %")
        for end in (centre.low, centre.high)
    )
    return f"{format_percent(percent_of_log(centre.value), 1)} [{low}, {high}]"
