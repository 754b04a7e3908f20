"""Reads when rows were measured: their order, the order of the arms, and whether they are seconds
of one run."""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.number import floats_of, is_number
from steelyard.foreign.series import Floats, Order
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.moments import (
    after_midnight,
    are_dates,
    disputed_moment,
    moments_of,
    times_of_day,
)
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.time_column import equal_steps, restarts
from steelyard.foreign.vocabulary.heading import Role
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import SECONDS, TIME_UNITS

_RUNS_Z = -1.645
_LONGEST_SLICE = 600.0
"""Seconds; ticks further apart are runs, one a night."""
_LONGEST_TICK = 10.0
"""Seconds between rows of one run where the steps of its clock are not equal."""
_FEWEST_TICKS = 4
_WRITE_DATES = "Write dates as 2026-11-21 or 2026-11-21T14:03:22."
Indices = NDArray[np.int64]
_EPOCH = 1e9
"""Seconds; from there on a clock counts from 1970."""
_FINE = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From there on a clock that counts from 1970 does so in units so many times finer than seconds."""


def times_of(table: Table, column: int | None, day: int | None = None) -> Floats | None:
    """When each row was measured, shape (n,): a number, a date and time, or a time of day in the
    `column` on the date in the column `day`."""
    if column is None:
        return None
    cells = table.columns[column]
    if day is not None:
        moments = _moments(table, day) + times_of_day(cells)
        return np.asarray(moments)
    if not table.is_text(column) and is_number(cells[0]):
        values, _ = floats_of(
            cells, table.source, lambda row: table.spot(row, column), positive=False
        )
        return after_midnight(values) if all(":" in cell for cell in cells) else values
    return _moments(table, column)


def _moments(table: Table, column: int) -> Floats:
    """The moments that a column dates; NumbersError with its place where a cell dates none."""
    cells = table.columns[column]
    disputed = disputed_moment(cells)
    if disputed is not None:
        raise table.source.error(
            f"{quoted(cells[disputed].strip())} could name the day or the month first",
            table.spot(disputed, column),
            hint=_WRITE_DATES,
        )
    moments = moments_of(cells)
    if moments is not None:
        return moments
    row = next((row for row, cell in enumerate(cells) if not are_dates([cell])), 0)
    raise table.source.error(
        f"{quoted(cells[row].strip())} is neither a number nor a date",
        table.spot(row, column),
        hint=_WRITE_DATES,
    )


def order_of(labels: Sequence[str]) -> Order:
    """The order of arms measured one after the other, given their labels in that order.

    Sequential: no arm comes back after another, or (Wald & Wolfowitz, Annals of Mathematical
    Statistics 11 (1940) 147) far fewer changes than chance gives. Else the arms took turns.
    """
    counts = Counter(labels)
    changes = sum(earlier != later for earlier, later in itertools.pairwise(labels))
    if changes == len(counts) - 1 and max(counts.values()) > 1:
        return Order.SEQUENTIAL
    n = len(labels)
    same = sum(count * (count - 1) for count in counts.values()) / (n * (n - 1)) if n > 1 else 1
    expected = (n - 1) * (1 - same)
    spread = math.sqrt(max(expected * same, 1e-9))
    return Order.SEQUENTIAL if (changes - expected) / spread < 3 * _RUNS_Z else Order.ALTERNATING


def slices_of(
    table: Table,
    roles: Roles,
    arms: Mapping[str, Indices],
    timestamps: Floats | None,
    order: Order | None,
) -> str:
    """Why rows are slices of one run an arm; empty where they are not.

    A clock that ticks at equal steps through the rows of every arm is the report of a run, unless
    the arms took turns between its ticks: then each tick is a run of its own. A column that surely
    is a clock needs no equal steps where they are short and an arm has one stretch of them. One
    that begins anew is that of several runs, which are not told apart without a column of runs.
    """
    if timestamps is None or not roles.clock or roles.order is None:
        return ""
    if roles.index is not None or roles.block is not None:
        return ""
    moments = [_in_seconds(table, roles, timestamps[rows]) for rows in arms.values()]
    name = table.name(roles.order)
    if all(map(_ticks, moments)):
        apart = len(np.unique(timestamps)) == len(timestamps)
        if len(arms) > 1 and order is Order.ALTERNATING and apart:
            return ""
        return f'column "{name}" is a clock at equal steps: rows are of one run'
    if _surely_clock(table, roles) and _apart(moments) and all(map(_ticks_often, moments)):
        return f'column "{name}" is a clock at short steps: rows are of one run'
    in_file = [_in_seconds(table, roles, timestamps[np.sort(rows)]) for rows in arms.values()]
    anew = list(map(restarts, in_file))
    several = any(anew) and all(map(operator.or_, anew, map(_ticks, in_file)))
    reason = f'column "{name}" is a clock that begins anew: rows are of runs that nothing numbers'
    return reason if several else ""


def run_means(
    table: Table, roles: Roles, arms: Mapping[str, Indices]
) -> dict[str, tuple[list[Indices], list[str]]]:
    """The rows of each run of each arm, where rows are seconds of runs that a column counts; none
    where they are not."""
    counter = roles.index if roles.index is not None else roles.block
    timestamps = times_of(table, roles.order, roles.day) if roles.clock else None
    if counter is None or timestamps is None:
        return {}
    cells = table.columns[counter]
    surely = _surely_clock(table, roles)
    runs_by_arm: dict[str, tuple[list[Indices], list[str]]] = {}
    for arm, rows in arms.items():
        runs: dict[str, list[int]] = {}
        for row in rows.tolist():
            runs.setdefault(cells[row].strip(), []).append(row)
        parts = [
            np.array(sorted(run, key=lambda row: float(timestamps[row]))) for run in runs.values()
        ]
        moments = [_in_seconds(table, roles, timestamps[part]) for part in parts]
        often = surely and _apart(moments) and all(map(_ticks_often, moments))
        if not often and not all(map(_ticks, moments)):
            return {}
        runs_by_arm[arm] = (parts, list(runs))
    return runs_by_arm


def _surely_clock(table: Table, roles: Roles) -> bool:
    """Whether the column of the order says when, by its heading or by its dates, and not when a
    whole measurement began."""
    assert roles.order is not None
    dated = roles.day is not None or table.is_text(roles.order)
    return dated or roles.headings[roles.order].role is Role.CLOCK


def _ticks(seconds: Floats) -> bool:
    """Whether moments are those of a clock at equal steps of at most ten minutes, shape (n,)."""
    return equal_steps(seconds) and float(np.median(np.diff(seconds))) <= _LONGEST_SLICE


def _ticks_often(seconds: Floats) -> bool:
    """Whether sorted moments, shape (n,), are so close together that no work of its own lies
    between them: as those of seconds, of requests, of a clock that wakes late."""
    if len(np.unique(seconds)) < _FEWEST_TICKS:
        return False
    steps = np.diff(seconds)
    # Of several rows in one tick the median step is 0, and says nothing.
    return float(np.median(steps) or np.mean(steps)) <= _LONGEST_TICK


def _apart(stretches: Sequence[Floats]) -> bool:
    """Whether one stretch of sorted moments ends before the next begins."""
    ends = sorted((float(moments[0]), float(moments[-1])) for moments in stretches)
    return all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))


def _in_seconds(table: Table, roles: Roles, moments: Floats) -> Floats:
    """Moments of a clock in seconds: those that count from 1970 tell their unit by their size,
    others by their heading, where that is finer than a second."""
    assert roles.order is not None
    finer = next((fine for least, fine in _FINE if moments[0] >= least), 0.0)
    if finer or roles.day is not None or table.is_text(roles.order) or moments[0] >= _EPOCH:
        return np.asarray(moments / (finer or 1.0))
    words = split_words(table.name(roles.order)) if table.header else ()
    unit = next((TIME_UNITS[word] for word in words if word in TIME_UNITS), "s")
    clock = all(":" in cell for cell in table.columns[roles.order][:1])
    return np.asarray(moments * (1.0 if clock else min(SECONDS[unit], 1.0)))
