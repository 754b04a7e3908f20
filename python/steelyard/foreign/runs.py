"""A table of one arm's repetitions: a row a repetition, a column a metric."""

from __future__ import annotations

from functools import partial

from steelyard.foreign.long import ranked
from steelyard.foreign.metric import metric_of
from steelyard.foreign.number import floats_of
from steelyard.foreign.roles import Roles
from steelyard.foreign.series import Series, Sheet
from steelyard.foreign.source import Place
from steelyard.foreign.table import Table
from steelyard.foreign.unit_column import metric_in, unit_named


def holds_runs(table: Table, roles: Roles) -> bool:
    """Whether the columns are different metrics of one arm: "run,tps,latency_ms"."""
    if roles.arm is not None or not table.header or not roles.numbers:
        return False
    found = [metric_of(table.name(column)) for column in roles.numbers]
    names = {metric.name for metric in found if metric}
    return None not in found and len(names) == len(found)


def read_runs(table: Table, roles: Roles, form: str = "CSV, one arm") -> Sheet:
    """The sheet of such a table; the arm has no name in it."""
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
