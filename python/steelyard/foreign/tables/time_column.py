"""Decides whether a column called "time" holds timestamps or durations.

Taken for the other, either gives a verdict on something that was not measured: where it cannot be
decided, the user has to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import StrEnum

from steelyard.foreign.metric import metric_of
from steelyard.foreign.number import is_number
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.table import Table

HEADING = "time"
_FINE = (1e3, 1e6, 1e9)
"""Milliseconds to nanoseconds, of clocks that count from 1970: no work takes as long."""
_FROM_2001, _TO_2100 = 1e9, 4.1e9
_FEWEST_RISING = 3


class TimeColumn(StrEnum):
    """What such a column holds."""

    TIMESTAMPS = "timestamps"
    DURATIONS = "durations"


def time_column(
    table: Table, column: int, others: Sequence[int], *, by_arm: bool, chosen: bool
) -> TimeColumn:
    """What it holds; NumbersError with its place where that cannot be decided.

    `others`: the other columns of numbers that may have been measured; `by_arm`: whether a column
    names the arm of each row; `chosen`: whether the user said which column was measured.
    """
    cells = [cell.strip() for cell in table.columns[column]]
    numbers = _numbers(cells)
    known = chosen or all(_is_metric(table.name(other)) for other in others)
    # Seconds since 1970 look like nanoseconds of work, and sizes that grow down the file make
    # times that grow too: what rises tells when rows were measured only beside what surely was
    # measured, or beside columns of several arms.
    if table.is_text(column) or _counts_from_1970(numbers, _FINE):
        return TimeColumn.TIMESTAMPS
    if _counts_from_1970(numbers, (1.0,)) and (known or _in_turn(numbers)):
        return TimeColumn.TIMESTAMPS
    if _with_units(cells) or not (others or chosen):
        return TimeColumn.DURATIONS
    if (known or (not by_arm and len(others) > 1)) and _in_turn(numbers):
        return TimeColumn.TIMESTAMPS
    if chosen:
        return TimeColumn.DURATIONS
    name = table.name(column)
    beside = ", ".join(quoted(table.name(other)) for other in others[:3])
    raise table.source.error(
        f"column {quoted(name)} beside {beside} could hold how long each row took or when it was "
        "measured",
        table.spot(0, column),
        hint=f"Say which column was measured, as --column value={name}, or that this one tells "
        f"when: --column order={name}.",
    )


def _counts_from_1970(numbers: Sequence[float], scales: Sequence[float]) -> bool:
    return bool(numbers) and any(
        all(_FROM_2001 * scale <= number <= _TO_2100 * scale for number in numbers)
        for scale in scales
    )


def _with_units(cells: Sequence[str]) -> bool:
    return any(cell[-1:].isalpha() and is_number(cell) for cell in cells)


def _numbers(cells: Sequence[str]) -> list[float]:
    """The numbers of all cells; none where one is no plain number."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return []


def _in_turn(numbers: Sequence[float]) -> bool:
    """Whether they rise down the file, or count its rows in whatever order."""
    if len(set(numbers)) < _FEWEST_RISING:
        return False
    first = min(numbers)
    counted = sorted(numbers) == [first + step for step in range(len(numbers))]
    return counted or all(one <= other for one, other in itertools.pairwise(numbers))


def _is_metric(name: str) -> bool:
    return metric_of(name) is not None or name.lower() in ("value", "values", "result")
