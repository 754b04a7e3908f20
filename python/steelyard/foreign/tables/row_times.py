"""Reads when rows were measured: their order, the order of the arms, and whether they are seconds
of one run."""

from __future__ import annotations

import itertools
import math
import operator
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.metric import TIME
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
from steelyard.foreign.tables.outcomes.parts_of_runs import (
    nested_runs,
    numbers_each_row,
    worker_column,
)
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.time_column import LONGEST_TICK, TIME_HEADING, equal_steps, restarts
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Role
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import SECONDS, TIME_UNITS

_RUNS_Z = -1.645
_LONGEST_SLICE = 600.0
"""Seconds; ticks further apart are runs, one a night."""
_FEWEST_TICKS, _MANY_TICKS, _EXACT = 4, 20, 1e-4
_REPORTS = (900.0, 1800.0, 3600.0)
"""Seconds; steps at which monitors report, and at which a schedule may begin runs."""
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


def row_moments(table: Table, roles: Roles) -> Floats | None:
    """When each row was measured, shape (n,): by its clock, which counts from the start of its run
    where a column has that and the clock is none that counts from 1970."""
    moments = times_of(table, roles.order, roles.day)
    if moments is None or roles.start is None or roles.order is None:
        return moments
    if table.is_text(roles.order) or moments[0] >= _EPOCH:
        return moments
    starts = times_of(table, roles.start)
    assert starts is not None
    if starts[0] < _EPOCH:
        places = np.unique(starts, return_inverse=True)[1].reshape(-1)
        return np.asarray(moments + places * (float(np.ptp(moments)) + 1))
    finer = next((fine for least, fine in _FINE if starts[0] >= least), 1.0)
    return np.asarray(starts / finer + _in_seconds(table, roles, moments))


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
    """Why rows are slices of one run an arm; empty where they are not."""
    workers = worker_column(table, roles, arms)
    if workers is None:
        return _of_clock(table, roles, arms, timestamps, order)
    name = quoted(table.name(workers))
    return f"column {name} names those who did the work side by side: rows are of one run"


def _of_clock(
    table: Table,
    roles: Roles,
    arms: Mapping[str, Indices],
    timestamps: Floats | None,
    order: Order | None,
) -> str:
    """Why rows are slices by when they were measured.

    A clock that ticks at equal steps through the rows of every arm is the report of a run, unless
    the arms took turns between its ticks, or a column calls each row a run and there is time for
    one: then each tick is a run of its own. Arms that one clock watched side by side took no turns.
    A column that surely is a clock needs no equal steps where they are short and an arm has one
    stretch of them. One that begins anew is that of several runs, which are not told apart without
    a column of runs.
    """
    if timestamps is None or not roles.clock or roles.order is None:
        return ""
    if run_column(table, roles, arms) is not None:
        return _of_runs(table, roles, arms)
    name = table.name(roles.order)
    moments = [_in_seconds(table, roles, timestamps[rows]) for rows in arms.values()]
    ticking = all(map(_ticks, moments))
    in_turn = len(arms) > 1 and order is Order.ALTERNATING
    apart = ticking and in_turn and len(np.unique(timestamps)) == len(timestamps)
    apart = apart and not _watched(moments)
    if apart or (_numbers_rows(table, roles, arms) and not all(map(_ticks_fast, moments))):
        return ""
    _refuse_reports(table, roles, moments)
    if ticking:
        return f'column "{name}" is a clock at equal steps: rows are of one run'
    if _surely_clock(table, roles) and _apart(moments) and all(map(_ticks_often, moments)):
        return f'column "{name}" is a clock at short steps: rows are of one run'
    in_file = [_in_seconds(table, roles, timestamps[np.sort(rows)]) for rows in arms.values()]
    anew = list(map(restarts, in_file))
    several = any(anew) and all(map(operator.or_, anew, map(_ticks, in_file)))
    reason = f'column "{name}" is a clock that begins anew: rows are of runs that nothing numbers'
    return reason if several else ""


def _watched(moments: Sequence[Floats]) -> bool:
    """Whether sorted moments of arms, in seconds, are those at which one clock for each asked how
    they were, side by side: at one exact step, many times, and not evenly between those of the
    others, as where the arms took turns by a schedule."""
    step = float(np.median(np.diff(moments[0])))
    exact = all(
        len(arm) >= _MANY_TICKS and np.allclose(np.diff(arm), step, rtol=_EXACT, atol=0)
        for arm in moments
    )
    gaps = np.diff(np.sort(np.concatenate(moments)))
    return exact and not np.allclose(gaps, step / len(moments), rtol=0.02, atol=0)


def _refuse_reports(table: Table, roles: Roles, moments: Sequence[Floats]) -> None:
    """NumbersError where the rows of every arm are so many whole quarters of an hour apart as those
    of a monitor are, and as runs by a schedule may be: unless the user named the column."""
    assert roles.order is not None
    steps = {round(float(step), 3) for arm in moments for step in np.diff(arm)}
    if roles.ordered or not all(len(arm) >= _MANY_TICKS for arm in moments):
        return
    if len(steps) != 1 or not steps <= set(_REPORTS):
        return
    name = table.name(roles.order)
    raise table.source.error(
        f"column {quoted(name)} is a clock of exactly {steps.pop() / 60:.0f} minutes: rows could "
        "be a monitor's reports of one run, or runs that a schedule began",
        table.spot(0, roles.order),
        hint="If each row is a run of its own, say that this column tells when: "
        f"--column {shlex.quote(f'order={name}')}; if not, measure each arm in several runs, and "
        "keep one row a run.",
    )


def _of_runs(table: Table, roles: Roles, arms: Mapping[str, Indices]) -> str:
    """Why rows are slices of runs that a column numbers, where nothing takes those together."""
    counter = run_column(table, roles, arms)
    if counter is None or roles.order is None or not run_means(table, roles, arms):
        return ""
    clock = f'column "{table.name(roles.order)}" is a clock'
    return f'{clock}: rows are of the runs that column "{table.name(counter)}" numbers'


def run_means(
    table: Table, roles: Roles, arms: Mapping[str, Indices]
) -> dict[str, tuple[list[Indices], list[str]]]:
    """The rows of each run of each arm, where rows are seconds of runs that a column counts; none
    where they are not."""
    nested = nested_runs(table, roles, arms)
    if nested is not None:
        return _of_column(table.columns[nested], arms)
    counter = _counted_runs(table, roles, arms)
    timestamps = row_moments(table, roles) if roles.clock else None
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


def _of_column(
    cells: Sequence[str], arms: Mapping[str, Indices]
) -> dict[str, tuple[list[Indices], list[str]]]:
    """The rows of each arm by what a column holds, in the order of the file."""
    runs_by_arm = {}
    for arm, rows in arms.items():
        runs: dict[str, list[int]] = {}
        for row in sorted(rows.tolist()):
            runs.setdefault(cells[row].strip(), []).append(row)
        runs_by_arm[arm] = ([np.array(run) for run in runs.values()], list(runs))
    return runs_by_arm


def run_column(table: Table, roles: Roles, arms: Mapping[str, Indices]) -> int | None:
    """The column that numbers the runs which rows are of: one in each of whose runs another one
    counts iterations anew, or whose rows a clock dates."""
    nested = nested_runs(table, roles, arms)
    return _counted_runs(table, roles, arms) if nested is None else nested


def _counted_runs(table: Table, roles: Roles, arms: Mapping[str, Indices]) -> int | None:
    """The column that numbers the runs whose rows a clock dates: one whose numbers come again in
    the rows of an arm. One that is another in every row, as that of a data frame or of a table of
    a database, counts the rows; one that is the same in all rows of each arm tells no runs apart.
    Starts of runs number them too.
    """
    for column in (roles.index, roles.block, roles.start):
        if column is None:
            continue
        cells = table.columns[column]
        counts = [
            (len({cells[row].strip() for row in rows.tolist()}), len(rows))
            for rows in arms.values()
        ]
        if any(1 < different < rows for different, rows in counts):
            return column
    return None


def _numbers_rows(table: Table, roles: Roles, arms: Mapping[str, Indices]) -> bool:
    """Whether a column gives each row of an arm a number that by its name is that of a repetition
    or of a block, and not of a mere row."""
    column = roles.block if roles.block is not None else roles.index
    if column is None or not table.header:
        return False
    named = not known.REPETITION_WORDS.isdisjoint(split_words(table.name(column)))
    return (named or column == roles.block) and numbers_each_row(table, column, arms)


def _surely_clock(table: Table, roles: Roles) -> bool:
    """Whether the column of the order says when, by its heading or by its dates. A time, an offset
    or the start of a request is the clock only where it says when."""
    assert roles.order is not None
    heading = roles.headings[roles.order]
    timed = heading.metric is not None and heading.metric.name == TIME
    timed = timed or not {TIME_HEADING, "offset"}.isdisjoint(split_words(heading.name))
    dated = roles.day is not None or table.is_text(roles.order)
    return dated or timed or heading.role in (Role.CLOCK, Role.START)


def _ticks(seconds: Floats) -> bool:
    """Whether moments are those of a clock at equal steps of at most ten minutes, shape (n,)."""
    return equal_steps(seconds) and float(np.median(np.diff(seconds))) <= _LONGEST_SLICE


def _ticks_fast(seconds: Floats) -> bool:
    """Whether moments are at equal steps so short that hardly a run lies in each."""
    return _ticks(seconds) and float(np.median(np.diff(seconds))) <= LONGEST_TICK


def _ticks_often(seconds: Floats) -> bool:
    """Whether sorted moments, shape (n,), are so close together that no work of its own lies
    between them: as those of seconds, of requests, of a clock that wakes late."""
    if len(np.unique(seconds)) < _FEWEST_TICKS:
        return False
    steps = np.diff(seconds)
    # Of several rows in one tick the median step is 0, and says nothing.
    return float(np.median(steps) or np.mean(steps)) <= LONGEST_TICK


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
