"""Reads a table with a column an arm: row k holds repetition k of every arm."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.foreign.metric import Metric, metric_of, unit_of
from steelyard.foreign.number import Spot, floats_of, is_missing
from steelyard.foreign.series import Order, Rows, Series, Sheet
from steelyard.foreign.source import Place
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.unit_column import contradiction, unit_named

_UNIT_BEHIND = re.compile(r"\s*[(\[]\s*([^)\]]+?)\s*[)\]]\s*$")


def read_wide_table(table: Table, roles: Roles, form: str) -> Sheet:
    """The sheet of such a table. Trailing empty cells: that arm was measured less often."""
    series, units, given = [], [], unit_named(table, roles.unit)
    for column in roles.numbers:
        cells = _without_tail(table.columns[column])
        if not cells:
            continue
        spot = _spots(table, column)
        values, unit = floats_of(cells, table.source, spot, decimal_comma=table.decimal_comma)
        name, named_unit = _arm_and_unit(table.name(column))
        series.append(Series(name, values, spot=spot))
        units += [(one, column) for one in (unit, named_unit, given) if one] or [("", column)]
    if not series:
        raise table.source.error("there is no column of numbers", Place(1, 1))
    for unit, column in units:
        if unit != units[0][0]:
            raise table.source.error(
                f"mixed units: {unit or 'none'} after {units[0][0] or 'none'}",
                table.spot(0, column),
                hint="Write all arms in one unit.",
            )
    named = roles.block is not None
    equal = len({len(one.values) for one in series}) == 1
    return Sheet(
        source=table.source.name,
        form=form,
        metrics=((_metric(units[0][0], table, roles), tuple(series)),),
        order=Order.UNKNOWN,
        rows=(Rows.BLOCKS if named else Rows.BESIDE) if equal else Rows.APART,
        lines=table.lines,
        row_names=table.columns[roles.block] if roles.block is not None else (),
        ordered=not (named and roles.block is not None and table.is_text(roles.block)),
        notes=tuple(_notes(table, roles)),
    )


def _without_tail(cells: tuple[str, ...]) -> tuple[str, ...]:
    count = len(cells)
    while count and is_missing(cells[count - 1]) and cells[count - 1].strip().lower() != "nan":
        count -= 1
    return cells[:count]


def _spots(table: Table, column: int) -> Spot:
    return lambda row: table.spot(row, column)


def _arm_and_unit(name: str) -> tuple[str, str]:
    """`"off (ms)"` is the arm "off" in ms; `"off"` is an arm without a unit."""
    match = _UNIT_BEHIND.search(name)
    if match and unit_of(match[1]):
        return name[: match.start()].strip() or name, unit_of(match[1]) or ""
    return name, ""


def _metric(unit: str, table: Table, roles: Roles) -> Metric:
    """By the unit behind the numbers, else by headings that all name the same metric: "tps_off"."""
    named = {metric_of(table.name(column)) for column in roles.numbers} if table.header else set()
    metric = (named.pop() if len(named) == 1 else None) or Metric("value")
    if unit and not metric.accepts(unit):
        place = table.spot(0, roles.numbers[0])
        raise contradiction(table.source, place, unit, metric)
    return metric.overridden(unit or None, None)


def _notes(table: Table, roles: Roles) -> Iterator[str]:
    if roles.index is not None:
        yield f'column "{table.name(roles.index)}" counts the rows and is no arm'
    left = set(range(len(table.columns))) - set(roles.numbers)
    left -= {c for c in (roles.block, roles.index, roles.unit) if c is not None}
    for column in sorted(left):
        yield f'column "{table.name(column)}" was left out: it holds no numbers of an arm'
