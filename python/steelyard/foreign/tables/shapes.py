"""Reads a table by its shape: a column names the arm, a column an arm, or one arm's repetitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from steelyard.foreign.metric import Metric, metric_of, unit_of
from steelyard.foreign.number import Spot, floats_of, is_missing
from steelyard.foreign.series import Order, Rows, Series, Sheet
from steelyard.foreign.source import Place, Source
from steelyard.foreign.tables.column_roles import Roles, roles_of
from steelyard.foreign.tables.long_table import ranked, read_long_table
from steelyard.foreign.tables.table import Table, read_table
from steelyard.foreign.tables.unit_column import contradiction, metric_in, unit_named


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
