"""Reads a table by its shape: a column names the arm, a column an arm, or one arm's repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from steelyard.foreign.metric import metric_of
from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Series, Sheet
from steelyard.foreign.source import Place, Source
from steelyard.foreign.tables.column_roles import Roles, roles_of
from steelyard.foreign.tables.long_table import ranked, read_long_table
from steelyard.foreign.tables.table import Table, read_table
from steelyard.foreign.tables.unit_column import metric_in, unit_named
from steelyard.foreign.tables.wide_table import read_wide_table


@dataclass(frozen=True, slots=True)
class ShapeNames:
    """What the format of a table of each shape is called."""

    long: str
    wide: str
    one_arm: str


CSV = ShapeNames("CSV, long form", "CSV, a column an arm", "CSV, one arm")


def read_csv(source: Source, columns: Mapping[str, str]) -> Sheet:
    """The sheet of a text of lines and cells; `columns`: role → column, as the user said."""
    return read_by_shape(read_table(source), columns, CSV)


def read_by_shape(table: Table, columns: Mapping[str, str], names: ShapeNames) -> Sheet:
    """The sheet of a table of any of the shapes."""
    roles = roles_of(table, columns)
    if roles.arm is not None:
        return read_long_table(table, roles, names.long)
    if _holds_one_arm(table, roles):
        return _read_one_arm(table, roles, names.one_arm)
    return read_wide_table(table, roles, names.wide)


def _holds_one_arm(table: Table, roles: Roles) -> bool:
    """Whether columns are metrics of one arm, and rows its repetitions: "run,tps,latency_ms"."""
    if not table.header or not roles.numbers:
        return False
    found = [metric_of(table.name(column)) for column in roles.numbers]
    names = {metric.name for metric in found if metric}
    return None not in found and len(names) == len(found)


def _read_one_arm(table: Table, roles: Roles, form: str) -> Sheet:
    """The sheet of repetitions of one arm, which has no name in the table."""
    named_unit = unit_named(table, roles.unit)
    alone = len(roles.numbers) == 1
    metrics = []
    for column in roles.numbers:
        spot = partial(_spot, table, column)
        values, unit = floats_of(
            table.columns[column], table.source, spot, decimal_comma=table.decimal_comma
        )
        metric = metric_in(table, column, unit, named_unit, alone=alone)
        metrics.append((metric, (Series("", values, spot=spot),)))
    return Sheet(table.source.name, form, ranked(metrics), lines=table.lines)


def _spot(table: Table, column: int, row: int) -> Place:
    return table.spot(row, column)
