"""Reads the column that names the unit of the numbers beside it; refuses contradictory units."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from steelyard.foreign.metric import Metric
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.units import SECONDS, unit_of

_MEASURED = (Role.METRIC, Role.STATISTIC, Role.VALUE, Role.UNKNOWN)


def unit_column(table: Table, headings: Sequence[Heading], used: set[int]) -> int | None:
    """A column of words that is called so, or that holds nothing but units and names no arm."""
    free = [c for c in range(len(table.columns)) if c not in used and table.is_text(c)]
    called = next((c for c in free if headings[c].role is Role.UNIT), None)
    if called is not None:
        return called
    for column in free:
        if headings[column].role is not Role.ARM and all(map(unit_of, set(table.columns[column]))):
            return column
    return None


def unit_named(table: Table, column: int | None) -> str:
    """The one unit that a column names, "" where there is no such column; NumbersError with its
    place where rows are in different units."""
    if column is None:
        return ""
    cells = [cell.strip() for cell in table.columns[column]]
    units = [unit_of(cell) or cell for cell in cells]
    for row, unit in enumerate(units):
        if unit != units[0]:
            name = shlex.quote(f"arm={table.name(column)}")
            raise table.source.error(
                f"mixed units: {cells[row] or 'none'} after {cells[0] or 'none'}",
                table.spot(row, column),
                hint=f"Write all rows in one unit; if these are the arms: --column {name}",
            )
    return units[0]


def metric_in(
    table: Table, column: int, heading: Heading, behind: str, column_unit: str, *, alone: bool
) -> Metric:
    """The metric of a column by its heading, in the unit behind its numbers, or in the one that a
    column of units names, where the metric can be in it: `alone`, it must be.

    NumbersError with its place where units contradict each other.
    """
    name = table.name(column)
    doubtful = heading.weak and bool(heading.rest) and not (heading.metric and heading.metric.unit)
    metric = heading.metric if heading.metric is not None and not doubtful else None
    metric = replace(metric or Metric(name), column=name)
    measured = heading.role in _MEASURED
    for unit, must in ((behind, True), (column_unit, alone)):
        if not unit or (not measured and not must):
            continue
        if metric.accepts(unit):
            metric = metric.overridden(unit, None)
        elif must or {unit, metric.unit} <= SECONDS.keys():
            raise contradiction(table.source, table.spot(0, column), unit, metric)
    return metric


def contradiction(
    source: SourceText, position: TextPosition, unit: str, metric: Metric
) -> Exception:
    """The error for numbers in another unit than their metric has."""
    return source.error(
        f"mixed units: {unit} for {metric.words}", position, hint="Write all numbers in one unit."
    )
