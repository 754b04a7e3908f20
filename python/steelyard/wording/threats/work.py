"""Says that arms or their standbys did not do the work they were timed for, or not alike."""

from __future__ import annotations

from steelyard.evaluation.threats import work as seen
from steelyard.evaluation.threats.standbys import StandbyBehind
from steelyard.model.units import (
    NS_PER_MS,
    format_bytes,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
from steelyard.wording.threats.advice import Texts


def _not_begun(observed: seen.ArrivalsNotBegun) -> str:
    percent = 100 * observed.unstarted / observed.arrived
    return (
        f"{percent:.1f} % of {observed.arrived} arrivals had not begun in {observed.arm} "
        "when their slice ended"
    )


def _no_row_at_all(observed: seen.NoRowAtAll) -> str:
    return (
        f"not one row was returned or changed in {observed.transactions} transactions of "
        f"{observed.control} and {observed.arm}"
    )


def _no_row_of_arm(observed: seen.NoRowOfArm) -> str:
    rows = format_digits(observed.rows_of_other, 3)
    return f"{observed.arm} returned and changed no row, the other arm {rows} rows a transaction"


def _rows_unlike(observed: seen.RowsUnlike) -> str:
    rows = format_percent(percent_of_log(observed.log_ratio))
    return (
        f"a transaction of {observed.arm} returned {rows} rows against {observed.control}, and "
        "both only read"
    )


def _standby_behind(observed: StandbyBehind) -> str:
    age = format_duration(round(observed.age_ms * NS_PER_MS))
    return (
        f"a standby of {observed.arm} was {format_bytes(round(observed.log_bytes))} of log and "
        f"{age} behind at the end of the median epoch"
    )


TEXTS: Texts = {
    seen.ArrivalsNotBegun: _not_begun,
    seen.NoRowAtAll: _no_row_at_all,
    seen.NoRowOfArm: _no_row_of_arm,
    seen.RowsUnlike: _rows_unlike,
    StandbyBehind: _standby_behind,
}
