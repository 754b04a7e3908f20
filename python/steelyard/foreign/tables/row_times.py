"""Reads when rows were measured: their order, the order of the arms, and whether they are seconds
of one run."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Floats, Order
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.time_column import after_midnight, equal_steps

_RUNS_Z = -1.645
_LONGEST_SLICE = 600.0
"""Seconds; ticks further apart are runs, one a night."""
Indices = NDArray[np.int64]
_FINE = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From there on a clock that counts from 1970 does so in units so many times finer than seconds."""


def times_of(table: Table, column: int | None) -> Floats | None:
    """When each row was measured, shape (n,): a number, or a date and time."""
    if column is None:
        return None
    cells = table.columns[column]
    if not table.is_text(column):
        values, _ = floats_of(
            cells, table.source, lambda row: table.spot(row, column), positive=False
        )
        return after_midnight(values) if all(":" in cell for cell in cells) else values
    stamps = []
    for row, cell in enumerate(cells):
        try:
            stamps.append(datetime.fromisoformat(cell.strip()).timestamp())
        except (ValueError, OverflowError, OSError):
            raise table.source.error(
                f'"{cell.strip()[:40]}" is neither a number nor a date',
                table.spot(row, column),
                hint="Dates are read as 2026-11-21 or 2026-11-21T14:03:22.",
            ) from None
    return np.array(stamps)


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
    the arms took turns between its ticks: then each tick is a run of its own.
    """
    if timestamps is None or not roles.clock or roles.order is None:
        return ""
    if roles.index is not None or roles.block is not None:
        return ""
    if not all(_ticks(timestamps[rows]) for rows in arms.values()):
        return ""
    apart = len(np.unique(timestamps)) == len(timestamps)
    if len(arms) > 1 and order is Order.ALTERNATING and apart:
        return ""
    return f'column "{table.name(roles.order)}" is a clock at equal steps: rows are of one run'


def run_means(
    table: Table, roles: Roles, arms: Mapping[str, Indices]
) -> dict[str, tuple[list[Indices], list[str]]]:
    """The rows of each run of each arm, where rows are seconds of runs that a column counts; none
    where they are not."""
    counter = roles.index if roles.index is not None else roles.block
    timestamps = times_of(table, roles.order) if roles.clock else None
    if counter is None or timestamps is None:
        return {}
    cells = table.columns[counter]
    runs_by_arm: dict[str, tuple[list[Indices], list[str]]] = {}
    for arm, rows in arms.items():
        runs: dict[str, list[int]] = {}
        for row in rows.tolist():
            runs.setdefault(cells[row].strip(), []).append(row)
        parts = [
            np.array(sorted(run, key=lambda row: float(timestamps[row]))) for run in runs.values()
        ]
        if not all(_ticks(timestamps[part]) for part in parts):
            return {}
        runs_by_arm[arm] = (parts, list(runs))
    return runs_by_arm


def _ticks(moments: Floats) -> bool:
    """Whether moments are those of a clock at equal steps of at most ten minutes, shape (n,)."""
    if not equal_steps(moments):
        return False
    scale = next((fine for least, fine in _FINE if moments[0] >= least), 1.0)
    return float(np.median(np.diff(moments))) / scale <= _LONGEST_SLICE
