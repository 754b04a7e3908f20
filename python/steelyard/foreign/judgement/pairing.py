"""Decides whether rows of an arm and of the control are compared row by row, and says why."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.analysis.two_samples.pairing import Correlation, is_sorted, rank_correlation
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.series import Order, Rows, Series
from steelyard.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Pairing:
    """Whether rows are paired, why, and how the rows correlate."""

    paired: bool
    why: str
    """Continues "paired: " or "not paired: "."""
    correlation: Correlation


def pairing_of(comparison: Comparison, arm: Series, given: bool | None) -> Pairing:
    """The pairing of an arm with the control; UsageError where --paired cannot be."""
    control = comparison.control
    sizes = len(control.values), len(arm.values)
    equal = sizes[0] == sizes[1]
    correlation = rank_correlation(control.values, arm.values) if equal else _NONE
    if given is not None:
        if given and not equal:
            raise UsageError(
                f"cannot pair rows: {control.arm} has {sizes[0]} of them, {arm.arm} {sizes[1]}",
                hint="Leave out --paired, or the rows without a partner.",
            )
        return Pairing(given, "the user said so", correlation)
    if comparison.rows is Rows.BLOCKS and equal:
        return Pairing(True, "the file says which rows belong together", correlation)
    against = _against(comparison, arm)
    return Pairing(not against, against or _what_it_gains(correlation), correlation)


def _against(comparison: Comparison, arm: Series) -> str:
    """Why rows are not to be paired; empty where nothing speaks against it."""
    control = comparison.control
    if len(control.values) != len(arm.values):
        return f"{control.arm} has {len(control.values)} rows, {arm.arm} {len(arm.values)}"
    if comparison.rows is Rows.APART:
        return "nothing connects row k of one arm with row k of the other"
    if is_sorted(control.values) and is_sorted(arm.values):
        return "the rows are sorted, so row numbers mean nothing"
    if comparison.order is Order.SEQUENTIAL:
        return "the arms were measured one after the other, so no row is of one time"
    return ""


def _what_it_gains(correlation: Correlation) -> str:
    if not correlation.known:
        return "they stand in one row"
    figures = f"{correlation.value:.2f} [{correlation.low:.2f}, {correlation.high:.2f}]".replace(
        "-", "−"
    )
    if correlation.clear:
        kind = "share something" if correlation.value > 0 else "oppose each other"
        return f"rows {kind}, their rank correlation is {figures}"
    return (
        f"they stand in one row; their rank correlation, {figures}, does not tell that they share "
        "anything, and then pairs cost little"
    )


_NONE = Correlation(float("nan"), float("nan"), float("nan"), 0)
