"""Reads the columns of numbers of a table, each with its metric; one that cannot be read is kept
with the reason, and refused only where it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from steelyard.foreign.metric import Metric
from steelyard.foreign.metric_ranks import rank_of
from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Floats, Series
from steelyard.foreign.source import TextPosition
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.word_columns import metric_in, units_by_column
from steelyard.model.errors import NumbersError

Metrics = tuple[tuple[Metric, tuple[Series, ...]], ...]
Unreadable = tuple[tuple[Metric, NumbersError], ...]


def number_columns(
    table: Table, roles: Roles, arms: Callable[[int, Floats], tuple[Series, ...]]
) -> tuple[Metrics, Unreadable]:
    """Every metric with its arms, and those that cannot be read; `arms`: the series of a column
    with these values, shape (rows,).

    NumbersError with its place where no column can be read.
    """
    named_units = units_by_column(table, roles.headings, roles.unit)
    alone = len(roles.numbers) == 1
    metrics, unreadable = [], []
    for column in (*roles.numbers, *roles.spare):
        heading = roles.headings[column]
        cells, spot = table.columns[column], partial(_spot, table, column)
        judged = column in roles.numbers
        try:
            values, unit = floats_of(cells, table.source, spot, decimal_comma=table.decimal_comma)
        except NumbersError as refused:
            if judged and (alone or refused.primary.find("mixed units") >= 0):
                raise
            metric = metric_in(table, column, heading, "", "", alone=False)
            unreadable.append((metric, refused))
            continue
        metric = metric_in(
            table, column, heading, unit, named_units[column], alone=alone and judged
        )
        metrics.append((metric, arms(column, values)))
    if not metrics:
        raise unreadable[0][1]
    metrics.sort(key=lambda choice: rank_of(choice[0]))
    return tuple(metrics), tuple(unreadable)


def _spot(table: Table, column: int, row: int) -> TextPosition:
    return table.spot(row, column)
