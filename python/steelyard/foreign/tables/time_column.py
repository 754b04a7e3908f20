"""Decides what a column called "time" holds, and finds columns that tell seconds of one run.

Taken for timestamps or for durations where it holds the other, it gives a verdict on something that
was not measured: where that cannot be decided, the user has to say.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from steelyard.foreign.number import clock_seconds, is_number
from steelyard.foreign.series import Floats
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.moments import after_midnight
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.units import SECONDS
from steelyard.model.errors import NumbersError

TIME_HEADING = "time"
_FINE = (1e3, 1e6, 1e9)
"""Milliseconds to nanoseconds, of clocks that count from 1970: no work takes as long."""
_FROM_2001, _TO_2100 = 1e9, 4.1e9
_FEWEST_RISING, _MANY_RISING = 3, 6
_FEWEST_STEPS = 3
_SLACK = 0.05
"""Of a step: clocks of benchmarks wake a little late."""
_STEADY_SHARE = 0.8
"""So many of the steps are the usual one: seconds without a line happen."""


class TimeColumn(StrEnum):
    """What such a column holds."""

    TIMESTAMPS = "timestamps"
    DURATIONS = "durations"


def time_column(
    table: Table,
    column: int,
    others: Sequence[int],
    *,
    by_arm: bool,
    chosen: bool,
    headings: Sequence[Heading],
) -> TimeColumn:
    """What it holds; NumbersError with its place where that cannot be decided.

    `others`: the other columns of numbers that may have been measured; `by_arm`: whether a column
    names the arm of each row; `chosen`: whether the user said which column was measured.
    """
    cells = [cell.strip() for cell in table.columns[column]]
    numbers = _numbers(cells)
    certain = chosen or all(_is_metric(headings[other]) for other in others)
    # Seconds since 1970 look like nanoseconds of work, and sizes that grow down the file make
    # times that grow too: what rises tells when rows were measured only beside what surely was
    # measured, or beside columns of several arms.
    if table.is_text(column) or _counts_from_1970(numbers, _FINE):
        return TimeColumn.TIMESTAMPS
    if _counts_from_1970(numbers, (1.0,)) and (certain or _in_turn(numbers)):
        return TimeColumn.TIMESTAMPS
    if _with_units(cells) or not (others or chosen):
        return TimeColumn.DURATIONS
    if (certain or (not by_arm and len(others) > 1)) and _in_turn(numbers):
        return TimeColumn.TIMESTAMPS
    if chosen:
        return TimeColumn.DURATIONS
    raise could_be_either(table, column, others)


def could_be_either(table: Table, column: int, others: Sequence[int]) -> NumbersError:
    """What is said of a column that may hold durations or moments; `others`: those of numbers."""
    name = table.name(column)
    neighbours = ", ".join(quoted(table.name(other)) for other in others[:3])
    return table.source.error(
        f"column {quoted(name)} beside {neighbours} could hold how long each row took or when it "
        "was measured",
        table.spot(0, column),
        hint=f"Say which column was measured, as --column {shlex.quote(f'value={name}')}, or that "
        f"this one tells when: --column {shlex.quote(f'order={name}')}",
    )


def is_moment(cells: Sequence[str], unit: str) -> bool:
    """Whether numbers of a unit of time count from 1970: no work takes as long."""
    scales = (1 / SECONDS[unit],)
    return all(
        _counts_from_1970(_numbers([cell.strip() for cell in part]), scales)
        for part in (cells[:1], cells)
    )


def is_unix_time(cells: Sequence[str], *, surely: bool) -> bool:
    """Whether numbers count from 1970, in seconds or finer units; where no heading speaks for it
    (`surely`), only if many rise down the file, as large measurements do not."""
    scales = (1.0, *_FINE)
    if not _counts_from_1970(_numbers([cell.strip() for cell in cells[:1]]), scales):
        return False
    numbers = _numbers([cell.strip() for cell in cells])
    rising = len(set(numbers)) >= _MANY_RISING and _in_turn(numbers)
    return _counts_from_1970(numbers, scales) and (surely or rising)


def rises(cells: Sequence[str]) -> bool:
    """Whether three or more numbers, or times of day, rise down the file or count its rows."""
    return _in_turn(_numbers([cell.strip() for cell in cells]))


def steady(
    cells: Sequence[str], arms: Sequence[str] | None = None, *, several: bool = False
) -> bool:
    """Whether numbers rise at equal steps; `arms`: in the rows of each arm by themselves;
    `several`: perhaps in each of several runs anew."""
    numbers = _numbers([cell.strip() for cell in cells])
    if not numbers:
        return False
    values, labels = np.array(numbers), np.array([arm.strip() for arm in arms or ()])
    groups = [values[labels == label] for label in dict.fromkeys(labels.tolist())] or [values]
    return all(equal_steps(group) or (several and restarts(group)) for group in groups)


def restarts(moments: Floats) -> bool:
    """Whether moments, shape (n,), rise at equal steps in several stretches that begin alike: the
    clocks of runs one after the other."""
    runs = np.split(moments, np.flatnonzero(np.diff(moments) < 0) + 1)
    if len(runs) < 2 or not all(map(equal_steps, runs)):
        return False
    starts = [float(run[0]) for run in runs]
    return max(starts) - min(starts) <= float(np.median(np.diff(runs[0])))


def equal_steps(moments: Floats) -> bool:
    """Whether moments, shape (n,), rise at one step, or at whole multiples of it where seconds are
    missing; never with fewer than 4 of them."""
    steps = np.diff(moments)
    if len(steps) < _FEWEST_STEPS or not (steps > 0).all():
        return False
    ratios = steps / np.median(steps)
    usual = np.abs(ratios - 1) <= _SLACK
    whole = np.abs(ratios - np.round(ratios)) <= _SLACK * np.maximum(ratios, 1)
    return bool(usual.mean() >= _STEADY_SHARE and whole.all())


def _counts_from_1970(numbers: Sequence[float], scales: Sequence[float]) -> bool:
    return bool(numbers) and any(
        all(_FROM_2001 * scale <= number <= _TO_2100 * scale for number in numbers)
        for scale in scales
    )


def _with_units(cells: Sequence[str]) -> bool:
    return any(cell[-1:].isalpha() and is_number(cell) for cell in cells)


def _numbers(cells: Sequence[str]) -> list[float]:
    """The numbers of all cells, or the seconds where all are times of day (`12:00:01`); none where
    one is neither."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        seconds = [clock_seconds(cell) for cell in cells]
    numbers = [second for second in seconds if second is not None]
    if len(numbers) < len(cells):
        return []
    return [float(number) for number in after_midnight(np.array(numbers))]


def _in_turn(numbers: Sequence[float]) -> bool:
    """Whether they rise down the file, or count its rows in whatever order."""
    if len(set(numbers)) < _FEWEST_RISING:
        return False
    first = min(numbers)
    counted = sorted(numbers) == [first + step for step in range(len(numbers))]
    return counted or all(earlier <= later for earlier, later in itertools.pairwise(numbers))


def _is_metric(heading: Heading) -> bool:
    measured = heading.role in (Role.METRIC, Role.STATISTIC) and heading.metric is not None
    sure = not heading.weak or (heading.metric is not None and bool(heading.metric.unit))
    return (measured and sure) or heading.role is Role.VALUE
