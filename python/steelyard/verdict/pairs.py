"""Decides whether rows of an arm and of the control are compared row by row, and says why."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.analysis.pairing import Correlation, is_sorted, rank_correlation, worth_pairing
from steelyard.errors import UsageError
from steelyard.readings.foreign.comparison import Comparison
from steelyard.readings.foreign.series import Rows, Series


@dataclass(frozen=True, slots=True)
class Pairing:
    """Whether rows are paired, why, and how the rows correlate."""

    paired: bool
    why: str
    """Continues "paired: " or "not paired: "."""
    correlation: Correlation


def pairing_of(comparison: Comparison, arm: Series, asked: bool | None) -> Pairing:
    """The pairing of an arm with the control; UsageError where --paired cannot be."""
    control = comparison.control
    sizes = len(control.values), len(arm.values)
    equal = sizes[0] == sizes[1]
    correlation = rank_correlation(control.values, arm.values) if equal else _NONE
    if asked is not None:
        if asked and not equal:
            raise UsageError(
                f"cannot pair rows: {control.arm} has {sizes[0]} of them, {arm.arm} {sizes[1]}",
                hint="Leave out --paired, or the rows without a partner.",
            )
        return Pairing(asked, "the user said so", correlation)
    if not equal:
        why = f"{control.arm} has {sizes[0]} rows, {arm.arm} {sizes[1]}"
        return Pairing(False, why, correlation)
    if comparison.rows is Rows.BLOCKS:
        return Pairing(True, "the file says which rows belong together", correlation)
    if comparison.rows is Rows.APART:
        why = "nothing connects row k of one arm with row k of the other"
        return Pairing(False, why, correlation)
    if is_sorted(control.values) and is_sorted(arm.values):
        return Pairing(False, "the rows are sorted, so row numbers mean nothing", correlation)
    return _by_correlation(correlation)


def _by_correlation(correlation: Correlation) -> Pairing:
    if not correlation.known:
        return Pairing(False, "too few rows to see whether rows belong together", correlation)
    figures = f"{correlation.value:.2f} [{correlation.low:.2f}, {correlation.high:.2f}]".replace(
        "-", "−"
    )
    if abs(correlation.value) > worth_pairing(correlation.rows):
        kind = "share something" if correlation.value > 0 else "oppose each other"
        kind = kind if correlation.clear else f"seem to {kind}"
        return Pairing(True, f"rows {kind}, their rank correlation is {figures}", correlation)
    why = f"rows share too little to be worth it, their rank correlation is {figures}"
    return Pairing(False, why, correlation)


_NONE = Correlation(float("nan"), float("nan"), float("nan"), 0)
