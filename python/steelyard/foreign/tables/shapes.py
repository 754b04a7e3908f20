"""Reads a table by its shape: a column names the arm, a column an arm, or one arm's repetitions; or
lines that name what they hold, "Execution Time: 81.2 ms", "real 1m23.4s".

Such lines of several quantities come in turn, once for every execution. Read as one column they
would be a mixture of what was measured and what was not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.foreign.cells import factors_of_rows
from steelyard.foreign.series import Factor, Floats, Grain, Series, Sheet
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tables.column_roles import Roles, roles_of
from steelyard.foreign.tables.factors import (
    factors_of,
    require_comparable_rows,
    with_steps,
)
from steelyard.foreign.tables.long_table import read_long_table
from steelyard.foreign.tables.number_columns import number_columns
from steelyard.foreign.tables.outcomes.transaction_counts import outcome_of
from steelyard.foreign.tables.row_times import row_moments, run_means, slices_of
from steelyard.foreign.tables.summary_rows import without_summaries
from steelyard.foreign.tables.table import Table, read_table
from steelyard.foreign.tables.wide_table import read_wide_table
from steelyard.foreign.vocabulary.heading import Heading, Role, heading_of
from steelyard.foreign.vocabulary.units import unit_of

_TIMES = {"real": "real time", "user": "user CPU", "sys": "system CPU"}
"""Words of the shell's `time` and of time(1), as headings say them."""


@dataclass(frozen=True, slots=True)
class ShapeNames:
    """What the format of a table of each shape is called."""

    long: str
    wide: str
    one_arm: str


CSV = ShapeNames("CSV, long form", "CSV, a column an arm", "CSV, one arm")


def read_csv(source: SourceText, columns: Mapping[str, str], alone: bool = True) -> Sheet:
    """The sheet of a text of lines and cells; `columns`: role → column, as the user said; `alone`:
    whether it is the only file, and so holds all arms."""
    return read_by_shape(spread_names(read_table(source)), columns, CSV, alone)


def read_by_shape(
    table: Table, columns: Mapping[str, str], names: ShapeNames, alone: bool = True
) -> Sheet:
    """The sheet of a table of any of the shapes, rows that sum up others left out."""
    table, notes = without_summaries(table)
    sheet = _read_rows(table, columns, names, alone)
    return replace(sheet, notes=(*sheet.notes, *notes)) if notes else sheet


def _read_rows(table: Table, columns: Mapping[str, str], names: ShapeNames, alone: bool) -> Sheet:
    roles = with_steps(table, roles_of(table, columns, alone), columns, alone)
    if roles.arm is not None:
        return read_long_table(table, roles, names.long)
    if _holds_one_arm(table, roles, alone):
        return _read_one_arm(table, roles, names.one_arm)
    return read_wide_table(table, roles, names.wide)


def _holds_one_arm(table: Table, roles: Roles, alone: bool) -> bool:
    """Whether columns are metrics of one arm, and rows its repetitions: "run,tps,latency_ms"; or
    names and numbers without headings: "q1 81.2 ms".

    One heading that is wholly a metric's is enough: no arm is called so.
    """
    if not table.header:
        return not alone and len(roles.numbers) == 1 and bool(roles.labels)
    if not roles.numbers:
        return bool(roles.spare)
    bare = [_bare(roles.headings[column]) for column in roles.numbers]
    if alone and len(roles.numbers) > 1:
        return any(bare)
    return any(bare) or len(roles.numbers) == 1


def _bare(heading: Heading) -> bool:
    measured = heading.role in (Role.METRIC, Role.STATISTIC, Role.VALUE) and not heading.rest
    return measured and len(heading.name.strip()) > 1


def _read_one_arm(table: Table, roles: Roles, form: str) -> Sheet:
    """The sheet of repetitions of one arm, which has no name in the table."""
    require_comparable_rows(table, roles)
    timestamps = row_moments(table, roles)
    every = np.arange(table.rows)
    rising = every if timestamps is None else np.argsort(timestamps, kind="stable")
    runs = run_means(table, roles, {"": every}).get("")
    instead = "" if runs else slices_of(table, roles, {"": rising}, timestamps, None)
    factors = factors_of(table, roles)
    outcome = outcome_of(table, roles, range(table.rows))

    def arms(column: int, values: Floats) -> tuple[Series, ...]:
        if runs is not None:
            means = np.array([float(values[run].mean()) for run in runs[0]])
            return (Series("", means),)
        mine: tuple[Factor, ...] = factors_of_rows(factors, rising.tolist()) if factors else ()
        return (
            Series(
                "",
                values[rising],
                Grain.SLICE if instead else Grain.REPETITION,
                timestamps=None if timestamps is None else timestamps[rising],
                spot=lambda row: table.spot(int(rising[row]), column),
                factors=mine,
                instead=instead,
            ),
        )

    metrics, unreadable = number_columns(table, roles, arms)
    return Sheet(
        table.source.name,
        form,
        metrics,
        chosen=roles.chosen,
        lines=tuple(table.lines[row] for row in rising.tolist()) if table.lines else (),
        outcomes={"": outcome} if outcome is not None else {},
        ordered=not any(_varies(table, roles, column) for column in roles.labels),
        notes=("rows of one run are taken together: a run is a repetition",) if runs else (),
        unreadable=unreadable,
    )


def _varies(table: Table, roles: Roles, column: int) -> bool:
    """Whether a column names what rows are about, and they are about different things."""
    return roles.headings[column].role is Role.LABEL and len(set(table.columns[column])) > 1


def spread_names(table: Table) -> Table:
    """A column a quantity, where the words of each line name a known quantity or one that comes in
    turn with it; else the table as it is."""
    if table.header is not None:
        return table
    numbers = [c for c in range(len(table.columns)) if not table.is_text(c)]
    text_columns = [table.columns[c] for c in range(len(table.columns)) if c not in numbers]
    if (
        len(numbers) != 1
        or not text_columns
        or any(all(map(unit_of, cells)) for cells in text_columns)
    ):
        return table
    names = [" ".join(cells).strip(" :=") for cells in zip(*text_columns, strict=True)]
    width = len(set(names))
    if width < 2 or names != names[:width] * (table.rows // width):
        return table
    header = tuple(_TIMES.get(name, name) for name in names[:width])
    if not any(heading_of(name).role in (Role.METRIC, Role.STATISTIC) for name in header):
        return table
    (number,) = numbers
    cells = table.columns[number]

    def spot(row: int, column: int) -> TextPosition:
        return table.spot(row * width + column, number)

    columns = tuple(cells[column::width] for column in range(width))
    return Table(table.source, header, columns, spot, table.lines[::width])
